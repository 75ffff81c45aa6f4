/* path(of): the shortest path from each of up to ten roots to a block, step by step, as `heapsnap
 * paths` finds them. */
#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/object_lookup.h"
#include "analysis/path_find.h"
#include "graph/edges.h"
#include "node_columns.h"
#include "tables.h"

enum {
    PATH_NUMBER = HS_SQL_N_NODE_COLUMNS,
    PATH_STEP,
    PATH_OFFSET,
    PATH_FIELD,
    PATH_CLASS,
    PATH_ROOT,
    PATH_OF
};
enum { PATHS_MOST = 10 };

struct path {
    struct hs_sql_cursor cursor; /* row: the place among the nodes of all paths */
    struct hs_paths paths;
    size_t number; /* of the path */
};

static void path_fini(struct hs_sql_cursor *cursor)
{
    struct path *p = (struct path *)cursor;
    hs_paths_fini(&p->paths);
    p->paths = (struct hs_paths){0};
}

static hs_status path_next(struct hs_sql_cursor *cursor, struct hs_error *err)
{
    struct path *p = (struct path *)cursor;
    (void)err;
    if (++cursor->row == p->paths.begin[p->number + 1])
        p->number++;
    cursor->at_end = p->number == p->paths.n_paths;
    return HS_OK;
}

static hs_status path_filter(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                             struct hs_error *err)
{
    struct path *p = (struct path *)cursor;
    struct hs_view *view = &cursor->source->view;
    hs_node node;
    path_fini(cursor);
    p->number = 0;
    HS_TRY(hs_sql_node(cursor->source, plan->argument, &node, err));
    bool is_text = sqlite3_value_type(plan->argument) == SQLITE_TEXT;
    cursor->at_end = node == HS_NO_NODE || (node < view->n_tree && !is_text);
    if (cursor->at_end) /* a number of no block leads nowhere */
        return HS_OK;
    if (node < view->n_tree) /* what is named is meant to be the block that it leads to */
        HS_TRY(hs_object_target(view, (const char *)sqlite3_value_text(plan->argument), node, &node,
                                err));
    HS_TRY(hs_paths_to(view, node, PATHS_MOST, /* disjoint= */ false, &p->paths, err));
    cursor->at_end = p->paths.n_paths == 0;
    return HS_OK;
}

/* Gives the word by which the path goes on. */
static hs_status put_link(const struct path *p, sqlite3_context *ret, int column,
                          struct hs_error *err)
{
    struct hs_view *view = &p->cursor.source->view;
    char text[HS_FIELD_NAME_BYTES];
    struct hs_node_facts facts;
    struct hs_link link;
    size_t at = p->cursor.row;
    if (at + 1 == p->paths.begin[p->number + 1])
        return HS_OK; /* the end */
    hs_node node = p->paths.nodes[at];
    HS_TRY(hs_link_find(view, node, p->paths.nodes[at + 1], &link, err));
    if (column == PATH_CLASS) {
        hs_sql_put_name(ret, hs_edge_class_name(link.edge_class));
        return HS_OK;
    }
    if (column == PATH_OFFSET || node < view->n_tree || link.offset_words == HS_NO_OFFSET) {
        if (column == PATH_OFFSET)
            hs_sql_put_offset(ret, view, link.offset_words);
        return HS_OK;
    }
    HS_TRY(hs_view_facts(view, node, &facts, err));
    if (hs_field_name(view, facts.type, link.offset_words, text, sizeof text) != 0)
        hs_sql_put_text(ret, text);
    return HS_OK;
}

static hs_status path_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                             struct hs_error *err)
{
    const struct path *p = (const struct path *)cursor;
    size_t begin = p->paths.begin[p->number];
    switch (column) {
    case PATH_NUMBER:
        hs_sql_put(ret, p->number + 1);
        return HS_OK;
    case PATH_STEP:
        hs_sql_put(ret, cursor->row - begin);
        return HS_OK;
    case PATH_ROOT:
        hs_sql_put(ret, hs_path_root(&cursor->source->view, p->paths.nodes[begin]));
        return HS_OK;
    case PATH_OFFSET:
    case PATH_FIELD:
    case PATH_CLASS:
        return put_link(p, ret, column, err);
    default:
        return hs_sql_node_column(cursor->source, p->paths.nodes[cursor->row], column, ret, err);
    }
}

static double path_estimate(const struct hs_sql_source *source)
{
    (void)source;
    return 100;
}

const struct hs_sql_table hs_sql_table_path = {
    .name = "path",
    .columns = HS_SQL_NODE_COLUMNS ", path INTEGER, step INTEGER, offset INTEGER, field TEXT, "
                                   "class TEXT, root_id INTEGER, of HIDDEN",
    .cursor_bytes = sizeof(struct path),
    .argument = PATH_OF + 1,
    .usage = "path('0x7f3a5c001230')",
    .estimate = path_estimate,
    .filter = path_filter,
    .next = path_next,
    .fini = path_fini,
    .column = path_column,
};
