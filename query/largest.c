/* The blocks that retain most, by opening the dominator tree best first. */
#include "largest.h"

#include <stdlib.h>

#include "base/alloc.h"

/* Places for candidates beyond those that are wanted, so that it is seldom sorted. */
enum { SPARE = 1024, LOOK_EVERY = 1 << 16 };

struct search {
    struct hs_view *view;
    struct hs_child *heap; /* owned: a heap, the best first; capacity 2 * most + SPARE */
    size_t n, capacity;
    uint64_t most, n_found;
    bool has_floor; /* worse than `floor` cannot be among them */
    struct hs_child floor;
    uint64_t n_seen;
};

static bool is_better(const struct hs_child *a, const struct hs_child *b)
{
    return a->words != b->words ? a->words > b->words : a->node < b->node;
}

static int best_first(const void *left, const void *right)
{
    return is_better(left, right) ? -1 : is_better(right, left);
}

static void swap(struct hs_child *a, struct hs_child *b)
{
    struct hs_child kept = *a;
    *a = *b;
    *b = kept;
}

static void sink(struct search *s, size_t at)
{
    for (size_t below; (below = 2 * at + 1) < s->n; at = below) {
        if (below + 1 < s->n && is_better(&s->heap[below + 1], &s->heap[below]))
            below++;
        if (!is_better(&s->heap[below], &s->heap[at]))
            return;
        swap(&s->heap[below], &s->heap[at]);
    }
}

/* Cuts what waits down to as many as are still wanted. A sorted array is a heap. */
static void cut(struct search *s)
{
    uint64_t left = s->most - s->n_found;
    qsort(s->heap, s->n, sizeof *s->heap, best_first);
    if (s->n < left)
        return;
    s->n = left;
    s->floor = s->heap[left - 1];
    s->has_floor = true;
}

static void offer(struct search *s, hs_node node)
{
    struct hs_child child = {node, hs_index_retained(s->view->index, node).words};
    if (s->has_floor && !is_better(&child, &s->floor))
        return;
    if (s->n == s->capacity)
        cut(s);
    size_t at = s->n++;
    s->heap[at] = child;
    for (size_t above; at > 0 && is_better(&s->heap[at], &s->heap[above = (at - 1) / 2]);
         at = above)
        swap(&s->heap[at], &s->heap[above]);
}

static hs_status offer_children(struct search *s, hs_node node, struct hs_error *err)
{
    struct hs_row row = hs_index_dominated(s->view->index, node);
    hs_node child;
    while (hs_row_next(&row, &child)) {
        if (child >= s->view->n_tree)
            offer(s, child);
        if (++s->n_seen % LOOK_EVERY == 0)
            HS_TRY(hs_progress_tell(s->view->session.progress, "searching the largest", s->n_seen,
                                    s->view->n_nodes, err));
    }
    return hs_row_check(&row, err);
}

static hs_status run(struct search *s, struct hs_sql_largest *ret, struct hs_error *err)
{
    for (hs_node node = 0; node < s->view->n_tree; node++)
        HS_TRY(offer_children(s, node, err));
    while (s->n_found < s->most && s->n > 0) {
        struct hs_child best = s->heap[0];
        s->heap[0] = s->heap[--s->n];
        sink(s, 0);
        ret->found[s->n_found++] = best;
        ret->n = s->n_found;
        if (s->n_found < s->most)
            HS_TRY(offer_children(s, best.node, err));
    }
    return HS_OK;
}

/* Adds blocks that no root reaches: they retain nothing that is known, and come last. */
static hs_status add_unreached(struct search *s, struct hs_sql_largest *ret, struct hs_error *err)
{
    struct hs_view *view = s->view;
    for (hs_node node = view->n_tree; node < view->n_nodes && ret->n < s->most; node++) {
        if (!hs_index_is_reached(view->index, node))
            ret->found[ret->n++] = (struct hs_child){node, 0};
        if (node % LOOK_EVERY == 0)
            HS_TRY(hs_progress_tell(view->session.progress, "searching the largest", node,
                                    view->n_nodes, err));
    }
    return HS_OK;
}

hs_status hs_sql_largest_find(struct hs_sql_source *source, uint64_t most,
                              struct hs_sql_largest *ret, struct hs_error *err)
{
    struct search s = {.view = &source->view, .most = most};
    uint64_t n_blocks = source->view.totals->n_blocks;
    if (s.most > n_blocks)
        s.most = n_blocks;
    s.capacity = 2 * s.most + SPARE;
    uint64_t n_bytes = (s.capacity + s.most) * sizeof(struct hs_child);
    struct hs_budget *budget = source->view.session.budget;
    *ret = (struct hs_sql_largest){.budget = budget};
    HS_TRY(hs_budget_reserve(budget, n_bytes, "the largest blocks", err));
    ret->reserved_bytes = n_bytes;
    hs_status status = HS_ALLOC(&ret->found, s.most, err);
    if (status == HS_OK)
        status = HS_ALLOC(&s.heap, s.capacity, err);
    if (status == HS_OK)
        status = run(&s, ret, err);
    if (status == HS_OK)
        status = add_unreached(&s, ret, err);
    hs_free(s.heap);
    if (status != HS_OK)
        hs_sql_largest_fini(ret);
    return status;
}

void hs_sql_largest_fini(struct hs_sql_largest *largest)
{
    hs_free(largest->found);
    hs_budget_release(largest->budget, largest->reserved_bytes);
    *largest = (struct hs_sql_largest){0};
}
