#include "index/tiers.h"

#include "base/alloc.h"
#include "graph/graph.h"
#include "index_turned.h"
#include "passes/passes.h"

uint64_t hs_tiers_bytes(uint64_t n_nodes)
{
    return 2 * (n_nodes / 8 + 8);
}

void hs_tiers_fini(struct hs_tiers *tiers, struct hs_budget *budget)
{
    if (tiers->firm.n_bits != 0)
        hs_budget_release(budget, hs_tiers_bytes(tiers->firm.n_bits));
    hs_bitmap_fini(&tiers->firm);
    hs_bitmap_fini(&tiers->sound);
    *tiers = (struct hs_tiers){0};
}

static hs_status tiers_init(uint64_t n_nodes, struct hs_budget *budget, struct hs_tiers *ret,
                            struct hs_error *err)
{
    struct hs_tiers tiers = {0};

    HS_TRY(hs_budget_reserve(budget, hs_tiers_bytes(n_nodes), "tiers of blocks", err));
    hs_status status = hs_bitmap_init(&tiers.firm, n_nodes, err);
    if (status == HS_OK)
        status = hs_bitmap_init(&tiers.sound, n_nodes, err);
    if (status == HS_OK) {
        *ret = tiers;
        return HS_OK;
    }
    hs_bitmap_fini(&tiers.firm);
    hs_budget_release(budget, hs_tiers_bytes(n_nodes));
    return status;
}

/* The nodes of the root tree have the tier that is written of them. */
static void tiers_of_tree(const struct hs_snap *snap, struct hs_tiers *tiers)
{
    for (hs_node node = 0; node < hs_snap_totals(snap)->n_tree; node++) {
        unsigned tier = hs_snap_root(snap, node)->tier;
        hs_bitmap_clear(&tiers->firm, node);
        hs_bitmap_clear(&tiers->sound, node);
        if (tier == HS_TIER_FIRM)
            hs_bitmap_set(&tiers->firm, node);
        if (tier <= HS_TIER_RUNTIME)
            hs_bitmap_set(&tiers->sound, node);
    }
}

static bool has_roots_of_runtime(const struct hs_snap *snap)
{
    for (hs_node node = 0; node < hs_snap_totals(snap)->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(snap, node);
        if (root->target != HS_NO_NODE && !root->weak && hs_root_tier(root) == HS_TIER_RUNTIME)
            return true;
    }
    return false;
}

/* ---- in memory ---- */

struct tier_queue {
    const struct hs_graph *graph;
    uint32_t *node; /* owned pages: n_nodes */
    uint32_t n, done;
};

static inline void queue_meet(struct tier_queue *queue, struct hs_bitmap *met, uint32_t node)
{
    if (hs_bitmap_get(met, node))
        return;
    hs_bitmap_set(met, node);
    queue->node[queue->n++] = node;
}

/* Finds all that is reached from the roots of one tier, beside what is met already. */
static void queue_search(struct tier_queue *queue, const struct hs_snap *snap, unsigned tier,
                         struct hs_bitmap *met)
{
    for (uint32_t i = 0; i < queue->graph->n_tree; i++) {
        const struct hs_root *root = hs_snap_root(snap, i);
        if (root->target != HS_NO_NODE && !root->weak && hs_root_tier(root) == tier)
            queue_meet(queue, met, (uint32_t)root->target);
    }
    while (queue->done < queue->n) {
        uint32_t n;
        const uint32_t *row = hs_graph_row(queue->graph, queue->node[queue->done++], &n);
        for (uint32_t i = 0; i < n; i++)
            queue_meet(queue, met, row[i]);
    }
}

static hs_status find_in_memory(const struct hs_tier_search *search, struct hs_tiers *tiers,
                                struct hs_error *err)
{
    const struct hs_edge_choice choice = {.edges = HS_GRAPH_SURE,
                                          .pointers_in = search->pointers_in};
    uint64_t n_nodes = tiers->firm.n_bits;
    struct hs_graph graph = {0};

    HS_TRY(hs_graph_load_chosen(search->snap, &choice, search->progress, &graph, err));
    struct tier_queue queue = {.graph = &graph};
    hs_status status = HS_PAGES_ALLOC(&queue.node, n_nodes, err);
    if (status == HS_OK) {
        queue_search(&queue, search->snap, HS_TIER_FIRM, &tiers->firm);
        for (uint64_t i = 0; i < (n_nodes + 63) / 64; i++)
            tiers->sound.words[i] = tiers->firm.words[i];
        queue_search(&queue, search->snap, HS_TIER_RUNTIME, &tiers->sound);
    }
    hs_pages_free(queue.node, n_nodes, sizeof *queue.node);
    hs_graph_fini(&graph);
    return status;
}

/* ---- by passes ---- */

/* Marks a node as reached: node 0, and each that has a dominator. */
static hs_status put_idom(void *context, hs_node node, hs_node idom, struct hs_error *err)
{
    (void)err;
    if (node == 0 || idom != HS_NO_NODE)
        hs_bitmap_set(context, node);
    return HS_OK;
}

static hs_status find_by_passes(const struct hs_tier_search *search, enum hs_graph_edges edges,
                                struct hs_bitmap *met, struct hs_error *err)
{
    const struct hs_snap_sweep source = {
        .snap = search->snap,
        .edges = edges,
        .pointers_in = search->pointers_in,
        .budget = search->budget,
        .progress = search->progress,
        .phase = "following firm pointers",
    };
    const struct hs_idom_sink sink = {.put = put_idom, .context = met};
    struct hs_passes_input input = {.budget = search->budget, .progress = search->progress};
    struct hs_passes passes = {0};

    HS_TRY(hs_sweep_of_snap(&source, &input.forward, err));
    const struct index_turned turned = {input.forward,
                                        {source.budget, source.progress, source.phase, NULL}};
    input.backward = index_turned_sweep(&turned);
    hs_status status = hs_passes_run(&input, &passes, err);
    if (status == HS_OK)
        status = hs_passes_idoms(&passes, &sink, err);
    hs_passes_fini(&passes);
    return status;
}

static hs_status find_both_by_passes(const struct hs_tier_search *search, struct hs_tiers *tiers,
                                     struct hs_error *err)
{
    HS_TRY(find_by_passes(search, HS_GRAPH_FIRM, &tiers->firm, err));
    if (has_roots_of_runtime(search->snap))
        return find_by_passes(search, HS_GRAPH_SURE, &tiers->sound, err);
    for (uint64_t i = 0; i < (tiers->firm.n_bits + 63) / 64; i++)
        tiers->sound.words[i] = tiers->firm.words[i];
    return HS_OK;
}

hs_status hs_tiers_find(const struct hs_tier_search *search, struct hs_tiers *ret,
                        struct hs_error *err)
{
    const struct hs_snap_totals *totals = hs_snap_totals(search->snap);
    struct hs_tiers tiers;

    HS_TRY(tiers_init(totals->n_tree + totals->n_blocks, search->budget, &tiers, err));
    hs_status status = search->in_memory ? find_in_memory(search, &tiers, err)
                                         : find_both_by_passes(search, &tiers, err);
    if (status != HS_OK) {
        hs_tiers_fini(&tiers, search->budget);
        return status;
    }
    tiers_of_tree(search->snap, &tiers);
    *ret = tiers;
    return HS_OK;
}
