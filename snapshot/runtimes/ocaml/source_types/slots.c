/* The variable that a slot of a stack holds, by what it leads to. */
#include "bodies.h"

#include "base/alloc.h"
#include "base/table.h"
#include "frame_label.h"
#include "joins.h"

enum {
    TRIAL_BLOCKS = 64, /* that a type is tried on */
    TRIAL_FIELDS = 32, /* of each */
    ENOUGH_BLOCKS = 3, /* a type that so many blocks fit has not been met by chance, */
    ENOUGH_FIELDS = 4, /* or that a block of so many fields fits */
    STRUCTURED_TAGS = 246,
    MOST_TRIALS = 1 << 24, /* of blocks, in all: who chooses stack and scopes chooses this */
    FILE_BYTES = 512,
};

/* A type, tried on a block and on what that leads to. */
struct trial {
    const struct hs_spush *push;
    const struct hs_block_map *map;
    struct {
        struct hs_block block;
        hs_stype type;
    } seen[TRIAL_BLOCKS];
    unsigned n_seen;
    unsigned n_shapes;
    uint64_t n_trials;
    bool is_told; /* a block has this type by a variable of a module */
};

static bool block_at(const struct hs_block_map *map, uint64_t value, struct hs_block *ret)
{
    return (value & 1) == 0 && hs_map_resolve(map, value, ret) &&
           hs_bitmap_get(&map->starts, ret->bit) && HS_HEADER_WOSIZE(hs_block_head(ret)) != 0;
}

static bool trial_has_seen(const struct trial *t, const struct hs_block *block)
{
    for (unsigned i = 0; i < t->n_seen; i++)
        if (t->seen[i].block.address == block->address)
            return true;
    return false;
}

/* Tells whether the block can be of this type. What it leads to is looked at later. */
static bool trial_admits(struct trial *t, const struct hs_block *block, hs_stype type)
{
    const struct hs_stables *tables = t->push->tables;
    uint64_t header = hs_block_head(block);
    hs_stype had = hs_spush_type(t->push, hs_bitmap_rank(&t->map->starts, block->bit));

    if (++t->n_trials > MOST_TRIALS)
        return false;
    if (hs_stype_is_open(tables, type))
        return true;
    const struct hs_srow *row =
        hs_stables_fit(tables, &type, HS_HEADER_TAG(header), HS_HEADER_WOSIZE(header));
    if (row == NULL)
        return hs_stype_is_open(tables, type);
    if (had != HS_STYPE_NONE && block->span->area != HS_AREA_STATIC) {
        had = hs_stype_proper(tables, had);
        type = hs_stype_proper(tables, type);
        t->is_told |= row->kind != HS_SROW_LEAF;
        return tables->types[had].head == tables->types[type].head;
    }
    if (row->kind == HS_SROW_LEAF || t->n_seen == TRIAL_BLOCKS || trial_has_seen(t, block))
        return true;
    t->n_shapes += HS_HEADER_WOSIZE(header) >= ENOUGH_FIELDS;
    t->seen[t->n_seen].block = *block;
    t->seen[t->n_seen++].type = type;
    return true;
}

static bool trial_follow(struct trial *t, const struct hs_block *block, hs_stype type)
{
    const struct hs_stables *tables = t->push->tables;
    uint64_t header = hs_block_head(block), n = HS_HEADER_WOSIZE(header);
    const struct hs_srow *row = hs_stables_row(tables, type, HS_HEADER_TAG(header), n);
    const uint8_t *fields = hs_map_bytes(block->span, block->address);

    if (row == NULL || (row->kind != HS_SROW_FIELDS && row->kind != HS_SROW_ALL) ||
        HS_HEADER_TAG(header) >= STRUCTURED_TAGS)
        return true;
    for (uint64_t i = 0; i < n && i < TRIAL_FIELDS; i++) {
        uint64_t at = row->kind == HS_SROW_ALL ? 0 : i;
        struct hs_block child;
        if (at >= row->children.n)
            return true;
        if (block_at(t->map, hs_load_u64(fields + i * HS_WORD), &child) &&
            !trial_admits(t, &child, tables->children[row->children.first + at].type))
            return false;
    }
    return true;
}

/* Tries a type on a block and what that leads to; *type becomes the one that has the row. */
static bool trial_run(struct trial *t, const struct hs_block *block, hs_stype *type)
{
    t->n_seen = t->n_shapes = 0;
    t->is_told = false;
    if (!trial_admits(t, block, *type) || t->n_seen == 0)
        return false;
    *type = t->seen[0].type;
    for (unsigned i = 0; i < t->n_seen; i++)
        if (!trial_follow(t, &t->seen[i].block, t->seen[i].type))
            return false;
    return t->is_told || t->n_shapes != 0 || t->n_seen >= ENOUGH_BLOCKS;
}

/* Finds the only type of those in scope that the block can be of; HS_STYPE_NONE when there are
 * several or none. */
static hs_stype slot_type(struct trial *t, const struct hs_block *block,
                          const struct hs_sscope *scope)
{
    hs_stype found = HS_STYPE_NONE;

    for (uint32_t i = 0; i < scope->children.n; i++) {
        hs_stype type = t->push->tables->children[scope->children.first + i].type;
        if (!trial_run(t, block, &type))
            continue;
        type = hs_stype_proper(t->push->tables, type);
        if (found != HS_STYPE_NONE && found != type)
            return HS_STYPE_NONE;
        found = type;
    }
    /* A slot at which the trials ran out has not seen every type: what was found proves nothing. */
    return t->n_trials > MOST_TRIALS ? HS_STYPE_NONE : found;
}

static const struct hs_sscope *slot_scope(const struct hs_spush *push, const struct hs_ocaml *rt,
                                          const struct hs_root_leaf *leaf)
{
    const struct hs_root *root = &leaf->root;

    if (root->kind != HS_ROOT_STACK || root->certainty == HS_CONSERVATIVE || root->file == 0)
        return NULL;
    return hs_stables_scope(push->tables, hs_strtab_get(rt->strings, root->file), root->line,
                            root->char_begin, root->char_end);
}

/* The findings of all slots. */
struct slots {
    struct trial t;
    const struct hs_sheap *heap;
    const struct hs_frame_entry *entry; /* of the suspended frame that came last, */
    const struct hs_sscope *scope;      /* and what was in scope there */
    struct hs_sprobable *found;
    size_t n, capacity;
};

static hs_status slots_try(struct slots *s, uint64_t value, const struct hs_sscope *scope,
                           struct hs_error *err)
{
    struct trial *t = &s->t;
    struct hs_block block;

    if (scope == NULL || t->n_trials > MOST_TRIALS || !block_at(t->map, value, &block) ||
        HS_HEADER_TAG(hs_block_head(&block)) >= STRUCTURED_TAGS ||
        hs_spush_type(t->push, hs_bitmap_rank(&t->map->starts, block.bit)) != HS_STYPE_NONE)
        return HS_OK;
    hs_stype type = slot_type(t, &block, scope);
    if (type == HS_STYPE_NONE)
        return HS_OK;
    HS_TRY(HS_GROW(&s->found, &s->capacity, s->n + 1, err));
    s->found[s->n++] = (struct hs_sprobable){block.address, type};
    return HS_OK;
}

static hs_status slots_suspended(void *context, uint64_t value, const struct hs_frame_entry *entry,
                                 struct hs_error *err)
{
    struct slots *s = context;
    struct hs_frame_place place;
    char file[FILE_BYTES];

    if (s->entry != entry) {
        s->entry = entry;
        s->scope = hs_frame_own_place(s->heap->rt, entry, file, sizeof file, &place)
                       ? hs_stables_scope(s->t.push->tables, file, place.line, place.char_begin,
                                          place.char_end)
                       : NULL;
    }
    return slots_try(s, value, s->scope, err);
}

static hs_status slots_find(struct slots *s, struct hs_error *err)
{
    const struct hs_roots *roots = &s->heap->roots->roots;

    for (size_t i = 0; i < roots->n_leaves && s->t.n_trials <= MOST_TRIALS; i++)
        HS_TRY(slots_try(s, roots->leaves[i].target,
                         slot_scope(s->t.push, s->heap->rt, &roots->leaves[i]), err));
    return hs_ssuspended_each(s->heap, slots_suspended, s, err);
}

hs_status hs_sbodies_slots(const struct hs_spush *push, const struct hs_sheap *heap,
                           struct hs_sprobable **ret, size_t *ret_n, struct hs_error *err)
{
    struct slots *s;

    *ret = NULL;
    *ret_n = 0;
    if (push->tables->n_scopes == 0)
        return HS_OK;
    HS_TRY(HS_ALLOC(&s, 1, err));
    s->heap = heap;
    s->t.push = push;
    s->t.map = heap->map;
    hs_status status = slots_find(s, err);
    *ret = s->found;
    *ret_n = s->n;
    hs_free(s);
    return status;
}
