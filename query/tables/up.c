/* up(of): a node, what dominates it, what dominates that, up to the root of all. */
#include "node_columns.h"
#include "tables.h"

enum { UP_DEPTH = HS_SQL_N_NODE_COLUMNS, UP_OF };

struct up {
    struct hs_sql_cursor cursor; /* row: the node */
    uint64_t depth;
};

static hs_status up_next(struct hs_sql_cursor *cursor, struct hs_error *err)
{
    struct up *up = (struct up *)cursor;
    const struct hs_view *view = &cursor->source->view;
    hs_node above = hs_index_idom(view->index, cursor->row);
    cursor->at_end = above == HS_NO_NODE;
    if (cursor->at_end)
        return HS_OK;
    cursor->row = above;
    return ++up->depth < view->n_nodes ? HS_OK : hs_view_fail_circle(view, err);
}

static hs_status up_filter(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                           struct hs_error *err)
{
    struct up *up = (struct up *)cursor;
    up->depth = 0;
    HS_TRY(hs_sql_node(cursor->source, plan->argument, &cursor->row, err));
    cursor->at_end = cursor->row == HS_NO_NODE;
    return HS_OK;
}

static hs_status up_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                           struct hs_error *err)
{
    if (column != UP_DEPTH)
        return hs_sql_node_column(cursor->source, cursor->row, column, ret, err);
    hs_sql_put(ret, ((struct up *)cursor)->depth);
    return HS_OK;
}

static double up_estimate(const struct hs_sql_source *source)
{
    (void)source;
    return 20;
}

const struct hs_sql_table hs_sql_table_up = {
    .name = "up",
    .columns = HS_SQL_NODE_COLUMNS ", depth INTEGER, of HIDDEN",
    .cursor_bytes = sizeof(struct up),
    .argument = UP_OF + 1,
    .usage = "up('#5000')",
    .estimate = up_estimate,
    .filter = up_filter,
    .next = up_next,
    .column = up_column,
};
