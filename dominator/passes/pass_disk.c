/* The temporary files of the passes at one time, computed from the counts: a bound for each step
 * that may be the largest. Neither how deep regions are is known, nor how much of the core is left
 * when it has been sifted; so each step has the worst of both, and what depends on that is kept
 * small in the files (pass_stack.h, forest_stack.h, pass_scatter.h, dominator/edge_log.h). */
#include "pass_disk.h"
#include "dominator/dominators.h"
#include "pass_scatter.h"
#include "pass_stack.h"
#include "pass_steps.h"
#include "pass_weights.h"

struct files {
    const struct hs_passes_counts *c;
    uint64_t n, n_core, n_edges; /* n_edges: into core nodes */
    uint64_t left;               /* of the budget, when the passes begin */
    uint64_t always;             /* from the forest to the retained sizes */
    uint64_t rows;               /* of the core, while it is sifted (core_rows.h) */
};

static uint64_t most(uint64_t a, uint64_t b)
{
    return a > b ? a : b;
}

static uint64_t less(uint64_t a, uint64_t b)
{
    return a > b ? a - b : 0;
}

/* Returns the bytes of a bitmap as pass_bitmap_init makes it. */
static uint64_t bits(uint64_t n)
{
    return n / 8 + n / 64 + 24;
}

static uint64_t varint_bytes(uint64_t below)
{
    uint64_t n = 1;
    while (below > 1 && (below - 1) >> (7 * n) != 0)
        n++;
    return n;
}

/* Returns the bytes of n numbers below `below`, which in `n_rows` rows ascend from 0: so they are
 * not all large. */
static uint64_t gaps_bytes(uint64_t n, uint64_t n_rows, uint64_t below)
{
    uint64_t n_bytes = n;

    for (unsigned shift = 7; (below - 1) >> shift != 0; shift += 7) {
        uint64_t n_longer =
            (below >> shift) * n_rows + ((below & ((1ULL << shift) - 1)) * n_rows >> shift);
        n_bytes += n_longer < n ? n_longer : n;
    }
    return n_bytes;
}

/* Counts the edges into core nodes, but for the first of each. */
static uint64_t gaps(const struct hs_passes_counts *counts)
{
    return less(less(counts->n_edges, counts->n_single), counts->n_core);
}

/* A region parked, the sequence parked: 4 bytes a core node each. */
static uint64_t core_bytes(const struct files *f)
{
    return f->n_core * sizeof(uint32_t);
}

/* Returns the bytes while rows are sifted: those of the round before are there, too. What is
 * resolved has no row, but a place in the sequence. */
static uint64_t files_of_peel(const struct files *f)
{
    return most(core_bytes(f), 2 * f->rows);
}

/* The graph that sifting leaves (core_graph.c): all of the core, where it is cycles. */
static uint64_t files_of_graph(const struct files *f)
{
    uint64_t graph = hs_graph_bytes(f->n_core, f->n_edges), region = core_bytes(f);
    uint64_t left = less(f->left, bits(f->n) + 4 * bits(f->n_core) + region);
    uint64_t log = less(f->n_edges, f->n_core) * (varint_bytes(f->n_core) * 8 + 9) / 8;

    if (left >= graph && left - graph >= hs_domtree_room_bytes(f->n_core, f->n_edges))
        return 0;
    uint64_t search = 2 * core_bytes(f) + log;
    if (left >= graph && left + region - graph >= hs_domtree_least_bytes(f->n_core, f->n_edges))
        return search;
    return most(graph + most(f->rows, core_bytes(f) + log), search);
}

/* Points along cycles of siblings (attach_spread.c). */
static uint64_t files_of_attach(const struct files *f)
{
    uint64_t graph = hs_graph_bytes(f->n_core, f->n_edges), starts = 2 * core_bytes(f);
    uint64_t attach = f->n_core * hs_ids_width(f->n);
    uint64_t left = less(f->left, bits(f->n) + 7 * bits(f->n_core) + 2 * attach);
    uint64_t parked = 2 * core_bytes(f) + most(f->rows, attach);

    return left >= graph + less(starts, attach) ? parked : parked + graph;
}

/* Returns how many rows of so many bytes, on their way to nodes, wait in files. */
static uint64_t scattered(const struct files *f, unsigned row_bytes, uint64_t room)
{
    uint64_t n_parts = pass_scatter_parts(f->n, row_bytes, room);
    return f->n - (f->n + n_parts - 1) / n_parts;
}

/* Regions, then places; and retained sizes on their way to nodes, those of nodes without children
 * in 6 bytes; or half of them, and what waits for the others to come, in a deep region. */
static uint64_t files_of_retained(const struct files *f)
{
    const struct hs_passes_counts *c = f->c;
    unsigned n_dims = c->n_static_blocks == 0 ? 2 : HS_N_DIMENSIONS;
    unsigned row = pass_scatter_width(c->n_words) + pass_scatter_width(f->n);
    uint64_t n_large = (c->n_words + c->n_static_words) / WEIGHT_LARGE;
    uint64_t weights =
        f->n + bits(f->n) + ((uint64_t)1 << 18) + 4 * (n_large < f->n ? n_large : f->n);
    uint64_t stack = pass_stack_max_bytes(PASS_STACK_HALF, (1 + n_dims) * sizeof(uint64_t));
    uint64_t held =
        2 * bits(f->n) + bits(f->n_core) + f->n_core * (8 + hs_ids_width(f->n)) + weights;
    uint64_t cores = n_dims * sizeof(uint64_t) * f->n_core;

    if (n_dims > 2)
        row += pass_scatter_width(c->n_static_words) + pass_scatter_width(c->n_static_blocks);
    uint64_t reserve = pass_scatter_leave(stack, f->n / 8 + f->n + f->n / 8, c->first_bytes);
    uint64_t n = scattered(f, row, less(f->left, held + reserve));
    uint64_t of_core = varint_bytes(c->n_words) + varint_bytes(f->n);
    uint64_t records = n * (4 + n_dims) + n / 2 + n * f->n_core / f->n * of_core;
    uint64_t deep = records / 2 + less(f->n, f->n_core) * (1 + n_dims) * 4 / 7;
    return cores + most(records, deep);
}

static uint64_t files_of_idoms(const struct files *f)
{
    uint64_t held = 2 * bits(f->n) + bits(f->n_core) + f->n_core * (8 + 2 * hs_ids_width(f->n));
    uint64_t stack = pass_stack_max_bytes(PASS_STACK_HALF, 2 * sizeof(uint64_t));
    uint64_t reserve = pass_scatter_leave(stack, f->n / 8, f->c->first_bytes);
    uint64_t n = scattered(f, pass_scatter_width(f->n), less(f->left, held + reserve));

    return n * (4 + varint_bytes(f->n)) + less(f->n, f->n_core) * 5 / 4;
}

/* Returns the bytes of what several roots share, when the forest is closed: sizes of units, where
 * they begin, the edges between them, and their graph in both directions (pass_condense.c). */
static uint64_t files_of_shared(const struct files *f)
{
    uint64_t n_units = f->n_core + f->c->n_tree, n_edges = f->n_edges + f->c->n_tree;
    uint64_t unit = varint_bytes(n_units), graph = hs_graph_bytes(n_units, n_edges);

    return n_units * (unit + 6) + f->n_core * (unit + 1) + f->n_edges * unit + 2 * graph;
}

uint64_t hs_passes_disk_bytes(const struct hs_passes_counts *counts, uint64_t left)
{
    uint64_t n = counts->n_nodes, n_core = counts->n_core;
    struct files f = {.c = counts, .n = n, .n_core = n_core, .left = left};

    f.n_edges = n_core + gaps(counts);
    f.always = n * (hs_ids_width(n) + sizeof(uint32_t)) + counts->core_gap_bytes +
               n_core * (varint_bytes(n_core) + 1 + varint_bytes(n));
    f.rows = n_core * (2 + varint_bytes(2 * n_core)) + counts->row_gap_bytes;
    uint64_t core = most(most(files_of_peel(&f), files_of_graph(&f)), files_of_attach(&f));
    uint64_t answers = most(files_of_retained(&f), files_of_idoms(&f));
    return most(f.always + most(core, answers), files_of_shared(&f));
}

/* ---- counting ---- */

static uint64_t bits_in(const struct hs_bitmap *map, uint64_t begin, uint64_t end)
{
    return hs_bitmap_rank(map, end) - hs_bitmap_rank(map, begin);
}

/* Adds rows of so many edges beyond the first. */
static void gaps_add(struct hs_passes_counts *counts, uint64_t n, uint64_t n_rows)
{
    counts->core_gap_bytes += gaps_bytes(n, n_rows, counts->n_nodes);
    counts->row_gap_bytes += gaps_bytes(n, n_rows, 2 * counts->n_core);
}

void pass_disk_count(const struct hs_bitmap *is_single, const struct hs_bitmap *is_multi,
                     const struct hs_passes_degrees *degrees, struct hs_passes_counts *ret)
{
    uint64_t rest = gaps(ret), n_rows = ret->n_core;

    ret->core_gap_bytes = ret->row_gap_bytes = 0;
    for (size_t i = 0; degrees != NULL && i < degrees->n_runs; i++) {
        uint64_t begin = ret->n_tree + i * HS_SWEEP_RUN, end = begin + HS_SWEEP_RUN;
        end = end < ret->n_nodes ? end : ret->n_nodes;
        if (begin >= end)
            break;
        uint64_t n_in = bits_in(is_single, begin, end), n_multi = bits_in(is_multi, begin, end);
        uint64_t n = less(degrees->of_run[i], n_in); /* one edge each leads into n_in of them */
        n = n < rest ? n : rest;
        gaps_add(ret, n, n_multi);
        rest -= n;
        n_rows = less(n_rows, n_multi);
    }
    gaps_add(ret, rest, n_rows);
}
