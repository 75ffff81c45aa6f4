#include "index_engine.h"

#include "base/units.h"
#include "graph/reverse.h"
#include "index/tiers.h"
#include "index_build.h"
#include "index_passes.h"
#include "index_progress.h"
#include "passes/passes.h"

static uint64_t snap_nodes(const struct hs_snap *snap)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    return totals->n_tree + totals->n_blocks;
}

static uint64_t snap_edges(const struct hs_snap *snap)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    return totals->n_tree * 2 + totals->n_edges + totals->n_extra_edges;
}

/* Of a varint of a distance between two nodes. */
static uint64_t distance_bytes(uint64_t n_nodes)
{
    uint64_t n_bits = 1;
    while (n_nodes >> n_bits != 0)
        n_bits++;
    return (n_bits + 1 + 6) / 7;
}

/* Owners: at most three bytes per node. A list holds each root once. */
static uint64_t owners_bytes_max(uint64_t n_nodes, uint64_t n_tree)
{
    uint64_t n_sets = n_nodes < HS_OWNER_SETS_MAX ? n_nodes : HS_OWNER_SETS_MAX;
    uint64_t most = index_max_listed(n_nodes);
    uint64_t n_listed = n_tree > most / n_sets ? most : n_tree * n_sets;
    uint64_t rows = n_listed * (distance_bytes(n_nodes) + 1) + n_listed / 64;
    return 3 * n_nodes + rows + (n_sets + 1) * (7 * HS_VARINT_MAX_BYTES + 2 + 20);
}

/* Rows: a number per node and edge, and the heads of blocks of long ones. Cells of sizes: at most
 * four numbers. */
uint64_t index_engine_file_bytes_max(const struct hs_snap *snap)
{
    uint64_t n = snap_nodes(snap), m = snap_edges(snap), distance = distance_bytes(n);
    uint64_t rows = (n + m) * distance + n * 2 + m / 64;
    uint64_t dominated = n * (2 * distance + 2) + n / 64;
    uint64_t sizes = n * 4 * HS_VARINT_MAX_BYTES, idoms = n * (distance + 1);
    uint64_t n_tree = hs_snap_totals(snap)->n_tree;
    return INDEX_PAGE * 16 + index_reachable_bytes(n_tree) + rows + sizes + idoms + dominated +
           owners_bytes_max(n, n_tree) + 7 * hs_packed_table_bytes(n + 1);
}

/* Measured: 10 to 12 bytes per node at 2 edges per node. */
uint64_t index_engine_file_bytes(const struct hs_snap *snap)
{
    uint64_t n = snap_nodes(snap), m = snap_edges(snap);
    return INDEX_PAGE * 16 + index_reachable_bytes(hs_snap_totals(snap)->n_tree) + 8 * n + 3 * m;
}

static uint64_t writer_bytes(uint64_t n_nodes)
{
    return INDEX_WRITE_BYTES + hs_packed_table_bytes(n_nodes);
}

/* By passes: the most of what any of them needs at least, while the index is written. */
static uint64_t passes_least_bytes(uint64_t n_nodes, uint64_t n_tree)
{
    uint64_t least = hs_passes_min_bytes(n_nodes, n_tree);
    if (least < HS_REVERSE_MIN_BYTES)
        least = HS_REVERSE_MIN_BYTES;
    return least + writer_bytes(n_nodes) + hs_tiers_bytes(n_nodes);
}

void hs_index_estimate(const struct hs_snap *snap, const struct hs_budget *budget,
                       struct hs_index_estimate *ret)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    uint64_t n = snap_nodes(snap), m = snap_edges(snap), left = hs_budget_left_bytes(budget);
    uint64_t resident = index_build_bytes(n, m) + writer_bytes(n);
    const struct hs_sweep forward = {.n_nodes = n, .n_tree = totals->n_tree, .max_edges = m};
    struct hs_index_estimate estimate = {
        .in_memory = n < UINT32_MAX - 1 && m < UINT32_MAX - 1 && resident <= left,
        .memory_bytes = resident,
        .least_bytes = passes_least_bytes(n, totals->n_tree),
        .disk_bytes = index_engine_file_bytes(snap),
        .seconds = 1 + (n * 250 + m * 100) / 1000000000,
    };

    if (estimate.in_memory && resident < estimate.least_bytes)
        estimate.least_bytes = resident;
    if (!estimate.in_memory) {
        if (left < resident)
            estimate.memory_bytes = left > estimate.least_bytes ? left : estimate.least_bytes;
        estimate.disk_bytes += index_passes_disk_bytes(&forward);
        estimate.seconds *= 2;
    }
    *ret = estimate;
}

hs_status index_engine_choose(const struct hs_snap *snap, const struct hs_budget *budget,
                              struct hs_index_estimate *ret, struct hs_error *err)
{
    char needed[HS_UNIT_TEXT_BYTES], left[HS_UNIT_TEXT_BYTES];

    hs_index_estimate(snap, budget, ret);
    if (ret->in_memory || ret->least_bytes <= hs_budget_left_bytes(budget))
        return HS_OK;
    hs_format_bytes(ret->least_bytes, needed);
    hs_format_bytes(hs_budget_left_bytes(budget), left);
    (void)hs_fail(err, HS_LIMIT, "an index of %llu nodes needs at least %s of memory, %s are left",
                  (unsigned long long)snap_nodes(snap), needed, left);
    return hs_hint(err, "allow more with --memory");
}

static hs_status run_in_memory(const struct index_work *work, struct index_writer *writer,
                               struct hs_error *err)
{
    uint64_t n_bytes = index_build_bytes(snap_nodes(work->snap), snap_edges(work->snap));

    HS_TRY(hs_budget_reserve(work->budget, n_bytes, "the graph", err));
    hs_status status = index_build_run(work, writer, err);
    hs_budget_release(work->budget, n_bytes);
    return status;
}

hs_status index_engine_run(const struct index_work *work, struct index_writer *writer,
                           struct hs_error *err)
{
    struct index_progress progress;
    struct index_work counted = *work;

    index_progress_init(work->progress, &progress);
    counted.progress = &progress.counted;
    return work->in_memory ? run_in_memory(work, writer, err)
                           : index_passes_build(&counted, writer, err);
}
