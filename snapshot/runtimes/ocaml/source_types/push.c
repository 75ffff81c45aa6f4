#include "push.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "bodies.h"
#include "joins.h"
#include "local_storage.h"
#include "process/dump_plan.h"
#include "shapes.h"

enum {
    STRUCTURED_TAGS = 246, /* what is below has fields of any values */
    AHEAD = 16,            /* blocks that are fetched while others are looked at */
    REGION_BITS = 24,      /* of an address: 16 MiB are followed together */
    STACK_BLOCKS = 1 << 16,
    UNIT_BYTES = 600,
    SPARSE_BYTES = 64 << 10,
    JOINS_ROOM = 1 << 12, /* more types than came, before a block's type takes 4 bytes */
};

/* A value whose type says what a field beside it is. */
struct witness {
    uint32_t family;
    hs_stype type;
    uint64_t value;
};

/* A block that a type leads to. */
struct visit {
    struct hs_block block;
    uint64_t rank;
    hs_stype type, front;
};

struct flow {
    struct hs_spush *push; /* borrowed, as the next five */
    struct hs_stables *tables;
    const struct hs_ocaml *rt;
    const struct hs_block_map *map;
    const struct hs_ocaml_roots *roots;
    const struct hs_ocaml_marks *marks;
    struct hs_sjoins joins;
    struct witness *witnesses; /* owned */
    size_t n_witnesses, witnesses_capacity;
    struct hs_table by_value;
    struct hs_dict exts;       /* from a constructor's block to the number of its table */
    struct hs_bitmap disputed; /* blocks with types that conflict; by rank */
    hs_addr *stack;            /* owned pages */
    size_t n_stack;
    struct hs_bitmap waiting, groups; /* bits of blocks; which words of these are not 0 */
    uint64_t n_waiting, cursor, region;
    unsigned region_bits;
    struct visit ahead[AHEAD];
    unsigned head, n_ahead;
    bool is_probable;          /* what flows now is only probable */
    struct hs_sshapes *shapes; /* while what flows is told by its shape; else NULL */
    struct hs_error *err;
};

void hs_spush_fini(struct hs_spush *push)
{
    if (push == NULL)
        return;
    if (push->column != NULL)
        hs_pages_free(push->column, push->n_blocks, push->width);
    hs_free(push->charged);
    hs_dict_fini(&push->functions);
    *push = (struct hs_spush){0};
}

static void column_set(struct hs_spush *push, uint64_t rank, hs_stype type)
{
    if (push->width == 2)
        ((uint16_t *)push->column)[rank] = (uint16_t)(type + 1);
    else
        ((uint32_t *)push->column)[rank] = type + 1;
}

/* ---- what waits */

static void flow_wait(struct flow *f, const struct hs_block *block)
{
    if (block->address >> f->region_bits == f->region && f->n_stack < STACK_BLOCKS) {
        f->stack[f->n_stack++] = block->address;
        return;
    }
    f->n_waiting += !hs_bitmap_get(&f->waiting, block->bit);
    hs_bitmap_set(&f->waiting, block->bit);
    hs_bitmap_set(&f->groups, block->bit / 64);
}

/* Returns the first waiting bit from `bit` on, or n_bits. */
static uint64_t waiting_next(const struct flow *f, uint64_t bit)
{
    if (bit >= f->waiting.n_bits)
        return f->waiting.n_bits;
    uint64_t word = bit / 64, bits = f->waiting.words[word] & (UINT64_MAX << (bit % 64));
    if (bits == 0) {
        word = hs_bitmap_next(&f->groups, word + 1);
        if (word >= f->groups.n_bits)
            return f->waiting.n_bits;
        bits = f->waiting.words[word];
    }
    return word * 64 + (uint64_t)__builtin_ctzll(bits);
}

static hs_addr waiting_address(const struct flow *f, uint64_t bit)
{
    const struct hs_spans *spans = &f->map->spans;
    const struct hs_span *span =
        &spans->spans[HS_FIRST_ABOVE(spans->spans, spans->n, first_bit, bit) - 1];

    return span->begin + (bit - span->first_bit) * HS_WORD;
}

/* Puts what waits of the next region on the stack, which is empty. */
static void flow_fill(struct flow *f)
{
    uint64_t n_bits = f->waiting.n_bits, bit = waiting_next(f, f->cursor);

    if (bit == n_bits)
        bit = waiting_next(f, 0);
    f->cursor = bit;
    f->region = waiting_address(f, bit) >> f->region_bits;
    for (; bit < n_bits && f->n_stack < STACK_BLOCKS / 2; bit = waiting_next(f, bit + 1)) {
        hs_addr address = waiting_address(f, bit);
        if (address >> f->region_bits != f->region)
            break;
        hs_bitmap_clear(&f->waiting, bit);
        if (f->waiting.words[bit / 64] == 0)
            hs_bitmap_clear(&f->groups, bit / 64);
        f->n_waiting--;
        f->stack[f->n_stack++] = address;
    }
    hs_addr first = f->stack[0], last = f->stack[f->n_stack - 1];
    if (f->rt->image->paged != NULL && (last + HS_WORD - first) / f->n_stack < SPARSE_BYTES)
        hs_paged_expect(f->rt->image->paged, hs_map_bytes(hs_map_span(f->map, first), first),
                        last + HS_WORD - first);
}

/* ---- a block that a type leads to */

/* Tells whether a block is in the heap and has fields of its own: what the shares are of. */
static bool is_counted(const struct hs_block *block, uint64_t header)
{
    return (block->span->area == HS_AREA_HEAP || block->span->area == HS_AREA_YOUNG) &&
           HS_HEADER_TAG(header) < STRUCTURED_TAGS && HS_HEADER_WOSIZE(header) != 0;
}

static void visit_first(struct flow *f, const struct visit *v, uint64_t header,
                        const struct hs_srow *row, hs_stype type)
{
    struct hs_spush_counts *counts = &f->push->counts;

    counts->n_fits++;
    if (is_counted(&v->block, header)) {
        counts->n_typed_blocks++;
        counts->n_probable_blocks += f->is_probable;
        counts->n_typed_words += HS_HEADER_WOSIZE(header) + 1;
    }
    column_set(f->push, v->rank, type);
    if (row->kind != HS_SROW_LEAF)
        flow_wait(f, &v->block);
}

static hs_status visit_again(struct flow *f, const struct visit *v, hs_stype had, hs_stype type)
{
    struct hs_spush_counts *counts = &f->push->counts;
    hs_stype joined;

    had = hs_stype_proper(f->tables, had);
    type = hs_stype_proper(f->tables, type);
    HS_TRY(hs_sjoin(&f->joins, had, type, &joined, f->err));
    if (joined == had) {
        counts->n_agreements++;
        return HS_OK;
    }
    if (joined != HS_STYPE_NONE) {
        counts->n_joins++;
        column_set(f->push, v->rank, joined);
        flow_wait(f, &v->block);
        return HS_OK;
    }
    /* constants that are equal are one block, whatever their types are */
    if (f->is_probable) {
        counts->n_unlikely++;
        return HS_OK;
    }
    if (v->block.span->area == HS_AREA_STATIC || hs_bitmap_get(&f->disputed, v->rank))
        return HS_OK;
    hs_bitmap_set(&f->disputed, v->rank);
    counts->n_conflicts++;
    return HS_OK;
}

/* Visits a block by its shape; one that has a type keeps it, and one that does not fit gets none: a
 * shape says less than any source. The block is not read. */
static void visit_shape(struct flow *f, const struct visit *v)
{
    struct hs_spush_counts *counts = &f->push->counts;
    enum hs_sshape shape = v->type - f->shapes->first;

    if (hs_spush_type(f->push, v->rank) != HS_STYPE_NONE ||
        !hs_sshapes_fits(f->shapes, v->rank, shape))
        return;
    column_set(f->push, v->rank, v->type);
    if (v->block.span->area != HS_AREA_STATIC) {
        counts->n_shaped_blocks++;
        counts->n_shaped_words += hs_sshapes_words(shape, &v->block);
    }
    if (hs_sshapes_leads_on(f->shapes, v->rank, shape))
        flow_wait(f, &v->block);
}

static hs_status visit(struct flow *f, const struct visit *v)
{
    if (f->shapes != NULL) {
        visit_shape(f, v);
        return HS_OK;
    }
    hs_stype type = v->type, had = hs_spush_type(f->push, v->rank);
    uint64_t header = hs_block_head(&v->block);

    if (had == type) {
        f->push->counts.n_agreements++;
        return HS_OK;
    }
    if (HS_HEADER_WOSIZE(header) == 0)
        return HS_OK; /* the one empty array is of all types */
    const struct hs_srow *row =
        hs_stables_fit(f->tables, &type, HS_HEADER_TAG(header), HS_HEADER_WOSIZE(header));
    if (row == NULL && hs_stype_is_open(f->tables, type))
        return HS_OK;
    if (row == NULL && f->is_probable) {
        f->push->counts.n_unlikely++;
        return HS_OK;
    }
    if (row == NULL) {
        f->push->counts.n_misfits++;
        if (v->front < f->push->n_charged)
            f->push->charged[v->front]++;
        return HS_OK;
    }
    if (had == HS_STYPE_NONE)
        visit_first(f, v, header, row, type);
    else if (had == type)
        f->push->counts.n_agreements++;
    else
        return visit_again(f, v, had, type);
    return HS_OK;
}

static hs_status flow_visit_oldest(struct flow *f)
{
    const struct visit v = f->ahead[f->head];

    f->head = (f->head + 1) % AHEAD;
    f->n_ahead--;
    return visit(f, &v);
}

/* Fetches the block of a value of a type, which is looked at a little later. */
static hs_status flow_value(struct flow *f, uint64_t value, hs_stype type, hs_stype front)
{
    struct visit v = {.type = type, .front = front};

    if ((value & 1) != 0 || hs_stype_is_open(f->tables, type) ||
        !hs_map_resolve(f->map, value, &v.block) || !hs_bitmap_get(&f->map->starts, v.block.bit))
        return HS_OK;
    if (f->n_ahead == AHEAD)
        HS_TRY(flow_visit_oldest(f));
    v.rank = hs_bitmap_rank(&f->map->starts, v.block.bit);
    __builtin_prefetch(hs_map_bytes(v.block.span, v.block.address) - HS_WORD);
    __builtin_prefetch((const char *)f->push->column + v.rank * f->push->width);
    f->ahead[(f->head + f->n_ahead++) % AHEAD] = v;
    return HS_OK;
}

/* ---- witnesses */

static uint32_t witness_find(const struct flow *f, uint32_t family, uint64_t value)
{
    return HS_TABLE_FIND(&f->by_value, hs_hash_pair(family, value), i,
                         f->witnesses[i].family == family && f->witnesses[i].value == value);
}

/* Adds a witness. A value that stands for two types stands for none. */
static hs_status witness_add(struct flow *f, uint32_t family, uint64_t value, hs_stype type)
{
    uint32_t at = witness_find(f, family, value);

    if (at != HS_NO_NUMBER) {
        if (f->witnesses[at].type != type)
            f->witnesses[at].type = HS_STYPE_NONE;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&f->witnesses, &f->witnesses_capacity, f->n_witnesses + 1, f->err));
    HS_TRY(hs_table_add(&f->by_value, hs_hash_pair(family, value), f->n_witnesses, f->err));
    f->witnesses[f->n_witnesses++] =
        (struct witness){.family = family, .type = type, .value = value};
    return HS_OK;
}

/* Reads the value of a field of a unit's block. */
static bool unit_value(const struct flow *f, hs_str unit, uint32_t slot, uint64_t *ret)
{
    char name[UNIT_BYTES];
    struct hs_live_symbol symbol;
    uint64_t header;

    int n = snprintf(name, sizeof name, "caml%s", hs_strtab_get(&f->tables->strings, unit));
    return n > 0 && (size_t)n < sizeof name && hs_objects_find(f->rt->objects, name, &symbol) &&
           hs_image_u64(f->rt->image, symbol.address - HS_WORD, &header) &&
           slot < HS_HEADER_WOSIZE(header) &&
           hs_image_u64(f->rt->image, symbol.address + (uint64_t)slot * HS_WORD, ret);
}

static hs_status witness_captured(struct flow *f, const struct hs_sknown *known, uint64_t value)
{
    struct hs_block block;
    uint64_t from, end;

    if ((value & 1) != 0 || !hs_map_resolve(f->map, value, &block) ||
        !hs_bitmap_get(&f->map->starts, block.bit))
        return HS_OK;
    uint64_t header = hs_block_head(&block);
    if (HS_HEADER_TAG(header) != HS_TAG_CLOSURE)
        return HS_OK;
    const uint8_t *fields = hs_map_bytes(block.span, block.address);
    hs_block_fields(&block, header, &from, &end);
    for (uint64_t i = from; i < end; i++)
        HS_TRY(witness_add(f, known->family, hs_load_u64(fields + i * HS_WORD), known->type));
    return HS_OK;
}

static hs_status flow_gather_witnesses(struct flow *f)
{
    for (size_t i = 0; i < f->tables->n_known; i++) {
        const struct hs_sknown *known = &f->tables->known[i];
        uint64_t value;
        if (!unit_value(f, known->unit, known->slot, &value))
            continue;
        if (known->is_captured)
            HS_TRY(witness_captured(f, known, value));
        else
            HS_TRY(witness_add(f, known->family, value, known->type));
    }
    return HS_OK;
}

static hs_status flow_gather_exts(struct flow *f)
{
    for (size_t i = 0; i < f->tables->n_exts; i++) {
        const struct hs_sext *ext = &f->tables->exts[i];
        uint64_t value;
        if (unit_value(f, ext->unit, ext->slot, &value) && (value & 1) == 0 &&
            hs_dict_find(&f->exts, value) == NULL)
            HS_TRY(hs_dict_put(&f->exts, value, i, f->err));
    }
    return HS_OK;
}

/* ---- the fields of a block that has a type */

static hs_stype witnessed(const struct flow *f, const struct hs_srow *row, uint64_t field,
                          const uint8_t *fields, uint64_t n_fields)
{
    for (uint32_t i = 0; i < row->witnesses.n; i++) {
        const struct hs_switness *w = &f->tables->witnesses[row->witnesses.first + i];
        if (w->payload != field || w->field >= n_fields)
            continue;
        uint32_t at =
            witness_find(f, w->family, hs_load_u64(fields + (uint64_t)w->field * HS_WORD));
        return at == HS_NO_NUMBER ? HS_STYPE_NONE : f->witnesses[at].type;
    }
    return HS_STYPE_NONE;
}

/* Lets types flow from the fields of a block. Tables may grow meanwhile, so nothing of them is
 * held. */
static hs_status flow_fields(struct flow *f, const struct hs_srow *row, const uint8_t *fields,
                             uint64_t n, hs_stype front)
{
    for (uint64_t i = 0; i < n; i++) {
        hs_stype type = HS_STYPE_NONE;
        if (row->kind == HS_SROW_ALL)
            type = row->children.n == 0 ? HS_STYPE_NONE
                                        : f->tables->children[row->children.first].type;
        else if (i < row->children.n)
            type = f->tables->children[row->children.first + i].type;
        if (row->witnesses.n != 0 && hs_stype_is_open(f->tables, type))
            type = witnessed(f, row, i, fields, n);
        if (!hs_stype_is_open(f->tables, type))
            HS_TRY(flow_value(f, hs_load_u64(fields + i * HS_WORD), type, front));
    }
    return HS_OK;
}

/* Lets types flow from a block of an extensible type: field 0 leads to the block of the
 * constructor, whose fields follow. */
static hs_status flow_ext(struct flow *f, const uint8_t *fields, uint64_t n, hs_stype front)
{
    const uint64_t *at = n == 0 ? NULL : hs_dict_find(&f->exts, hs_load_u64(fields));

    if (at == NULL)
        return HS_OK;
    const struct hs_spart part = f->tables->exts[*at].children;
    for (uint64_t i = 1; i < n && i <= part.n; i++)
        HS_TRY(flow_value(f, hs_load_u64(fields + i * HS_WORD),
                          f->tables->children[part.first + i - 1].type, front));
    return HS_OK;
}

/* Lets the type flow from a polymorphic variant: field 0 is its hash. */
static hs_status flow_hash(struct flow *f, const struct hs_srow *row, const uint8_t *fields,
                           uint64_t n, hs_stype front)
{
    if (n < 2)
        return HS_OK;
    hs_stype type = hs_stables_case(f->tables, row, (int64_t)hs_load_u64(fields) >> 1);
    return flow_value(f, hs_load_u64(fields + HS_WORD), type, front);
}

/* Lets types flow from a domain's local storage, whose empty places hold a value of their own. */
static hs_status flow_storage(struct flow *f, const struct hs_srow *row, const uint8_t *fields,
                              uint64_t n, hs_stype front)
{
    for (uint64_t i = 0; i < n && i < row->children.n; i++) {
        uint64_t value = hs_load_u64(fields + i * HS_WORD);
        if (!hs_slocal_is_empty(f->map, value))
            HS_TRY(flow_value(f, value, f->tables->children[row->children.first + i].type, front));
    }
    return HS_OK;
}

static hs_status flow_block(struct flow *f, hs_addr address)
{
    struct hs_block block = {.span = hs_map_span(f->map, address), .address = address};
    uint64_t header = hs_block_head(&block), from, end;

    block.bit = hs_map_bit(block.span, address);
    hs_stype type = hs_spush_type(f->push, hs_bitmap_rank(&f->map->starts, block.bit));
    if (type == HS_STYPE_NONE)
        return HS_OK;
    const struct hs_srow *found =
        hs_stables_row(f->tables, type, HS_HEADER_TAG(header), HS_HEADER_WOSIZE(header));
    hs_block_fields(&block, header, &from, &end);
    if (found == NULL || from != 0)
        return HS_OK;
    const struct hs_srow row = *found;
    const uint8_t *fields = hs_map_bytes(block.span, address);
    if (type == f->push->storage_type)
        return flow_storage(f, &row, fields, end, type);
    switch (row.kind) {
    case HS_SROW_FIELDS:
    case HS_SROW_ALL:
        return flow_fields(f, &row, fields, end, type);
    case HS_SROW_EXT:
        return flow_ext(f, fields, end, type);
    case HS_SROW_HASH:
        return flow_hash(f, &row, fields, end, type);
    default:
        return HS_OK;
    }
}

static hs_status flow_drain(struct flow *f)
{
    for (;;) {
        if (f->n_stack == 0 && f->n_ahead != 0)
            HS_TRY(flow_visit_oldest(f));
        else if (f->n_stack != 0)
            HS_TRY(flow_block(f, f->stack[--f->n_stack]));
        else if (f->n_waiting != 0)
            flow_fill(f);
        else
            return HS_OK;
    }
}

/* ---- the whole */

static hs_status flow_roots(struct flow *f)
{
    const struct hs_roots *roots = &f->roots->roots;

    for (size_t i = 0; i < roots->n_leaves; i++) {
        const struct hs_root_leaf *leaf = &roots->leaves[i];
        const char *symbol = hs_strtab_get(f->rt->strings, leaf->root.symbol);
        if (hs_slocal_is_root(f->rt, &leaf->root))
            HS_TRY(flow_value(f, leaf->target, f->push->storage_type, HS_STYPE_NONE));
        if ((leaf->root.kind != HS_ROOT_GLOBAL && leaf->root.kind != HS_ROOT_DYNAMIC_GLOBAL) ||
            leaf->root.field == HS_NO_FIELD || leaf->root.weak || strncmp(symbol, "caml", 4) != 0)
            continue;
        hs_stype type = hs_stables_root(f->tables, symbol + strlen("caml"), leaf->root.field);
        if (type != HS_STYPE_NONE)
            HS_TRY(flow_value(f, leaf->target, type, type));
    }
    return HS_OK;
}

/* Tells whether what a closure captured can be of these types. The compiler may have captured
 * others than the source says, as many as those. */
static bool closure_fits(const struct flow *f, const uint8_t *captured, struct hs_spart part)
{
    for (uint32_t i = 0; i < part.n; i++) {
        hs_stype type = f->tables->children[part.first + i].type;
        uint64_t value = hs_load_u64(captured + (uint64_t)i * HS_WORD);
        struct hs_block block;
        if (hs_stype_is_open(f->tables, type) || (value & 1) != 0 ||
            !hs_map_resolve(f->map, value, &block) || !hs_bitmap_get(&f->map->starts, block.bit))
            continue;
        uint64_t header = hs_block_head(&block);
        if (HS_HEADER_WOSIZE(header) != 0 &&
            hs_stables_fit(f->tables, &type, HS_HEADER_TAG(header), HS_HEADER_WOSIZE(header)) ==
                NULL &&
            !hs_stype_is_open(f->tables, type))
            return false;
    }
    return true;
}

/* Calls `fn` for each reached block of the heap and of one area `beside` it, in address order. */
static hs_status flow_each_reached(struct flow *f, enum hs_area beside,
                                   hs_status (*fn)(struct flow *, const struct hs_block *))
{
    const struct hs_bitmap *reached = &f->marks->reached;

    for (size_t i = 0; i < f->map->spans.n; i++) {
        const struct hs_span *span = &f->map->spans.spans[i];
        uint64_t end = span->first_bit + (span->end - span->begin) / HS_WORD;
        if (span->area != HS_AREA_HEAP && span->area != HS_AREA_YOUNG && span->area != beside)
            continue;
        for (uint64_t bit = hs_bitmap_next(reached, span->first_bit); bit < end;
             bit = hs_bitmap_next(reached, bit + 1)) {
            const struct hs_block block = {.span = span,
                                           .address =
                                               span->begin + (bit - span->first_bit) * HS_WORD,
                                           .bit = bit};
            HS_TRY(fn(f, &block));
        }
    }
    return HS_OK;
}

/* Lets types flow from the variables that a closure captured, when it has as many as its function,
 * and they fit: where those of one do not, nothing more is said of the function. */
static hs_status flow_closure(struct flow *f, const struct hs_block *block)
{
    uint64_t header = hs_block_head(block), from, end;

    if (HS_HEADER_TAG(header) != HS_TAG_CLOSURE || HS_HEADER_WOSIZE(header) < 2)
        return HS_OK;
    const uint8_t *fields = hs_map_bytes(block->span, block->address);
    uint64_t *at =
        hs_dict_find(&f->push->functions, hs_closure_code(fields, HS_HEADER_WOSIZE(header)));
    hs_block_fields(block, header, &from, &end);
    const struct hs_scaptured *captured =
        at == NULL ? NULL : hs_scaptured_of(f->tables, *at, end - from);
    if (captured == NULL)
        return HS_OK;
    const struct hs_spart part = captured->children;
    if (!closure_fits(f, fields + from * HS_WORD, part)) {
        *at = UINT64_MAX;
        return HS_OK;
    }
    for (uint32_t i = 0; i < part.n; i++)
        HS_TRY(flow_value(f, hs_load_u64(fields + (from + i) * HS_WORD),
                          f->tables->children[part.first + i].type, HS_STYPE_NONE));
    return HS_OK;
}

/* Lets types flow from what the closure in a module's variable captured, by that variable's type.
 */
static hs_status flow_held(struct flow *f, const struct hs_sheld *held)
{
    const struct hs_sheap heap = {f->rt, f->map, f->roots, f->marks};
    const struct hs_spart part = held->children;
    struct hs_block block;
    uint64_t value, from, end;

    if (!unit_value(f, held->holder, held->slot, &value) ||
        !hs_sbodies_holds(&heap, f->tables, held, value, &block))
        return HS_OK;
    hs_block_fields(&block, hs_block_head(&block), &from, &end);
    const uint8_t *captured = hs_map_bytes(block.span, block.address) + from * HS_WORD;
    if (part.n != end - from || !closure_fits(f, captured, part))
        return HS_OK;
    for (uint32_t i = 0; i < part.n; i++)
        HS_TRY(flow_value(f, hs_load_u64(captured + (uint64_t)i * HS_WORD),
                          f->tables->children[part.first + i].type, HS_STYPE_NONE));
    return HS_OK;
}

static hs_status flow_closures(struct flow *f)
{
    HS_TRY(hs_sbodies_functions(f->rt, f->marks, f->tables, &f->push->functions, f->err));
    if (f->push->functions.n == 0)
        return HS_OK;
    for (size_t i = 0; i < f->tables->n_held; i++)
        HS_TRY(flow_held(f, &f->tables->held[i]));
    HS_TRY(flow_drain(f));
    return flow_each_reached(f, HS_AREA_HEAP, flow_closure);
}

/* Lets types flow from slots of stacks; all are judged by what is known before any of them flows.
 */
static hs_status flow_slots(struct flow *f)
{
    struct hs_sprobable *slots = NULL;
    size_t n;
    const struct hs_sheap heap = {f->rt, f->map, f->roots, f->marks};
    hs_status status = hs_sbodies_slots(f->push, &heap, &slots, &n, f->err);

    f->is_probable = true;
    for (size_t i = 0; status == HS_OK && i < n; i++)
        status = flow_value(f, slots[i].block, slots[i].type, HS_STYPE_NONE);
    hs_free(slots);
    return status;
}

/* ---- shapes */

static hs_status flow_shape(struct flow *f, const struct hs_block *block)
{
    enum hs_sshape shape = hs_sshapes_look(f->shapes, block, hs_block_head(block));

    if (shape == HS_N_SSHAPES)
        return HS_OK;
    const struct visit v = {.block = *block,
                            .rank = hs_bitmap_rank(&f->map->starts, block->bit),
                            .type = f->shapes->first + shape,
                            .front = HS_STYPE_NONE};
    visit_shape(f, &v);
    return flow_block(f, block->address); /* while its memory is at hand */
}

static hs_status flow_shapes(struct flow *f)
{
    struct hs_sshapes shapes;
    hs_status status;

    HS_TRY(hs_sshapes_open(&shapes, f->push, f->map, f->err));
    f->shapes = &shapes;
    do {
        status = flow_each_reached(f, HS_AREA_STATIC, flow_shape);
        if (status == HS_OK)
            status = flow_drain(f);
    } while (status == HS_OK && ++shapes.pass < HS_SSHAPES_PASSES);
    f->push->counts.shapes_stopped = shapes.n_steps == 0;
    hs_sshapes_close(&shapes);
    f->shapes = NULL;
    return status;
}

static hs_status flow_prepare(struct flow *f)
{
    struct hs_spush *push = f->push;
    uint64_t n_bits = f->map->starts.n_bits;

    HS_TRY(hs_pages_alloc(push->n_blocks, push->width, &push->column, f->err));
    HS_TRY(HS_ALLOC(&push->charged, f->tables->n_types, f->err));
    push->n_charged = f->tables->n_types;
    HS_TRY(hs_bitmap_init(&f->waiting, n_bits, f->err));
    HS_TRY(hs_bitmap_init(&f->groups, n_bits / 64 + 1, f->err));
    HS_TRY(hs_bitmap_init(&f->disputed, push->n_blocks, f->err));
    HS_TRY(HS_PAGES_ALLOC(&f->stack, STACK_BLOCKS, f->err));
    f->region = UINT64_MAX;
    HS_TRY(flow_gather_witnesses(f));
    return flow_gather_exts(f);
}

static void flow_fini(struct flow *f)
{
    hs_sjoins_fini(&f->joins);
    hs_free(f->witnesses);
    hs_table_fini(&f->by_value);
    hs_dict_fini(&f->exts);
    hs_bitmap_fini(&f->disputed);
    hs_bitmap_fini(&f->waiting);
    hs_bitmap_fini(&f->groups);
    hs_pages_free(f->stack, STACK_BLOCKS, sizeof *f->stack);
}

static hs_status flow_run(struct flow *f)
{
    HS_TRY(flow_prepare(f));
    HS_TRY(flow_roots(f));
    HS_TRY(flow_drain(f));
    HS_TRY(flow_closures(f));
    HS_TRY(flow_drain(f));
    HS_TRY(flow_slots(f));
    HS_TRY(flow_drain(f));
    return f->push->has_shapes ? flow_shapes(f) : HS_OK;
}

hs_status hs_spush_run(struct hs_spush *push, const struct hs_ocaml *rt,
                       const struct hs_block_map *map, const struct hs_ocaml_roots *roots,
                       const struct hs_ocaml_marks *marks, struct hs_dump_plan *plan,
                       struct hs_error *err)
{
    struct flow f = {.push = push,
                     .tables = push->tables,
                     .rt = rt,
                     .map = map,
                     .roots = roots,
                     .marks = marks,
                     .region_bits = push->region_bits != 0 ? push->region_bits : REGION_BITS,
                     .err = err};

    push->n_blocks = map->n_blocks;
    push->width = push->tables->n_types + JOINS_ROOM < UINT16_MAX ? 2 : 4;
    f.joins.tables = push->tables;
    f.joins.most_types =
        push->width == 2 ? UINT16_MAX - 1 : push->tables->n_types + (size_t)HS_STYPES_MAX;
    uint64_t n_run_bytes = map->starts.n_bits / 8 + map->n_blocks / 8;
    uint64_t n_all_bytes = n_run_bytes + map->n_blocks * push->width + map->n_blocks;
    if (push->has_shapes && hs_dump_plan_room(plan) < n_all_bytes) {
        push->has_shapes = false; /* what the source tells is worth more */
        push->counts.shapes_stopped = true;
    }
    n_run_bytes += push->has_shapes ? map->n_blocks : 0;
    HS_TRY(hs_dump_plan_reserve(plan, n_run_bytes + map->n_blocks * push->width,
                                "the source types of blocks", err));
    hs_status status = flow_run(&f);
    flow_fini(&f);
    hs_dump_plan_release(plan, n_run_bytes);
    if (status != HS_OK) {
        hs_dump_plan_release(plan, push->n_blocks * push->width);
        hs_spush_fini(push);
    }
    return status;
}
