#include "swiss.h"

#include "base/checked.h"

enum { SWISS_GROUP = 16, SWISS_LEAST = 4, SWISS_DELETED = 0x80, SWISS_EMPTY = 0xff };

bool hs_swiss_table_of(const struct hs_heap_block *block, uint64_t element_bytes,
                       struct hs_swiss_table *ret)
{
    uint64_t n = 0, n_bytes, n_all;

    for (uint64_t more = SWISS_LEAST;
         hs_mul_fits(more, element_bytes, &n_bytes) && hs_add_fits(n_bytes, more, &n_all) &&
         hs_add_fits(n_all, SWISS_GROUP, &n_all) && n_all <= block->n_bytes;
         more *= 2)
        n = more;
    if (n == 0 || block->bytes == NULL)
        return false;
    *ret = (struct hs_swiss_table){block->bytes + n * element_bytes, n, n * element_bytes,
                                   element_bytes};
    return true;
}

bool hs_swiss_table_at(const struct hs_heap_block *block, uint64_t element_bytes, uint64_t offset,
                       struct hs_swiss_table *ret)
{
    uint64_t n = offset / element_bytes;
    const uint8_t *control = block->bytes + offset;

    if (n < SWISS_LEAST || (n & (n - 1)) != 0 || offset % element_bytes != 0 ||
        block->n_bytes - offset < SWISS_GROUP || n > block->n_bytes - offset - SWISS_GROUP)
        return false;
    const uint8_t *again = control + (n < SWISS_GROUP ? SWISS_GROUP : n);
    for (uint64_t i = 0; i < n; i++)
        if ((i < SWISS_GROUP && again[i] != control[i]) ||
            (control[i] > SWISS_DELETED && control[i] != SWISS_EMPTY))
            return false;
    return hs_swiss_table_of(block, element_bytes, ret) && ret->n_buckets == n;
}
