/* The memory that an owner set keeps, as a tree: the set, its top units, and what they dominate. */
#include <stdlib.h>
#include <string.h>

#include "analysis/dominator_rows.h"
#include "analysis/set_tops.h"
#include "base/alloc.h"

static int largest_first(const void *left, const void *right)
{
    const struct hs_path_tree_target *a = left, *b = right;
    if (a->words != b->words)
        return a->words > b->words ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* The rows of one top unit, one level deeper. */
static hs_status append(struct hs_view *view, hs_node top, const struct hs_dominator_query *query,
                        struct hs_dominator_rows *rows, struct hs_error *err)
{
    struct hs_dominator_rows below;
    HS_TRY(hs_dominator_rows_select(view, top, query, &below, err));
    hs_status status = HS_GROW(&rows->rows, &rows->capacity, rows->n + below.n, err);
    for (size_t i = 0; i < below.n && status == HS_OK; i++) {
        below.rows[i].depth++;
        rows->rows[rows->n++] = below.rows[i];
    }
    hs_dominator_rows_fini(&below);
    return status;
}

/* Gives each top unit its share of the rows, by what it retains. */
static hs_status put_tops(struct hs_view *view, const struct hs_instances *tops,
                          const struct hs_dominator_query *query, struct hs_dominator_rows *rows,
                          struct hs_error *err)
{
    uint64_t most = query->max_rows != 0 ? query->max_rows : query->max_children, n = 0;
    struct hs_dominator_query share = *query;
    if (query->max_depth == 0)
        return HS_OK;
    share.max_depth = query->max_depth - 1;
    for (; n < tops->n && n < most; n++) {
        /* A line is left for the others. */
        if (query->max_rows != 0 && rows->n + (n + 1 < tops->n) >= query->max_rows)
            break;
        const struct hs_path_tree_target *top = &tops->targets[n];
        if (n > 0 && top->words < query->min_words)
            break;
        if (query->max_rows != 0) {
            double part = (double)top->words / (double)(tops->reached.words + 1);
            uint64_t left = query->max_rows - rows->n;
            share.max_rows = 1 + (uint64_t)(part * (double)query->max_rows);
            share.max_rows = share.max_rows < left ? share.max_rows : left;
        }
        HS_TRY(append(view, top->node, &share, rows, err));
        rows->rows[0].hidden_words -= top->words;
    }
    rows->rows[0].n_shown = n;
    rows->rows[0].n_hidden = tops->n - n;
    return HS_OK;
}

hs_status hs_dominator_rows_of_set(struct hs_view *view, uint32_t set, const char *label,
                                   const struct hs_dominator_query *query,
                                   struct hs_dominator_rows *ret, struct hs_error *err)
{
    struct hs_dominator_rows rows = {0};
    struct hs_instances tops;
    HS_TRY(hs_instances_of_set(view, set, &tops, err));
    struct hs_sizes retained = hs_index_set(view->index, set).retained;
    if (tops.n != 0)
        qsort(tops.targets, tops.n, sizeof *tops.targets, largest_first);
    hs_status status = HS_GROW(&rows.rows, &rows.capacity, 1, err);
    if (status == HS_OK) {
        rows.rows[rows.n++] = (struct hs_dominator_row){
            .node = HS_NO_NODE,
            .dominator = HS_NO_NODE,
            .facts = {.node = HS_NO_NODE, .is_root = true, .label = label},
            .retained = retained,
            .hidden_words = tops.reached.words,
        };
        status = put_tops(view, &tops, query, &rows, err);
    }
    hs_instances_fini(&tops);
    if (status == HS_OK)
        *ret = rows;
    else
        hs_dominator_rows_fini(&rows);
    return status;
}
