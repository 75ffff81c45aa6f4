/* Chains of dominators by type. */
#include "analysis/keeper_chains.h"

#include "analysis/chunk_pass.h"
#include "base/alloc.h"

enum { STRIDE = 64 };

static hs_status take(struct hs_chains *chains, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(chains->view->session.budget, n_bytes, "the chains of keepers", err));
    chains->reserved_bytes += n_bytes;
    return HS_OK;
}

/* ---- chains by content */

/* The number of (parent, key), a new one when there is none. */
static hs_status intern(struct hs_chains *chains, uint32_t parent, uint64_t key, uint32_t depth,
                        uint32_t *ret, struct hs_error *err)
{
    uint64_t hash = hs_hash_pair(key, parent);
    *ret = HS_TABLE_FIND(&chains->by_content, hash, i,
                         chains->chains[i].key == key && chains->chains[i].parent == parent);
    if (*ret != HS_NO_NUMBER)
        return HS_OK;
    if (chains->n >= HS_NO_CHAIN - 1)
        return hs_fail(err, HS_LIMIT, "%zu chains of keepers are too many", chains->n);
    if (chains->n == chains->capacity) {
        size_t capacity = chains->capacity == 0 ? 256 : 2 * chains->capacity;
        HS_TRY(take(chains, (capacity - chains->capacity) * sizeof *chains->chains, err));
        HS_TRY(HS_GROW(&chains->chains, &chains->capacity, capacity, err));
    }
    HS_TRY(take(chains, hs_table_growth_bytes(&chains->by_content, 1), err));
    HS_TRY(hs_table_add(&chains->by_content, hash, chains->n, err));
    chains->chains[chains->n] = (struct hs_chain){key, parent, depth};
    *ret = (uint32_t)chains->n++;
    return HS_OK;
}

/* The chain with one more block. */
static hs_status extend(struct hs_chains *chains, uint32_t chain, uint32_t type, uint32_t *ret,
                        struct hs_error *err)
{
    struct hs_chain last = chains->chains[chain];
    if (last.depth != 0 && last.key == type) {
        *ret = chain;
        return HS_OK;
    }
    if (last.depth > HS_CHAIN_RUNS) /* the last one is left out, too */
        return intern(chains, last.parent, type, last.depth, ret, err);
    return intern(chains, chain, type, last.depth + 1, ret, err);
}

/* ---- climbing */

static hs_status remember(struct hs_chains *chains, hs_node node, uint32_t chain,
                          struct hs_error *err)
{
    HS_TRY(take(chains, hs_dict_growth_bytes(&chains->by_node), err));
    return hs_dict_put(&chains->by_node, node, chain, err);
}

static hs_status first_of(struct hs_chains *chains, hs_node top, uint32_t *ret,
                          struct hs_error *err)
{
    const struct hs_view *view = chains->view;
    uint64_t key = view->n_tree + 1;
    if (top != HS_NO_NODE) {
        hs_node root = hs_view_root_of(view, top);
        key = root == HS_NO_NODE ? view->n_tree : root;
    }
    return intern(chains, HS_NO_CHAIN, key, 0, ret, err);
}

/* Climbs from the block to what is known, putting down every STRIDEth block as a stop. *ret_chain:
 * that of *ret_top, which is not climbed over. */
static hs_status climb(struct hs_chains *chains, hs_node block, hs_node *ret_top,
                       uint32_t *ret_chain, struct hs_error *err)
{
    const struct hs_view *view = chains->view;
    hs_node at = block;
    chains->n_stops = 0;
    for (uint64_t n = 0; at != HS_NO_NODE && at >= view->n_tree; n++) {
        uint32_t known = (uint32_t)hs_dict_get(&chains->by_node, at, HS_NO_CHAIN);
        if (known != HS_NO_CHAIN) {
            *ret_top = at;
            *ret_chain = known;
            return HS_OK;
        }
        if (n == view->n_nodes)
            return hs_view_fail_circle(view, err);
        if (n % STRIDE == 0) {
            HS_TRY(HS_GROW(&chains->stops, &chains->stops_capacity, chains->n_stops + 1, err));
            chains->stops[chains->n_stops++] = at;
        }
        at = hs_index_idom(view->index, at);
    }
    *ret_top = at;
    return first_of(chains, at, ret_chain, err);
}

/* The piece from a stop up to the next one or the top: its blocks, then their chain downwards. */
static hs_status descend(struct hs_chains *chains, hs_node stop, hs_node end, uint32_t *chain,
                         struct hs_error *err)
{
    hs_node nodes[STRIDE];
    unsigned n = 0;
    for (hs_node at = stop; at != end && n < STRIDE; n++) {
        nodes[n] = at;
        at = hs_index_idom(chains->view->index, at);
    }
    while (n > 0)
        HS_TRY(
            extend(chains, *chain, chains->types[nodes[--n] - chains->view->n_tree], chain, err));
    return remember(chains, stop, *chain, err);
}

hs_status hs_chains_find(struct hs_chains *chains, hs_node block, uint32_t *ret,
                         struct hs_error *err)
{
    hs_node top = HS_NO_NODE;
    uint32_t chain;
    HS_TRY(climb(chains, block, &top, &chain, err));
    for (size_t i = chains->n_stops; i-- > 0;) {
        hs_node end = i + 1 < chains->n_stops ? chains->stops[i + 1] : top;
        HS_TRY(descend(chains, chains->stops[i], end, &chain, err));
    }
    *ret = chain;
    return HS_OK;
}

hs_status hs_chains_find_alike(struct hs_chains *chains, hs_node block, uint32_t *ret,
                               struct hs_error *err)
{
    const struct hs_view *view = chains->view;
    uint32_t type = chains->types[block - view->n_tree], chain;
    if (hs_snap_type(view->snap, type)->form != HS_FORM_BYTES)
        return hs_chains_find(chains, block, ret, err);
    hs_node above = hs_index_idom(view->index, block);
    if (above != HS_NO_NODE && above >= view->n_tree)
        HS_TRY(hs_chains_find(chains, above, &chain, err));
    else
        HS_TRY(first_of(chains, above, &chain, err));
    return extend(chains, chain, HS_CHAIN_UNTYPED, ret, err);
}

/* ---- life */

static hs_status load_types(struct hs_chains *chains, struct hs_error *err)
{
    struct hs_view *view = chains->view;
    HS_TRY(take(chains, view->totals->n_blocks * sizeof *chains->types, err));
    HS_TRY(HS_PAGES_ALLOC(&chains->types, view->totals->n_blocks, err));
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_TYPES, "reading types");
    while (hs_chunk_pass_next(&pass, err))
        for (uint32_t i = 0; i < pass.chunk.n_blocks; i++)
            chains->types[pass.chunk.first - view->n_tree + i] = pass.chunk.type[i];
    return hs_chunk_pass_end(&pass);
}

hs_status hs_chains_init(struct hs_view *view, struct hs_chains *ret, struct hs_error *err)
{
    struct hs_chains chains = {.view = view};
    hs_status status = load_types(&chains, err);
    if (status == HS_OK)
        *ret = chains;
    else
        hs_chains_fini(&chains);
    return status;
}

void hs_chains_fini(struct hs_chains *chains)
{
    if (chains->view != NULL) {
        hs_pages_free(chains->types, chains->view->totals->n_blocks, sizeof *chains->types);
        hs_budget_release(chains->view->session.budget, chains->reserved_bytes);
    }
    hs_free(chains->chains);
    hs_table_fini(&chains->by_content);
    hs_dict_fini(&chains->by_node);
    hs_free(chains->stops);
    *chains = (struct hs_chains){0};
}

const struct hs_chain *hs_chain_first(const struct hs_chains *chains, uint32_t chain)
{
    while (chains->chains[chain].parent != HS_NO_CHAIN)
        chain = chains->chains[chain].parent;
    return &chains->chains[chain];
}

size_t hs_chain_runs(const struct hs_chains *chains, uint32_t chain,
                     uint32_t runs[HS_CHAIN_RUNS + 1])
{
    size_t n = chains->chains[chain].depth;
    for (size_t i = n; i-- > 0; chain = chains->chains[chain].parent)
        runs[i] = chain;
    return n;
}
