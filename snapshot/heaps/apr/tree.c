#include <stdio.h>

#include "apr/pools.h"
#include "base/alloc.h"
#include "base/load.h"
#include "carve.h"
#include "data_words.h"

enum {
    WORD = 8,
    TAG_BYTES = 64,
    TEXT_BYTES = TAG_BYTES + 32,
};
#define MOST_POOLS ((size_t)1 << 24)

/* The pool at an address, if it is what stands in its node first, its parent is who leads to it,
 * and the link to it is where it says. So each is met once, whatever the words say. */
static bool pool_at(const struct apr *apr, hs_addr at, hs_addr parent, hs_addr ref,
                    struct apr_pool *ret)
{
    struct apr_node self;
    const uint8_t *bytes =
        at % WORD == 0 ? hs_image_bytes(apr->process->image, at, APR_POOL_LEAST) : NULL;

    if (bytes == NULL || hs_load_u64(bytes + APR_AT_PARENT) != parent ||
        hs_load_u64(bytes + APR_AT_POOL_REF) != ref ||
        hs_load_u64(bytes + APR_AT_SELF) != at - APR_NODE_BYTES)
        return false;
    *ret = (struct apr_pool){.address = at,
                             .end = hs_load_u64(bytes + APR_AT_SELF_FIRST),
                             .allocator = hs_load_u64(bytes + APR_AT_ALLOCATOR),
                             .parent = APR_NONE,
                             .first_child = APR_NONE,
                             .next_child = APR_NONE};
    return ret->end % WORD == 0 && ret->end - at >= APR_POOL_LEAST &&
           ret->end - at <= APR_POOL_MOST && ret->allocator % WORD == 0 &&
           hs_apr_node_at(apr, at - APR_NODE_BYTES, &self) && ret->end <= self.end;
}

/* ---- what it is called */

static hs_status set_tag(struct apr *apr, struct apr_pool *pool, struct hs_error *err)
{
    const struct hs_process_copy *process = apr->process;
    hs_addr at = 0;
    char tag[TAG_BYTES];

    (void)hs_image_u64(process->image, pool->address + APR_AT_TAG, &at);
    pool->is_tagged = at != 0 && hs_carve_constant_text(process, at, tag, sizeof tag);
    if (pool->is_tagged)
        return hs_strtab_add(process->findings->strings, tag, &pool->tag, err);
    if (pool->parent != APR_NONE)
        pool->tag = apr->pools[pool->parent].tag;
    return HS_OK;
}

/* One without a tag of its own is told by the nearest above it that has one. */
static hs_status name_pool(struct apr *apr, uint32_t number, struct hs_error *err)
{
    struct hs_strtab *strings = apr->process->findings->strings;
    struct apr_pool *pool = &apr->pools[number];
    char text[TEXT_BYTES], tag[TAG_BYTES];

    HS_TRY(set_tag(apr, pool, err));
    snprintf(tag, sizeof tag, "%s", hs_strtab_get(strings, pool->tag));
    bool is_below = !pool->is_tagged && tag[0] != '\0';
    snprintf(text, sizeof text, "apr_pool_t %s%s", is_below ? "below " : "",
             tag[0] == '\0' ? "(untagged)" : tag);
    HS_TRY(hs_strtab_add(strings, text, &pool->object_name, err));
    snprintf(text, sizeof text, "node %s %s", is_below ? "below" : "of",
             tag[0] == '\0' ? "apr_pool_t" : tag);
    return hs_strtab_add(strings, text, &pool->memory_name, err);
}

/* ---- reading */

static hs_status add_pool(struct apr *apr, const struct apr_pool *pool, struct hs_error *err)
{
    uint32_t number = (uint32_t)apr->n_pools;

    HS_TRY(HS_GROW(&apr->pools, &apr->pools_capacity, apr->n_pools + 1, err));
    apr->pools[apr->n_pools++] = *pool;
    HS_TRY(hs_apr_read_nodes(apr, number, err));
    return name_pool(apr, number, err);
}

/* One that was read, and where it hangs among those. */
static void join(struct apr *apr, uint32_t number)
{
    struct apr_pool *pool = &apr->pools[number];

    while (pool->parent != APR_NONE && apr->pools[pool->parent].n_nodes == 0)
        pool->parent = apr->pools[pool->parent].parent;
    if (pool->n_nodes == 0 || pool->parent == APR_NONE)
        return;
    pool->next_child = apr->pools[pool->parent].first_child;
    apr->pools[pool->parent].first_child = number;
}

static hs_status add_children(struct apr *apr, uint32_t parent, struct hs_error *err)
{
    const hs_addr address = apr->pools[parent].address;
    hs_addr ref = address + APR_AT_CHILD, at = 0;
    struct apr_pool pool;

    while (hs_image_u64(apr->process->image, ref, &at) && at != 0) {
        if (apr->n_pools == MOST_POOLS || !hs_apr_spend(apr) ||
            !pool_at(apr, at, address, ref, &pool)) {
            apr->n_damaged++;
            return HS_OK;
        }
        uint32_t number = (uint32_t)apr->n_pools;
        pool.parent = parent;
        HS_TRY(add_pool(apr, &pool, err));
        join(apr, number);
        ref = at + APR_AT_SIBLING;
    }
    return HS_OK;
}

static hs_status are_disjoint(const struct apr *apr, bool *ret, struct hs_error *err)
{
    hs_auto_free struct hs_extent *extents = NULL;
    size_t n = 0;

    HS_TRY(HS_ALLOC(&extents, apr->n_nodes + apr->n_free, err));
    for (size_t i = 0; i < apr->n_nodes; i++)
        extents[n++] = (struct hs_extent){apr->nodes[i].begin, apr->nodes[i].end};
    for (size_t i = 0; i < apr->n_free; i++)
        extents[n++] = apr->free[i];
    *ret = hs_carve_are_disjoint(extents, n);
    return HS_OK;
}

hs_status hs_apr_read_tree(struct apr *apr, const struct hs_object *object, struct hs_error *err)
{
    struct hs_data_words words = {.process = apr->process, .object = object};
    struct apr_pool first;
    hs_addr variable;
    uint64_t word;
    bool is_found = false, is_sound;

    while (!is_found && hs_data_words_next(&words, &variable, &word))
        is_found = word != 0 && pool_at(apr, word, 0, 0, &first);
    if (!is_found) /* not yet, or not any more */
        return HS_OK;
    apr->variable = variable;
    HS_TRY(add_pool(apr, &first, err));
    for (size_t i = 0; i < apr->n_pools; i++)
        HS_TRY(add_children(apr, (uint32_t)i, err));
    HS_TRY(hs_apr_read_free(apr, err));
    HS_TRY(are_disjoint(apr, &is_sound, err));
    apr->is_strange = !is_sound || apr->pools[0].n_nodes == 0;
    if (apr->is_strange)
        apr->n_pools = apr->n_nodes = apr->n_free = 0;
    return HS_OK;
}
