#include <stdlib.h>

#include "apr/pools.h"
#include "base/alloc.h"
#include "base/load.h"
#include "carve.h"

enum { WORD = 8 };

bool hs_apr_spend(struct apr *apr)
{
    if (apr->effort == 0)
        return false;
    apr->effort--;
    return true;
}

/* ---- one node */

/* Reads the node at `at`; false when it cannot be one. Pages may have any power of two of bytes
 * from the system's on, but must be as many as the node says. */
bool hs_apr_node_at(const struct apr *apr, hs_addr at, struct apr_node *ret)
{
    const uint8_t *bytes =
        at % WORD == 0 ? hs_image_bytes(apr->process->image, at, APR_NODE_BYTES) : NULL;

    if (bytes == NULL)
        return false;
    *ret = (struct apr_node){.begin = at,
                             .first = at + APR_NODE_BYTES,
                             .used = hs_load_u64(bytes + APR_AT_FIRST_AVAIL),
                             .end = hs_load_u64(bytes + APR_AT_END)};
    uint64_t n_pages = (uint64_t)hs_load_u32(bytes + APR_AT_INDEX) + 1;
    if (ret->end <= at || (ret->end - at) % n_pages != 0)
        return false;
    uint64_t page_bytes = (ret->end - at) / n_pages;
    return page_bytes >= APR_LEAST_PAGE && (page_bytes & (page_bytes - 1)) == 0 &&
           hs_carve_is_one_piece(apr->process, at, ret->end);
}

static hs_addr word_at(const struct apr *apr, hs_addr address)
{
    uint64_t word = 0;
    (void)hs_image_u64(apr->process->image, address, &word);
    return word;
}

/* ---- those of a pool */

static bool gives_out(const struct apr_node *node)
{
    return node->first <= node->used && node->used <= node->end && node->used % WORD == 0;
}

static hs_status add_node(struct apr *apr, struct apr_pool *pool, const struct apr_node *node,
                          struct hs_error *err)
{
    HS_TRY(HS_GROW(&apr->nodes, &apr->nodes_capacity, apr->n_nodes + 1, err));
    apr->nodes[apr->n_nodes++] = *node;
    pool->n_nodes++;
    return HS_OK;
}

hs_status hs_apr_read_nodes(struct apr *apr, uint32_t number, struct hs_error *err)
{
    struct apr_pool *pool = &apr->pools[number];
    const hs_addr self = pool->address - APR_NODE_BYTES;
    hs_addr at = self, before;
    bool is_sound;

    pool->first_node = apr->n_nodes;
    do {
        struct apr_node node;
        is_sound = hs_apr_spend(apr) && hs_apr_node_at(apr, at, &node);
        if (!is_sound)
            break;
        if (at == self)
            node.first = pool->end;
        before = at;
        at = word_at(apr, before + APR_AT_NEXT);
        is_sound = gives_out(&node) && word_at(apr, at + APR_AT_REF) == before + APR_AT_NEXT;
        if (is_sound)
            HS_TRY(add_node(apr, pool, &node, err));
    } while (is_sound && at != self);
    if (is_sound)
        return HS_OK;
    apr->n_damaged++;
    apr->n_nodes = pool->first_node;
    pool->n_nodes = 0;
    return HS_OK;
}

/* ---- those that wait */

static int by_address(const void *left, const void *right)
{
    hs_addr a = *(const hs_addr *)left, b = *(const hs_addr *)right;
    return a < b ? -1 : a > b;
}

/* Reads a list without back links. One that has become a circle is found out by Brent's algorithm.
 */
static hs_status read_list(struct apr *apr, hs_addr at, struct hs_error *err)
{
    hs_addr mark = 0;
    struct apr_node node;

    for (uint64_t n = 1; at != 0; n++) {
        if (at == mark || !hs_apr_spend(apr) || !hs_apr_node_at(apr, at, &node)) {
            apr->n_damaged++;
            return HS_OK;
        }
        if ((n & (n - 1)) == 0)
            mark = at;
        HS_TRY(HS_GROW(&apr->free, &apr->free_capacity, apr->n_free + 1, err));
        apr->free[apr->n_free++] = (struct hs_extent){node.begin, node.end};
        at = word_at(apr, at + APR_AT_NEXT);
    }
    return HS_OK;
}

/* A list that turns out to be none is left out as a whole. */
static hs_status read_lists(struct apr *apr, hs_addr allocator, struct hs_error *err)
{
    for (unsigned i = 0; i < APR_FREE_LISTS; i++) {
        size_t n_free = apr->n_free;
        uint64_t n_damaged = apr->n_damaged;
        HS_TRY(read_list(apr, word_at(apr, allocator + APR_AT_FREE + (hs_addr)i * WORD), err));
        if (apr->n_damaged != n_damaged)
            apr->n_free = n_free;
    }
    return HS_OK;
}

hs_status hs_apr_read_free(struct apr *apr, struct hs_error *err)
{
    hs_auto_free hs_addr *allocators = NULL;

    HS_TRY(HS_ALLOC(&allocators, apr->n_pools, err));
    for (size_t i = 0; i < apr->n_pools; i++)
        allocators[i] = apr->pools[i].allocator;
    qsort(allocators, apr->n_pools, sizeof *allocators, by_address);
    for (size_t i = 0; i < apr->n_pools; i++)
        if (i == 0 || allocators[i] != allocators[i - 1])
            HS_TRY(read_lists(apr, allocators[i], err));
    return HS_OK;
}
