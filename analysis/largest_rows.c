#include "largest_rows.h"

#include "base/alloc.h"

#define NO_ROW SIZE_MAX

/* A node whose parent is a row: it waits in a heap, the one that retains most on top. */
struct candidate {
    uint64_t words;
    hs_node node;
    size_t parent; /* NO_ROW: the first */
};

/* A chosen row; its children in the order in which they were chosen, the largest first. */
struct chosen {
    struct hs_dominator_row row;
    size_t parent, first_child, last_child, next_sibling;
};

struct choice {
    struct hs_view *view;
    const struct hs_dominator_query *query;
    struct candidate *heap; /* owned */
    size_t n_heap, heap_capacity;
    struct chosen *rows; /* owned */
    size_t n_rows, rows_capacity;
    uint64_t n_lines; /* rows, and in tables the lines of what hides */
};

/* ---- the heap */

static bool is_before(const struct candidate *a, const struct candidate *b)
{
    return a->words != b->words ? a->words > b->words : a->node < b->node;
}

static void swap(struct candidate *a, struct candidate *b)
{
    struct candidate c = *a;
    *a = *b;
    *b = c;
}

static hs_status heap_push(struct choice *choice, struct candidate candidate, struct hs_error *err)
{
    HS_TRY(HS_GROW(&choice->heap, &choice->heap_capacity, choice->n_heap + 1, err));
    struct candidate *heap = choice->heap;
    size_t at = choice->n_heap++;
    heap[at] = candidate;
    for (; at != 0 && is_before(&heap[at], &heap[(at - 1) / 2]); at = (at - 1) / 2)
        swap(&heap[at], &heap[(at - 1) / 2]);
    return HS_OK;
}

static struct candidate heap_pop(struct choice *choice)
{
    struct candidate *heap = choice->heap;
    struct candidate top = heap[0];
    size_t n = --choice->n_heap;
    heap[0] = heap[n];
    for (size_t at = 0;;) {
        size_t child = 2 * at + 1;
        if (child >= n)
            break;
        child += child + 1 < n && is_before(&heap[child + 1], &heap[child]);
        if (is_before(&heap[at], &heap[child]))
            break;
        swap(&heap[at], &heap[child]);
        at = child;
    }
    return top;
}

/* ---- choosing */

/* Lines more when `parent` shows one child more. Children that hide beside shown ones have a line;
 * where none is shown, they need none. */
static uint64_t lines_of(const struct choice *choice, const struct candidate *candidate,
                         bool *ret_ends_hiding)
{
    *ret_ends_hiding = false;
    if (!choice->query->is_table || candidate->parent == NO_ROW)
        return 1;
    const struct hs_dominator_row *parent = &choice->rows[candidate->parent].row;
    *ret_ends_hiding = parent->n_shown != 0 && parent->n_hidden == 1;
    return parent->n_shown == 0 && parent->n_hidden > 1 ? 2 : 1;
}

static void adopt(struct choice *choice, size_t at, uint64_t words)
{
    struct chosen *row = &choice->rows[at];
    if (row->parent == NO_ROW)
        return;
    struct chosen *parent = &choice->rows[row->parent];
    if (parent->first_child == NO_ROW)
        parent->first_child = at;
    else
        choice->rows[parent->last_child].next_sibling = at;
    parent->last_child = at;
    parent->row.n_shown++;
    parent->row.n_hidden -= parent->row.n_hidden != 0;
    parent->row.hidden_words -= words < parent->row.hidden_words ? words : parent->row.hidden_words;
}

static hs_status choose(struct choice *choice, const struct candidate *candidate,
                        struct hs_error *err)
{
    struct hs_index *index = choice->view->index;
    size_t at = choice->n_rows;
    if (at == choice->view->n_nodes)
        return hs_view_fail_circle(choice->view, err);
    HS_TRY(HS_GROW(&choice->rows, &choice->rows_capacity, at + 1, err));
    struct chosen *chosen = &choice->rows[at];
    *chosen = (struct chosen){
        .row = {.node = candidate->node,
                .dominator = hs_index_idom(index, candidate->node),
                .retained = hs_index_retained(index, candidate->node),
                .n_hidden = hs_index_dominated(index, candidate->node).n},
        .parent = candidate->parent,
        .first_child = NO_ROW,
        .last_child = NO_ROW,
        .next_sibling = NO_ROW,
    };
    chosen->row.hidden_words = chosen->row.retained.words;
    if (candidate->parent != NO_ROW)
        chosen->row.depth = choice->rows[candidate->parent].row.depth + 1;
    choice->n_rows++;
    adopt(choice, at, candidate->words);
    return HS_OK;
}

/* The children of a row that may become rows. In a table a single child may, one level deeper. */
static hs_status wait_for_children(struct choice *choice, size_t at, struct hs_error *err)
{
    const struct hs_dominator_query *query = choice->query;
    const struct hs_dominator_row row = choice->rows[at].row;
    bool is_single = query->is_table && row.n_hidden == 1 && row.depth == query->max_depth;
    uint64_t n = 0, most = row.depth < query->max_depth || is_single ? row.n_hidden : 0;
    hs_auto_free struct hs_child *children = NULL;
    most = most < query->max_children ? most : query->max_children;
    most = most < query->max_rows ? most : query->max_rows;
    if (most == 0)
        return HS_OK;
    HS_TRY(hs_index_largest(choice->view->index, row.node, most, &children, &n, err));
    for (uint64_t i = 0; i < n; i++)
        if (children[i].words >= query->min_words)
            HS_TRY(heap_push(choice, (struct candidate){children[i].words, children[i].node, at},
                             err));
    return HS_OK;
}

static hs_status choose_rows(struct choice *choice, struct hs_error *err)
{
    while (choice->n_heap != 0) {
        struct candidate candidate = heap_pop(choice);
        bool ends_hiding;
        uint64_t n_lines = lines_of(choice, &candidate, &ends_hiding);
        if (choice->n_lines - ends_hiding + n_lines > choice->query->max_rows &&
            choice->n_rows != 0)
            break;
        choice->n_lines += n_lines - ends_hiding;
        HS_TRY(choose(choice, &candidate, err));
        HS_TRY(wait_for_children(choice, choice->n_rows - 1, err));
    }
    return HS_OK;
}

/* Shows the only child that a row with shown children hides: a line "[1 others]" would take as much
 * room. */
static hs_status choose_last_children(struct choice *choice, struct hs_error *err)
{
    size_t n_rows = choice->n_rows;
    for (size_t at = 0; at < n_rows && choice->query->is_table; at++) {
        const struct hs_dominator_row row = choice->rows[at].row;
        hs_auto_free struct hs_child *children = NULL;
        uint64_t n = 0;
        if (row.n_hidden != 1 || row.n_shown == 0)
            continue;
        HS_TRY(
            hs_index_largest(choice->view->index, row.node, row.n_shown + 1, &children, &n, err));
        if (n != row.n_shown + 1)
            continue;
        struct candidate last = {children[n - 1].words, children[n - 1].node, at};
        HS_TRY(choose(choice, &last, err));
    }
    return HS_OK;
}

/* ---- the order of the tree */

static hs_status put_in_order(const struct choice *choice, struct hs_dominator_rows *rows,
                              struct hs_error *err)
{
    HS_TRY(HS_GROW(&rows->rows, &rows->capacity, choice->n_rows, err));
    for (size_t at = 0; at != NO_ROW;) {
        const struct chosen *chosen = &choice->rows[at];
        rows->rows[rows->n++] = chosen->row;
        if (chosen->first_child != NO_ROW) {
            at = chosen->first_child;
            continue;
        }
        while (at != NO_ROW && choice->rows[at].next_sibling == NO_ROW)
            at = choice->rows[at].parent;
        at = at == NO_ROW ? NO_ROW : choice->rows[at].next_sibling;
    }
    return HS_OK;
}

hs_status hs_largest_rows(struct hs_view *view, hs_node from,
                          const struct hs_dominator_query *query, struct hs_dominator_rows *rows,
                          struct hs_error *err)
{
    struct choice choice = {.view = view, .query = query};
    hs_status status = heap_push(&choice, (struct candidate){UINT64_MAX, from, NO_ROW}, err);
    if (status == HS_OK)
        status = choose_rows(&choice, err);
    if (status == HS_OK)
        status = choose_last_children(&choice, err);
    if (status == HS_OK)
        status = put_in_order(&choice, rows, err);
    hs_free(choice.heap);
    hs_free(choice.rows);
    return status;
}
