/* Selecting, sorting and summing roots or groups of them. */
#include "analysis/root_rows.h"

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
    return HS_LEVEL_LEAF; /* or that of variables */
}

static bool is_row(const struct hs_view *view, enum hs_group_by group_by, hs_node node)
{
    if (group_by == HS_BY_ROOT)
        return hs_view_root_of(view, node) == node;
    return hs_snap_root(view->snap, node)->level == level_of(group_by);
}

/* Stacks stand by thread and frame where the other kinds stand by binary and unit. */
static bool is_of_frame(const struct hs_root *root)
{
    return root->kind == HS_ROOT_STACK || root->kind == HS_ROOT_LOCAL ||
           root->kind == HS_ROOT_REGISTER;
}

static bool is_of_thread(const struct hs_root *root)
{
    return is_of_frame(root) || (root->kind == HS_ROOT_TLS && root->thread != 0);
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
        return is_of_thread(root);
    case HS_BY_FRAME:
        return is_of_frame(root);
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

/* Orders by thread and frame, then by kind: stacks first. */
static int compare_parts(const void *left, const void *right, void *context)
{
    const struct hs_view *view = context;
    const struct hs_root_row *a = left, *b = right;
    const struct hs_root *x = hs_snap_root(view->snap, a->node);
    const struct hs_root *y = hs_snap_root(view->snap, b->node);
    if (x->thread != y->thread)
        return x->thread < y->thread ? -1 : 1;
    if (x->frame != y->frame)
        return x->frame < y->frame ? -1 : 1;
    if (x->kind != y->kind)
        return x->kind < y->kind ? -1 : 1;
    return -descending(a->node, b->node);
}

static bool is_same_group(const struct hs_view *view, enum hs_group_by group_by, hs_node left,
                          hs_node right)
{
    const struct hs_root *x = hs_snap_root(view->snap, left);
    const struct hs_root *y = hs_snap_root(view->snap, right);
    if (x->thread == 0 || x->thread != y->thread)
        return false;
    return group_by == HS_BY_THREAD || (x->frame != 0 && x->frame == y->frame);
}

/* Joins all parts of a thread or frame into one row; row_of[node] of each part is 1 + the row. */
static void join_parts(const struct hs_view *view, enum hs_group_by group_by,
                       struct hs_root_rows *rows, uint32_t *row_of)
{
    size_t n = 0;
    if (rows->n_rows > 1)
        qsort_r(rows->rows, rows->n_rows, sizeof *rows->rows, compare_parts,
                (void *)(uintptr_t)view);
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct hs_root_row row = rows->rows[i];
        struct hs_root_row *last = n > 0 ? &rows->rows[n - 1] : NULL;
        if (last != NULL && is_same_group(view, group_by, last->node, row.node)) {
            hs_sizes_add(&last->reachable, &row.reachable);
            hs_sizes_add(&last->retained, &row.retained);
            last->n_parts++;
        } else {
            rows->rows[n++] = row;
        }
        row_of[row.node] = (uint32_t)n;
    }
    rows->n_rows = n;
}

/* Limits the reachable size of each row to all that is reached: the sum over several parts counts
 * some memory more than once. */
static void limit_reachable(const struct hs_view *view, struct hs_root_rows *rows)
{
    struct hs_sizes all = hs_index_reached_total(view->index);
    for (size_t i = 0; i < rows->n_rows; i++) {
        struct hs_sizes *sizes = &rows->rows[i].reachable;
        if (sizes->words > all.words)
            sizes->words = all.words;
        if (sizes->objects > all.objects)
            sizes->objects = all.objects;
    }
}

/* ---- what is shared ---- */

struct parts {
    struct hs_root_rows *rows;
    uint32_t *part_of, *group_of; /* owned: by tree node, as of struct hs_set_groups */
    uint32_t *row_of;             /* owned: by tree node, 1 + the row that it is a part of */
    uint64_t together_words;
};

static void parts_fini(struct parts *parts)
{
    hs_free(parts->part_of);
    hs_free(parts->group_of);
    hs_free(parts->row_of);
}

/* Adds memory that several parts of a row keep together. */
static void parts_add(void *context, hs_node group, const struct hs_sizes *sizes)
{
    struct parts *parts = context;
    uint32_t row = parts->row_of[group];
    if (row != 0)
        hs_sizes_add(&parts->rows->rows[row - 1].retained, sizes);
    else
        parts->rows->others_words += sizes->words;
    parts->together_words += sizes->words;
}

/* Parts that are no rows by this grouping (modules beside threads, say) are one group, which node 0
 * stands for. */
static hs_status parts_init(const struct hs_view *view, const struct hs_root_query *query,
                            struct parts *parts, struct hs_error *err)
{
    const struct hs_root_query whole = {.group_by = query->group_by, .kinds = UINT64_MAX};
    unsigned level = level_of(query->group_by);
    HS_TRY(HS_ALLOC(&parts->part_of, view->n_tree, err));
    HS_TRY(HS_ALLOC(&parts->group_of, view->n_tree, err));
    HS_TRY(HS_ALLOC(&parts->row_of, view->n_tree, err));
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        uint32_t above = node == 0 ? HS_NONE : parts->part_of[root->parent];
        parts->part_of[node] = root->level == level ? (uint32_t)node : above;
        parts->group_of[node] = is_wanted(&whole, root) ? (uint32_t)node : 0;
    }
    return HS_OK;
}

static hs_status find_group_sets(const struct hs_view *view, enum hs_group_by group_by,
                                 struct parts *parts, struct hs_error *err)
{
    struct hs_root_rows *rows = parts->rows;
    const struct hs_set_groups groups = {
        .part_of = parts->part_of,
        .group_of = parts->group_of,
        .add = parts_add,
        .context = parts,
    };
    size_t n_parts = rows->n_rows;

    if (group_by == HS_BY_THREAD || group_by == HS_BY_FRAME)
        join_parts(view, group_by, rows, parts->row_of);
    for (hs_node node = 0; node < view->n_tree; node++)
        if (parts->row_of[node] != 0)
            parts->group_of[node] = (uint32_t)rows->rows[parts->row_of[node] - 1].node;
    if (rows->n_rows != n_parts)
        limit_reachable(view, rows);
    return hs_set_rows_of_groups(view, &groups, &rows->sets, err);
}

static bool set_has_kind(const struct hs_view *view, const struct hs_set_rows *sets, size_t row,
                         uint64_t kinds)
{
    struct hs_set_walk walk = {0};
    for (hs_node root; hs_set_member_next(view, sets, row, &walk, &root);)
        if (kinds >> hs_snap_root(view->snap, root)->kind & 1)
            return true;
    return false;
}

/* Sets without a root of the kinds that are asked for are not listed: part of what is shared. */
static void keep_kinds(const struct hs_view *view, uint64_t kinds, struct hs_set_rows *sets)
{
    size_t n = 0;
    if (kinds == UINT64_MAX)
        return;
    for (size_t i = 0; i < sets->n; i++) {
        if (set_has_kind(view, sets, i, kinds)) {
            sets->rows[n++] = sets->rows[i];
        } else {
            hs_sizes_add(&sets->others, &sets->rows[i].retained);
            sets->n_others++;
        }
    }
    sets->n = n;
}

/* The sets of the rows; *ret_words is what they add to rows of several parts. */
static hs_status find_sets(const struct hs_view *view, const struct hs_root_query *query,
                           struct hs_root_rows *rows, uint64_t *ret_words, struct hs_error *err)
{
    struct parts parts = {.rows = rows};

    if (query->group_by == HS_BY_ROOT) {
        HS_TRY(hs_set_rows_all(view, &rows->sets, err));
        keep_kinds(view, query->kinds, &rows->sets);
        return HS_OK;
    }
    hs_status status = parts_init(view, query, &parts, err);
    if (status == HS_OK)
        status = find_group_sets(view, query->group_by, &parts, err);
    *ret_words = parts.together_words;
    parts_fini(&parts);
    return status;
}

static void drop_small(uint64_t min_words, struct hs_root_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_rows; i++) {
        if (rows->rows[i].reachable.words < min_words)
            add_other(rows, &rows->rows[i]);
        else
            rows->rows[n++] = rows->rows[i];
    }
    rows->n_rows = n;
}

static bool is_folded(const struct hs_root_query *query, hs_node node)
{
    return query->folds != NULL && query->folds->of_node[node] != HS_NO_NUMBER;
}

static hs_status add_row(struct hs_root_rows *rows, const struct hs_root_row *row,
                         struct hs_error *err)
{
    HS_TRY(HS_GROW(&rows->rows, &rows->capacity, rows->n_rows + 1, err));
    rows->rows[rows->n_rows++] = *row;
    return HS_OK;
}

/* Adds a row for each fold, whose roots are none. */
static hs_status add_folds(const struct hs_root_query *query, struct hs_root_rows *rows,
                           struct hs_error *err)
{
    for (size_t i = 0; query->folds != NULL && i < query->folds->n; i++) {
        const struct hs_root_fold *fold = &query->folds->folds[i];
        const struct hs_root_row row = {.node = fold->first,
                                        .n_parts = (uint32_t)fold->n_roots,
                                        .is_fold = true,
                                        .reachable = fold->retained,
                                        .retained = fold->retained};
        if (fold->begin != UINT64_MAX)
            HS_TRY(add_row(rows, &row, err));
    }
    return HS_OK;
}

static hs_status select_rows(const struct hs_view *view, const struct hs_root_query *query,
                             struct hs_root_rows *rows, struct hs_error *err)
{
    uint64_t level_words = 0;
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->weak || !is_row(view, query->group_by, node))
            continue;
        struct hs_root_row row = {
            .node = node,
            .n_parts = 1,
            .reachable = hs_index_reachable(view->index, node),
            .retained = hs_index_retained(view->index, node),
        };
        level_words += row.retained.words;
        if (!is_wanted(query, root))
            add_other(rows, &row);
        else if (!is_folded(query, node))
            HS_TRY(add_row(rows, &row, err));
    }
    HS_TRY(add_folds(query, rows, err));
    uint64_t together_words = 0;
    HS_TRY(find_sets(view, query, rows, &together_words, err));
    level_words += together_words;
    drop_small(query->min_words, rows);
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
    hs_set_rows_fini(&rows->sets);
    *rows = (struct hs_root_rows){0};
}

struct hs_root_row hs_root_row_of(const struct hs_view *view, hs_node node)
{
    return (struct hs_root_row){
        .node = node,
        .reachable = hs_index_reachable(view->index, node),
        .retained = hs_index_retained(view->index, node),
    };
}
