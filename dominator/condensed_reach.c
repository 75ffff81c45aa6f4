/* Searches from the nodes of the root tree: alone where little is reached, else together. */
#include "dominator/condensed.h"

#include <assert.h>

#include "condensed_ends.h"
#include "condensed_files.h"
#include "condensed_reach.h"
#include "graph/pages.h"
#include "reach_bits.h"

#define WHAT "searching from the roots"

/* A search alone is worth up to 1/256 of a sweep, and always so many steps. */
#define SOLO_SHARE 256
#define SOLO_MIN 4096
/* Searches that were tried in vain may cost so many sweeps in all. */
#define WASTE_SWEEPS 2

/* Each distinct thing asked: a node of the condensed graph. */
struct reach_work {
    struct hs_condensed *condensed;
    const struct hs_owner_roots *roots; /* NULL: no signatures */
    uint32_t *query_of;                 /* by tree node: what answers for it; HS_NONE: nothing */
    struct hs_bitmap is_asked;          /* by condensed node; indexed */
    uint32_t *queries;                  /* owned pages, as all by query: descending nodes */
    struct hs_sizes *answers;           /* of the queries */
    uint64_t *numbers;        /* by query: of the roots it answers for; NULL without roots */
    struct hs_bitmap is_done; /* by query */
    uint32_t n_queries;
    uint64_t n_room; /* of the arrays by query */
    uint64_t reserved_bytes;
};

/* Searches one by one. */
struct solo {
    struct reach_work *work;
    struct hs_bitmap is_seen; /* by condensed node: in the queue */
    uint32_t *queue;
    uint64_t n_queue; /* room */
    uint32_t n;       /* nodes in it */
    uint32_t *bound;  /* by condensed node: no search takes more steps; saturated */
    uint64_t most;    /* steps of one search */
    struct ends_batch ends;
    uint64_t reserved_bytes;
};

static uint64_t map_bytes(uint64_t n_bits)
{
    return n_bits / 8 + n_bits / 64 + 64;
}

static void work_fini(struct reach_work *work)
{
    hs_pages_free(work->query_of, work->condensed->n_tree, sizeof *work->query_of);
    hs_pages_free(work->queries, work->n_room, sizeof *work->queries);
    hs_pages_free(work->answers, work->n_room, sizeof *work->answers);
    hs_pages_free(work->numbers, work->n_room, sizeof *work->numbers);
    hs_bitmap_fini(&work->is_asked);
    hs_bitmap_fini(&work->is_done);
    hs_budget_release(work->condensed->budget, work->reserved_bytes);
}

static hs_status work_reserve(struct reach_work *work, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(work->condensed->budget, n_bytes, WHAT, err));
    work->reserved_bytes += n_bytes;
    return HS_OK;
}

/* ---- what to ask ---- */

uint64_t condensed_reach_bytes(uint64_t n_nodes, uint64_t n_tree)
{
    const struct reach_work *work = NULL;
    uint64_t n_together = n_tree < CONDENSED_REST_MAX ? n_tree : CONDENSED_REST_MAX;
    uint64_t by_tree = 2 * sizeof(uint32_t) /* of_tree, alone */ + sizeof *work->query_of +
                       sizeof *work->queries + sizeof *work->answers + sizeof *work->numbers +
                       sizeof(struct hs_sizes) /* the result */;

    return n_tree * by_tree + n_together * sizeof(struct root_query) + map_bytes(n_nodes) +
           map_bytes(n_tree);
}

/* The node whose reach answers for a tree node: its only successor's, when it has but one; HS_NONE
 * when it has none. Own sizes are added afterwards. */
static uint32_t tree_query(const struct hs_condensed *condensed, uint32_t tree_node)
{
    if (condensed->is_stored)
        return condensed->files.alone[tree_node];
    uint32_t n, own = condensed->of_tree[tree_node];
    const uint32_t *row = hs_graph_row(&condensed->graph, own, &n);
    if (n > 1 || condensed_ends_of(condensed, own) != 0)
        return own;
    return n == 1 ? row[0] : HS_NONE;
}

static hs_status queries_alloc(struct reach_work *work, uint64_t n, struct hs_error *err)
{
    HS_TRY(work_reserve(work, n * (sizeof *work->queries + sizeof *work->answers) + map_bytes(n),
                        err));
    work->n_room = n;
    HS_TRY(HS_PAGES_ALLOC(&work->queries, n, err));
    HS_TRY(HS_PAGES_ALLOC(&work->answers, n, err));
    return hs_bitmap_init(&work->is_done, n, err);
}

/* Collects what is asked: all but node 0, which reaches everything. */
static hs_status queries_collect(struct reach_work *work, struct hs_error *err)
{
    const struct hs_condensed *condensed = work->condensed;
    uint64_t n, n_tree = condensed->n_tree;

    HS_TRY(
        work_reserve(work, n_tree * sizeof *work->query_of + map_bytes(condensed->n_nodes), err));
    HS_TRY(HS_PAGES_ALLOC(&work->query_of, n_tree, err));
    HS_TRY(hs_bitmap_init(&work->is_asked, condensed->n_nodes, err));
    for (uint32_t i = 1; i < n_tree; i++) {
        work->query_of[i] = tree_query(condensed, i);
        if (work->query_of[i] != HS_NONE)
            hs_bitmap_set(&work->is_asked, work->query_of[i]);
    }
    HS_TRY(hs_bitmap_index(&work->is_asked, &n, err));
    HS_TRY(queries_alloc(work, n, err));
    for (uint64_t at = hs_bitmap_next(&work->is_asked, 0); at < condensed->n_nodes;
         at = hs_bitmap_next(&work->is_asked, at + 1))
        work->queries[n - ++work->n_queries] = (uint32_t)at;
    return HS_OK;
}

/* The query of a node that is asked. */
static uint32_t query_at(const struct reach_work *work, uint32_t node)
{
    assert(hs_bitmap_get(&work->is_asked, node));
    return work->n_queries - 1 - (uint32_t)hs_bitmap_rank(&work->is_asked, node);
}

/* ---- signatures ---- */

/* Numbers the roots; all of those that a query answers for reach what it reaches. Groups of roots
 * add nothing. */
static hs_status numbers_find(struct reach_work *work, struct hs_error *err)
{
    struct hs_condensed *condensed = work->condensed;
    const struct hs_bitmap *is_root = &work->roots->is_root;
    uint64_t n_places = hs_condensed_places(condensed);
    uint64_t n_bytes = n_places * sizeof *condensed->signature;

    HS_TRY(work_reserve(work, work->n_queries * sizeof *work->numbers, err));
    HS_TRY(HS_PAGES_ALLOC(&work->numbers, work->n_room, err));
    for (uint64_t i = hs_bitmap_next(is_root, 1); i < condensed->n_tree;
         i = hs_bitmap_next(is_root, i + 1))
        if (work->query_of[i] != HS_NONE)
            work->numbers[query_at(work, work->query_of[i])] ^= hs_owner_number(work->roots, i);
    HS_TRY(hs_budget_reserve(condensed->budget, n_bytes, WHAT, err));
    hs_status status = HS_PAGES_ALLOC(&condensed->signature, n_places, err);
    if (status != HS_OK)
        hs_budget_release(condensed->budget, n_bytes);
    return status;
}

/* ---- searches alone ---- */

/* An upper bound on the steps of a search from each node: as if nothing were shared. */
static void bounds_find(const struct hs_condensed *condensed, uint32_t *bounds)
{
    const struct hs_graph *graph = &condensed->graph;
    for (uint32_t i = 0; i < condensed->n_nodes; i++) {
        uint64_t bound = 1 + condensed_ends_of(condensed, i);
        for (uint32_t e = graph->begin[i]; e < graph->begin[i + 1]; e++)
            bound += 1 + (uint64_t)bounds[graph->target[e]];
        bounds[i] = bound < UINT32_MAX ? (uint32_t)bound : UINT32_MAX;
    }
}

static void solo_meet(struct solo *solo, uint32_t node)
{
    if (hs_bitmap_get(&solo->is_seen, node))
        return;
    hs_bitmap_set(&solo->is_seen, node);
    solo->queue[solo->n++] = node;
}

/* Tells whether the search ended within the given steps, with all that it has met in the queue;
 * *ret_steps counts nodes, edges and ends. */
static bool solo_search(struct solo *solo, uint32_t from, uint64_t *ret_steps)
{
    const struct hs_condensed *condensed = solo->work->condensed;
    const struct hs_graph *graph = &condensed->graph;
    uint64_t steps = 0;

    solo->n = 0;
    solo_meet(solo, from);
    for (uint32_t i = 0; i < solo->n; i++) {
        uint32_t node = solo->queue[i], end = graph->begin[node + 1];
        steps += 1 + end - graph->begin[node] + condensed_ends_of(condensed, node);
        *ret_steps = steps;
        if (steps > solo->most)
            return false;
        for (uint32_t e = graph->begin[node]; e < end; e++)
            solo_meet(solo, graph->target[e]);
    }
    return true;
}

static hs_status solo_credit(struct solo *solo, uint32_t query, struct hs_error *err)
{
    const struct hs_condensed *condensed = solo->work->condensed;
    struct hs_sizes sum = {0};

    for (uint32_t i = 0; i < solo->n; i++)
        hs_unit_sizes_sum(&condensed->sizes, solo->queue[i], &sum);
    hs_sizes_add(&solo->work->answers[query], &sum);
    hs_bitmap_set(&solo->work->is_done, query);
    if (solo->work->numbers != NULL)
        for (uint32_t i = 0; i < solo->n; i++)
            condensed->signature[solo->queue[i]] ^= solo->work->numbers[query];
    if (condensed->ends.degree == NULL)
        return HS_OK;
    HS_TRY(condensed_ends_batch_reserve(&solo->ends, solo->n, err));
    for (uint32_t i = 0; i < solo->n; i++)
        if (condensed->ends.degree[solo->queue[i]] != 0)
            condensed_ends_batch_put(&solo->ends, solo->queue[i], query);
    return HS_OK;
}

/* Answers what is cheap alone: what is surely small, and what turns out to be while it may be
 * tried. */
static hs_status solo_run(struct solo *solo, uint64_t sweep, struct hs_error *err)
{
    struct reach_work *work = solo->work;
    uint64_t wasted = 0;

    for (uint32_t i = 0; i < work->n_queries; i++) {
        uint64_t steps;
        bool surely = solo->bound[work->queries[i]] <= solo->most;
        if (!surely && wasted >= WASTE_SWEEPS * sweep)
            continue;
        bool is_done = solo_search(solo, work->queries[i], &steps);
        assert(!surely || is_done);
        if (is_done)
            HS_TRY(solo_credit(solo, i, err));
        else
            wasted += steps;
        for (uint32_t k = 0; k < solo->n; k++)
            hs_bitmap_clear(&solo->is_seen, solo->queue[k]);
    }
    return work->condensed->ends.degree == NULL ? HS_OK
                                                : condensed_ends_batch_credit(&solo->ends, err);
}

static void solo_fini(struct solo *solo)
{
    const struct hs_condensed *condensed = solo->work->condensed;
    hs_bitmap_fini(&solo->is_seen);
    hs_pages_free(solo->queue, solo->n_queue, sizeof *solo->queue);
    hs_pages_free(solo->bound, condensed->n_nodes, sizeof *solo->bound);
    condensed_ends_batch_fini(&solo->ends);
    hs_budget_release(condensed->budget, solo->reserved_bytes);
}

static hs_status solo_alloc(struct solo *solo, struct hs_error *err)
{
    struct reach_work *work = solo->work;
    uint64_t n_nodes = work->condensed->n_nodes;
    uint64_t n_bytes = map_bytes(n_nodes) + (solo->n_queue + n_nodes) * sizeof(uint32_t);

    HS_TRY(hs_budget_reserve(work->condensed->budget, n_bytes, WHAT, err));
    solo->reserved_bytes = n_bytes;
    HS_TRY(hs_bitmap_init(&solo->is_seen, n_nodes, err));
    HS_TRY(HS_PAGES_ALLOC(&solo->queue, solo->n_queue, err));
    HS_TRY(HS_PAGES_ALLOC(&solo->bound, n_nodes, err));
    if (work->condensed->ends.degree == NULL)
        return HS_OK;
    HS_TRY(condensed_ends_batch_init(work->condensed, solo->n_queue, work->answers, work->n_queries,
                                     &solo->ends, err));
    solo->ends.numbers = work->numbers;
    return HS_OK;
}

/* Searches alone save time, and may be left out. They want rows of what nodes lead to. */
static bool solo_fits(const struct solo *solo)
{
    const struct reach_work *work = solo->work;
    const struct hs_condensed *condensed = work->condensed;

    if (condensed->is_stored)
        return false;
    uint64_t n_bytes =
        map_bytes(condensed->n_nodes) + (solo->n_queue + condensed->n_nodes) * sizeof(uint32_t);

    if (condensed->ends.degree != NULL)
        n_bytes += condensed_ends_batch_bytes(condensed, solo->n_queue, work->n_queries);
    return hs_budget_left_bytes(condensed->budget) >= n_bytes;
}

static hs_status queries_search(struct reach_work *work, struct hs_error *err)
{
    const struct hs_condensed *condensed = work->condensed;
    uint64_t sweep = condensed->n_nodes + condensed->graph.n_edges + condensed->ends.n_edges;
    struct solo solo = {.work = work};

    solo.most = sweep / SOLO_SHARE > SOLO_MIN ? sweep / SOLO_SHARE : SOLO_MIN;
    /* Every step adds one node at most. */
    solo.n_queue = solo.most < condensed->n_nodes ? solo.most + 1 : condensed->n_nodes;
    if (!solo_fits(&solo))
        return HS_OK;
    hs_status status = solo_alloc(&solo, err);
    if (status == HS_OK) {
        bounds_find(condensed, solo.bound);
        status = solo_run(&solo, sweep, err);
    }
    solo_fini(&solo);
    return status;
}

/* ---- searches together ---- */

/* The next ones from query *at on, as many as there is room for. */
static uint32_t rest_take(const struct reach_work *work, uint32_t *at, struct root_query *rest,
                          uint32_t n_rest)
{
    uint32_t n = 0;

    for (; *at < work->n_queries && n < n_rest; ++*at)
        if (!hs_bitmap_get(&work->is_done, *at))
            rest[n++] = (struct root_query){
                .node = work->queries[*at],
                .number = work->numbers == NULL ? 0 : work->numbers[*at],
            };
    return n;
}

static hs_status rest_run(struct reach_work *work, struct root_query *rest, uint32_t n_rest,
                          const struct hs_progress *progress, struct hs_error *err)
{
    const struct reach_bits_options options = {.progress = progress};
    uint32_t at = 0, n;

    HS_TRY(hs_condensed_reverse(work->condensed, err));
    while ((n = rest_take(work, &at, rest, n_rest)) != 0) {
        HS_TRY(reach_bits_run(work->condensed, rest, n, &options, err));
        for (uint32_t i = 0; i < n; i++)
            work->answers[query_at(work, rest[i].node)] = rest[i].sizes;
    }
    return HS_OK;
}

/* The rest, with all answers back in their place. */
static hs_status queries_together(struct reach_work *work, const struct hs_progress *progress,
                                  struct hs_error *err)
{
    struct root_query *rest;
    uint32_t n = 0;

    for (uint32_t i = 0; i < work->n_queries && n < CONDENSED_REST_MAX; i++)
        n += !hs_bitmap_get(&work->is_done, i);
    if (n == 0)
        return HS_OK;
    HS_TRY(work_reserve(work, n * sizeof *rest, err));
    HS_TRY(HS_PAGES_ALLOC(&rest, n, err));
    hs_status status = rest_run(work, rest, n, progress, err);
    hs_pages_free(rest, n, sizeof *rest);
    return status;
}

/* ---- answers ---- */

/* Adds the weights of all places. */
static hs_status answer_all(const struct hs_condensed *condensed, struct hs_sizes *ret,
                            struct hs_error *err)
{
    struct hs_spill_reader reader = {0};
    struct hs_sizes sizes;
    hs_status status = condensed_files_sizes(condensed, true, true, &reader, err);

    for (uint64_t i = 0; i < hs_condensed_places(condensed) && status == HS_OK; i++) {
        if (!condensed->is_stored) {
            hs_unit_sizes_sum(&condensed->sizes, i, ret);
            continue;
        }
        status = condensed_files_next(&reader, &sizes, err);
        hs_sizes_add(ret, &sizes);
    }
    hs_spill_reader_close(&reader);
    return status;
}

static void answers_add(const struct reach_work *work, struct hs_sizes *answers)
{
    const struct hs_condensed *condensed = work->condensed;

    for (uint32_t i = 1; i < condensed->n_tree; i++) {
        uint32_t own = condensed->of_tree[i], node = work->query_of[i];
        if (node == own)
            answers[i] = (struct hs_sizes){0};
        else if (!condensed->is_stored)
            hs_unit_sizes_sum(&condensed->sizes, own, &answers[i]);
        if (node != HS_NONE)
            hs_sizes_add(&answers[i], &work->answers[query_at(work, node)]);
    }
}

/* Makes room for the result, counted with the graph; of a stored one with own sizes in it. */
static hs_status answers_begin(struct hs_condensed *condensed, struct hs_sizes **ret,
                               struct hs_error *err)
{
    uint64_t n_bytes = condensed->n_tree * sizeof **ret;

    if (condensed->is_stored) {
        *ret = HS_STEAL(condensed->files.tree_own);
        (*ret)[0] = (struct hs_sizes){0};
        return HS_OK;
    }
    HS_TRY(hs_budget_reserve(condensed->budget, n_bytes, WHAT, err));
    condensed->reserved_bytes += n_bytes;
    return HS_ALLOC(ret, condensed->n_tree, err);
}

static hs_status answers_give(struct reach_work *work, struct hs_sizes **ret, struct hs_error *err)
{
    struct hs_condensed *condensed = work->condensed;
    hs_auto_free struct hs_sizes *answers = NULL;

    HS_TRY(answers_begin(condensed, &answers, err));
    HS_TRY(answer_all(condensed, &answers[0], err));
    answers_add(work, answers);
    *ret = HS_STEAL(answers);
    return HS_OK;
}

static hs_status reachable_find(struct reach_work *work, const struct hs_progress *progress,
                                struct hs_sizes **ret, struct hs_error *err)
{
    HS_TRY(queries_collect(work, err));
    if (work->roots != NULL)
        HS_TRY(numbers_find(work, err));
    HS_TRY(queries_search(work, err));
    HS_TRY(queries_together(work, progress, err));
    return answers_give(work, ret, err);
}

hs_status hs_condensed_reach(struct hs_condensed *condensed, const struct hs_owner_roots *roots,
                             const struct hs_progress *progress, struct hs_sizes **ret,
                             struct hs_error *err)
{
    struct reach_work work = {.condensed = condensed, .roots = roots};

    hs_status status = reachable_find(&work, progress, ret, err);
    work_fini(&work);
    return status;
}
