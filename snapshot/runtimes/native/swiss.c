#include "swiss.h"

#include "base/checked.h"

enum { SWISS_GROUP = 16, SWISS_LEAST = 4, SWISS_DELETED = 0x80, SWISS_EMPTY = 0xff };
enum { FLAT_END = 0xff, FLAT_EMPTY = 0x80, FLAT_DELETED = 0xfe, FLAT_ALIGNED = 16 };
#define FLAT_MOST_BYTES (UINT64_C(1) << 28)

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
    *ret = (struct hs_swiss_table){.control = block->bytes + n * element_bytes,
                                   .n_buckets = n,
                                   .n_bytes = n * element_bytes,
                                   .element_bytes = element_bytes};
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

/* Returns how many buckets have their bytes, the end and the first bytes again before `first_at`,
 * where as much is left as an alignment may take; 0: none. */
static uint64_t flat_buckets(const struct hs_heap_block *block, uint64_t first_at)
{
    for (uint64_t n = 1; n + SWISS_GROUP <= first_at; n = 2 * n + 1)
        if (first_at - (n + SWISS_GROUP) < FLAT_ALIGNED && block->bytes[n] == FLAT_END)
            return n;
    return 0;
}

bool hs_flat_table_of(const struct hs_heap_block *block, uint64_t element_bytes, uint64_t first_at,
                      struct hs_swiss_table *ret)
{
    uint64_t n_bytes;

    if (block->bytes == NULL || element_bytes == 0 || first_at > FLAT_MOST_BYTES ||
        first_at >= block->n_bytes)
        return false;
    uint64_t n = flat_buckets(block, first_at);
    if (n == 0 || !hs_mul_fits(n, element_bytes, &n_bytes) || n_bytes > block->n_bytes - first_at)
        return false;
    *ret = (struct hs_swiss_table){.control = block->bytes,
                                   .n_buckets = n,
                                   .n_bytes = n_bytes,
                                   .element_bytes = element_bytes,
                                   .first_at = first_at,
                                   .is_forward = true};
    return true;
}

bool hs_flat_table_at(const struct hs_heap_block *block, uint64_t element_bytes, uint64_t first_at,
                      struct hs_swiss_table *ret)
{
    struct hs_swiss_table table;

    if (!hs_flat_table_of(block, element_bytes, first_at, &table))
        return false;
    const uint8_t *control = table.control, *again = control + table.n_buckets + 1;
    for (uint64_t i = 0; i < table.n_buckets; i++)
        if ((i < SWISS_GROUP - 1 && again[i] != control[i]) ||
            (control[i] > FLAT_EMPTY && control[i] != FLAT_DELETED))
            return false;
    *ret = table;
    return true;
}
