/* holders(of): who points to a node, strong pointers first, a row for each pointer. */
#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/used_edges.h"
#include "graph/edges.h"
#include "hub.h"
#include "node_columns.h"
#include "tables.h"

enum {
    HOLDERS_OFFSET = HS_SQL_N_NODE_COLUMNS,
    HOLDERS_FIELD,
    HOLDERS_CLASS,
    HOLDERS_LINK_TIER,
    HOLDERS_OF
};
enum { AT_ONCE = 1024 }; /* sources that are looked into: a hub has millions */

struct holders {
    struct hs_sql_cursor cursor; /* row: counted */
    struct hs_referrers referrers;
    struct hs_links links;
    size_t at;
};

static void holders_fini(struct hs_sql_cursor *cursor)
{
    hs_links_fini(&((struct holders *)cursor)->links);
}

static hs_status holders_next(struct hs_sql_cursor *cursor, struct hs_error *err)
{
    struct holders *h = (struct holders *)cursor;
    const struct hs_view *view = &cursor->source->view;
    cursor->row++;
    if (++h->at < h->links.n)
        return HS_OK;
    h->at = 0;
    HS_TRY(hs_referrers_next(&h->referrers, AT_ONCE, &h->links, err));
    cursor->at_end = h->links.n == 0;
    return hs_progress_tell(view->session.progress, "reading who points there", cursor->row, 0,
                            err);
}

static hs_status holders_filter(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                                struct hs_error *err)
{
    struct holders *h = (struct holders *)cursor;
    hs_node node;
    holders_fini(cursor);
    HS_TRY(hs_sql_node(cursor->source, plan->argument, &node, err));
    cursor->at_end = node == HS_NO_NODE;
    if (cursor->at_end)
        return HS_OK;
    hs_sql_source_looked(cursor->source);
    h->referrers = hs_referrers_of(&cursor->source->view, node, UINT64_MAX);
    h->at = 0;
    h->links.n = 0;
    return holders_next(cursor, err);
}

static hs_status put_field(struct hs_view *view, const struct hs_link *link, sqlite3_context *ret,
                           struct hs_error *err)
{
    char text[HS_FIELD_NAME_BYTES];
    struct hs_node_facts facts;
    if (link->other < view->n_tree || link->offset_words == HS_NO_OFFSET)
        return HS_OK;
    HS_TRY(hs_view_facts(view, link->other, &facts, err));
    if (hs_field_name(view, facts.type, link->offset_words, text, sizeof text) != 0)
        hs_sql_put_text(ret, text);
    return HS_OK;
}

static hs_status holders_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                                struct hs_error *err)
{
    struct holders *h = (struct holders *)cursor;
    struct hs_view *view = &cursor->source->view;
    const struct hs_link *link = &h->links.links[h->at];
    unsigned tier;
    switch (column) {
    case HOLDERS_OFFSET:
        hs_sql_put_offset(ret, view, link->offset_words);
        return HS_OK;
    case HOLDERS_FIELD:
        return put_field(view, link, ret, err);
    case HOLDERS_CLASS:
        hs_sql_put_name(ret, hs_edge_class_name(link->edge_class));
        return HS_OK;
    case HOLDERS_LINK_TIER:
        HS_TRY(hs_link_tier(view, link->other, link->edge_class, &tier, err));
        hs_sql_put_tier(ret, tier);
        return HS_OK;
    default:
        return hs_sql_node_column(cursor->source, link->other, column, ret, err);
    }
}

static double holders_estimate(const struct hs_sql_source *source)
{
    (void)source;
    return 4;
}

const struct hs_sql_table hs_sql_table_holders = {
    .name = "holders",
    .columns = HS_SQL_NODE_COLUMNS ", offset INTEGER, field TEXT, class TEXT, link_tier TEXT, "
                                   "of HIDDEN",
    .cursor_bytes = sizeof(struct holders),
    .argument = HOLDERS_OF + 1,
    .usage = "holders('#5000')",
    .estimate = holders_estimate,
    .filter = holders_filter,
    .next = holders_next,
    .fini = holders_fini,
    .column = holders_column,
};
