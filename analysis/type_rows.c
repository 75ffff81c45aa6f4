/* The sums that each type holds and retains. */
#include "analysis/type_rows.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/chunk_pass.h"
#include "analysis/unread.h"
#include "base/alloc.h"
#include "base/bitmap.h"
#include "kept_types.h"
#include "tree_walk.h"
#include "type_walk.h"

/* The types of this walk, which a walk tells apart: 1 + the type - first, or 0 for others. */
struct type_lot {
    uint32_t first, n;
};

static void add_block(struct hs_type_row *row, const struct hs_chunk *chunk, uint32_t at)
{
    if (chunk->state[at] & HS_BLOCK_STATIC) {
        row->shallow.static_objects++;
        row->shallow.static_words += chunk->words[at];
    } else {
        row->shallow.objects++;
        row->shallow.words += chunk->words[at];
    }
}

struct counter {
    const struct hs_view *view;
    struct hs_type_row *rows;
    const uint32_t *families; /* by type: its row */
    struct hs_type_walk *walk;
    struct type_lot lot;
    const struct hs_bitmap *within; /* by block; NULL: all count */
    bool is_first;                  /* pass: counts, too */
    struct hs_index_in_order is_reached;
};

static void count_chunk(struct counter *c, const struct hs_chunk *chunk)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        uint32_t type = c->families[chunk->type[i]];
        uint64_t rank = chunk->first - c->view->n_tree + i;
        bool is_within = c->within == NULL || hs_bitmap_get(c->within, rank);
        bool is_here = is_within && type - c->lot.first < c->lot.n; /* also when it is below */
        hs_type_walk_set(c->walk, chunk->first + i, is_here ? type - c->lot.first + 1 : 0);
        if (c->is_first && is_within && hs_index_next(&c->is_reached, chunk->first + i))
            add_block(&c->rows[type], chunk, i);
    }
}

static hs_status count_blocks(struct counter *c, struct hs_error *err)
{
    const struct hs_view *view = c->view;
    const unsigned columns = c->is_first ? HS_COL_SIZES | HS_COL_TYPES : HS_COL_TYPES;
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, columns, "counting types");
    while (hs_chunk_pass_next(&pass, err))
        count_chunk(c, &pass.chunk);
    return hs_chunk_pass_end(&pass);
}

/* Counts in one pass over the blocks and one walk of the tree for as many types as a block's bytes
 * tell apart: for all of them unless memory is so short that there is but a byte for each block. */
static hs_status count_lots(const struct hs_view *view, const struct hs_bitmap *within,
                            const uint32_t *families, struct hs_type_rows *rows,
                            struct hs_error *err)
{
    struct hs_type_walk walk;
    uint32_t n_types = (uint32_t)rows->n_rows, lot = 0;
    HS_TRY(hs_type_walk_init(view, n_types, &walk, &lot, err));
    struct counter c = {.view = view,
                        .rows = rows->rows,
                        .families = families,
                        .walk = &walk,
                        .within = within,
                        .is_first = true,
                        .is_reached = {.index = view->index, .read = hs_index_run_reached}};
    hs_status status = HS_OK;
    for (uint32_t first = 0; first < n_types && status == HS_OK; first += c.lot.n) {
        c.lot = (struct type_lot){first, n_types - first < lot ? n_types - first : lot};
        status = count_blocks(&c, err);
        if (status == HS_OK)
            status = hs_type_walk_run(&walk, rows->rows + first, err);
        c.is_first = false;
    }
    hs_type_walk_fini(&walk);
    return status;
}

/* ---- what some nodes retain */

struct marking {
    const struct hs_view *view;
    struct hs_bitmap *marks;
};

static hs_status mark(void *context, hs_node node, uint32_t above, uint32_t *ret,
                      struct hs_error *err)
{
    const struct marking *marking = context;
    (void)err;
    *ret = above;
    if (node < marking->view->n_tree)
        return HS_OK;
    if (hs_bitmap_get(marking->marks, node - marking->view->n_tree))
        *ret = HS_TREE_WALK_SKIP; /* one of the nodes retains another */
    else
        hs_bitmap_set(marking->marks, node - marking->view->n_tree);
    return HS_OK;
}

static hs_status mark_within(const struct hs_view *view, const struct hs_type_query *query,
                             struct hs_bitmap *ret, struct hs_error *err)
{
    struct marking marking = {view, ret};
    HS_TRY(hs_bitmap_init(ret, view->totals->n_blocks, err));
    for (size_t i = 0; i < query->n_within; i++) {
        struct hs_tree_walk walk = {
            .view = view, .enter = mark, .context = &marking, .what = "marking what is retained"};
        HS_TRY(hs_tree_walk_run(&walk, query->within[i], 0, err));
    }
    return HS_OK;
}

struct order {
    const struct hs_view *view;
    enum hs_type_sort sort;
    enum hs_type_level level;
};

static uint64_t sort_key(const struct hs_type_row *row, enum hs_type_sort sort)
{
    switch (sort) {
    case HS_TYPE_BY_WORDS:
        return row->shallow.words;
    case HS_TYPE_BY_OBJECTS:
        return row->shallow.objects;
    case HS_TYPE_BY_RETAINED:
    case HS_TYPE_BY_NAME:
        break;
    }
    return row->retained_words;
}

static int compare_rows(const void *left, const void *right, void *context)
{
    const struct hs_type_row *a = left, *b = right;
    const struct order *order = context;
    char name_a[HS_TYPE_NAME_BYTES], name_b[HS_TYPE_NAME_BYTES];
    uint64_t key_a = sort_key(a, order->sort), key_b = sort_key(b, order->sort);
    if (order->sort != HS_TYPE_BY_NAME && key_a != key_b)
        return key_a < key_b ? 1 : -1;
    hs_type_family_name(order->view, a->type, order->level, name_a, sizeof name_a);
    hs_type_family_name(order->view, b->type, order->level, name_b, sizeof name_b);
    return strcmp(name_a, name_b);
}

static void add_other(struct hs_type_rows *rows, const struct hs_type_row *row)
{
    rows->n_others++;
    rows->others.objects += row->shallow.objects;
    rows->others.words += row->shallow.words;
    rows->others.static_objects += row->shallow.static_objects;
    rows->others.static_words += row->shallow.static_words;
}

/* Tells whether all of a row is pieces of mappings, which count as memory that is not read: what
 * stands in a row of its own below the types is none of them. */
static bool is_not_read(const struct hs_view *view, const struct hs_type_row *row)
{
    return row->shallow.objects == 0 &&
           hs_snap_type(view->snap, row->type)->form == HS_FORM_MAPPING;
}

/* Drops types that no root reaches, and those of what is not read, sorts, and puts what is not to
 * be shown with the others. */
static void finish_rows(const struct hs_view *view, const struct hs_type_query *query,
                        struct hs_type_rows *rows)
{
    struct hs_unread unread;
    size_t n = 0;
    hs_unread_find(view, &unread);
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct hs_type_row *row = &rows->rows[i];
        if (row->shallow.objects + row->shallow.static_objects == 0 ||
            (unread.counted_words != 0 && is_not_read(view, row)))
            continue;
        if (row->retained_words >= query->min_words)
            rows->rows[n++] = *row;
        else
            add_other(rows, row);
    }
    rows->n_rows = n;
    struct order order = {view, query->sort, query->level};
    qsort_r(rows->rows, n, sizeof *rows->rows, compare_rows, &order);
    while (rows->n_rows > query->max_rows)
        add_other(rows, &rows->rows[--rows->n_rows]);
}

static hs_status count_rows(const struct hs_view *view, const struct hs_type_query *query,
                            struct hs_type_rows *rows, struct hs_error *err)
{
    struct hs_bitmap within = {0};
    hs_auto_free uint32_t *families = NULL;
    HS_TRY(hs_type_families(view, query->level, &families, err));
    for (uint32_t i = 0; i < rows->n_rows; i++) {
        rows->rows[i].type = i;
        rows->rows[families[i]].n_types++;
    }
    hs_status status = query->within == NULL ? HS_OK : mark_within(view, query, &within, err);
    if (status == HS_OK)
        status = count_lots(view, query->within == NULL ? NULL : &within, families, rows, err);
    hs_bitmap_fini(&within);
    return status;
}

/* Finds all types, counted, or as they were kept when they were counted before. */
static hs_status all_rows(const struct hs_view *view, const struct hs_type_query *query,
                          struct hs_type_rows *rows, struct hs_error *err)
{
    bool is_kept = query->within == NULL && view->totals->n_blocks >= HS_KEPT_TYPES_LEAST_BLOCKS;
    bool is_found = false;
    if (is_kept)
        HS_TRY(hs_kept_types_find(view, query->level, rows, &is_found, err));
    if (is_found)
        return HS_OK;
    HS_TRY(count_rows(view, query, rows, err));
    HS_TRY(hs_index_check(view->index, err)); /* what damage tells is not kept */
    return is_kept ? hs_kept_types_keep(view, query->level, rows, err) : HS_OK;
}

hs_status hs_type_rows_select(const struct hs_view *view, const struct hs_type_query *query,
                              struct hs_type_rows *ret, struct hs_error *err)
{
    struct hs_type_rows rows = {.n_rows = view->totals->n_types};
    HS_TRY(HS_ALLOC(&rows.rows, rows.n_rows, err));
    hs_status status = all_rows(view, query, &rows, err);
    if (status != HS_OK) {
        hs_type_rows_fini(&rows);
        return status;
    }
    finish_rows(view, query, &rows);
    *ret = rows;
    return HS_OK;
}

void hs_type_rows_fini(struct hs_type_rows *rows)
{
    hs_free(rows->rows);
    *rows = (struct hs_type_rows){0};
}
