/* The columns that every table of nodes has. */
#include "node_columns.h"

#include "analysis/neighbours.h"
#include "graph/edges.h"

void hs_sql_put_tier(sqlite3_context *ret, unsigned tier)
{
    hs_sql_put_name(ret, tier == HS_TIER_NONE ? NULL : hs_tier_name(tier));
}

void hs_sql_put_offset(sqlite3_context *ret, const struct hs_view *view, uint64_t offset_words)
{
    if (offset_words != HS_NO_OFFSET)
        hs_sql_put(ret, offset_words * view->facts->word_bytes);
}

hs_status hs_sql_node_column(struct hs_sql_source *source, hs_node node, int column,
                             sqlite3_context *ret, struct hs_error *err)
{
    struct hs_view *view = &source->view;
    struct hs_node_facts facts;
    switch (column) {
    case HS_SQL_NODE_ID:
        hs_sql_put(ret, node);
        return HS_OK;
    case HS_SQL_NODE_RETAINED:
        hs_sql_put(ret, hs_index_retained(view->index, node).words);
        return HS_OK;
    case HS_SQL_NODE_OBJECTS:
        hs_sql_put(ret, hs_index_retained(view->index, node).objects);
        return HS_OK;
    case HS_SQL_NODE_TIER:
        hs_sql_put_tier(ret, hs_index_tier(view->index, node));
        return HS_OK;
    default:
        break;
    }
    HS_TRY(hs_view_facts(view, node, &facts, err));
    if (column == HS_SQL_NODE_NAME)
        hs_sql_put_name(ret, facts.label);
    else if (column == HS_SQL_NODE_ADDRESS && (!facts.is_root || facts.address != 0))
        sqlite3_result_int64(ret, (sqlite3_int64)facts.address);
    else if (column == HS_SQL_NODE_WORDS && !facts.is_root)
        hs_sql_put(ret, facts.words);
    return HS_OK;
}
