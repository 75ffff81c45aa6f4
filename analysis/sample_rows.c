/* Samples, those whose block retains most first. */
#include "analysis/sample_rows.h"

#include <stdlib.h>

#include "base/alloc.h"

static int by_retained(const void *left, const void *right)
{
    const struct hs_sample_row *a = left, *b = right;
    if (a->retained_words != b->retained_words)
        return a->retained_words < b->retained_words ? 1 : -1;
    return a->at < b->at ? -1 : a->at > b->at;
}

static hs_status select_rows(const struct hs_view *view, uint64_t min_words, uint64_t max_rows,
                             struct hs_sample_rows *ret, struct hs_error *err)
{
    void *memory;
    HS_TRY(hs_alloc(view->totals->n_samples, sizeof(struct hs_sample_row), &memory, err));
    struct hs_sample_rows rows = {.rows = memory};
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        struct hs_sample_row row = {.sample = hs_snap_sample(view->snap, i), .at = i};
        if (row.sample->node != HS_NO_NODE)
            row.retained_words = hs_index_retained(view->index, row.sample->node).words;
        if (row.retained_words >= min_words)
            rows.rows[rows.n++] = row;
        else
            rows.n_others++, rows.others_words += row.retained_words;
    }
    qsort(rows.rows, rows.n, sizeof *rows.rows, by_retained);
    while (rows.n > max_rows) {
        rows.n_others++;
        rows.others_words += rows.rows[--rows.n].retained_words;
    }
    *ret = rows;
    return HS_OK;
}

static hs_status look_up_rows(struct hs_view *view, struct hs_sample_rows *rows,
                              struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL, *roots = NULL;
    hs_auto_free struct hs_node_facts *facts = NULL;
    HS_TRY(HS_ALLOC(&nodes, rows->n, err));
    HS_TRY(HS_ALLOC(&roots, rows->n, err));
    HS_TRY(HS_ALLOC(&facts, rows->n, err));
    for (size_t i = 0; i < rows->n; i++)
        nodes[i] = rows->rows[i].sample->node;
    HS_TRY(hs_view_facts_of(view, nodes, rows->n, facts, err));
    HS_TRY(hs_view_retaining_roots(view, nodes, rows->n, roots, err));
    for (size_t i = 0; i < rows->n; i++) {
        rows->rows[i].facts = facts[i];
        rows->rows[i].root = roots[i];
    }
    return HS_OK;
}

hs_status hs_sample_rows_select(struct hs_view *view, uint64_t min_words, uint64_t max_rows,
                                struct hs_sample_rows *ret, struct hs_error *err)
{
    struct hs_sample_rows rows = {0};
    HS_TRY(select_rows(view, min_words, max_rows, &rows, err));
    hs_status status = look_up_rows(view, &rows, err);
    if (status == HS_OK)
        *ret = rows;
    else
        hs_sample_rows_fini(&rows);
    return status;
}

void hs_sample_rows_fini(struct hs_sample_rows *rows)
{
    hs_free(rows->rows);
    *rows = (struct hs_sample_rows){0};
}

const char *hs_sample_root_name(const struct hs_view *view, const struct hs_sample_row *row)
{
    return row->root == HS_NO_NODE
               ? NULL
               : hs_view_string(view, hs_snap_root(view->snap, row->root)->name);
}

bool hs_sample_is_reached(const struct hs_view *view, const struct hs_sample_row *row)
{
    return row->sample->node != HS_NO_NODE && hs_index_is_reached(view->index, row->sample->node);
}
