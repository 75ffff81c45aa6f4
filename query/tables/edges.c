/* edges: every pointer between blocks, and from the slots of roots to blocks. Found by the node
 * that it is in, or by the node that it leads to; a scan goes by ascending source. */
#include "graph/edges.h"
#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/reason.h"
#include "analysis/used_edges.h"
#include "hub.h"
#include "node_columns.h"
#include "tables.h"

enum {
    EDGES_SRC,
    EDGES_DST,
    EDGES_OFFSET,
    EDGES_FIELD,
    EDGES_CLASS,
    EDGES_TIER,
    EDGES_STRONG,
    EDGES_USED,
    EDGES_RULE
};
enum { KEY_SRC, KEY_DST };
enum { AT_ONCE = 1024, TELL_EVERY = 1 << 16 };

struct edges {
    struct hs_sql_cursor cursor; /* row: counted */
    bool is_inward;
    bool is_scan;     /* of all sources */
    hs_node src, dst; /* of the row; outward: all up to `end` */
    hs_node end;
    struct hs_referrers referrers;
    struct hs_links links; /* of the source, or some that lead to dst */
    size_t at;
};

static void edges_fini(struct hs_sql_cursor *cursor)
{
    hs_links_fini(&((struct edges *)cursor)->links);
}

/* The next source that has any, the present one included. */
static hs_status go_outward(struct edges *e, struct hs_error *err)
{
    struct hs_view *view = &e->cursor.source->view;
    for (; e->src < e->end; e->src++) {
        hs_links_fini(&e->links);
        if (e->is_scan && (e->src - view->n_tree) % HS_CHUNK_BLOCKS == 0)
            hs_view_forget_chunks(view); /* none of them comes again */
        HS_TRY(hs_links_out(view, e->src, &e->links, err));
        if (e->links.n != 0)
            return HS_OK;
        if (e->src % TELL_EVERY == 0)
            HS_TRY(hs_progress_tell(view->session.progress, "reading edges", e->src, e->end, err));
    }
    e->cursor.at_end = true;
    return HS_OK;
}

/* Pointers of a block to itself, which rows of predecessors leave out. */
static hs_status find_own(struct edges *e, struct hs_error *err)
{
    if (e->dst < e->cursor.source->view.n_tree)
        return HS_OK;
    e->src = e->dst;
    e->links.n = 0;
    return hs_links_between(&e->cursor.source->view, e->dst, e->dst, &e->links, err);
}

static hs_status edges_next(struct hs_sql_cursor *cursor, struct hs_error *err)
{
    struct edges *e = (struct edges *)cursor;
    cursor->row++;
    if (++e->at < e->links.n) {
        if (e->is_inward)
            e->src = e->links.links[e->at].other;
        return HS_OK;
    }
    e->at = 0;
    if (!e->is_inward) {
        e->src++;
        return go_outward(e, err);
    }
    HS_TRY(hs_referrers_next(&e->referrers, AT_ONCE, &e->links, err));
    cursor->at_end = e->links.n == 0;
    if (!cursor->at_end)
        e->src = e->links.links[0].other;
    return HS_OK;
}

static hs_status edges_filter(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                              struct hs_error *err)
{
    struct edges *e = (struct edges *)cursor;
    uint64_t first = 0, end = cursor->source->view.n_nodes;
    edges_fini(cursor);
    e->at = 0;
    e->is_inward = plan->key == KEY_DST;
    e->is_scan = plan->key < 0;
    if (plan->key >= 0)
        hs_sql_range(plan, &first, &end);
    cursor->at_end = first >= end || (e->is_inward && first < cursor->source->view.n_tree);
    if (cursor->at_end) /* no pointer leads to a node of the root tree */
        return HS_OK;
    if (plan->key >= 0)
        hs_sql_source_looked(cursor->source);
    if (e->is_inward) {
        e->dst = first;
        e->referrers = hs_referrers_of(&cursor->source->view, first, UINT64_MAX);
        HS_TRY(find_own(e, err));
        e->at = UINT64_MAX; /* before the first */
        return edges_next(cursor, err);
    }
    e->src = first;
    e->end = end;
    return go_outward(e, err);
}

/* Gives columns that depend on the type of the block that holds the pointer. */
static hs_status put_typed(const struct edges *e, const struct hs_link *link, sqlite3_context *ret,
                           int column, struct hs_error *err)
{
    struct hs_view *view = &e->cursor.source->view;
    char text[HS_FIELD_NAME_BYTES];
    struct hs_node_facts facts;
    unsigned tier;
    if (column == EDGES_TIER) {
        HS_TRY(hs_link_tier(view, e->src, link->edge_class, &tier, err));
        hs_sql_put_tier(ret, tier);
        return HS_OK;
    }
    if (e->src < view->n_tree || link->offset_words == HS_NO_OFFSET)
        return HS_OK;
    HS_TRY(hs_view_facts(view, e->src, &facts, err));
    if (hs_field_name(view, facts.type, link->offset_words, text, sizeof text) != 0)
        hs_sql_put_text(ret, text);
    return HS_OK;
}

static hs_status edges_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                              struct hs_error *err)
{
    struct edges *e = (struct edges *)cursor;
    const struct hs_view *view = &cursor->source->view;
    const struct hs_link *link = &e->links.links[e->at];
    hs_node dst = e->is_inward ? e->dst : link->other;
    switch (column) {
    case EDGES_SRC:
        hs_sql_put(ret, e->src);
        return HS_OK;
    case EDGES_DST:
        hs_sql_put(ret, dst);
        return HS_OK;
    case EDGES_OFFSET:
        hs_sql_put_offset(ret, view, link->offset_words);
        return HS_OK;
    case EDGES_CLASS:
        hs_sql_put_name(ret, hs_edge_class_name(link->edge_class));
        return HS_OK;
    case EDGES_RULE:
        hs_sql_put_name(ret, hs_reason_rule_name(view, link->reason));
        return HS_OK;
    case EDGES_STRONG:
        sqlite3_result_int(ret, link->edge_class <= HS_EDGE_EPHEMERON);
        return HS_OK;
    case EDGES_USED:
        sqlite3_result_int(ret, link->edge_class <= HS_EDGE_EPHEMERON &&
                                    hs_edge_is_used(view, e->src, dst));
        return hs_used_edges_check(view, err);
    default:
        return put_typed(e, link, ret, column, err);
    }
}

static double edges_estimate(const struct hs_sql_source *source)
{
    return (double)source->view.totals->n_edges + (double)source->view.n_tree;
}

static const struct hs_sql_key keys[] = {
    [KEY_SRC] = {EDGES_SRC, HS_SQL_KEY_EQUAL, false, 4},
    [KEY_DST] = {EDGES_DST, HS_SQL_KEY_EQUAL, false, 5},
};

const struct hs_sql_table hs_sql_table_edges = {
    .name = "edges",
    .columns = "src INTEGER, dst INTEGER, offset INTEGER, field TEXT, class TEXT, tier TEXT, "
               "strong INTEGER, used INTEGER, rule TEXT",
    .cursor_bytes = sizeof(struct edges),
    .keys = keys,
    .n_keys = sizeof keys / sizeof *keys,
    .estimate = edges_estimate,
    .filter = edges_filter,
    .next = edges_next,
    .fini = edges_fini,
    .column = edges_column,
};
