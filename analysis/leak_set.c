/* Lost blocks: what does not surely live, then bundles by the finishing times of a depth-first
 * search, as in Kosaraju's algorithm for strong components (Sharir 1981): in the reverse order of
 * finishing, a block that hangs on no one yet is in a component that no other lost block leads to.
 */
#include "analysis/leak_set.h"

#include <assert.h>

#include "analysis/chunk_pass.h"
#include "base/alloc.h"
#include "graph/sweep.h"
#include "leak_held.h"

/* The edges that are reserved in the budget at a time. */
enum { STEP_EDGES = 1 << 18 };

struct finder {
    const struct hs_view *view;
    struct hs_bitmap held, on_stack; /* by node */
    struct hs_bitmap seen;           /* by rank */
    uint32_t *begin, *target;        /* owned pages: edges between lost blocks, by rank */
    uint64_t n_targets, n_reserved, target_capacity, n_begun;
    hs_node last_begun;
    uint32_t *queue; /* owned pages: ranks in the order of finishing */
    uint64_t n_queued;
    uint64_t n_lost;         /* the set's, which is handed on */
    uint64_t reserved_bytes; /* for what is not */
    struct hs_leak_set set;
};

static void finder_fini(struct finder *f)
{
    uint64_t n = f->n_lost;
    hs_bitmap_fini(&f->held);
    hs_bitmap_fini(&f->on_stack);
    hs_bitmap_fini(&f->seen);
    hs_pages_free(f->begin, n + 1, sizeof *f->begin);
    hs_pages_free(f->target, f->target_capacity, sizeof *f->target);
    hs_pages_free(f->queue, n, sizeof *f->queue);
    hs_budget_release(f->view->session.budget, f->reserved_bytes);
    hs_leak_set_fini(&f->set);
}

static hs_status reserve(struct finder *f, uint64_t n_bytes, uint64_t *reserved,
                         struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(f->view->session.budget, n_bytes, "lost blocks", err));
    *reserved += n_bytes;
    return HS_OK;
}

static hs_status find_lost(struct finder *f, struct hs_error *err)
{
    struct hs_chunk_pass pass = hs_chunk_pass_of(f->view, HS_COL_SIZES, "looking for lost blocks");
    uint64_t n_lost = 0;
    while (hs_chunk_pass_next(&pass, err)) {
        const struct hs_chunk *chunk = &pass.chunk;
        for (uint32_t i = 0; i < chunk->n_blocks; i++)
            if (!(chunk->state[i] & HS_BLOCK_STATIC) && !hs_bitmap_get(&f->held, chunk->first + i))
                hs_bitmap_set(&f->set.lost, chunk->first + i);
    }
    HS_TRY(hs_chunk_pass_end(&pass));
    HS_TRY(hs_bitmap_index(&f->set.lost, &n_lost, err));
    if (n_lost >= HS_NONE)
        return hs_fail(err, HS_LIMIT, "%lu lost blocks are too many", (unsigned long)n_lost);
    f->set.n_lost = f->n_lost = n_lost;
    return HS_OK;
}

static hs_status rank_on_stack(struct finder *f, struct hs_error *err)
{
    HS_TRY(reserve(f, f->set.n_lost / 8, &f->set.reserved_bytes, err));
    HS_TRY(hs_bitmap_init(&f->set.on_stack, f->set.n_lost, err));
    for (hs_node node = f->view->n_tree; node < f->view->n_nodes; node++)
        if (hs_bitmap_get(&f->on_stack, node) && hs_bitmap_get(&f->set.lost, node))
            hs_bitmap_set(&f->set.on_stack, hs_leak_rank(&f->set, node));
    return HS_OK;
}

/* ---- the edges between lost blocks */

static hs_status keep_edge(struct finder *f, hs_node target, struct hs_error *err)
{
    if (!hs_bitmap_get(&f->set.lost, target))
        return HS_OK;
    if (f->n_targets == HS_NONE)
        return hs_fail(err, HS_LIMIT, "2^32 pointers between lost blocks are too many");
    if (f->n_targets == f->n_reserved) {
        HS_TRY(reserve(f, STEP_EDGES * sizeof *f->target, &f->reserved_bytes, err));
        f->n_reserved += STEP_EDGES;
    }
    f->target[f->n_targets++] = (uint32_t)hs_leak_rank(&f->set, target);
    return HS_OK;
}

/* A long row comes in several pieces. */
static hs_status keep_rows(void *context, const struct hs_piece *piece, struct hs_error *err)
{
    struct finder *f = context;
    for (uint32_t i = 0; i < piece->n; i++) {
        hs_node node = piece->first + i;
        if (!hs_bitmap_get(&f->set.lost, node))
            continue;
        for (uint64_t e = piece->begin[i]; e < piece->begin[i + 1]; e++)
            HS_TRY(keep_edge(f, piece->target[e], err));
        f->n_begun += node != f->last_begun;
        f->last_begun = node;
        f->begin[f->n_begun] = (uint32_t)f->n_targets;
    }
    return HS_OK;
}

static hs_status keep_edges(struct finder *f, struct hs_error *err)
{
    struct hs_snap_sweep source = {
        .snap = f->view->snap,
        .edges = HS_GRAPH_SURE,
        .budget = f->view->session.budget,
        .progress = f->view->session.progress,
        .phase = "linking lost blocks",
    };
    struct hs_piece_sink sink = {keep_rows, f};
    struct hs_sweep sweep;
    uint64_t n = f->set.n_lost;
    HS_TRY(hs_sweep_of_snap(&source, &sweep, err));
    HS_TRY(reserve(f, (n + 1) * sizeof *f->begin, &f->reserved_bytes, err));
    HS_TRY(HS_PAGES_ALLOC(&f->begin, n + 1, err));
    HS_TRY(HS_PAGES_ALLOC(&f->target, sweep.max_edges, err));
    f->target_capacity = sweep.max_edges;
    f->last_begun = HS_NO_NODE;
    HS_TRY(sweep.run(sweep.context, &sink, err));
    assert(f->n_begun == n);
    return HS_OK;
}

static const uint32_t *row_of(const struct finder *f, uint64_t rank, uint32_t *ret_n)
{
    *ret_n = f->begin[rank + 1] - f->begin[rank];
    return f->target + f->begin[rank];
}

/* ---- bundles */

/* Searches depth first from one lost block; finished blocks go to the queue. What will be the order
 * and the parents serves as stack and as the place in the row of each block on it. */
static void finish_from(struct finder *f, uint32_t start)
{
    uint32_t *stack = f->set.order, *places = f->set.parent;
    uint64_t depth = 0;
    hs_bitmap_set(&f->seen, start);
    stack[depth] = start;
    places[depth++] = 0;
    while (depth > 0) {
        uint32_t n, rank = stack[depth - 1];
        const uint32_t *row = row_of(f, rank, &n);
        uint32_t *next = &places[depth - 1];
        while (*next < n && hs_bitmap_get(&f->seen, row[*next]))
            ++*next;
        if (*next == n) {
            f->queue[f->n_queued++] = rank;
            depth--;
            continue;
        }
        uint32_t child = row[(*next)++];
        hs_bitmap_set(&f->seen, child);
        stack[depth] = child;
        places[depth++] = 0;
    }
}

/* Hangs on a head all that leads on from it and hangs on no head before it. */
static void hang_on(struct finder *f, uint32_t head, uint64_t *n_ordered)
{
    struct hs_leak_set *set = &f->set;
    uint64_t at = *n_ordered;
    hs_bitmap_clear(&f->seen, head);
    set->head[head] = head;
    set->parent[head] = HS_NONE;
    set->order[(*n_ordered)++] = head;
    for (; at < *n_ordered; at++) {
        uint32_t n, rank = set->order[at];
        const uint32_t *row = row_of(f, rank, &n);
        for (uint32_t i = 0; i < n; i++) {
            if (!hs_bitmap_get(&f->seen, row[i]))
                continue;
            hs_bitmap_clear(&f->seen, row[i]);
            set->head[row[i]] = head;
            set->parent[row[i]] = rank;
            set->order[(*n_ordered)++] = row[i];
        }
    }
}

static hs_status find_bundles(struct finder *f, struct hs_error *err)
{
    struct hs_leak_set *set = &f->set;
    uint64_t n_ordered = 0, n = set->n_lost;
    HS_TRY(reserve(f, n * sizeof *f->queue + n / 8, &f->reserved_bytes, err));
    HS_TRY(hs_bitmap_init(&f->seen, n, err));
    HS_TRY(HS_PAGES_ALLOC(&f->queue, n, err));
    HS_TRY(reserve(f, 3 * n * sizeof *set->head, &set->reserved_bytes, err));
    HS_TRY(HS_PAGES_ALLOC(&set->head, n, err));
    HS_TRY(HS_PAGES_ALLOC(&set->parent, n, err));
    HS_TRY(HS_PAGES_ALLOC(&set->order, n, err));
    for (uint32_t rank = 0; rank < n; rank++)
        if (!hs_bitmap_get(&f->seen, rank))
            finish_from(f, rank);
    assert(f->n_queued == n);
    for (uint64_t i = n; i-- > 0;) /* all are seen now; what hangs somewhere is not */
        if (hs_bitmap_get(&f->seen, f->queue[i]))
            hang_on(f, f->queue[i], &n_ordered);
    assert(n_ordered == n);
    return HS_OK;
}

static hs_status find(struct finder *f, const struct hs_leak_holders *holders, struct hs_error *err)
{
    const uint64_t n_nodes = f->view->n_nodes, n_bytes = n_nodes / 8;
    HS_TRY(reserve(f, 2 * n_bytes, &f->reserved_bytes, err));
    HS_TRY(hs_bitmap_init(&f->held, n_nodes, err));
    HS_TRY(hs_bitmap_init(&f->on_stack, n_nodes, err));
    HS_TRY(hs_leak_find_held(f->view, holders, &f->held, &f->on_stack, err));
    HS_TRY(reserve(f, n_bytes + n_bytes / 8, &f->set.reserved_bytes, err));
    HS_TRY(hs_bitmap_init(&f->set.lost, n_nodes, err));
    HS_TRY(find_lost(f, err));
    if (f->set.n_lost != 0)
        HS_TRY(rank_on_stack(f, err));
    hs_bitmap_fini(&f->held);
    hs_bitmap_fini(&f->on_stack);
    hs_budget_release(f->view->session.budget, 2 * n_bytes);
    f->reserved_bytes -= 2 * n_bytes;
    if (f->set.n_lost == 0)
        return HS_OK;
    HS_TRY(keep_edges(f, err));
    return find_bundles(f, err);
}

hs_status hs_leak_set_find(struct hs_view *view, const struct hs_leak_holders *holders,
                           struct hs_leak_set *ret, struct hs_error *err)
{
    struct finder f = {.view = view, .set = {.budget = view->session.budget}};
    hs_status status = find(&f, holders, err);
    if (status == HS_OK) {
        *ret = f.set;
        f.set = (struct hs_leak_set){0};
    }
    finder_fini(&f);
    return status;
}

void hs_leak_set_fini(struct hs_leak_set *set)
{
    hs_bitmap_fini(&set->lost);
    hs_bitmap_fini(&set->on_stack);
    hs_pages_free(set->head, set->n_lost, sizeof *set->head);
    hs_pages_free(set->parent, set->n_lost, sizeof *set->parent);
    hs_pages_free(set->order, set->n_lost, sizeof *set->order);
    hs_budget_release(set->budget, set->reserved_bytes);
    *set = (struct hs_leak_set){0};
}

hs_node hs_leak_node(const struct hs_leak_set *set, uint64_t rank)
{
    hs_node low = 0, high = set->lost.n_bits;
    assert(rank < set->n_lost);
    while (low < high) { /* the last node with so many lost ones below it */
        hs_node middle = low + (high - low + 1) / 2;
        if (middle < set->lost.n_bits && hs_bitmap_rank(&set->lost, middle) <= rank)
            low = middle;
        else
            high = middle - 1;
    }
    return low;
}
