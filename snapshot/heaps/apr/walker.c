/* Pools of the Apache Portable Runtime: each owns its nodes, and is owned by its parent. */
#include "apr/pools.h"
#include "base/alloc.h"
#include "carve.h"

/* The nodes and pools that may be looked at, beside two for each resident page: memory that is
 * swapped out is not resident. */
#define LEAST_EFFORT ((uint64_t)1 << 18)

static void apr_close(void *state)
{
    struct apr *apr = state;

    if (apr == NULL)
        return;
    hs_free(apr->pools);
    hs_free(apr->nodes);
    hs_free(apr->free);
    hs_free(apr);
}

static hs_status apr_open(const struct hs_process_copy *process, void **ret_state,
                          struct hs_error *err)
{
    struct hs_live_symbol symbol;
    struct apr *apr;

    if (process->objects == NULL ||
        !hs_objects_find(process->objects, "apr_pool_create_ex", &symbol))
        return HS_OK;
    HS_TRY(HS_ALLOC(&apr, 1, err));
    /* Bounds the effort: no node is smaller than a page, and no pool without a node. */
    uint64_t n_pages = hs_image_resident_bytes(process->image, 0, UINT64_MAX) / APR_LEAST_PAGE;
    *apr = (struct apr){.process = process, .effort = LEAST_EFFORT + 2 * n_pages};
    hs_status status = hs_apr_read_tree(apr, symbol.object, err);
    if (apr->is_strange)
        process->findings->n_torn += apr->n_damaged;
    if (status == HS_OK && apr->is_strange)
        status = hs_findings_note(process->findings, true, err,
                                  "apr: the tree of pools is damaged, or was caught in a change; "
                                  "their nodes are nobody's");
    if (status == HS_OK && apr->n_pools != 0)
        *ret_state = apr;
    else
        apr_close(apr);
    return status;
}

static const char *apr_version(const void *state)
{
    (void)state;
    return "1";
}

/* ---- spans */

static struct hs_heap_span object_span(const struct apr *apr, uint32_t number)
{
    const struct apr_pool *pool = &apr->pools[number];

    return (struct hs_heap_span){.begin = pool->address,
                                 .end = pool->end,
                                 .form = HS_SPAN_SINGLE,
                                 .tag = hs_apr_tag(number, true),
                                 .owner = HS_OWNER_apr};
}

/* Returns the span of a node: all that it has given out is one block, as nothing says where in it
 * anything begins. */
static struct hs_heap_span node_span(uint32_t number, const struct apr_node *node)
{
    return (struct hs_heap_span){.begin = node->first,
                                 .end = node->used,
                                 .form = HS_SPAN_SINGLE,
                                 .tag = hs_apr_tag(number, false),
                                 .owner = HS_OWNER_apr};
}

static hs_status claim(struct hs_ledger *ledger, hs_addr begin, hs_addr end, struct hs_error *err)
{
    return hs_ledger_claim(ledger, APR_OWNER, HS_MEMORY_INTERNAL, begin, end, 0, err);
}

static hs_status add_pool(const struct apr *apr, uint32_t number, struct hs_heap_map *map,
                          struct hs_ledger *ledger, struct hs_error *err)
{
    const struct apr_pool *pool = &apr->pools[number];
    struct hs_heap_span span = object_span(apr, number);

    HS_TRY(hs_heap_map_add(map, &span, err));
    for (size_t i = 0; i < pool->n_nodes; i++) {
        const struct apr_node *node = &apr->nodes[pool->first_node + i];
        span = node_span(number, node);
        if (span.begin < span.end)
            HS_TRY(hs_heap_map_add(map, &span, err));
        HS_TRY(claim(ledger, node->begin, node->end, err));
    }
    return HS_OK;
}

static hs_status apr_add_spans(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                               struct hs_error *err)
{
    const struct apr *apr = state;

    for (size_t i = 0; i < apr->n_pools; i++)
        if (apr->pools[i].n_nodes != 0)
            HS_TRY(add_pool(apr, (uint32_t)i, map, ledger, err));
    for (size_t i = 0; i < apr->n_free; i++)
        HS_TRY(claim(ledger, apr->free[i].begin, apr->free[i].end, err));
    return HS_OK;
}

/* ---- marking */

struct marking {
    struct apr *apr;
    struct hs_heap_map *map;
    struct hs_ledger *ledger;
    uint64_t n_refused;
};

static hs_status move(struct marking *m, enum hs_memory_state to, hs_addr begin, hs_addr end,
                      struct hs_error *err)
{
    return hs_ledger_move(m->ledger, APR_OWNER, HS_MEMORY_INTERNAL, to, begin, end, 0, err);
}

static hs_status take_over(struct marking *m, hs_addr begin, hs_addr end, struct hs_error *err)
{
    return hs_carve_take_over(m->map, m->ledger, m->apr->process->findings->strings, HS_OWNER_apr,
                              begin, end, err);
}

static hs_status mark_span(struct marking *m, const struct hs_heap_span *span, struct hs_error *err)
{
    if (span->begin >= span->end)
        return HS_OK;
    if (!hs_carve_is_placed(m->map, span)) {
        m->n_refused++;
        return HS_OK;
    }
    (void)hs_heap_map_set(m->map, span->begin);
    return move(m, HS_MEMORY_LIVE, span->begin, span->end, err);
}

static hs_status mark_pool(struct marking *m, uint32_t number, struct hs_error *err)
{
    const struct apr_pool *pool = &m->apr->pools[number];
    struct hs_heap_span span = object_span(m->apr, number);

    for (size_t i = 0; i < pool->n_nodes; i++) {
        const struct apr_node *node = &m->apr->nodes[pool->first_node + i];
        HS_TRY(take_over(m, node->begin, node->end, err));
        HS_TRY(move(m, HS_MEMORY_FREE, node->used, node->end, err));
    }
    HS_TRY(mark_span(m, &span, err));
    for (size_t i = 0; i < pool->n_nodes; i++) {
        span = node_span(number, &m->apr->nodes[pool->first_node + i]);
        HS_TRY(mark_span(m, &span, err));
    }
    return HS_OK;
}

static hs_status apr_report(const struct marking *m, struct hs_error *err)
{
    const struct apr *apr = m->apr;
    struct hs_findings *findings = apr->process->findings;
    uint64_t n_read = 0;

    for (size_t i = 0; i < apr->n_pools; i++)
        n_read += apr->pools[i].n_nodes != 0;
    findings->n_torn += apr->n_damaged;
    HS_TRY(hs_findings_proof(findings, "apr: pools whose nodes lead back to them", apr->n_pools,
                             n_read, err));
    if (apr->n_damaged != 0 || m->n_refused != 0)
        HS_TRY(hs_findings_note(findings, true, err,
                                "apr: %llu pools or lists were caught in a change, %llu nodes "
                                "overlap others",
                                (unsigned long long)apr->n_damaged,
                                (unsigned long long)m->n_refused));
    return HS_OK;
}

static hs_status apr_mark(void *state, struct hs_heap_map *map, struct hs_ledger *ledger,
                          struct hs_error *err)
{
    struct marking m = {.apr = state, .map = map, .ledger = ledger};

    for (size_t i = 0; i < m.apr->n_pools; i++)
        HS_TRY(mark_pool(&m, (uint32_t)i, err));
    for (size_t i = 0; i < m.apr->n_free; i++) {
        const struct hs_extent *node = &m.apr->free[i];
        HS_TRY(take_over(&m, node->begin, node->end, err));
        HS_TRY(move(&m, HS_MEMORY_CACHED, node->begin, node->end, err));
    }
    HS_TRY(hs_ledger_set_blocks(ledger, APR_OWNER, HS_MEMORY_CACHED, m.apr->n_free, err));
    return apr_report(&m, err);
}

/* ---- who owns what */

static bool is_ours(const struct hs_heap_block *block)
{
    return block->span->owner == HS_OWNER_apr;
}

static bool is_object(const struct hs_heap_block *block)
{
    return block->span->tag % 2 != 0;
}

static const struct apr_pool *pool_of(const struct apr *apr, const struct hs_heap_block *block)
{
    return &apr->pools[block->span->tag / 2];
}

static hs_addr apr_owner(const void *state, const struct hs_heap_block *block)
{
    const struct apr *apr = state;

    if (!is_ours(block))
        return 0;
    const struct apr_pool *pool = pool_of(apr, block);
    if (!is_object(block))
        return pool->address;
    return pool->parent == APR_NONE ? apr->variable : apr->pools[pool->parent].address;
}

/* The nodes of the pool, then the pools below it: those by one more than their number. */
static bool apr_owned(const void *state, const struct hs_heap_block *owner, uint64_t *cursor,
                      hs_addr *ret_begin, hs_addr *ret_end)
{
    const struct apr *apr = state;

    if (!is_ours(owner) || !is_object(owner))
        return false;
    const struct apr_pool *pool = pool_of(apr, owner);
    if (*cursor < pool->n_nodes) {
        const struct apr_node *node = &apr->nodes[pool->first_node + (*cursor)++];
        *ret_begin = node->first;
        *ret_end = node->used;
        return true;
    }
    uint64_t before = *cursor - pool->n_nodes;
    uint32_t child = before == 0 ? pool->first_child : apr->pools[before - 1].next_child;
    if (child == APR_NONE)
        return false;
    *cursor = pool->n_nodes + child + 1;
    *ret_begin = apr->pools[child].address;
    *ret_end = apr->pools[child].end;
    return true;
}

static const struct hs_ownership apr_ownership = {.owner = apr_owner, .owned = apr_owned};

/* ---- what it is */

static bool apr_object_name(const void *state, const struct hs_heap_block *block,
                            struct hs_object_name *ret)
{
    if (!is_ours(block) || !is_object(block))
        return false;
    *ret = (struct hs_object_name){.name = pool_of(state, block)->object_name};
    return true;
}

static hs_str apr_pool_name(const void *state, uint32_t tag)
{
    const struct apr_pool *pool = &((const struct apr *)state)->pools[tag / 2];
    return tag % 2 != 0 ? pool->object_name : pool->memory_name;
}

static struct hs_known_variable apr_variable(const void *state)
{
    return (struct hs_known_variable){"global_pool", ((const struct apr *)state)->variable};
}

const struct hs_allocator hs_allocator_apr = {
    .name = APR_OWNER,
    .open = apr_open,
    .close = apr_close,
    .version = apr_version,
    .add_spans = apr_add_spans,
    .mark = apr_mark,
    .ownership = &apr_ownership,
    .object_name = apr_object_name,
    .pool_name = apr_pool_name,
    .variable = apr_variable,
    .known_as = "APR's pools",
    .library = "libapr-1.so",
    .symbols = {"apr_pool_create_ex"},
};
