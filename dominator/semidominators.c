#include "semidominators.h"

#include <assert.h>
#include <string.h>

#include "graph/pages.h"

/* Log entries and edges fetched ahead. */
#define FETCH_LOG 16
#define FETCH_PATH 6

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
    uint32_t *source; /* their sources */
    uint64_t n_sources;
    uint32_t *ancestor; /* by preorder number: borrowed parents, compressed, put back */
    struct old_parent *old;
    uint32_t n_old;
    struct hs_parked parents; /* all of them, instead of `old` */
    struct engine_stack path; /* of one evaluation */
};

/* Without a call: the machine's own instruction is not in the x86-64 baseline. */
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

/* What is known of the core: the parent as candidate, the bound where final. */
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
 * front as (rank, source), and counts them per core node in row[rank + 2]. */
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

static hs_status log_sort(struct edge_log *log, struct semi_work *work, struct hs_error *err)
{
    const char *what = "the edges to evaluate";

    HS_TRY(engine_array_init(work->budget, (size_t)work->n_core + 2, what, &work->row, err));
    HS_TRY(edge_log_filter(log, edges_keep, work, err));
    for (uint32_t i = 0; i < work->n_core; i++)
        work->row[i + 2] += work->row[i + 1];
    work->n_sources = log->n_all;
    HS_TRY(engine_array_init(work->budget, work->n_sources, what, &work->source, err));
    hs_dense_advise(work->source, work->n_sources * sizeof *work->source);
    HS_TRY(edge_log_read(log, edges_place, work, err));
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

/* Room for one more on the path; false when there is none. */
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

/* Of one core node; its row's end is overwritten, which nobody needs any more. */
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

static hs_status semis_evaluate(const struct depth_first *search, struct semi_work *work,
                                uint64_t *n_evals)
{
    uint32_t i = work->n_core;

    for (size_t word = ((size_t)work->n_reached + 63) / 64; word-- > 0;) {
        for (uint64_t bits = work->is_core->words[word]; bits != 0;) {
            uint32_t top = 63 - (uint32_t)__builtin_clzll(bits);
            bits &= ~((uint64_t)1 << top);
            semi_evaluate(search, work, (uint32_t)(word * 64) + top, --i, n_evals);
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
    HS_TRY(log_sort(&search->log, work, err));
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
