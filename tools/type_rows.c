/* What each type holds and retains. */
#include "type_rows.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

/* What a type retains is the union of what its objects retain: an object below another one of the
 * same type in the dominator tree is in that one's subtree already, so only the topmost count. */
struct walk {
    const struct hs_view *view;
    struct hs_type_row *rows;
    uint32_t *type_of; /* per block */
    uint32_t *stack;   /* nodes on the way down */
    uint32_t *next;    /* the next child of each */
    uint64_t n_blocks, n_on_stack, n_entered;
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

static hs_status count_blocks(struct hs_tool *tool, struct walk *walk, struct hs_error *err)
{
    const struct hs_view *view = walk->view;
    struct hs_chunk chunk = {0};
    hs_status status = HS_OK;
    for (uint64_t i = 0; i < view->totals->n_chunks && status == HS_OK; i++) {
        status = hs_snap_load_chunk(view->snap, i, HS_COL_SIZES | HS_COL_TYPES, &chunk, err);
        for (uint32_t j = 0; status == HS_OK && j < chunk.n_blocks; j++) {
            walk->type_of[chunk.first - view->n_tree + j] = chunk.type[j];
            if (hs_index_is_reached(view->index, (uint32_t)(chunk.first + j)))
                add_block(&walk->rows[chunk.type[j]], &chunk, j);
        }
        if (status == HS_OK)
            status = hs_progress_tell(&tool->progress, "counting types", i + 1,
                                      view->totals->n_chunks, err);
    }
    hs_chunk_fini(&chunk);
    return status;
}

static struct hs_type_row *row_of(const struct walk *walk, uint32_t node)
{
    if (node < walk->view->n_tree)
        return NULL;
    return &walk->rows[walk->type_of[node - walk->view->n_tree]];
}

static void enter(struct walk *walk, uint32_t node)
{
    struct hs_type_row *row = row_of(walk, node);
    if (row != NULL && row->n_open++ == 0)
        row->retained_words += hs_index_retained(walk->view->index, node).words;
    assert(walk->n_on_stack <= walk->n_entered && walk->n_entered < walk->view->n_nodes);
    walk->stack[walk->n_on_stack] = node;
    walk->next[walk->n_on_stack++] = 0;
    walk->n_entered++;
}

static hs_status walk_tree(struct walk *walk, struct hs_error *err)
{
    enter(walk, 0);
    while (walk->n_on_stack > 0) {
        uint64_t top = walk->n_on_stack - 1;
        uint32_t n;
        const uint32_t *children = hs_index_dominated(walk->view->index, walk->stack[top], &n);
        if (walk->next[top] < n) {
            if (walk->n_entered == walk->view->n_nodes)
                return hs_view_fail_circle(walk->view, err);
            enter(walk, children[walk->next[top]++]);
            continue;
        }
        struct hs_type_row *row = row_of(walk, walk->stack[top]);
        if (row != NULL)
            row->n_open--;
        walk->n_on_stack--;
    }
    return HS_OK;
}

static hs_status walk_alloc(struct walk *walk, struct hs_error *err)
{
    uint64_t n_nodes = walk->view->n_nodes;
    HS_TRY(hs_pages_alloc(walk->n_blocks, sizeof(uint32_t), (void **)&walk->type_of, err));
    HS_TRY(hs_pages_alloc(n_nodes, sizeof(uint32_t), (void **)&walk->stack, err));
    return hs_pages_alloc(n_nodes, sizeof(uint32_t), (void **)&walk->next, err);
}

static void walk_fini(struct walk *walk)
{
    hs_pages_free(walk->type_of, walk->n_blocks, sizeof(uint32_t));
    hs_pages_free(walk->stack, walk->view->n_nodes, sizeof(uint32_t));
    hs_pages_free(walk->next, walk->view->n_nodes, sizeof(uint32_t));
}

struct order {
    const struct hs_view *view;
    enum hs_type_sort sort;
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
    int by_name =
        strcmp(hs_view_string(order->view, hs_snap_type(order->view->snap, a->type)->name),
               hs_view_string(order->view, hs_snap_type(order->view->snap, b->type)->name));
    uint64_t key_a = sort_key(a, order->sort), key_b = sort_key(b, order->sort);
    if (order->sort != HS_TYPE_BY_NAME && key_a != key_b)
        return key_a < key_b ? 1 : -1;
    return by_name;
}

static void add_other(struct hs_type_rows *rows, const struct hs_type_row *row)
{
    rows->n_others++;
    rows->others.objects += row->shallow.objects;
    rows->others.words += row->shallow.words;
    rows->others.static_objects += row->shallow.static_objects;
    rows->others.static_words += row->shallow.static_words;
}

/* Drops types that no root reaches, sorts, and puts what is not to be shown with the others. */
static void finish_rows(const struct hs_view *view, const struct hs_type_query *query,
                        struct hs_type_rows *rows)
{
    size_t n = 0;
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct hs_type_row *row = &rows->rows[i];
        if (row->shallow.objects + row->shallow.static_objects == 0)
            continue;
        if (row->retained_words >= query->min_words)
            rows->rows[n++] = *row;
        else
            add_other(rows, row);
    }
    rows->n_rows = n;
    struct order order = {view, query->sort};
    qsort_r(rows->rows, n, sizeof *rows->rows, compare_rows, &order);
    while (rows->n_rows > query->max_rows)
        add_other(rows, &rows->rows[--rows->n_rows]);
}

hs_status hs_type_rows_select(struct hs_tool *tool, const struct hs_view *view,
                              const struct hs_type_query *query, struct hs_type_rows *ret,
                              struct hs_error *err)
{
    struct hs_type_rows rows = {.n_rows = view->totals->n_types};
    HS_TRY(hs_alloc(rows.n_rows, sizeof *rows.rows, (void **)&rows.rows, err));
    for (uint32_t i = 0; i < rows.n_rows; i++)
        rows.rows[i].type = i;
    struct walk walk = {.view = view, .rows = rows.rows, .n_blocks = view->totals->n_blocks};
    hs_status status = walk_alloc(&walk, err);
    if (status == HS_OK)
        status = count_blocks(tool, &walk, err);
    if (status == HS_OK)
        status = walk_tree(&walk, err);
    walk_fini(&walk);
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
