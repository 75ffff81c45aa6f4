/* The claims of pointers about blocks, held against the words of these. */
#include "flow_private.h"
#include "swiss.h"

enum { WORD = 8 };
/* The largest alignment of a type of which there is an array with its number before it. */
enum { NUMBERED_MOST_BYTES = 64 };

/* Finds the type that a pointer to `one` gives the block by its words: one value, an array or a
 * hash table. 0: they deny it. */
static hs_status look_words(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                            hs_ctype pointee, hs_ntype one, hs_ntype *ret, struct hs_error *err)
{
    struct hs_native_types *types = &f->result->types;
    const struct hs_native_type *type = hs_native_type_of(types, one);
    const struct hs_native_use use =
        hs_native_reserves_use(&f->result->reserves, block->rank, block->n_bytes);
    bool may_look = hs_fit_may_look(&f->fit, block);
    bool is_table = may_look && offset != 0 && hs_fits_swiss_table(&f->fit, block, type, offset);
    bool is_array =
        is_table || type->is_array || (may_look && hs_fits_array(&f->fit, block, type, use));

    *ret = 0;
    if (!is_array && (offset != 0 || !hs_fits_mostly(&f->fit, block, type)))
        return HS_OK;
    *ret = one;
    if (is_array && type->type.form == HS_FORM_SCALAR &&
        (offset != 0 || (pointee & HS_FLOW_MAY_BE_END) != 0))
        return hs_native_types_of_middle(types, type->ctype, ret, err);
    if (is_table)
        return hs_native_types_of_table(types, type->ctype, ret, err);
    return is_array ? hs_native_types_of_ctype(types, type->ctype, true, ret, err) : HS_OK;
}

hs_status hs_flow_look_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                        hs_ctype pointee, struct hs_error *err)
{
    hs_ntype one, many = 0;

    HS_TRY(hs_flow_judge_(f, block, offset, pointee, &one, err));
    if (one != 0)
        HS_TRY(look_words(f, block, offset, pointee, one, &many, err));
    if (many == 0 || !hs_flow_is_stronger_(f, block, many, hs_flow_type(f->result, block->rank)))
        return HS_OK;
    return hs_flow_give_(f, block, many, err);
}

/* Looks for an array of C++'s `new T[n]`, whose pointer leads to the elements, behind their number,
 * and gives the block that type, unless it has a stronger one. *ret: it looks like such. */
static hs_status look_numbered(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                               hs_ctype pointee, bool *ret, struct hs_error *err)
{
    struct hs_native_types *types = &f->result->types;
    hs_ntype one, many;

    *ret = false;
    if (offset < WORD || offset > NUMBERED_MOST_BYTES || (offset & (offset - 1)) != 0 ||
        !hs_flow_may_have_type_(block))
        return HS_OK;
    HS_TRY(hs_native_types_of_ctype(types, pointee, false, &one, err));
    const struct hs_native_type *type = one == 0 ? NULL : hs_native_type_of(types, one);
    if (type == NULL || !type->may_be_numbered || /* a number takes as much as T is aligned to */
        (offset != WORD && type->n_bytes % offset != 0) ||
        !hs_fits_numbered(&f->fit, block, type, offset))
        return HS_OK;
    HS_TRY(hs_native_types_of_numbered(types, pointee, offset, &many, err));
    *ret = many != 0;
    return many == 0 || !hs_flow_is_stronger_(f, block, many, hs_flow_type(f->result, block->rank))
               ? HS_OK
               : hs_flow_give_(f, block, many, err);
}

/* Looks for a hash table of abseil, to whose buckets, behind their bytes, the pointer leads, and
 * gives the block that type, unless it has a stronger one. *ret: it is such a table. */
static hs_status look_flat(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                           hs_ctype pointee, bool *ret, struct hs_error *err)
{
    struct hs_native_types *types = &f->result->types;
    struct hs_swiss_table table;
    hs_ntype one, many;

    *ret = false;
    if (offset % WORD != 0 || !hs_flow_may_have_type_(block) ||
        !hs_flat_table_of(block, 1, offset, &table)) /* which costs next to nothing */
        return HS_OK;
    HS_TRY(hs_native_types_of_ctype(types, pointee & ~HS_FLOW_MAY_BE_END, false, &one, err));
    const struct hs_native_type *type = one == 0 ? NULL : hs_native_type_of(types, one);
    if (type == NULL || !hs_fits_flat_table(&f->fit, block, type, offset))
        return HS_OK;
    HS_TRY(hs_native_types_of_flat(types, type->ctype, offset, &many, err));
    *ret = many != 0;
    return many == 0 || !hs_flow_is_stronger_(f, block, many, hs_flow_type(f->result, block->rank))
               ? HS_OK
               : hs_flow_give_(f, block, many, err);
}

hs_status hs_flow_look_within_(struct flow *f, const struct hs_heap_block *block, uint64_t offset,
                               hs_ctype pointee, struct hs_error *err)
{
    bool is_told = false;

    if (offset != 0)
        HS_TRY(look_numbered(f, block, offset, pointee, &is_told, err));
    if (offset != 0 && !is_told)
        HS_TRY(look_flat(f, block, offset, pointee, &is_told, err));
    return is_told ? HS_OK : hs_flow_look_(f, block, offset, pointee, err);
}

struct hs_native_use hs_flow_tail_use_(const struct flow *f, const struct hs_heap_block *block,
                                       hs_ntype record, uint64_t element_bytes)
{
    struct hs_native_use use = hs_native_tail_use(
        &hs_native_type_of(&f->result->types, record)->tail, block, element_bytes);
    const struct hs_native_use said =
        hs_native_reserves_use(&f->result->reserves, block->rank, block->n_bytes);

    if (said.from > use.from)
        use.from += (said.from - use.from + element_bytes - 1) / element_bytes * element_bytes;
    if (said.end < use.end)
        use.end = said.end;
    return use;
}
