/* One pool of CPython's small objects. */
#include "pools.h"

/* The header, as far as it can be checked alone. */
struct pool_header {
    uint32_t n_live, arena_index, class_index, next_offset, max_next_offset;
    hs_addr free_list;
};

static struct pool_header pool_header(const uint8_t *bytes)
{
    struct pool_header header;

    memcpy(&header.n_live, bytes, 4);
    memcpy(&header.free_list, bytes + 8, 8);
    memcpy(&header.arena_index, bytes + 32, 4);
    memcpy(&header.class_index, bytes + 36, 4);
    memcpy(&header.next_offset, bytes + 40, 4);
    memcpy(&header.max_next_offset, bytes + 44, 4);
    return header;
}

/* Takes the free blocks out of pool->live; how many there are, UINT_MAX when the list leaves the
 * pool, meets itself or goes on for too long. */
static unsigned pool_follow(const uint8_t *bytes, hs_addr address, hs_addr free_list,
                            struct cpython_pool *pool)
{
    uint64_t n_bytes = (uint64_t)pool->n_carved * pool->block_bytes;
    hs_addr first = address + CPYTHON_HEADER_BYTES, at = free_list;
    unsigned n = 0;

    while (at != 0) {
        uint64_t offset = at - first;
        if (offset >= n_bytes || offset % pool->block_bytes != 0)
            return UINT32_MAX;
        uint64_t number = offset / pool->block_bytes;
        if ((pool->live[number / 64] >> (number % 64) & 1) == 0)
            return UINT32_MAX;
        pool->live[number / 64] &= ~(UINT64_C(1) << (number % 64));
        n++;
        memcpy(&at, bytes + CPYTHON_HEADER_BYTES + offset, sizeof at);
    }
    return n;
}

void hs_cpython_read_pool(const struct hs_image *image, hs_addr address, uint32_t pool_bytes,
                          struct cpython_pool *ret)
{
    const uint8_t *bytes = hs_image_bytes(image, address, pool_bytes);

    ret->form = CPYTHON_NO_POOL;
    if (bytes == NULL)
        return;
    struct pool_header header = pool_header(bytes);
    if (header.class_index >= CPYTHON_N_CLASSES)
        return;
    uint32_t size = 16 * (header.class_index + 1);
    if (header.max_next_offset != pool_bytes - size || header.next_offset > pool_bytes ||
        header.next_offset < CPYTHON_HEADER_BYTES + size ||
        (header.next_offset - CPYTHON_HEADER_BYTES) % size != 0)
        return;
    ret->arena_index = header.arena_index;
    ret->block_bytes = size;
    ret->n_carved = (header.next_offset - CPYTHON_HEADER_BYTES) / size;
    if (header.n_live > ret->n_carved)
        return;
    for (unsigned i = 0; i * 64 < ret->n_carved; i++)
        ret->live[i] = ret->n_carved - i * 64 < 64 ? (UINT64_C(1) << (ret->n_carved - i * 64)) - 1
                                                   : UINT64_MAX;
    unsigned n_free = pool_follow(bytes, address, header.free_list, ret);
    bool fits = n_free == ret->n_carved - header.n_live;
    ret->form = !fits                ? CPYTHON_POOL_TORN
                : header.n_live == 0 ? CPYTHON_POOL_EMPTY
                                     : CPYTHON_POOL_USED;
    ret->n_live = 0;
    for (unsigned i = 0; i * 64 < ret->n_carved; i++)
        ret->n_live += (unsigned)__builtin_popcountll(ret->live[i]);
}
