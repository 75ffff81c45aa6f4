#include "unions.h"

#include "base/alloc.h"
#include "roots.h"
#include "unions_private.h"

enum { UNIONS_MOST = 256, UNIONS_VARIABLES = 1 << 16, WORD_BITS = 64 };

void hs_unions_fini(struct hs_unions *unions)
{
    for (size_t i = 0; i < unions->n; i++)
        hs_free(unions->unions[i].tags);
    hs_free(unions->unions);
    hs_free(unions->variables);
    hs_table_fini(&unions->by_place);
    hs_bitmap_fini(&unions->surer);
    *unions = (struct hs_unions){0};
}

/* ---- which unions there are */

static size_t unions_find(const struct hs_unions *unions, hs_ctype record, uint64_t offset,
                          uint64_t *ret_hash)
{
    const struct hs_union *u = unions->unions;

    *ret_hash = hs_hash_pair(record, offset);
    return HS_TABLE_FIND(&unions->by_place, *ret_hash, i,
                         u[i].record == record && u[i].offset == offset);
}

struct hs_union *hs_unions_of_(const struct hs_native *native, const struct hs_cslot *slot)
{
    uint64_t offset, hash;
    hs_ctype record;

    if (!hs_ctypes_untold(native->ctypes, slot, &record, &offset))
        return NULL;
    size_t found = unions_find(&native->unions, record, offset, &hash);
    return found == HS_NO_NUMBER ? NULL : &native->unions.unions[found];
}

/* Finds the union that the slot is of, or adds it; *ret is its number from 1, 0 where there are too
 * many. */
hs_status hs_unions_get_(struct hs_native *native, const struct hs_cslot *slot, uint32_t *ret,
                         struct hs_error *err)
{
    struct hs_unions *unions = &native->unions;
    struct hs_ctag tags[HS_CTAGS_MOST];
    uint64_t hash;
    struct hs_union one = {0};

    *ret = 0;
    if (!hs_ctypes_untold(native->ctypes, slot, &one.record, &one.offset))
        return HS_OK;
    size_t found = unions_find(unions, one.record, one.offset, &hash);
    if (found != HS_NO_NUMBER) {
        *ret = (uint32_t)found + 1;
        return HS_OK;
    }
    if (unions->n == UNIONS_MOST)
        return HS_OK;
    HS_TRY(HS_GROW(&unions->unions, &unions->capacity, unions->n + 1, err));
    size_t n = hs_ctypes_tags(native->ctypes, one.record, one.offset, tags);
    HS_TRY(HS_ALLOC(&one.tags, n + 1, err));
    for (size_t i = 0; i < n; i++)
        one.tags[i].at = tags[i];
    one.n_tags = one.chosen = n + 1;
    unions->unions[unions->n++] = one;
    HS_TRY(hs_table_add(&unions->by_place, hash, unions->n - 1, err));
    *ret = (uint32_t)unions->n;
    return HS_OK;
}

hs_status hs_unions_note(struct hs_native *native, const struct hs_native_variable *variable,
                         const struct hs_cslot *slot, uint32_t *ret, struct hs_error *err)
{
    struct hs_unions *unions = &native->unions;
    size_t n = unions->n_variables;

    HS_TRY(hs_unions_get_(native, slot, ret, err));
    if (*ret == 0 || variable->is_alone || n == UNIONS_VARIABLES ||
        (n != 0 && unions->variables[n - 1].begin == variable->begin))
        return HS_OK;
    HS_TRY(HS_GROW(&unions->variables, &unions->variables_capacity, n + 1, err));
    unions->variables[unions->n_variables++] =
        (struct hs_union_variable){variable->begin, variable->type};
    return HS_OK;
}

/* ---- what was learnt of their values */

bool hs_union_read_(const struct hs_ctag *tag, hs_cvalue_read *read, void *context, uint64_t *ret)
{
    uint64_t number = 0;

    if (tag->n_bytes != 0 && !read(context, tag->at, tag->n_bytes, &number))
        return false;
    number >>= tag->shift;
    *ret = tag->n_bits < WORD_BITS ? number & ((UINT64_C(1) << tag->n_bits) - 1) : number;
    return true;
}

struct hs_union_value *hs_union_find_(struct hs_union_tag *tag, uint64_t value)
{
    for (size_t i = 0; i < tag->n_values; i++)
        if (tag->values[i].value == value)
            return &tag->values[i];
    return NULL;
}

struct hs_union_value *hs_union_value_(const struct hs_union *u, hs_cvalue_read *read,
                                       void *context)
{
    uint64_t value;

    if (u->chosen == u->n_tags || !hs_union_read_(&u->tags[u->chosen].at, read, context, &value))
        return NULL;
    return hs_union_find_(&u->tags[u->chosen], value);
}

bool hs_union_has_addresses_(const struct hs_union_value *value)
{
    return value->n_good >= HS_UNION_LEAST && value->n_bad <= value->n_good / HS_UNION_ONE_IN;
}

static bool value_has_others(const struct hs_union_value *value)
{
    return value->n_bad > value->n_good / HS_UNION_ONE_IN;
}

enum hs_union_verdict hs_union_judge_(const struct hs_union *u, hs_cvalue_read *read, void *context)
{
    const struct hs_union_value *own = hs_union_value_(u, read, context);
    uint64_t number;

    if (own == NULL)
        return HS_UNION_UNKNOWN;
    if (own->is_left || value_has_others(own))
        return HS_UNION_NOT;
    if (!hs_union_has_addresses_(own))
        return HS_UNION_UNKNOWN;
    for (size_t i = 0; i < u->n_tags; i++) {
        struct hs_union_tag *tag = &u->tags[i];
        if (!tag->is_eligible || !hs_union_read_(&tag->at, read, context, &number))
            continue;
        const struct hs_union_value *value = hs_union_find_(tag, number);
        if (value != NULL && value_has_others(value))
            return HS_UNION_NOT;
    }
    return HS_UNION_SURE;
}

bool hs_unions_owns_(const struct hs_native *native, const struct hs_union *u, hs_cvalue_read *read,
                     void *context, uint64_t target_rank)
{
    enum hs_union_verdict verdict =
        u == NULL ? HS_UNION_UNKNOWN : hs_union_judge_(u, read, context);

    return verdict == HS_UNION_SURE ||
           (verdict == HS_UNION_UNKNOWN && native->unions.surer.n_bits != 0 &&
            !hs_bitmap_get(&native->unions.surer, target_rank));
}

bool hs_unions_owns(const struct hs_native *native, const struct hs_cslot *slot,
                    const struct hs_value_bytes *place, uint64_t target_rank)
{
    struct hs_value_bytes at = *place;

    return native->unions.is_known && hs_unions_owns_(native, hs_unions_of_(native, slot),
                                                      hs_value_read_bytes, &at, target_rank);
}
