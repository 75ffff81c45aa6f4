#include "analysis/set_rows.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void hs_set_rows_fini(struct hs_set_rows *rows)
{
    hs_free(rows->rows);
    hs_free(rows->members);
    *rows = (struct hs_set_rows){0};
}

uint64_t hs_set_rows_words(const struct hs_set_rows *rows)
{
    uint64_t words = rows->others.words;
    for (size_t i = 0; i < rows->n; i++)
        words += rows->rows[i].retained.words;
    return words;
}

static hs_status row_add(struct hs_set_rows *rows, struct hs_set_row row, struct hs_error *err)
{
    HS_TRY(HS_GROW(&rows->rows, &rows->capacity, rows->n + 1, err));
    rows->rows[rows->n++] = row;
    return HS_OK;
}

hs_status hs_set_rows_all(const struct hs_view *view, struct hs_set_rows *ret, struct hs_error *err)
{
    struct hs_set_rows rows = {0};
    uint32_t n = hs_index_n_sets(view->index);
    hs_status status = HS_OK;

    rows.others = hs_index_other_sets(view->index, &rows.n_others);
    for (uint32_t id = 1; id <= n && status == HS_OK; id++) {
        const struct hs_owner_set set = hs_index_set(view->index, id);
        const struct hs_set_row row = {
            .id = id, .retained = set.retained, .n_members = set.n_roots};
        status = row_add(&rows, row, err);
    }
    if (status == HS_OK)
        *ret = rows;
    else
        hs_set_rows_fini(&rows);
    return status;
}

bool hs_set_member_next(const struct hs_view *view, const struct hs_set_rows *rows, size_t row,
                        struct hs_set_walk *walk, hs_node *ret)
{
    const struct hs_set_row *set = &rows->rows[row];

    if (set->id == 0) {
        if (walk->at == set->n_members)
            return false;
        *ret = rows->members[set->first + walk->at++];
        return true;
    }
    if (!walk->is_open)
        walk->roots = hs_index_set_roots(view->index, set->id);
    walk->is_open = true;
    return hs_row_next(&walk->roots, ret);
}

/* ---- groups ---- */

struct grouping {
    const struct hs_view *view;
    const struct hs_set_groups *groups;
    struct hs_set_rows *rows;
    uint32_t *seen; /* owned: by first part of a group, the last set that it was met in */
};

static int by_number(const void *left, const void *right)
{
    const hs_node *a = left, *b = right;
    return *a < *b ? -1 : *a > *b;
}

/* Puts the groups of a set behind the members that are there; *ret_parts tells whether its roots
 * are of more than one part. */
static hs_status members_add(struct grouping *g, uint32_t id, uint64_t *ret_n, bool *ret_parts,
                             struct hs_error *err)
{
    struct hs_set_rows *rows = g->rows;
    struct hs_row roots = hs_index_set_roots(g->view->index, id);
    size_t first = rows->n_members;
    uint32_t part = HS_NONE;
    hs_node root;

    *ret_parts = false;
    while (hs_row_next(&roots, &root)) {
        uint32_t own = g->groups->part_of[root];
        if (own == HS_NONE)
            continue;
        *ret_parts |= part != HS_NONE && own != part;
        part = own;
        uint32_t group = g->groups->group_of[own];
        if (g->seen[group] == id)
            continue;
        g->seen[group] = id;
        HS_TRY(HS_GROW(&rows->members, &rows->members_capacity, rows->n_members + 1, err));
        rows->members[rows->n_members++] = group;
    }
    *ret_n = rows->n_members - first;
    if (*ret_n > 1)
        qsort(rows->members + first, *ret_n, sizeof *rows->members, by_number);
    return HS_OK;
}

static hs_status set_take(struct grouping *g, uint32_t id, struct hs_error *err)
{
    const struct hs_owner_set set = hs_index_set(g->view->index, id);
    struct hs_set_row row = {.retained = set.retained, .first = g->rows->n_members};
    bool has_parts;

    HS_TRY(members_add(g, id, &row.n_members, &has_parts, err));
    if (row.n_members > 1)
        return row_add(g->rows, row, err);
    if (row.n_members == 0) { /* its roots are not listed */
        hs_sizes_add(&g->rows->others, &set.retained);
        g->rows->n_others++;
        return HS_OK;
    }
    /* A part retains what its roots share among themselves. */
    if (has_parts && g->groups->add != NULL)
        g->groups->add(g->groups->context, g->rows->members[row.first], &set.retained);
    g->rows->n_members = row.first;
    return HS_OK;
}

static int by_members(const void *left, const void *right, void *context)
{
    const struct hs_set_rows *rows = context;
    const struct hs_set_row *a = left, *b = right;
    if (a->n_members != b->n_members)
        return a->n_members < b->n_members ? -1 : 1;
    for (size_t i = 0; i < a->n_members; i++) {
        hs_node x = rows->members[a->first + i], y = rows->members[b->first + i];
        if (x != y)
            return x < y ? -1 : 1;
    }
    return 0;
}

static int by_words(const void *left, const void *right, void *context)
{
    const struct hs_set_row *a = left, *b = right;
    if (a->retained.words != b->retained.words)
        return a->retained.words < b->retained.words ? 1 : -1;
    if (a->retained.objects != b->retained.objects)
        return a->retained.objects < b->retained.objects ? 1 : -1;
    return by_members(left, right, context);
}

/* Sets of the same groups become one, then the largest come first. */
static void sets_join(struct hs_set_rows *rows)
{
    size_t n = 0;

    if (rows->n < 2)
        return;
    qsort_r(rows->rows, rows->n, sizeof *rows->rows, by_members, rows);
    for (size_t i = 0; i < rows->n; i++) {
        if (n > 0 && by_members(&rows->rows[n - 1], &rows->rows[i], rows) == 0)
            hs_sizes_add(&rows->rows[n - 1].retained, &rows->rows[i].retained);
        else
            rows->rows[n++] = rows->rows[i];
    }
    rows->n = n;
    qsort_r(rows->rows, rows->n, sizeof *rows->rows, by_words, rows);
}

hs_status hs_set_rows_of_groups(const struct hs_view *view, const struct hs_set_groups *groups,
                                struct hs_set_rows *ret, struct hs_error *err)
{
    struct hs_set_rows rows = {0};
    struct grouping g = {.view = view, .groups = groups, .rows = &rows};
    uint32_t n = hs_index_n_sets(view->index);

    rows.others = hs_index_other_sets(view->index, &rows.n_others);
    hs_status status = HS_ALLOC(&g.seen, view->n_tree, err);
    for (uint32_t id = 1; id <= n && status == HS_OK; id++)
        status = set_take(&g, id, err);
    hs_free(g.seen);
    if (status != HS_OK) {
        hs_set_rows_fini(&rows);
        return status;
    }
    sets_join(&rows);
    *ret = rows;
    return HS_OK;
}
