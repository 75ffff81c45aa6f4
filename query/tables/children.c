/* children(of): what a node dominates, by ascending id; or those that retain most, when the query
 * asks for a few of them in that order. */
#include "base/alloc.h"
#include "node_columns.h"
#include "tables.h"

enum { CHILDREN_OF = HS_SQL_N_NODE_COLUMNS };

struct children {
    struct hs_sql_cursor cursor; /* row: the child */
    struct hs_row row;
    struct hs_child *largest; /* owned; NULL: by the row */
    uint64_t next, n;
};

static void children_fini(struct hs_sql_cursor *cursor)
{
    struct children *c = (struct children *)cursor;
    hs_free(c->largest);
    c->largest = NULL;
}

static hs_status children_next(struct hs_sql_cursor *cursor, struct hs_error *err)
{
    struct children *c = (struct children *)cursor;
    if (c->largest != NULL) {
        cursor->at_end = c->next == c->n;
        cursor->row = cursor->at_end ? 0 : c->largest[c->next++].node;
        return HS_OK;
    }
    cursor->at_end = !hs_row_next(&c->row, &cursor->row);
    return cursor->at_end ? hs_row_check(&c->row, err) : HS_OK;
}

static hs_status children_filter(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                                 struct hs_error *err)
{
    struct children *c = (struct children *)cursor;
    struct hs_view *view = &cursor->source->view;
    hs_node node;
    children_fini(cursor);
    HS_TRY(hs_sql_node(cursor->source, plan->argument, &node, err));
    cursor->at_end = node == HS_NO_NODE;
    if (cursor->at_end)
        return HS_OK;
    c->next = 0;
    if (plan->wants_largest)
        HS_TRY(hs_index_largest(view->index, node, plan->most, &c->largest, &c->n, err));
    else
        c->row = hs_index_dominated(view->index, node);
    return children_next(cursor, err);
}

static hs_status children_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                                 struct hs_error *err)
{
    return hs_sql_node_column(cursor->source, cursor->row, column, ret, err);
}

static double children_estimate(const struct hs_sql_source *source)
{
    (void)source;
    return 10;
}

const struct hs_sql_table hs_sql_table_children = {
    .name = "children",
    .columns = HS_SQL_NODE_COLUMNS ", of HIDDEN",
    .cursor_bytes = sizeof(struct children),
    .argument = CHILDREN_OF + 1,
    .usage = "children('#2')",
    .largest = HS_SQL_NODE_RETAINED + 1,
    .estimate = children_estimate,
    .filter = children_filter,
    .next = children_next,
    .fini = children_fini,
    .column = children_column,
};
