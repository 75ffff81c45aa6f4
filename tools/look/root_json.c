/* Roots as JSON. */
#include "root_json.h"

#include "graph/edges.h"

/* The names from the kind down to the parent, outermost first. */
static void put_group(struct hs_json *json, const struct hs_view *view, const struct hs_root *root)
{
    const char *names[HS_N_LEVELS];
    unsigned n = 0;
    for (const struct hs_root *at = root; at->level > HS_LEVEL_KIND && n < HS_N_LEVELS;) {
        at = hs_snap_root(view->snap, at->parent);
        names[n++] = hs_view_string(view, at->name);
    }
    hs_json_begin_array(json, "group", HS_JSON_LINE);
    while (n > 0)
        hs_json_string(json, NULL, names[--n]);
    hs_json_end_array(json);
}

static void put_string(struct hs_json *json, const char *key, const struct hs_view *view, hs_str id)
{
    hs_json_string(json, key, hs_or_null(hs_view_string(view, id)));
}

static void put_number(struct hs_json *json, const char *key, uint64_t number, bool is_known)
{
    if (is_known)
        hs_json_u64(json, key, number);
    else
        hs_json_null(json, key);
}

static void put_place(struct hs_json *json, const struct hs_view *view, const struct hs_root *root)
{
    put_string(json, "module", view, root->module);
    put_string(json, "symbol", view, root->symbol);
    /* A variable is its symbol; its slots have offsets. */
    bool has_offset = root->symbol != 0 && root->level != HS_LEVEL_VARIABLE;
    put_number(json, "offset", root->offset, has_offset);
    put_number(json, "field", root->field, root->field != HS_NO_FIELD);
    put_string(json, "file", view, root->file);
    put_number(json, "line", root->line, root->line != 0);
    put_string(json, "function", view, root->function);
    put_number(json, "thread", root->thread, root->thread != 0);
    put_number(json, "frame", root->frame, root->frame != 0);
    if (root->address != 0)
        hs_json_address(json, "address", root->address);
    else
        hs_json_null(json, "address");
}

static void put_sizes(struct hs_json *json, const struct hs_root_row *row)
{
    hs_json_u64(json, "reachable_words", row->reachable.words);
    hs_json_u64(json, "reachable_objects", row->reachable.objects);
    hs_json_u64(json, "static_reachable_words", row->reachable.static_words);
    hs_json_u64(json, "retained_words", row->retained.words);
    hs_json_u64(json, "retained_objects", row->retained.objects);
    hs_json_u64(json, "static_retained_words", row->retained.static_words);
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

void hs_root_json_begin(struct hs_json *json, const char *key, const struct hs_view *view,
                        const struct hs_root_row *row)
{
    const struct hs_root *root = hs_snap_root(view->snap, row->node);
    bool has_kind = root->level != HS_LEVEL_ALL;
    hs_json_begin_object(json, key, HS_JSON_LINE);
    hs_json_node(json, "id", row->node);
    hs_json_string(json, "kind", has_kind ? hs_root_kind_name(root->kind) : NULL);
    put_string(json, "name", view, root->name);
    put_group(json, view, root);
    put_place(json, view, root);
    put_sizes(json, row);
    hs_json_string(json, "certainty", hs_certainty_name(root->certainty));
    hs_json_string(json, "tier", hs_tier_name(tier_of(view, row->node)));
}

void hs_root_json(struct hs_json *json, const char *key, const struct hs_view *view,
                  const struct hs_root_row *row)
{
    hs_root_json_begin(json, key, view, row);
    hs_json_end_object(json);
}

void hs_slot_json(struct hs_json *json, const char *key, const struct hs_view *view, hs_node leaf)
{
    const struct hs_root *root = hs_snap_root(view->snap, leaf);
    hs_json_begin_object(json, key, HS_JSON_LINE);
    hs_json_node(json, "id", leaf);
    put_string(json, "name", view, root->name);
    put_number(json, "offset", root->offset, root->symbol != 0);
    put_number(json, "field", root->field, root->field != HS_NO_FIELD);
    if (root->address != 0)
        hs_json_address(json, "address", root->address);
    else
        hs_json_null(json, "address");
    hs_json_string(json, "class", hs_edge_class_name(root->edge_class));
    hs_json_end_object(json);
}
