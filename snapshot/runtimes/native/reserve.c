#include "reserve.h"

#include <limits.h>

enum {
    RESERVES_MAX = 1 << 20,
    RESERVES_FEW = 64, /* of a small heap, each may have one */
    RESERVES_ONE_IN = 8,
    RESERVES_ENTRY_BYTES = 24,
    RESERVE_SLACK_BYTES = 16
};

static uint64_t reserves_most(uint64_t n_blocks)
{
    uint64_t n = n_blocks / RESERVES_ONE_IN + RESERVES_FEW;
    return n < RESERVES_MAX ? n : RESERVES_MAX;
}

uint64_t hs_native_reserves_bytes(uint64_t n_blocks)
{
    return n_blocks / CHAR_BIT + reserves_most(n_blocks) * RESERVES_ENTRY_BYTES;
}

void hs_native_reserves_fini(struct hs_native_reserves *reserves)
{
    hs_dict_fini(&reserves->used);
    hs_bitmap_fini(&reserves->whole);
    *reserves = (struct hs_native_reserves){0};
}

hs_status hs_native_reserves_say(struct hs_native_reserves *reserves, uint64_t rank,
                                 uint64_t n_bytes, uint64_t used_bytes, uint64_t element_bytes,
                                 struct hs_error *err)
{
    if (used_bytes > n_bytes)
        return HS_OK; /* it is not of this block */
    if (reserves->whole.n_bits == 0)
        HS_TRY(hs_bitmap_init(&reserves->whole, reserves->n_blocks, err));
    uint64_t n_spare = n_bytes - used_bytes;
    if (n_spare <= RESERVE_SLACK_BYTES || n_spare < element_bytes) { /* what an allocator adds */
        hs_bitmap_set(&reserves->whole, rank);
        return HS_OK;
    }
    const uint64_t *known = hs_dict_find(&reserves->used, rank);
    if (hs_bitmap_get(&reserves->whole, rank) || (known != NULL && *known >= used_bytes) ||
        (known == NULL && reserves->used.n >= reserves_most(reserves->n_blocks)))
        return HS_OK;
    return hs_dict_put(&reserves->used, rank, used_bytes, err);
}

uint64_t hs_native_reserves_used(const struct hs_native_reserves *reserves, uint64_t rank,
                                 uint64_t n_bytes)
{
    const uint64_t *known = reserves->used.n == 0 ? NULL : hs_dict_find(&reserves->used, rank);
    return known == NULL || hs_bitmap_get(&reserves->whole, rank) ? n_bytes : *known;
}
