/* roots: the tree of roots, all levels of it; is_root tells what `heapsnap roots` lists. */
#include "analysis/root_rows.h"
#include "graph/edges.h"
#include "node_columns.h"
#include "tables.h"

enum {
    ROOTS_ID,
    ROOTS_PARENT,
    ROOTS_LEVEL,
    ROOTS_KIND,
    ROOTS_IS_ROOT,
    ROOTS_NAME,
    ROOTS_MODULE,
    ROOTS_UNIT,
    ROOTS_SYMBOL,
    ROOTS_OFFSET,
    ROOTS_FIELD,
    ROOTS_FILE,
    ROOTS_LINE,
    ROOTS_FUNCTION,
    ROOTS_THREAD,
    ROOTS_FRAME,
    ROOTS_ADDRESS,
    ROOTS_TARGET,
    ROOTS_WEAK,
    ROOTS_REACHABLE,
    ROOTS_REACHABLE_OBJECTS,
    ROOTS_RETAINED,
    ROOTS_RETAINED_OBJECTS,
    ROOTS_STATIC_RETAINED,
    ROOTS_CERTAINTY
};

static hs_status roots_count(struct hs_sql_source *source, uint64_t *ret, struct hs_error *err)
{
    (void)err;
    *ret = source->view.n_tree;
    return HS_OK;
}

static double roots_estimate(const struct hs_sql_source *source)
{
    return (double)source->view.n_tree;
}

static const char *level_name(unsigned level)
{
    static const char *const names[HS_N_LEVELS] = {"all",  "kind",     "module",
                                                   "unit", "variable", "leaf"};
    return level < HS_N_LEVELS ? names[level] : NULL;
}

/* The name of the unit that it stands in, or is. */
static const char *unit_of(const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    while (root->level > HS_LEVEL_UNIT)
        root = hs_snap_root(view->snap, root->parent);
    return root->level == HS_LEVEL_UNIT ? hs_view_string(view, root->name) : NULL;
}

static void put_names(const struct hs_view *view, hs_node node, int column, sqlite3_context *ret)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    const char *name = NULL;
    switch (column) {
    case ROOTS_LEVEL:
        name = level_name(root->level);
        break;
    case ROOTS_KIND:
        name = root->level != HS_LEVEL_ALL ? hs_root_kind_name(root->kind) : NULL;
        break;
    case ROOTS_NAME:
        name = node == 0 ? "all roots" : hs_view_string(view, root->name);
        break;
    case ROOTS_MODULE:
        name = hs_view_string(view, root->module);
        break;
    case ROOTS_UNIT:
        name = unit_of(view, node);
        break;
    case ROOTS_SYMBOL:
        name = hs_view_string(view, root->symbol);
        break;
    case ROOTS_FILE:
        name = hs_view_string(view, root->file);
        break;
    case ROOTS_FUNCTION:
        name = hs_view_string(view, root->function);
        break;
    default:
        name = hs_certainty_name(root->certainty);
    }
    hs_sql_put_name(ret, name);
}

static void put_sizes(const struct hs_view *view, hs_node node, int column, sqlite3_context *ret)
{
    bool is_reachable = column == ROOTS_REACHABLE || column == ROOTS_REACHABLE_OBJECTS;
    struct hs_sizes sizes =
        is_reachable ? hs_index_reachable(view->index, node) : hs_index_retained(view->index, node);
    bool is_words = column == ROOTS_REACHABLE || column == ROOTS_RETAINED;
    uint64_t value = is_words ? sizes.words : sizes.objects;
    hs_sql_put(ret, column == ROOTS_STATIC_RETAINED ? sizes.static_words : value);
}

static void put_place(const struct hs_root *root, int column, sqlite3_context *ret)
{
    switch (column) {
    case ROOTS_OFFSET:
        if (root->symbol != 0 && root->level != HS_LEVEL_VARIABLE)
            hs_sql_put(ret, root->offset);
        return;
    case ROOTS_FIELD:
        hs_sql_put_or(ret, root->field, HS_NO_FIELD);
        return;
    case ROOTS_LINE:
        hs_sql_put_or(ret, root->line, 0);
        return;
    case ROOTS_THREAD:
        hs_sql_put_or(ret, root->thread, 0);
        return;
    case ROOTS_FRAME:
        hs_sql_put_or(ret, root->frame, 0);
        return;
    case ROOTS_ADDRESS:
        if (root->address != 0)
            sqlite3_result_int64(ret, (sqlite3_int64)root->address);
        return;
    case ROOTS_TARGET:
        hs_sql_put_or(ret, root->target, HS_NO_NODE);
        return;
    default:
        sqlite3_result_int(ret, root->weak);
    }
}

static hs_status roots_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                              struct hs_error *err)
{
    const struct hs_view *view = &cursor->source->view;
    hs_node node = cursor->row;
    const struct hs_root *root = hs_snap_root(view->snap, node);
    (void)err;
    switch (column) {
    case ROOTS_ID:
        hs_sql_put(ret, node);
        break;
    case ROOTS_PARENT:
        hs_sql_put_or(ret, node == 0 ? HS_NO_NODE : root->parent, HS_NO_NODE);
        break;
    case ROOTS_IS_ROOT:
        sqlite3_result_int(ret, hs_view_root_of(view, node) == node);
        break;
    case ROOTS_REACHABLE:
    case ROOTS_REACHABLE_OBJECTS:
    case ROOTS_RETAINED:
    case ROOTS_RETAINED_OBJECTS:
    case ROOTS_STATIC_RETAINED:
        put_sizes(view, node, column, ret);
        break;
    case ROOTS_OFFSET:
    case ROOTS_FIELD:
    case ROOTS_LINE:
    case ROOTS_THREAD:
    case ROOTS_FRAME:
    case ROOTS_ADDRESS:
    case ROOTS_TARGET:
    case ROOTS_WEAK:
        put_place(root, column, ret);
        break;
    default:
        put_names(view, node, column, ret);
    }
    return HS_OK;
}

static const struct hs_sql_key keys[] = {{ROOTS_ID, HS_SQL_KEY_ORDERED, true, 1}};

const struct hs_sql_table hs_sql_table_roots = {
    .name = "roots",
    .columns = "id INTEGER, parent INTEGER, level TEXT, kind TEXT, is_root INTEGER, name TEXT, "
               "module TEXT, unit TEXT, symbol TEXT, offset INTEGER, field INTEGER, file TEXT, "
               "line INTEGER, function TEXT, thread INTEGER, frame INTEGER, address ADDRESS, "
               "target INTEGER, weak INTEGER, reachable_words WORDS, reachable_objects INTEGER, "
               "retained_words WORDS, retained_objects INTEGER, static_retained_words WORDS, "
               "certainty TEXT",
    .keys = keys,
    .n_keys = 1,
    .estimate = roots_estimate,
    .count = roots_count,
    .column = roots_column,
};
