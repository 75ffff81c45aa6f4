/* The memory of the passes, step by step, computed from the counts: the same sums as each step
 * reserves. */
#include "dominator/condensed.h"
#include "dominator/dominators.h"
#include "forest_lists.h"
#include "forest_stack.h"
#include "pass_attach.h"
#include "pass_disk.h"
#include "pass_scatter.h"
#include "pass_stack.h"
#include "pass_steps.h"
#include "pass_weights.h"

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

/* Returns the bytes of a bitmap as pass_bitmap_init makes it. */
static uint64_t bits(uint64_t n)
{
    return n / 8 + n / 64 + 24;
}

/* The regions: counted, listed, searched, placed and linked. */
static uint64_t plan_forest(const struct hs_passes_counts *c)
{
    uint64_t n = c->n_nodes, ways_in = 2 * bits(n);
    uint64_t lists = forest_lists_max_bytes(n, c->n_single);
    uint64_t stack = 2 * FOREST_STACK_HALF * sizeof(struct forest_frame);
    uint64_t places = bits(n) + n * hs_ids_width(n + 1);

    return most(most(ways_in + c->backward_bytes, ways_in + lists + c->forward_bytes),
                most(ways_in + lists + stack, places + c->backward_bytes));
}

/* Beside the bits of the regions' heads: the tree of the core, then where it hangs; and what takes
 * their place meanwhile, where all of the core is cycles that have no room in memory: the search of
 * their graph (core_graph.c), their values (attach_spread.c), the questions to the regions, one of
 * which may be as deep as there are nodes (attach_ask.c). */
static uint64_t plan_core(const struct hs_passes_counts *c)
{
    uint64_t n = c->n_core, attach = n * hs_ids_width(c->n_nodes);
    uint64_t tree = n * (sizeof(uint32_t) + 2 * sizeof(uint32_t)); /* region, jumps */
    uint64_t search = 4 * bits(n) + hs_domtree_stored_bytes(n);
    uint64_t spread = 7 * bits(n) + attach + 3 * n * sizeof(uint32_t) + HS_STORED_LEAST_BYTES;
    uint64_t ask = 3 * bits(n) + 2 * attach + (c->n_single + 1) * hs_ids_width(c->n_nodes) +
                   ATTACH_QUERIES_MIN * sizeof(struct pass_query);

    return bits(c->n_nodes) +
           most(most(5 * bits(n) + tree + 2 * attach, search), most(spread, ask));
}

static uint64_t plan_scatter(uint64_t n_keys, unsigned row_bytes)
{
    uint64_t best = UINT64_MAX;
    for (uint64_t n = 1; n <= SCATTER_PARTS; n++) {
        uint64_t n_bytes = (n_keys + n - 1) / n * row_bytes + 8 + (n - 1) * HS_SPILL_BUFFER_BYTES;
        best = n_bytes < best ? n_bytes : best;
    }
    return best;
}

/* Beside the result: sizes of blocks or what the sink takes, and rows on their way to nodes. */
static uint64_t plan_answers(const struct hs_passes_counts *c)
{
    uint64_t n = c->n_nodes;
    unsigned n_dims = c->n_static_blocks == 0 ? 2 : HS_N_DIMENSIONS;
    unsigned row = pass_scatter_width(c->n_words) + pass_scatter_width(n);
    uint64_t result =
        bits(n) + bits(c->n_core) + c->n_core * (2 * sizeof(uint32_t) + hs_ids_width(n));
    unsigned words = pass_scatter_width(c->n_words | c->n_static_words);
    uint64_t n_large = (c->n_words + c->n_static_words) / WEIGHT_LARGE;
    uint64_t weights = n + bits(n) + ((uint64_t)1 << 18) + 4 * (n_large < n ? n_large : n);

    if (n_dims > 2)
        row += pass_scatter_width(c->n_static_words) + pass_scatter_width(c->n_static_blocks);
    uint64_t retained = most(weights + bits(n), c->first_bytes) + plan_scatter(n, row);
    uint64_t idoms = most(bits(n) + c->n_core * hs_ids_width(n), c->first_bytes) +
                     plan_scatter(n, pass_scatter_width(n));
    uint64_t units = c->n_core * sizeof(uint32_t) + 3 * bits(c->n_core) + 16 * c->n_tree;
    uint64_t stack = pass_stack_max_bytes(PASS_STACK_HALF, (1 + n_dims) * sizeof(uint64_t));
    uint64_t sums = bits(n) + 2 * c->n_core * words;
    return result + most(most(retained, idoms) + stack, most(sums, units));
}

/* Returns the memory for what several roots share, with the edges in a file
 * (dominator/condensed.h): first the components of its units, at most one for each node of the root
 * tree and of the core; then their graph, and sets. */
static uint64_t plan_shared(const struct hs_passes_counts *c)
{
    uint64_t n_units = c->n_core + c->n_tree, roots = c->n_tree / 8 + 8;
    uint64_t joined =
        2 * bits(n_units) + 16 * n_units + c->n_tree * sizeof(uint32_t) + 2 * HS_STORED_LEAST_BYTES;
    return roots + most(joined, hs_condensed_stored_bytes(n_units, c->n_tree, c->first_bytes));
}

uint64_t hs_passes_plan_bytes(const struct hs_passes_counts *counts)
{
    return most(most(plan_forest(counts), plan_core(counts)),
                most(plan_answers(counts), plan_shared(counts)));
}

/* ---- counting ---- */

struct counting {
    struct hs_bitmap is_single, is_multi;
};

static hs_status count_put(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    enum { AHEAD = 16 };
    struct counting *counting = context;
    uint64_t n = piece->begin[piece->n];

    (void)err;
    for (uint64_t e = 0; e < n; e++) {
        hs_node target = piece->target[e];
        if (e + AHEAD < n)
            __builtin_prefetch(&counting->is_single.words[piece->target[e + AHEAD] >> 6]);
        if (hs_bitmap_get(&counting->is_single, target))
            hs_bitmap_set(&counting->is_multi, target);
        else
            hs_bitmap_set(&counting->is_single, target);
    }
    return HS_OK;
}

static hs_status count_all(struct counting *counting, const struct hs_sweep *forward,
                           const struct hs_passes_degrees *degrees, struct hs_passes_counts *ret,
                           struct hs_error *err)
{
    const struct hs_piece_sink sink = {count_put, counting};
    uint64_t n_in, n_multi;

    HS_TRY(hs_bitmap_init(&counting->is_single, forward->n_nodes, err));
    HS_TRY(hs_bitmap_init(&counting->is_multi, forward->n_nodes, err));
    HS_TRY(forward->run(forward->context, &sink, err));
    HS_TRY(hs_bitmap_index(&counting->is_single, &n_in, err));
    HS_TRY(hs_bitmap_index(&counting->is_multi, &n_multi, err));
    ret->n_nodes = forward->n_nodes;
    ret->n_tree = forward->n_tree;
    ret->n_single = n_in - n_multi;
    ret->n_core = n_multi + 1;
    ret->n_edges = forward->max_edges;
    pass_disk_count(&counting->is_single, &counting->is_multi, degrees, ret);
    return HS_OK;
}

uint64_t hs_passes_count_bytes(uint64_t n_nodes)
{
    return 2 * bits(n_nodes);
}

hs_status hs_passes_count(const struct hs_sweep *forward, const struct hs_passes_degrees *degrees,
                          struct hs_passes_counts *ret, struct hs_error *err)
{
    struct counting counting = {0};
    hs_status status = count_all(&counting, forward, degrees, ret, err);
    hs_bitmap_fini(&counting.is_single);
    hs_bitmap_fini(&counting.is_multi);
    return status;
}
