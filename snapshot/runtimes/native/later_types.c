/* Types of blocks of a snapshot that is there already: those that no memory has to confirm. */
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "later_private.h"
#include "native/later.h"

/* The most bytes that an allocator adds to what was asked for: 8 to a header, 15 to an alignment,
 * 16 that were too little for a block; or the distance of two size classes. */
enum { LATER_SLACK_BYTES = 24, LATER_CLASS_SHARE = 4 };

/* Tells whether a block is as large as one value, and as nothing that begins with such a value and
 * is larger. */
static bool is_one(struct hs_ctypes *ctypes, hs_ctype type, uint64_t value_bytes, uint64_t n_bytes)
{
    uint64_t slack = value_bytes / LATER_CLASS_SHARE;

    if (slack < LATER_SLACK_BYTES)
        slack = LATER_SLACK_BYTES;
    if (value_bytes == 0 || value_bytes > n_bytes || n_bytes - value_bytes > slack)
        return false;
    return n_bytes == value_bytes || (!hs_ctypes_has_heir(ctypes, type, value_bytes + 1, n_bytes) &&
                                      hs_ctypes_largest_heir(ctypes, type) <= value_bytes);
}

static hs_status block_of(struct hs_later *later, hs_ctype type, uint64_t n_bytes, uint32_t *ret,
                          struct hs_error *err)
{
    struct hs_ctypes *ctypes = later->native.ctypes;
    struct hs_ctype_facts facts;

    *ret = 0;
    hs_ctype_facts(ctypes, type, &facts);
    if (facts.kind != HS_CTYPE_RECORD || facts.is_declaration ||
        !is_one(ctypes, type, facts.n_bytes, n_bytes))
        return HS_OK;
    return hs_native_types_of_ctype(&later->types, type, false, ret, err);
}

hs_status hs_later_block(struct hs_later *later, uint32_t pointee, uint64_t n_bytes, uint32_t *ret,
                         struct hs_error *err)
{
    return block_of(later, pointee, n_bytes, ret, err);
}

hs_status hs_later_named(struct hs_later *later, const char *name, uint64_t n_bytes, uint32_t *ret,
                         struct hs_error *err)
{
    hs_ctype type = hs_ctypes_find(later->native.ctypes, 0, name);

    *ret = 0;
    return type == 0 ? HS_OK : block_of(later, type, n_bytes, ret, err);
}

uint32_t hs_later_pointee(struct hs_later *later, uint32_t type, uint64_t offset_bytes)
{
    const struct hs_native_type *t = hs_native_type_of(&later->types, type);
    size_t at = HS_FIRST_FROM(t->slots, t->n_slots, offset_bytes, offset_bytes);

    /* Leaves out alternatives and parts of arrays: which of them is in use only memory tells. */
    if (at == t->n_slots || t->slots[at].offset_bytes != offset_bytes ||
        t->slots[at].may_be_pointer_only || t->slots[at].n_choices != 0 || t->slots[at].is_untold ||
        t->slots[at].is_weak)
        return 0;
    return t->slots[at].pointee;
}

hs_status hs_later_types(struct hs_later *later, struct hs_type **ret_types, size_t *ret_n_types,
                         struct hs_member **ret_members, size_t *ret_n_members,
                         struct hs_error *err)
{
    hs_auto_free struct hs_type *types = NULL;

    HS_TRY(hs_native_types_list(&later->types, &types, err));
    HS_TRY(hs_native_types_members(&later->types, ret_members, ret_n_members, err));
    *ret_types = HS_STEAL(types);
    *ret_n_types = later->types.n_types;
    return HS_OK;
}
