#include "variants.h"

#include <dwarf.h>
#include <stdlib.h>

#include "base/alloc.h"

static uint64_t variants_mask(const struct ctypes_variants *variants)
{
    return variants->n_bytes >= 8 ? UINT64_MAX : (UINT64_C(1) << 8 * variants->n_bytes) - 1;
}

void hs_ctypes_variants_begin_(const struct hs_ctypes *types, unsigned depth, uint64_t at,
                               uint64_t n_bytes, struct ctypes_variants *ret)
{
    bool is_number = n_bytes == 1 || n_bytes == 2 || n_bytes == 4 || n_bytes == 8;
    *ret = (struct ctypes_variants){.depth = depth,
                                    .at = at,
                                    .n_bytes = is_number && at <= INT64_MAX ? (uint8_t)n_bytes : 0,
                                    .first_when = (uint32_t)types->n_whens};
}

void hs_ctypes_variants_enter_(struct debug_info *info, const struct debug_entry *variant,
                               struct ctypes_variants *variants)
{
    variants->has_value = hs_entry_number_(info, variant, DW_AT_discr_value, &variants->value);
    if (hs_entry_has_(info, variant, DW_AT_discr_list))
        variants->n_bytes = 0; /* rustc writes none: nothing is told then */
}

void hs_ctypes_variants_added_(struct hs_ctypes *types, struct ctypes_variants *variants)
{
    uint64_t value = variants->value & variants_mask(variants);
    struct ctypes_when when = {(int64_t)variants->at, value, value, variants->n_bytes, WHEN_IS};
    if (variants->n_bytes == 0)
        return;
    if (!variants->has_value) {
        variants->default_member = (uint32_t)types->n_members;
        return;
    }
    uint32_t first = (uint32_t)types->n_whens;
    if (hs_ctypes_when_add_(types, &when)) {
        types->members[types->n_members - 1].first_when = first;
        types->members[types->n_members - 1].n_whens = 1;
    }
}

static int when_order(const void *a, const void *b)
{
    const struct ctypes_when *w = a, *v = b;
    return (w->low > v->low) - (w->low < v->low);
}

/* Numbers in a row become ranges; returns how many. */
static size_t variants_ranges(struct ctypes_when *taken, size_t n)
{
    size_t n_ranges = 0;
    qsort(taken, n, sizeof(*taken), when_order);
    for (size_t i = 0; i < n; i++) {
        if (n_ranges > 0 && taken[i].low - taken[n_ranges - 1].high <= 1)
            taken[n_ranges - 1].high = taken[i].high;
        else
            taken[n_ranges++] = taken[i];
    }
    return n_ranges;
}

/* The default is there for all numbers but those of the others, which mostly stand in a row. */
static void variants_default(struct hs_ctypes *types, const struct ctypes_variants *variants,
                             struct ctypes_when *taken, size_t n)
{
    struct ctypes_member *member = &types->members[variants->default_member - 1];
    uint32_t first = (uint32_t)types->n_whens;
    size_t n_ranges = variants_ranges(taken, n);
    if (n_ranges > CTYPES_MAX_CHAIN / 2)
        return;
    for (size_t i = 0; i < n_ranges; i++) {
        taken[i].kind = WHEN_IS_NOT;
        if (!hs_ctypes_when_add_(types, &taken[i]))
            return;
    }
    member->first_when = first;
    member->n_whens = (uint32_t)n_ranges;
}

void hs_ctypes_variants_end_(struct hs_ctypes *types, struct ctypes_variants *variants)
{
    struct hs_error err = HS_ERROR_INIT;
    struct ctypes_when *taken = NULL;
    struct ctypes_variants v = *variants;
    size_t n = types->n_whens - v.first_when;
    *variants = (struct ctypes_variants){0};
    if (v.default_member == 0 || n == 0 || v.n_bytes == 0)
        return;
    if (HS_ALLOC(&taken, n, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return;
    }
    for (size_t i = 0; i < n; i++)
        taken[i] = types->whens[v.first_when + i];
    variants_default(types, &v, taken, n);
    hs_free(taken);
}
