/* The choice of the record behind a pointer to a header with which several records begin
 * (hs_ctypes_is_header). Where some of them have no fixed size the size of a block tells nothing,
 * and blocks of one size are not of one type: each is what its own words leave and show, or keeps
 * the header's type. All are asked before any gets a type, so that it is all one in which order. */
#include "base/alloc.h"
#include "flow_private.h"

enum { WORD = 8 };
enum { OBJECTS_LEAST_LEADING = 2 }; /* pointers to starts of blocks, where none shows its record */

/* The records that a block of one size may be that begins with one header. */
struct candidates {
    hs_ctype header;
    uint64_t n_bytes;
    hs_ctype records[2 * HS_CTYPE_MAX_ENCLOSING];
    size_t n; /* 0: none, or too many */
};

static void candidates_of(const struct flow *f, hs_ctype header, uint64_t n_bytes,
                          struct candidates *ret)
{
    struct hs_ctypes *ctypes = f->native->ctypes;
    uint64_t least = n_bytes - HS_SLACK_BYTES + 1;

    *ret = (struct candidates){.header = header, .n_bytes = n_bytes};
    size_t n_open = hs_ctypes_open_heirs(ctypes, header, least - 1, ret->records);
    if (n_open < HS_CTYPE_MAX_ENCLOSING)
        ret->n =
            n_open + hs_ctypes_enclosing(ctypes, header, 0, least, n_bytes, ret->records + n_open);
}

/* Tells whether a word behind a record whose tail is text leads to the start of a block. */
static bool tail_denies(const struct flow *f, const struct hs_heap_block *block,
                        const struct hs_native_type *type)
{
    struct hs_heap_block found;
    uint64_t at = (type->n_bytes + WORD - 1) & ~(uint64_t)(WORD - 1);

    for (; type->is_open_text && at + WORD <= block->n_bytes; at += WORD)
        if (hs_flow_resolve(f->native, hs_load_u64(block->bytes + at), &found) == HS_POINTER_START)
            return true;
    return false;
}

/* Finds the one record that the block may be, if something speaks for it; 0: none. */
static hs_status record_of(struct flow *f, const struct candidates *may,
                           const struct hs_heap_block *block, uint64_t header_bytes, hs_ctype *ret,
                           struct hs_error *err)
{
    struct hs_native_types *types = &f->result->types;
    size_t n_possible = 0;

    *ret = 0;
    for (size_t i = 0; i < may->n && n_possible < 2; i++) {
        hs_ntype number;
        HS_TRY(hs_native_types_of_ctype(types, may->records[i], false, &number, err));
        const struct hs_native_type *type = number == 0 ? NULL : hs_native_type_of(types, number);
        if (type == NULL || type->n_bytes > block->n_bytes)
            continue;
        f->enclosing.n_looks += type->n_slots + block->n_bytes / WORD;
        const struct hs_agreement found =
            hs_native_agree(&f->enclosing.by, block, type, 0, header_bytes);
        if (found.disagrees || tail_denies(f, block, type))
            continue;
        n_possible++;
        *ret = found.n_shown != 0 || found.n_leading >= OBJECTS_LEAST_LEADING ? may->records[i] : 0;
    }
    if (n_possible != 1)
        *ret = 0;
    return HS_OK;
}

/* Notes the blocks whose record is found, in f->parts, which is empty when nothing flows. */
static hs_status note_all(struct flow *f, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    struct hs_heap_block block;
    struct candidates may = {0};

    while (hs_heap_map_next(&it, &block) && f->n_parts < HS_ENCLOSING_WAITING) {
        hs_ntype number = hs_flow_type(f->result, block.rank);
        hs_ctype record;
        if (number == 0 || (number & HS_FLOW_IS_TENTATIVE) != 0 || block.n_bytes < HS_SLACK_BYTES ||
            f->enclosing.n_looks >= f->enclosing.most_looks)
            continue;
        const struct hs_native_type *type = hs_native_type_of(&f->result->types, number);
        if (!type->is_header || type->is_array)
            continue;
        const uint64_t header_bytes = type->n_bytes;
        if (may.header != type->ctype || may.n_bytes != block.n_bytes)
            candidates_of(f, type->ctype, block.n_bytes, &may);
        HS_TRY(record_of(f, &may, &block, header_bytes, &record, err));
        if (record == 0)
            continue;
        HS_TRY(HS_GROW(&f->parts, &f->parts_capacity, f->n_parts + 1, err));
        f->parts[f->n_parts++] = (struct flow_part){block.rank, 0, record};
    }
    return HS_OK;
}

hs_status hs_flow_objects_(struct flow *f, bool *ret, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = &f->native->dump->heaps.map};
    bool has_header = false;

    *ret = false;
    for (size_t i = 0; i < f->result->types.n_types; i++)
        has_header |= f->result->types.types[i].is_header;
    if (has_header)
        HS_TRY(note_all(f, err));
    while (f->n_parts != 0) {
        const struct flow_part part = f->parts[--f->n_parts];
        struct hs_heap_block block;
        hs_ntype had = hs_flow_type(f->result, part.rank);
        hs_block_queue_seek(&it, part.rank, &block);
        HS_TRY(hs_flow_look_(f, &block, 0, part.type, err));
        *ret |= hs_flow_type(f->result, part.rank) != had;
    }
    return HS_OK;
}
