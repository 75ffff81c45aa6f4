#include "index_engine.h"

#include "base/units.h"
#include "dominator/unit_sizes.h"
#include "graph/reverse.h"
#include "index/tiers.h"
#include "index_build.h"
#include "index_passes.h"
#include "index_progress.h"
#include "passes/passes.h"

#define ROOTS_SMALL_BYTES ((uint64_t)1 << 20) /* of HS_BUDGET_BASE_BYTES */

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

/* Returns the bytes of a varint of a distance between two nodes. */
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

/* Estimates by what was measured: 10 to 12 bytes per node at 2 edges per node. */
uint64_t index_engine_file_bytes(const struct hs_snap *snap)
{
    uint64_t n = snap_nodes(snap), m = snap_edges(snap);
    return INDEX_PAGE * 16 + index_reachable_bytes(hs_snap_totals(snap)->n_tree) + 8 * n + 3 * m;
}

/* Returns the memory of a sweep that reads the tiers of words and the types of blocks, where there
 * are any. */
static uint64_t slot_bytes(const struct hs_snap *snap)
{
    static const struct hs_bitmap any;
    const struct hs_snap_sweep source = {.snap = snap,
                                         .edges = hs_snap_has_tiers(snap) ? HS_GRAPH_FIRM
                                                                          : HS_GRAPH_RETAINING,
                                         .pointers_in = &any};
    return hs_sweep_slot_bytes(&source);
}

static uint64_t writer_bytes(uint64_t n_nodes)
{
    return INDEX_WRITE_BYTES + hs_packed_table_bytes(n_nodes);
}

/* Returns the memory that the passes need beside what they hold themselves: bits of tiers, and of
 * what ephemerons hold; edges turned round, in a section or again and again where only some of them
 * take part. */
static uint64_t passes_bytes(const struct hs_snap *snap, const struct hs_passes_counts *counts,
                             bool has_held)
{
    uint64_t n = counts->n_nodes, slot = slot_bytes(snap);
    struct hs_passes_counts c = *counts;
    uint64_t turning = HS_REVERSE_MIN_BYTES + 16 * (n / HS_SWEEP_RUN + 1), held = 0;

    if (slot > HS_SWEEP_SLOT_BYTES)
        turning += slot - HS_SWEEP_SLOT_BYTES;
    if (c.forward_bytes < slot)
        c.forward_bytes = slot;
    c.first_bytes = writer_bytes(n);
    if (hs_snap_has_tiers(snap)) {
        held += hs_tiers_bytes(n);
        c.backward_bytes = turning;
        c.n_single += c.n_core; /* those whose other edges take no part */
    }
    uint64_t passes = hs_passes_plan_bytes(&c), sections = writer_bytes(n) + turning;
    uint64_t found = n / 8 + 8 + index_passes_extra_bytes(snap);
    if (has_held) { /* once more by strong edges alone, beside what is read of their rows */
        held += n / 8 + 8;
        passes += INDEX_WRITE_BYTES;
    }
    uint64_t most = held + (passes > sections ? passes : sections);
    return hs_snap_totals(snap)->n_extra_edges != 0 && found > most ? found : most;
}

/* Counts with one thread, as far as memory allows: *ret is left as it is when it does not, or when
 * the snapshot is damaged, which shows again as soon as it is read. */
static bool passes_count(const struct hs_snap *snap, uint64_t left, struct hs_passes_counts *ret)
{
    struct hs_budget budget = {.limit_bytes = left, .n_threads = 1};
    const struct hs_snap_sweep source = {
        .snap = snap, .edges = HS_GRAPH_RETAINING, .budget = &budget, .phase = "planning"};
    struct hs_passes_counts counts = *ret;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sweep forward;
    uint64_t n_bytes = hs_passes_count_bytes(snap_nodes(snap));
    struct hs_passes_degrees degrees;

    degrees.of_run = hs_snap_in_degrees(snap, &degrees.n_runs);
    if (hs_budget_reserve(&budget, n_bytes, "counting", &err) != HS_OK ||
        hs_sweep_of_snap(&source, &forward, &err) != HS_OK ||
        hs_passes_count(&forward, &degrees, &counts, &err) != HS_OK)
        return false;
    counts.forward_bytes = budget.peak_bytes - n_bytes;
    *ret = counts;
    return true;
}

/* Returns the bytes of temporary files at their most: while edges are turned round, or of the
 * passes. Where only some of the edges take part, these are turned round while the passes go on. */
static uint64_t spill_bytes(const struct hs_snap *snap, const struct hs_passes_counts *counts,
                            uint64_t left, bool has_held)
{
    const struct hs_sweep forward = {.n_nodes = snap_nodes(snap), .max_edges = snap_edges(snap)};
    uint64_t turning = hs_reverse_disk_bytes(&forward);
    struct hs_passes_counts c = *counts;

    c.first_bytes = writer_bytes(c.n_nodes);
    uint64_t passes = hs_passes_disk_bytes(&c, left);
    if (hs_snap_has_tiers(snap))
        passes += turning;
    if (has_held) /* the strong edges, reversed */
        passes += forward.max_edges * distance_bytes(c.n_nodes) + 2 * c.n_nodes;
    return passes > turning ? passes : turning;
}

/* The engine in memory, with what was counted; n_core is 1 as long as nothing was. */
static uint64_t resident_bytes(const struct hs_snap *snap, const struct hs_passes_counts *counts)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    uint64_t n = counts->n_nodes, m = snap_edges(snap), n_single = counts->n_single;
    bool is_counted = counts->n_core != 1;
    const struct hs_reachable_counts sizes = {
        .n_nodes = n,
        .n_tree = counts->n_tree,
        .n_shared = is_counted ? counts->n_core : totals->n_blocks,
        .n_edges = is_counted && m > n_single ? m - n_single : m,
        .n_wide = totals->n_static_blocks + hs_unit_sizes_wide(totals->heap_words, n),
        .sink_bytes = writer_bytes(n),
    };
    uint64_t n_bytes = index_build_bytes(&sizes, m), slot = slot_bytes(snap);
    /* While a large chunk is read into the graph: its rows are there twice. */
    uint64_t reading = 4 * n + 4 * m + slot + slot / 2 + hs_tiers_bytes(n);
    if (slot > HS_SWEEP_SLOT_BYTES && reading > n_bytes)
        n_bytes = reading;
    return n_bytes + writer_bytes(n);
}

/* Estimates the passes: the least that can be, for there is a quick look at the graph to be taken
 * first; then, if that is there, what they need, and whether there is room for the other engine. */
static void passes_estimate(const struct hs_snap *snap, uint64_t left,
                            struct hs_index_estimate *estimate)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    uint64_t n = snap_nodes(snap), m = snap_edges(snap);
    struct hs_passes_counts counts = {.n_nodes = n,
                                      .n_tree = totals->n_tree,
                                      .n_core = 1,
                                      .n_words = totals->heap_words,
                                      .n_static_words = totals->static_words,
                                      .n_static_blocks = totals->n_static_blocks,
                                      .forward_bytes = HS_SWEEP_SLOT_BYTES};

    estimate->least_bytes = passes_bytes(snap, &counts, false);
    estimate->memory_bytes = resident_bytes(snap, &counts);
    bool fits = n < UINT32_MAX - 1 && m < UINT32_MAX - 1;
    estimate->in_memory = fits && estimate->memory_bytes <= left;
    if (estimate->in_memory || !passes_count(snap, left, &counts))
        return;
    estimate->is_counted = true;
    estimate->memory_bytes = resident_bytes(snap, &counts);
    estimate->in_memory = fits && estimate->memory_bytes <= left;
    bool has_held = index_passes_has_held(snap);
    estimate->least_bytes = passes_bytes(snap, &counts, has_held);
    estimate->spill_bytes = spill_bytes(snap, &counts, left, has_held);
}

/* The roots of an open snapshot, but for what is fixed and small. */
static uint64_t roots_bytes(const struct hs_snap *snap)
{
    uint64_t n_bytes = hs_snap_totals(snap)->n_tree * sizeof(struct hs_root);
    return n_bytes > ROOTS_SMALL_BYTES ? n_bytes - ROOTS_SMALL_BYTES : 0;
}

static uint64_t left_bytes(const struct hs_snap *snap, const struct hs_budget *budget)
{
    uint64_t left = hs_budget_left_bytes(budget), roots = roots_bytes(snap);
    return left == UINT64_MAX ? left : left > roots ? left - roots : 0;
}

void hs_index_estimate(const struct hs_snap *snap, const struct hs_budget *budget,
                       struct hs_index_estimate *ret)
{
    const struct hs_snap_totals *totals = hs_snap_totals(snap);
    uint64_t n = snap_nodes(snap), m = snap_edges(snap), left = left_bytes(snap, budget);
    const struct hs_sweep forward = {.n_nodes = n, .n_tree = totals->n_tree, .max_edges = m};
    struct hs_index_estimate estimate = {
        .file_bytes = index_engine_file_bytes(snap),
        .seconds = 1 + (n * 250 + m * 100) / 1000000000,
    };

    estimate.used_bytes = roots_bytes(snap) + (budget == NULL ? 0 : budget->used_bytes);
    passes_estimate(snap, left, &estimate);
    uint64_t resident = estimate.memory_bytes;
    if (estimate.least_bytes > resident && n < UINT32_MAX - 1 && m < UINT32_MAX - 1)
        estimate.least_bytes = resident; /* of small heaps, in memory */
    if (!estimate.in_memory) {
        if (left < resident)
            estimate.memory_bytes = left > estimate.least_bytes ? left : estimate.least_bytes;
        if (!estimate.is_counted)
            estimate.spill_bytes = index_passes_disk_bytes(&forward);
        estimate.seconds *= 2;
    }
    *ret = estimate;
}

hs_status index_engine_choose(const struct hs_snap *snap, const struct hs_budget *budget,
                              struct hs_index_estimate *ret, struct hs_error *err)
{
    char needed[HS_UNIT_TEXT_BYTES], limit[HS_UNIT_TEXT_BYTES];

    hs_index_estimate(snap, budget, ret);
    uint64_t left = left_bytes(snap, budget);
    if (ret->in_memory || ret->least_bytes <= left)
        return HS_OK;
    hs_format_bytes(hs_budget_round_up(ret->least_bytes + ret->used_bytes), needed);
    hs_format_bytes(budget->limit_bytes, limit);
    (void)hs_fail(err, HS_LIMIT, "an index of %llu nodes needs %s%s of memory, %s are allowed",
                  (unsigned long long)snap_nodes(snap), ret->is_counted ? "" : "at least ", needed,
                  limit);
    return hs_budget_hint(budget, err);
}

static hs_status run_in_memory(const struct index_work *work, struct index_writer *writer,
                               struct hs_error *err)
{
    uint64_t needed = work->memory_bytes, left = hs_budget_left_bytes(work->budget);
    uint64_t n_bytes = needed - writer_bytes(snap_nodes(work->snap));
    uint64_t kept = needed + index_engine_file_bytes_max(work->snap);
    struct index_work counted = *work;

    counted.room_bytes = left == UINT64_MAX ? 0 : n_bytes;
    if (left != UINT64_MAX && left > kept) /* what is faster with more room has half of it */
        counted.room_bytes += (left - kept) / 2;
    counted.memory_bytes = n_bytes;
    HS_TRY(hs_budget_reserve(work->budget, n_bytes, "the graph", err));
    hs_status status = index_build_run(&counted, writer, err);
    hs_budget_release(work->budget, n_bytes);
    return status;
}

hs_status index_engine_run(const struct index_work *work, struct index_writer *writer,
                           struct hs_error *err)
{
    struct index_progress progress;
    struct index_work counted = *work;
    uint64_t n_bytes = roots_bytes(work->snap);

    HS_TRY(hs_budget_reserve(work->budget, n_bytes, "the roots", err));
    index_progress_init(work->progress, &progress);
    counted.progress = &progress.counted;
    hs_status status = work->in_memory ? run_in_memory(work, writer, err)
                                       : index_passes_build(&counted, writer, err);
    hs_budget_release(work->budget, n_bytes);
    return status;
}
