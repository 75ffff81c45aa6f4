/* A walk down the dominator tree, the largest children first. */
#include "analysis/dominator_rows.h"

#include "base/alloc.h"
#include "largest_rows.h"

/* A node that waits on the stack of the walk, with its depth. */
struct waiting {
    hs_node node;
    uint32_t depth;
};

struct tree_walk {
    struct hs_view *view;
    const struct hs_dominator_query *query;
    struct hs_dominator_rows *rows;
    struct waiting *stack; /* owned */
    size_t n, capacity;
};

static hs_status push(struct tree_walk *walk, hs_node node, uint32_t depth, struct hs_error *err)
{
    HS_TRY(HS_GROW(&walk->stack, &walk->capacity, walk->n + 1, err));
    walk->stack[walk->n++] = (struct waiting){node, depth};
    return HS_OK;
}

/* Lets the children wait that are large enough, the largest on top, and counts them in the row. */
static hs_status wait_for_children(struct tree_walk *walk, struct waiting at,
                                   struct hs_dominator_row *row, struct hs_error *err)
{
    struct hs_index *index = walk->view->index;
    uint64_t limit = at.depth < walk->query->max_depth ? walk->query->max_children : 0;
    uint64_t most = row->n_hidden < limit ? row->n_hidden : limit, n = 0;
    hs_auto_free struct hs_child *children = NULL;
    if (most == 0)
        return HS_OK;
    HS_TRY(hs_index_largest(index, at.node, most, &children, &n, err));
    while (n > 0 && children[n - 1].words < walk->query->min_words)
        n--;
    row->n_hidden -= n < row->n_hidden ? n : row->n_hidden;
    row->n_shown = n;
    for (uint64_t i = n; i-- > 0;) {
        row->hidden_words -= children[i].words;
        HS_TRY(push(walk, children[i].node, at.depth + 1, err));
    }
    return HS_OK;
}

/* Shows one node and lets its largest children wait. */
static hs_status visit(struct tree_walk *walk, struct waiting at, struct hs_error *err)
{
    struct hs_dominator_rows *rows = walk->rows;
    struct hs_index *index = walk->view->index;
    struct hs_dominator_row row = {.node = at.node, .depth = at.depth};
    row.n_hidden = hs_index_dominated(index, at.node).n;
    row.dominator = hs_index_idom(index, at.node);
    row.retained = hs_index_retained(index, at.node);
    row.hidden_words = row.retained.words;
    HS_TRY(wait_for_children(walk, at, &row, err));
    HS_TRY(HS_GROW(&rows->rows, &rows->capacity, rows->n + 1, err));
    rows->rows[rows->n++] = row;
    return HS_OK;
}

/* Looks up the rows' nodes; the own words of a row are not hidden ones. */
static hs_status look_up_rows(struct hs_view *view, struct hs_dominator_rows *rows,
                              struct hs_error *err)
{
    hs_auto_free hs_node *nodes = NULL;
    hs_auto_free struct hs_node_facts *facts = NULL;
    HS_TRY(HS_ALLOC(&nodes, rows->n, err));
    HS_TRY(HS_ALLOC(&facts, rows->n, err));
    for (size_t i = 0; i < rows->n; i++)
        nodes[i] = rows->rows[i].node;
    HS_TRY(hs_view_facts_of(view, nodes, rows->n, facts, err));
    for (size_t i = 0; i < rows->n; i++) {
        struct hs_dominator_row *row = &rows->rows[i];
        row->facts = facts[i];
        if (!row->facts.is_root && !row->facts.is_static && row->hidden_words != 0)
            row->hidden_words -= row->facts.words; /* 0: no root reaches it, it retains nothing */
    }
    return HS_OK;
}

static hs_status walk_down(struct hs_view *view, hs_node from,
                           const struct hs_dominator_query *query, struct hs_dominator_rows *rows,
                           struct hs_error *err)
{
    struct tree_walk walk = {.view = view, .query = query, .rows = rows};
    hs_status status = push(&walk, from, 0, err);
    while (status == HS_OK && walk.n > 0)
        status = rows->n < view->n_nodes ? visit(&walk, walk.stack[--walk.n], err)
                                         : hs_view_fail_circle(view, err);
    hs_free(walk.stack);
    return status;
}

hs_status hs_dominator_rows_select(struct hs_view *view, hs_node from,
                                   const struct hs_dominator_query *query,
                                   struct hs_dominator_rows *ret, struct hs_error *err)
{
    struct hs_dominator_rows rows = {0};
    hs_status status = query->max_rows == 0 ? walk_down(view, from, query, &rows, err)
                                            : hs_largest_rows(view, from, query, &rows, err);
    if (status == HS_OK)
        status = look_up_rows(view, &rows, err);
    if (status == HS_OK)
        *ret = rows;
    else
        hs_dominator_rows_fini(&rows);
    return status;
}

void hs_dominator_rows_fini(struct hs_dominator_rows *rows)
{
    hs_free(rows->rows);
    *rows = (struct hs_dominator_rows){0};
}
