/* The blocks as they are written, in address order: objects with their pointers, stacks with what
 * their frames hold. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "pointers.h"
#include "session.h"
#include "snapshot/reader.h"

enum { EDGES_PER_PART = 1 << 20, NAME_BYTES = 64 };

/* ---- types */

static hs_status add_type(struct hs_go_session *s, uint64_t key, struct hs_type type, uint32_t *ret,
                          struct hs_error *err)
{
    HS_TRY(HS_GROW(&s->types, &s->types_capacity, s->n_types + 1, err));
    HS_TRY(hs_dict_put(&s->size_types, key, s->n_types, err));
    *ret = (uint32_t)s->n_types;
    s->types[s->n_types++] = type;
    return HS_OK;
}

/* Finds the row of a type that is known; keys of sizes are below 2^48. */
static hs_status named_type(struct hs_go_session *s, uint32_t number, uint32_t *ret,
                            struct hs_error *err)
{
    uint64_t key = UINT64_C(1) << 48 | number;
    const uint64_t *known = hs_dict_find(&s->size_types, key);
    const struct hs_go_named_type *type = &s->typing.types[number];

    if (known != NULL) {
        *ret = (uint32_t)*known;
        return HS_OK;
    }
    HS_TRY(add_type(s, key,
                    (struct hs_type){
                        .name = type->name, .form = type->form, .stride_bytes = type->stride_bytes},
                    ret, err));
    return s->dump->options->no_names ? HS_OK
                                      : hs_go_add_members(&s->heap, type, *ret, &s->members, err);
}

/* A type that says no more than its name. */
static hs_status plain_type(struct hs_go_session *s, uint64_t key, const char *name, uint32_t *ret,
                            struct hs_error *err)
{
    struct hs_type type = {.form = HS_FORM_OTHER};

    HS_TRY(hs_strtab_add(&s->dump->strings, name, &type.name, err));
    return add_type(s, key, type, ret, err);
}

/* Stacks are called by the function that their goroutine runs. */
static hs_status stack_type(struct hs_go_session *s, const struct hs_go_span *span, uint32_t *ret,
                            struct hs_error *err)
{
    const uint64_t *number = hs_dict_find(&s->goroutines.by_g, span->record), *known;
    hs_str function = number == NULL ? 0 : s->goroutines.goroutines[*number].function;
    uint64_t key = UINT64_C(1) << 49 | function;
    char name[HS_GO_NAME_BYTES + 16];

    known = hs_dict_find(&s->size_types, key);
    if (known != NULL) {
        *ret = (uint32_t)*known;
        return HS_OK;
    }
    snprintf(name, sizeof name, "goroutine %s",
             function == 0 ? "of an unknown function" : hs_strtab_get(&s->dump->strings, function));
    /* The place of a word in the stack is no name: it is a part, left out of paths. */
    struct hs_type type = {.form = HS_FORM_GO, .stride_bytes = HS_WORD_BYTES};
    struct hs_member frame = {.type = (uint32_t)s->n_types};
    HS_TRY(hs_strtab_add(&s->dump->strings, name, &type.name, err));
    HS_TRY(hs_strtab_add(&s->dump->strings, "(frame)", &frame.name, err));
    HS_TRY(HS_GROW(&s->members.members, &s->members.capacity, s->members.n + 1, err));
    s->members.members[s->members.n++] = frame;
    return add_type(s, key, type, ret, err);
}

/* Finds the type of a block; where none is known, its size tells. */
static hs_status block_type(struct hs_go_session *s, const struct hs_go_block *block, uint32_t *ret,
                            struct hs_error *err)
{
    const struct hs_go_span *span = block->span;
    uint32_t number = s->typing.of_rank[hs_bitmap_rank(&s->heap.live, block->slot)];
    if (number != 0)
        return named_type(s, number - 1, ret, err);
    if (span->is_stack)
        return stack_type(s, span, ret, err);
    uint64_t key = span->elem_bytes << 1 | (span->spanclass & 1);
    const uint64_t *known = hs_dict_find(&s->size_types, key);
    char name[NAME_BYTES];

    if (known != NULL) {
        *ret = (uint32_t)*known;
        return HS_OK;
    }
    snprintf(name, sizeof name, "block of %llu bytes%s", (unsigned long long)span->elem_bytes,
             (span->spanclass & 1) != 0 ? " without pointers" : "");
    return plain_type(s, key, name, ret, err);
}

hs_status hs_go_types(struct hs_go_session *s, struct hs_type_tables *ret, struct hs_error *err)
{
    struct hs_type_tables made = {.n_types = s->n_types};

    HS_TRY(HS_ALLOC(&made.types, s->n_types, err));
    if (s->n_types != 0)
        memcpy(made.types, s->types, s->n_types * sizeof *s->types);
    made.members = s->members.members;
    made.n_members = s->members.n;
    s->members = (struct hs_go_members){.members = NULL};
    *ret = made;
    return HS_OK;
}

/* ---- edges */

/* Adds an edge of the block whose turn it is; of blocks with very many, those so far go to the
 * writer. */
static hs_status add_edge(struct hs_go_session *s, const struct hs_go_block *target, uint64_t word,
                          uint64_t offset_words, uint64_t n_more, struct hs_error *err)
{
    bool owns = hs_go_owns(s, s->slot, target->slot);
    bool is_start = word == target->begin + hs_go_header_bytes(&s->heap, target->span);

    if (s->n_edges == EDGES_PER_PART && s->dump->writer != NULL) {
        HS_TRY(hs_snap_writer_part(s->dump->writer, s->edges, s->n_edges, n_more, err));
        s->n_edges = 0;
    }
    HS_TRY(HS_GROW(&s->edges, &s->edges_capacity, s->n_edges + 1, err));
    s->edges[s->n_edges++] =
        (struct hs_edge){.target = hs_dump_node(s->dump, s, target->begin,
                                                hs_bitmap_rank(&s->heap.live, target->slot)),
                         .offset_words = offset_words,
                         .edge_class = !owns      ? HS_EDGE_GUESSED
                                       : is_start ? HS_EDGE_EXACT
                                                  : HS_EDGE_INTERIOR,
                         .reason = owns ? HS_REASON_NONE : HS_REASON_OWNER_RANK};
    return HS_OK;
}

/* Adds the pointers of an object. Their places count from its value on, behind the header. */
static hs_status add_pointers(struct hs_go_session *s, const struct hs_go_block *block,
                              struct hs_error *err)
{
    struct hs_go_pointers it = hs_go_pointers_begin(&s->heap, block);
    uint64_t n_header = hs_go_header_bytes(&s->heap, block->span) / HS_WORD_BYTES;
    struct hs_go_block target;
    uint64_t word, offset;

    while (hs_go_pointers_next(&it, &word, &offset))
        if (hs_go_resolve(&s->heap, word, &target) && !hs_go_is_cut(s, block, offset, &target))
            HS_TRY(add_edge(s, &target, word, offset - n_header, it.n_words - offset, err));
    return HS_OK;
}

struct stack_edges {
    struct hs_go_session *s;
    hs_addr begin;
    uint64_t n_words;
};

static hs_status add_slot(void *context, hs_addr at, uint64_t word, bool is_exact,
                          struct hs_error *err)
{
    const struct stack_edges *e = context;
    struct hs_go_block target;
    (void)is_exact;

    if (!hs_go_resolve(&e->s->heap, word, &target) || hs_go_is_record(e->s, &target))
        return HS_OK;
    return add_edge(e->s, &target, word, (at - e->begin) / HS_WORD_BYTES, e->n_words, err);
}

/* Adds what a goroutine's frames hold, and its record. */
static hs_status add_stack(struct hs_go_session *s, const struct hs_go_block *block,
                           struct hs_error *err)
{
    const uint64_t *number = hs_dict_find(&s->goroutines.by_g, block->span->record);
    struct stack_edges e = {s, block->begin, block->span->elem_bytes / HS_WORD_BYTES};

    struct hs_go_block record;

    if (number == NULL)
        return HS_OK;
    if (hs_go_resolve(&s->heap, block->span->record, &record))
        HS_TRY(add_edge(s, &record, block->span->record, 0, e.n_words, err));
    return hs_go_walk_stack(&s->goroutines, &s->goroutines.goroutines[*number], add_slot, &e, err);
}

/* ---- blocks */

bool hs_go_peek(struct hs_go_session *s, hs_addr *ret)
{
    s->slot = hs_bitmap_next(&s->heap.live, s->slot);
    if (s->slot >= s->heap.live.n_bits)
        return false;
    while (s->heap.spans[s->span_hint].first_slot + s->heap.spans[s->span_hint].n_elems <= s->slot)
        s->span_hint++;
    const struct hs_go_span *span = &s->heap.spans[s->span_hint];
    *ret = span->begin + (s->slot - span->first_slot) * span->elem_bytes;
    return true;
}

hs_status hs_go_next(struct hs_go_session *s, struct hs_runtime_block *ret, struct hs_error *err)
{
    struct hs_go_block block = {.span = &s->heap.spans[s->span_hint], .slot = s->slot};

    block.begin = block.span->begin + (s->slot - block.span->first_slot) * block.span->elem_bytes;
    struct hs_block_record record = {.address = block.begin,
                                     .words = block.span->elem_bytes / HS_WORD_BYTES,
                                     .room = HS_NO_ROOM};
    /* Beside memory of C, which is lost when nothing leads there, the collector has these. */
    if (s->dump->n_listing > 1 && !hs_bitmap_get(&s->reached, block.slot))
        record.state = HS_BLOCK_UNSURE;
    const struct hs_go_count *count =
        hs_go_count_of(&s->typing, hs_bitmap_rank(&s->heap.live, block.slot));
    if (count != NULL) {
        record.is_counted = true;
        record.entries = count->entries;
        record.room = count->room;
    }
    s->n_edges = 0;
    HS_TRY(block_type(s, &block, &record.type, err));
    HS_TRY(block.span->is_stack ? add_stack(s, &block, err) : add_pointers(s, &block, err));
    *ret = (struct hs_runtime_block){.record = record, .edges = s->edges, .n_edges = s->n_edges};
    if (!block.span->is_stack && (block.span->spanclass & 1) == 0) {
        ret->foreign = hs_image_bytes(&s->dump->image, block.begin, block.span->elem_bytes);
        ret->n_foreign_words = ret->foreign == NULL ? 0 : record.words;
    }
    s->slot++;
    return HS_OK;
}
