/* Selecting, sorting and summing roots or groups of them. */
#include "root_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static unsigned level_of(enum hs_group_by group_by)
{
    switch (group_by) {
    case HS_BY_KIND:
        return HS_LEVEL_KIND;
    case HS_BY_MODULE:
    case HS_BY_THREAD:
        return HS_LEVEL_MODULE;
    case HS_BY_UNIT:
    case HS_BY_FRAME:
        return HS_LEVEL_UNIT;
    case HS_BY_ROOT:
        break;
    }
    return HS_LEVEL_LEAF;
}

/* Stacks stand by thread and frame where the other kinds stand by binary and unit. */
static bool is_of_thread(const struct hs_root *root)
{
    return root->kind == HS_ROOT_STACK || root->kind == HS_ROOT_LOCAL ||
           root->kind == HS_ROOT_REGISTER;
}

static bool is_wanted(const struct hs_root_query *query, const struct hs_root *root)
{
    if (!(query->kinds >> root->kind & 1))
        return false;
    switch (query->group_by) {
    case HS_BY_MODULE:
    case HS_BY_UNIT:
        return !is_of_thread(root);
    case HS_BY_THREAD:
    case HS_BY_FRAME:
        return is_of_thread(root);
    case HS_BY_ROOT:
    case HS_BY_KIND:
        break;
    }
    return true;
}

struct order {
    const struct hs_view *view;
    enum hs_root_sort sort;
};

static int descending(uint64_t a, uint64_t b)
{
    return a < b ? 1 : a > b ? -1 : 0;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct hs_root_row *a = left, *b = right;
    const struct order *order = context;
    int by_retained = descending(a->retained.words, b->retained.words);
    int by_reachable = descending(a->reachable.words, b->reachable.words);
    int result = 0;
    if (order->sort == HS_SORT_NAME) {
        const struct hs_snap *snap = order->view->snap;
        result = strcmp(hs_snap_string(snap, hs_snap_root(snap, a->node)->name),
                        hs_snap_string(snap, hs_snap_root(snap, b->node)->name));
    }
    if (result == 0)
        result = order->sort == HS_SORT_REACHABLE ? by_reachable : by_retained;
    if (result == 0)
        result = order->sort == HS_SORT_REACHABLE ? by_retained : by_reachable;
    return result != 0 ? result : -descending(a->node, b->node);
}

static void add_other(struct hs_root_rows *rows, const struct hs_root_row *row)
{
    rows->n_others++;
    rows->others_words += row->retained.words;
}

static hs_status select_rows(const struct hs_view *view, const struct hs_root_query *query,
                             struct hs_root_rows *rows, struct hs_error *err)
{
    unsigned level = level_of(query->group_by);
    uint64_t level_words = 0;
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->level != level || root->weak)
            continue;
        struct hs_root_row row = {
            .node = node,
            .reachable = hs_index_reachable(view->index, (uint32_t)node),
            .retained = hs_index_retained(view->index, (uint32_t)node),
        };
        level_words += row.retained.words;
        if (!is_wanted(query, root) || row.reachable.words < query->min_words) {
            add_other(rows, &row);
            continue;
        }
        HS_TRY(hs_grow((void **)&rows->rows, &rows->capacity, rows->n_rows + 1, sizeof row, err));
        rows->rows[rows->n_rows++] = row;
    }
    rows->shared_words = hs_index_reached_total(view->index).words - level_words;
    return HS_OK;
}

hs_status hs_root_rows_select(const struct hs_view *view, const struct hs_root_query *query,
                              struct hs_root_rows *ret, struct hs_error *err)
{
    struct hs_root_rows rows = {0};
    hs_status status = select_rows(view, query, &rows, err);
    if (status != HS_OK) {
        hs_root_rows_fini(&rows);
        return status;
    }
    struct order order = {view, query->sort};
    if (rows.n_rows > 1)
        qsort_r(rows.rows, rows.n_rows, sizeof *rows.rows, compare_rows, &order);
    while (rows.n_rows > query->max_rows)
        add_other(&rows, &rows.rows[--rows.n_rows]);
    *ret = rows;
    return HS_OK;
}

void hs_root_rows_fini(struct hs_root_rows *rows)
{
    hs_free(rows->rows);
    *rows = (struct hs_root_rows){0};
}
