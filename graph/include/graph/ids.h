/* An array of node numbers or positions in as few bytes as they need: 4, or 5 when there are 2^32 -
 * 1 of them and more. The all-ones value is "none". */
#ifndef HS_GRAPH_IDS_H
#define HS_GRAPH_IDS_H

#include <string.h>

#include "base/budget.h"
#include "base/load.h"

#define HS_IDS_NONE UINT64_MAX

struct hs_ids {
    uint8_t *bytes; /* owned pages; n * width and 8 more: n_bytes */
    uint64_t n;
    unsigned width;
    uint64_t n_bytes;
    struct hs_budget *budget; /* borrowed: what it was taken from */
};

/* Returns the bytes per number for numbers below `bound`. */
static inline unsigned hs_ids_width(uint64_t bound)
{
    return bound < UINT32_MAX ? 4 : 5;
}

/* Allocates n zeroed numbers, each below `bound`, reserved in the budget (NULL: no limit). HS_LIMIT
 * for bounds of 2^40 and more. */
hs_status hs_ids_init(uint64_t n, uint64_t bound, struct hs_budget *budget, const char *what,
                      struct hs_ids *ret, struct hs_error *err);
void hs_ids_fini(struct hs_ids *ids);
void hs_ids_fill_none(struct hs_ids *ids);

static inline uint64_t hs_ids_get(const struct hs_ids *ids, uint64_t at)
{
    if (ids->width == 4) {
        uint32_t value = hs_load_u32(ids->bytes + at * 4);
        return value == UINT32_MAX ? HS_IDS_NONE : value;
    }
    uint64_t value = hs_load_u64(ids->bytes + at * 5);
    value &= ((uint64_t)1 << 40) - 1;
    return value == ((uint64_t)1 << 40) - 1 ? HS_IDS_NONE : value;
}

static inline void hs_ids_set(struct hs_ids *ids, uint64_t at, uint64_t value)
{
    uint32_t low = (uint32_t)value;
    uint8_t *out = ids->bytes + at * ids->width;
    memcpy(out, &low, sizeof low); /* little-endian machines only */
    if (ids->width == 5)
        out[4] = (uint8_t)(value >> 32);
}

static inline void hs_ids_prefetch(const struct hs_ids *ids, uint64_t at)
{
    __builtin_prefetch(ids->bytes + at * ids->width);
}

#endif
