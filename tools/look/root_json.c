/* Roots as JSON. */
#include "root_json.h"

#include "graph/edges.h"
#include "why.h"

struct group {
    const struct hs_view *view;
    const struct hs_root *root;
};

/* The names from the kind down to the parent, outermost first. */
static hs_status put_group(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct group *group = context;
    const struct hs_view *view = group->view;
    const char *names[HS_N_LEVELS];
    unsigned n = 0;
    for (const struct hs_root *at = group->root; at->level > HS_LEVEL_KIND && n < HS_N_LEVELS;) {
        at = hs_snap_root(view->snap, at->parent);
        names[n++] = hs_view_string(view, at->name);
    }
    while (n > 0)
        HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_TEXT(NULL, names[--n])), err));
    return HS_OK;
}

/* The smallest of its slots': a variable is firm when one of them is. Nodes below stand behind it.
 */
static unsigned tier_of(const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    unsigned tier = root->level == HS_LEVEL_LEAF ? hs_root_tier(root) : HS_TIER_DOUBTFUL;
    for (hs_node at = node + 1;
         root->level != HS_LEVEL_LEAF && tier != HS_TIER_FIRM && at < view->n_tree &&
         hs_snap_root(view->snap, at)->level > root->level;
         at++) {
        const struct hs_root *below = hs_snap_root(view->snap, at);
        if (below->level == HS_LEVEL_LEAF && hs_root_tier(below) < tier)
            tier = hs_root_tier(below);
    }
    return tier;
}

static const char *text_of(const struct hs_view *view, hs_str id)
{
    return hs_or_null(hs_view_string(view, id));
}

hs_status hs_root_put(struct hs_sink *sink, const struct hs_view *view,
                      const struct hs_root_row *row, const struct hs_pair *more,
                      struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, row->node);
    const struct hs_sizes *reachable = &row->reachable, *retained = &row->retained;
    bool has_kind = root->level != HS_LEVEL_ALL;
    /* A variable is its symbol; its slots have offsets. */
    bool has_offset = root->symbol != 0 && root->level != HS_LEVEL_VARIABLE;
    struct group context = {view, root};
    char rule[HS_WHY_BYTES];
    const struct hs_list group = {.each = put_group, .context = &context, .is_line = true};
    return hs_sink_pairs(
        sink,
        HS_PAIRS(HS_VALUE("id", NODE, row->node),
                 HS_TEXT("kind", has_kind ? hs_root_kind_name(root->kind) : NULL),
                 HS_TEXT("name", text_of(view, root->name)), HS_ROWS("group", &group),
                 HS_TEXT("module", text_of(view, root->module)),
                 HS_TEXT("symbol", text_of(view, root->symbol)),
                 HS_COUNT("offset", has_offset ? root->offset : HS_UNKNOWN),
                 HS_COUNT("field", root->field != HS_NO_FIELD ? root->field : HS_UNKNOWN),
                 HS_TEXT("file", text_of(view, root->file)),
                 HS_COUNT("line", hs_or_unknown(root->line)),
                 HS_TEXT("function", text_of(view, root->function)),
                 HS_COUNT("thread", hs_or_unknown(root->thread)),
                 HS_COUNT("frame", hs_or_unknown(root->frame)),
                 HS_VALUE("address", ADDRESS, hs_or_unknown(root->address)),
                 HS_COUNT("reachable_words", reachable->words),
                 HS_COUNT("reachable_objects", reachable->objects),
                 HS_COUNT("static_reachable_words", reachable->static_words),
                 HS_COUNT("retained_words", retained->words),
                 HS_COUNT("retained_objects", retained->objects),
                 HS_COUNT("static_retained_words", retained->static_words),
                 HS_TEXT("certainty", hs_certainty_name(root->certainty)),
                 HS_TEXT("tier", hs_tier_name(tier_of(view, row->node))),
                 HS_TEXT("rule", hs_why_rule(root->reason, rule)), HS_SPLICE(more)),
        err);
}

hs_status hs_root_one(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_root_of *of = context;
    if (of->node == HS_NO_NODE)
        return HS_OK;
    struct hs_root_row row = hs_root_row_of(of->view, of->node);
    return hs_root_put(sink, of->view, &row, HS_NO_PAIRS, err);
}

hs_status hs_slot_one(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_root_of *of = context;
    const struct hs_root *root = hs_snap_root(of->view->snap, of->node);
    char rule[HS_WHY_BYTES];
    return hs_sink_pairs(
        sink,
        HS_PAIRS(HS_VALUE("id", NODE, of->node), HS_TEXT("name", text_of(of->view, root->name)),
                 HS_COUNT("offset", root->symbol != 0 ? root->offset : HS_UNKNOWN),
                 HS_COUNT("field", root->field != HS_NO_FIELD ? root->field : HS_UNKNOWN),
                 HS_VALUE("address", ADDRESS, hs_or_unknown(root->address)),
                 HS_TEXT("class", hs_edge_class_name(root->edge_class)),
                 HS_TEXT("rule", hs_why_rule(root->reason, rule))),
        err);
}
