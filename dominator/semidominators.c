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
    uint32_t n_reached, n_core;
    struct hs_bitmap is_core;    /* by preorder number */
    struct hs_bitmap is_settled; /* core nodes whose semidominator is their bound */
    struct hs_bitmap is_moved;   /* nodes whose parent is in `old` */
    uint32_t *rank;              /* core nodes before each 64 preorder numbers */
    size_t n_ranks;
    uint32_t *core;
    uint32_t *label;  /* the semidominator; later the least one of what `ancestor` jumps over */
    uint32_t *row;    /* n_core + 2: begins of the in-edges that need an evaluation */
    uint32_t *source; /* their sources */
    uint64_t n_sources;
    uint32_t *ancestor; /* by preorder number: borrowed parents, compressed, put back */
    struct old_parent *old;
    uint32_t n_old;
    uint32_t *path; /* of one evaluation */
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
    return hs_bitmap_get(&work->is_core, number);
}

static inline uint32_t core_rank(const struct semi_work *work, uint32_t number)
{
    uint64_t below = work->is_core.words[number >> 6] & (((uint64_t)1 << (number & 63)) - 1);
    return work->rank[number >> 6] + bits_count(below);
}

static void work_fini(struct semi_work *work)
{
    hs_bitmap_fini(&work->is_core);
    hs_bitmap_fini(&work->is_settled);
    hs_bitmap_fini(&work->is_moved);
    hs_pages_free(work->rank, work->n_ranks, sizeof(uint32_t));
    hs_pages_free(work->label, work->n_core, sizeof(uint32_t));
    hs_pages_free(work->row, (size_t)work->n_core + 2, sizeof(uint32_t));
    hs_pages_free(work->source, work->n_sources, sizeof(uint32_t));
    hs_pages_free(work->old, work->n_reached, sizeof *work->old);
    hs_pages_free(work->path, work->n_reached, sizeof(uint32_t));
}

/* ---- the core ---- */

/* Finds the core and the nodes that are final, and drops the log's edges that made them so. */
static void log_mark(struct depth_first *search, struct semi_work *work)
{
    struct numbered_edge *log = search->log;
    uint64_t n = search->n_log, kept = 0;

    for (uint64_t i = 0; i < n; i++) {
        struct numbered_edge edge = log[i];
        if (i + FETCH_LOG < n)
            __builtin_prefetch(&work->is_core.words[log[i + FETCH_LOG].target >> 6], 1);
        hs_bitmap_set(&work->is_core, edge.target);
        if (edge.source <= depth_first_bound(search, edge.target))
            hs_bitmap_set(&work->is_settled, edge.target);
        else
            log[kept++] = edge;
    }
    search->n_log = kept;
}

static hs_status core_index(struct depth_first *search, struct semi_work *work,
                            struct hs_error *err)
{
    uint32_t n = search->n_reached;
    void *memory;

    HS_TRY(hs_bitmap_init(&work->is_core, n, err));
    HS_TRY(hs_bitmap_init(&work->is_settled, n, err));
    log_mark(search, work);
    work->n_ranks = (size_t)n / 64 + 1;
    HS_TRY(hs_pages_alloc(work->n_ranks, sizeof(uint32_t), &memory, err));
    work->rank = memory;
    for (size_t i = 0; i * 64 < n; i++) {
        work->rank[i] = work->n_core;
        work->n_core += bits_count(work->is_core.words[i]);
    }
    return HS_OK;
}

/* Lists the core with what is known of it: the parent as candidate, the bound where final. */
static hs_status core_list(const struct depth_first *search, struct semi_work *work,
                           struct hs_error *err)
{
    uint32_t at = 0;
    void *memory;

    HS_TRY(hs_pages_alloc(work->n_core, sizeof(uint32_t), &memory, err));
    work->core = memory;
    HS_TRY(hs_pages_alloc(work->n_core, sizeof(uint32_t), &memory, err));
    work->label = memory;
    for (size_t i = 0; i * 64 < search->n_reached; i++) {
        for (uint64_t bits = work->is_core.words[i]; bits != 0; bits &= bits - 1) {
            uint32_t number = (uint32_t)(i * 64) + (uint32_t)__builtin_ctzll(bits);
            work->core[at] = number;
            work->label[at++] = hs_bitmap_get(&work->is_settled, number)
                                    ? depth_first_bound(search, number)
                                    : search->parent[number];
        }
    }
    assert(at == work->n_core);
    return HS_OK;
}

/* ---- edges into the core ---- */

/* Drops edges into settled nodes, takes edges from ancestors into account, keeps the rest at the
 * front of the log as (rank, source), and counts them per core node in row[rank + 2]. */
static void log_sift(struct depth_first *search, struct semi_work *work)
{
    struct numbered_edge *log = search->log;
    uint64_t n = search->n_log, kept = 0;

    for (uint64_t i = 0; i < n; i++) {
        struct numbered_edge edge = log[i];
        if (i + FETCH_LOG < n)
            __builtin_prefetch(&work->is_settled.words[log[i + FETCH_LOG].target >> 6]);
        if (hs_bitmap_get(&work->is_settled, edge.target))
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
    search->n_log = kept;
}

static hs_status log_sort(struct depth_first *search, struct semi_work *work, struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_pages_alloc((size_t)work->n_core + 2, sizeof(uint32_t), &memory, err));
    work->row = memory;
    log_sift(search, work);
    for (uint32_t i = 0; i < work->n_core; i++)
        work->row[i + 2] += work->row[i + 1];
    HS_TRY(hs_dense_pages(search->n_log, sizeof(uint32_t), &memory, err));
    work->source = memory;
    work->n_sources = search->n_log;
    for (uint64_t i = 0; i < search->n_log; i++)
        work->source[work->row[search->log[i].target + 1]++] = search->log[i].source;
    depth_first_drop_log(search);
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

/* The smallest semidominator on the tree path from `from` up to, not including, the first node
 * <= low. That end itself is a candidate, too: its child on the path has it as semidominator or
 * better. Core nodes carry in their label the least of what they jump over; a node outside
 * the core carries nothing, so it may jump over its like only. */
static uint32_t path_eval(struct semi_work *work, uint32_t from, uint32_t low)
{
    const uint32_t *ancestor = work->ancestor;
    uint32_t *path = work->path;
    uint32_t n = 0, least = HS_NONE, end = ancestor[from];

    if (end <= low) { /* nothing to compress: the most frequent case */
        uint32_t label = core_has(work, from) ? work->label[core_rank(work, from)] : end;
        return label < end ? label : end;
    }
    path[n++] = from;
    for (; end > low; end = ancestor[end])
        path[n++] = end;
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

static void semis_evaluate(const struct depth_first *search, struct semi_work *work,
                           struct semidominators *semis)
{
    for (uint32_t i = work->n_core; i-- > 0;) {
        uint32_t number = work->core[i], semi = work->label[i];
        uint32_t bound = depth_first_bound(search, number);
        for (uint32_t e = work->row[i + 1]; e-- > work->row[i] && semi > bound;) {
            if (e >= FETCH_PATH)
                __builtin_prefetch(&work->ancestor[work->source[e - FETCH_PATH]]);
            uint32_t found = path_eval(work, work->source[e], number);
            semi = found < semi ? found : semi;
            semis->n_evals++;
        }
        work->label[i] = semis->semi[i] = semi;
    }
    for (uint32_t i = 0; i < work->n_old; i++)
        work->ancestor[work->old[i].number] = work->old[i].parent;
}

static hs_status semis_find(struct depth_first *search, struct semi_work *work,
                            struct semidominators *semis, struct hs_error *err)
{
    void *memory;

    work->n_reached = search->n_reached;
    work->ancestor = search->parent;
    HS_TRY(core_index(search, work, err));
    HS_TRY(core_list(search, work, err));
    HS_TRY(log_sort(search, work, err));
    HS_TRY(hs_pages_alloc(work->n_core, sizeof(uint32_t), &memory, err));
    semis->semi = memory;
    semis->n_core = work->n_core;
    HS_TRY(hs_bitmap_init(&work->is_moved, work->n_reached, err));
    HS_TRY(hs_pages_alloc(work->n_reached, sizeof *work->old, &memory, err));
    work->old = memory;
    HS_TRY(hs_pages_alloc(work->n_reached, sizeof(uint32_t), &memory, err));
    work->path = memory;
    semis_evaluate(search, work, semis);
    return HS_OK;
}

hs_status semidominators_find(struct depth_first *search, struct semidominators *ret,
                              struct hs_error *err)
{
    struct semi_work work = {0};
    struct semidominators semis = {0};
    hs_status status = semis_find(search, &work, &semis, err);

    semis.core = work.core;
    semis.n_core = work.n_core;
    work_fini(&work);
    if (status == HS_OK)
        *ret = semis;
    else
        semidominators_fini(&semis);
    return status;
}

void semidominators_fini(struct semidominators *semis)
{
    hs_pages_free(semis->core, semis->n_core, sizeof(uint32_t));
    hs_pages_free(semis->semi, semis->n_core, sizeof(uint32_t));
    *semis = (struct semidominators){0};
}
