#include "semidominators.h"

#include <assert.h>
#include <string.h>

#include "graph/pages.h"

/* The distances at which log entries and edges are fetched ahead. */
#define FETCH_LOG 16
#define FETCH_PATH 6

#define EDGES "the edges to evaluate"

/* A tree parent that path compression has overwritten. */
struct old_parent {
    uint32_t number, parent;
};

/* Working state; everything indexed by core is by rank in the core. */
struct semi_work {
    struct hs_budget *budget;
    hs_status status; /* of the evaluations */
    struct hs_error *err;
    uint32_t n_reached, n_core;
    const struct hs_bitmap *is_core, *is_resolved; /* borrowed from the search */
    struct hs_bitmap is_moved;                     /* nodes whose parent is in `old` */
    uint32_t *rank;                                /* core nodes before each 64 preorder numbers */
    size_t n_ranks;
    uint32_t *label;  /* the semidominator; later the least one of what `ancestor` jumps over */
    uint32_t *row;    /* n_core + 2: begins of the in-edges that need an evaluation; behind what is
                         done, semidominators */
    uint32_t *source; /* their sources; NULL: in a file */
    bool is_counted;  /* what leads into each rank, in row[] */
    uint64_t n_sources;
    struct hs_spill sources;             /* 4 bytes each */
    struct hs_spill_reader sources_back; /* from the last one on */
    uint32_t *ancestor; /* by preorder number: borrowed parents, compressed, put back */
    struct old_parent *old;
    uint32_t n_old;
    struct hs_parked parents; /* all of them, instead of `old` */
    struct engine_stack path; /* of one evaluation */
};

/* Counts bits without a call: the machine's own instruction is not in the x86-64 baseline. */
static inline uint32_t bits_count(uint64_t x)
{
    x -= x >> 1 & 0x5555555555555555ULL;
    x = (x & 0x3333333333333333ULL) + (x >> 2 & 0x3333333333333333ULL);
    x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fULL;
    return (uint32_t)(x * 0x0101010101010101ULL >> 56);
}

static inline bool core_has(const struct semi_work *work, uint32_t number)
{
    return hs_bitmap_get(work->is_core, number);
}

static inline uint32_t core_rank(const struct semi_work *work, uint32_t number)
{
    uint64_t below = work->is_core->words[number >> 6] & (((uint64_t)1 << (number & 63)) - 1);
    return work->rank[number >> 6] + bits_count(below);
}

static uint64_t old_bytes(const struct semi_work *work)
{
    return (uint64_t)work->n_reached * sizeof *work->old;
}

static void work_fini(struct semi_work *work)
{
    struct hs_budget *budget = work->budget;

    engine_bitmap_fini(budget, &work->is_moved);
    engine_array_fini(budget, &work->rank, work->n_ranks);
    engine_array_fini(budget, &work->label, work->n_core);
    engine_array_fini(budget, &work->row, (size_t)work->n_core + 2);
    engine_array_fini(budget, &work->source, work->n_sources);
    hs_spill_reader_close(&work->sources_back);
    hs_spill_close(&work->sources);
    engine_stack_fini(&work->path);
    hs_parked_close(&work->parents);
    if (work->old != NULL)
        hs_budget_release(budget, old_bytes(work));
    hs_pages_free(work->old, work->n_reached, sizeof *work->old);
}

/* ---- the core ---- */

static hs_status core_index(struct semi_work *work, struct hs_error *err)
{
    uint32_t n = work->n_reached;

    work->n_ranks = (size_t)n / 64 + 1;
    HS_TRY(engine_array_init(work->budget, work->n_ranks, "the core", &work->rank, err));
    for (size_t i = 0; i * 64 < n; i++) {
        work->rank[i] = work->n_core;
        work->n_core += bits_count(work->is_core->words[i]);
    }
    return HS_OK;
}

/* Labels a core node by what is known of the core: the parent as candidate, the bound where final.
 */
static hs_status core_label(const struct depth_first *search, struct semi_work *work,
                            struct hs_error *err)
{
    uint32_t at = 0;

    HS_TRY(engine_array_init(work->budget, work->n_core, "the core", &work->label, err));
    for (size_t i = 0; i * 64 < search->n_reached; i++) {
        for (uint64_t bits = work->is_core->words[i]; bits != 0; bits &= bits - 1) {
            uint32_t number = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(bits);
            work->label[at++] = hs_bitmap_get(work->is_resolved, number)
                                    ? depth_first_bound(search, number)
                                    : search->parent[number];
        }
    }
    assert(at == work->n_core);
    return HS_OK;
}

/* ---- edges into the core ---- */

/* Drops edges into resolved nodes, takes edges from ancestors into account, keeps the rest at the
 * front as (rank, source), and counts them per core node in row[rank + 2], the first time. */
static uint64_t edges_keep(void *context, struct numbered_edge *log, uint64_t n)
{
    struct semi_work *work = context;
    uint64_t kept = 0;

    for (uint64_t i = 0; i < n; i++) {
        struct numbered_edge edge = log[i];
        if (i + FETCH_LOG < n)
            __builtin_prefetch(&work->is_resolved->words[log[i + FETCH_LOG].target >> 6]);
        if (hs_bitmap_get(work->is_resolved, edge.target))
            continue;
        uint32_t rank = core_rank(work, edge.target);
        if (edge.source < edge.target) {
            if (edge.source < work->label[rank])
                work->label[rank] = edge.source;
            continue;
        }
        if (!work->is_counted)
            work->row[rank + 2]++;
        log[kept++] = (struct numbered_edge){rank, edge.source};
    }
    return kept;
}

static void edges_place(void *context, const struct numbered_edge *log, uint64_t n)
{
    struct semi_work *work = context;
    for (uint64_t i = 0; i < n; i++)
        work->source[work->row[log[i].target + 1]++] = log[i].source;
}

/* Begins of rows, in row[rank + 1], and the number of sources. */
static hs_status log_count(struct edge_log *log, struct semi_work *work, struct hs_error *err)
{
    HS_TRY(engine_array_init(work->budget, (size_t)work->n_core + 2, EDGES, &work->row, err));
    HS_TRY(edge_log_filter(log, edges_keep, work, err));
    work->is_counted = true;
    for (uint32_t i = 0; i < work->n_core; i++)
        work->row[i + 2] += work->row[i + 1];
    work->n_sources = log->n_kept;
    return HS_OK;
}

static hs_status log_sort(struct edge_log *log, struct semi_work *work, struct hs_error *err)
{
    HS_TRY(engine_array_init(work->budget, work->n_sources, EDGES, &work->source, err));
    hs_dense_advise(work->source, work->n_sources * sizeof *work->source);
    return edge_log_read(log, edges_place, work, err);
}

/* ---- the same into a file ---- */

/* The sources of the ranks [first, end) while they are sorted. */
struct sort_window {
    struct semi_work *work;
    uint32_t first, end;
    uint32_t *sources; /* NULL: one rank, whose sources go straight to the file */
    uint32_t base;     /* the number of the first of them */
};

static void window_place(void *context, const struct numbered_edge *log, uint64_t n)
{
    struct sort_window *window = context;
    struct semi_work *work = window->work;

    for (uint64_t i = 0; i < n; i++) {
        uint32_t rank = log[i].target;
        if (rank < window->first || rank >= window->end)
            continue;
        uint32_t at = work->row[rank + 1]++;
        if (window->sources != NULL)
            window->sources[at - window->base] = log[i].source;
        else if (work->status == HS_OK)
            work->status =
                hs_spill_put_fixed(&work->sources, log[i].source, sizeof(uint32_t), work->err);
    }
}

static hs_status window_run(struct sort_window *window, struct edge_log *log, struct hs_error *err)
{
    struct semi_work *work = window->work;

    HS_TRY(edge_log_read(log, window_place, window, err));
    HS_TRY(work->status);
    if (window->sources == NULL)
        return HS_OK;
    uint64_t n = work->row[window->end] - window->base; /* begins have moved to ends */
    return hs_spill_write(&work->sources, window->sources, n * sizeof(uint32_t), err);
}

static hs_status windows_run(struct semi_work *work, struct edge_log *log, uint32_t *sources,
                             uint64_t n_sources, struct hs_error *err)
{
    struct sort_window window = {.work = work};

    while (window.end < work->n_core) {
        window.first = window.end;
        window.base = work->row[window.first + 1];
        while (window.end < work->n_core && work->row[window.end + 2] - window.base <= n_sources)
            window.end++;
        window.sources = window.end == window.first ? NULL : sources;
        window.end += window.end == window.first;
        HS_TRY(window_run(&window, log, err));
    }
    HS_TRY(hs_spill_seal(&work->sources, err));
    return hs_spill_read(&work->sources, 0, work->sources.n_bytes, &work->sources_back, err);
}

/* Sorts window by window of ranks, in one reading of the log each. */
static hs_status log_sort_stored(struct edge_log *log, struct semi_work *work, struct hs_error *err)
{
    uint64_t n = hs_budget_left_bytes(work->budget) / 4 / sizeof(uint32_t);
    uint64_t least = HS_STORED_LEAST_BYTES / sizeof(uint32_t);
    uint32_t *sources = NULL;

    n = n < least ? least : n;
    n = n < work->n_sources ? n : work->n_sources;
    HS_TRY(hs_spill_open(work->budget, EDGES, &work->sources, err));
    HS_TRY(engine_array_init(work->budget, n, EDGES, &sources, err));
    hs_status status = windows_run(work, log, sources, n, err);
    engine_array_fini(work->budget, &sources, n);
    return status;
}

/* Takes the log, in a file when memory has no room for the sources beside the longest path. */
static hs_status log_take(const struct depth_first *search, struct edge_log *log,
                          struct semi_work *work, struct hs_error *err)
{
    HS_TRY(log_count(log, work, err));
    uint64_t path_bytes = (uint64_t)work->n_reached * sizeof(uint32_t) + work->n_reached / 8;
    uint64_t needed = work->n_sources * sizeof(uint32_t) + path_bytes + HS_STORED_LEAST_BYTES;
    if (search->is_tight && hs_budget_left_bytes(work->budget) < needed)
        HS_TRY(log_sort_stored(log, work, err));
    else
        HS_TRY(log_sort(log, work, err));
    edge_log_fini(log);
    return HS_OK;
}

/* ---- evaluation ---- */

static inline void path_move(struct semi_work *work, uint32_t x, uint32_t up)
{
    if (work->ancestor[x] == up)
        return;
    if (!hs_bitmap_get(&work->is_moved, x)) {
        hs_bitmap_set(&work->is_moved, x);
        work->old[work->n_old++] = (struct old_parent){x, work->ancestor[x]};
    }
    work->ancestor[x] = up;
}

/* Makes room for one more on the path; false when there is none. */
static __attribute__((noinline)) bool path_grow(struct semi_work *work, uint32_t n)
{
    if (work->status == HS_OK)
        work->status = engine_stack_reserve(&work->path, (size_t)n + 1, work->err);
    return work->status == HS_OK;
}

/* The smallest semidominator on the tree path from `from` up to, not including, the first node
 * <= low. That end itself is a candidate, too: its child on the path has it as semidominator or
 * better. Core nodes carry in their label the least of what they jump over; a node outside
 * the core carries nothing, so it may jump over its like only. 0 when work->status has failed. */
static uint32_t path_eval(struct semi_work *work, uint32_t from, uint32_t low)
{
    const uint32_t *ancestor = work->ancestor;
    uint32_t *path = work->path.items;
    uint32_t n = 0, least = HS_NONE, end = ancestor[from];

    if (end <= low) { /* nothing to compress: the most frequent case */
        uint32_t label = core_has(work, from) ? work->label[core_rank(work, from)] : end;
        return label < end ? label : end;
    }
    path[n++] = from;
    for (; end > low; end = ancestor[end]) {
        if (n == work->path.n_reserved && !path_grow(work, n))
            return 0;
        path[n++] = end;
    }
    while (n-- > 0) {
        uint32_t x = path[n];
        if (core_has(work, x)) {
            uint32_t *label = &work->label[core_rank(work, x)];
            if (least < *label)
                *label = least;
            else
                least = *label;
            path_move(work, x, end);
        } else if (least == HS_NONE) {
            path_move(work, x, end);
        } else if (!core_has(work, ancestor[x])) {
            path_move(work, x, ancestor[ancestor[x]]);
        }
    }
    return end < least ? end : least;
}

/* Evaluates one core node; its row's end is overwritten, which nobody needs any more. */
static inline void semi_evaluate(const struct depth_first *search, struct semi_work *work,
                                 uint32_t number, uint32_t i, uint64_t *n_evals)
{
    uint32_t semi = work->label[i], bound = depth_first_bound(search, number);

    for (uint32_t e = work->row[i + 1]; e-- > work->row[i] && semi > bound;) {
        if (e >= FETCH_PATH)
            __builtin_prefetch(&work->ancestor[work->source[e - FETCH_PATH]]);
        uint32_t found = path_eval(work, work->source[e], number);
        semi = found < semi ? found : semi;
        ++*n_evals;
    }
    work->label[i] = work->row[i + 1] = semi;
}

/* The same of sources in a file, which are all taken out of it. */
static void semi_evaluate_stored(const struct depth_first *search, struct semi_work *work,
                                 uint32_t number, uint32_t i, uint64_t *n_evals)
{
    uint32_t semi = work->label[i], bound = depth_first_bound(search, number);

    for (uint32_t n = work->row[i + 1] - work->row[i]; n != 0 && work->status == HS_OK; n--) {
        uint64_t source = 0;
        work->status =
            hs_spill_get_fixed_back(&work->sources_back, sizeof(uint32_t), &source, work->err);
        if (work->status != HS_OK || semi <= bound)
            continue;
        uint32_t found = path_eval(work, (uint32_t)source, number);
        semi = found < semi ? found : semi;
        ++*n_evals;
    }
    work->label[i] = work->row[i + 1] = semi;
}

static hs_status semis_evaluate(const struct depth_first *search, struct semi_work *work,
                                uint64_t *n_evals)
{
    uint32_t i = work->n_core;

    for (size_t word = ((size_t)work->n_reached + 63) / 64; word-- > 0;) {
        for (uint64_t bits = work->is_core->words[word]; bits != 0;) {
            uint32_t top = 63 - (uint32_t)__builtin_clzll(bits);
            bits &= ~((uint64_t)1 << top);
            if (work->source != NULL)
                semi_evaluate(search, work, (uint32_t)(word * 64) + top, --i, n_evals);
            else
                semi_evaluate_stored(search, work, (uint32_t)(word * 64) + top, --i, n_evals);
        }
        if (work->status != HS_OK)
            return work->status;
    }
    assert(i == 0);
    return HS_OK;
}

/* ---- parents, and back ---- */

static hs_status parents_keep(const struct depth_first *search, struct semi_work *work,
                              struct hs_error *err)
{
    struct hs_budget *budget = work->budget;
    uint32_t n = work->n_reached;

    HS_TRY(engine_bitmap_init(budget, n, "the paths", &work->is_moved, err));
    if (search->is_tight) { /* as if all of them had been moved before */
        memset(work->is_moved.words, 0xff, ((size_t)n + 63) / 64 * sizeof *work->is_moved.words);
        return hs_parked_put(budget, "the search's tree", search->parent,
                             (uint64_t)n * sizeof *search->parent, &work->parents, err);
    }
    HS_TRY(hs_budget_reserve(budget, old_bytes(work), "the paths", err));
    hs_status status = HS_PAGES_ALLOC(&work->old, n, err);
    if (status != HS_OK)
        hs_budget_release(budget, old_bytes(work));
    return status;
}

static hs_status parents_restore(const struct depth_first *search, struct semi_work *work,
                                 struct hs_error *err)
{
    if (search->is_tight)
        return hs_parked_get(&work->parents, search->parent, err);
    for (uint32_t i = 0; i < work->n_old; i++)
        work->ancestor[work->old[i].number] = work->old[i].parent;
    return HS_OK;
}

static hs_status semis_find(struct depth_first *search, struct semi_work *work, uint64_t *n_evals,
                            struct hs_error *err)
{
    work->n_reached = search->n_reached;
    work->ancestor = search->parent;
    work->is_core = &search->is_core;
    work->is_resolved = &search->is_resolved;
    HS_TRY(core_index(work, err));
    HS_TRY(core_label(search, work, err));
    HS_TRY(log_take(search, &search->log, work, err));
    HS_TRY(parents_keep(search, work, err));
    HS_TRY(engine_stack_init(work->budget, work->n_reached, sizeof(uint32_t), "the paths",
                             &work->path, err));
    HS_TRY(semis_evaluate(search, work, n_evals));
    return parents_restore(search, work, err);
}

hs_status semidominators_find(struct depth_first *search, struct semidominators *ret,
                              struct hs_error *err)
{
    struct semi_work work = {.budget = search->budget, .err = err};
    struct semidominators semis = {.budget = search->budget};
    hs_status status = semis_find(search, &work, &semis.n_evals, err);

    if (status == HS_OK) {
        semis.n_core = work.n_core;
        semis.rows = HS_STEAL(work.row);
        semis.semi = semis.rows + 1;
        *ret = semis;
    }
    work_fini(&work);
    return status;
}

void semidominators_fini(struct semidominators *semis)
{
    engine_array_fini(semis->budget, &semis->rows, (size_t)semis->n_core + 2);
    *semis = (struct semidominators){0};
}
