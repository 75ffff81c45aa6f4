/* Roots: all nodes of the tree of roots, by number. */
#include <string.h>

#include "analysis/reason.h"
#include "analysis/root_rows.h"
#include "getters.h"
#include "graph/edges.h"

const char *hs_root_level_name(unsigned level)
{
    static const char *const names[HS_N_LEVELS] = {"all",  "kind",     "module",
                                                   "unit", "variable", "leaf"};
    return level < HS_N_LEVELS ? names[level] : NULL;
}

/* Nodes below stand behind their node. */
unsigned hs_root_firmest_tier(const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    if (root->level == HS_LEVEL_LEAF)
        return hs_root_tier(root);
    unsigned tier = HS_TIER_DOUBTFUL;
    for (hs_node at = node + 1; tier != HS_TIER_FIRM && at < view->n_tree; at++) {
        const struct hs_root *below = hs_snap_root(view->snap, at);
        if (below->level <= root->level)
            break;
        if (below->level == HS_LEVEL_LEAF && hs_root_tier(below) < tier)
            tier = hs_root_tier(below);
    }
    return tier;
}

/* The name of the unit that it stands in, or is. */
static const char *unit_of(const struct hs_view *view, hs_node node)
{
    const struct hs_root *root = hs_snap_root(view->snap, node);
    while (root->level > HS_LEVEL_UNIT)
        root = hs_snap_root(view->snap, root->parent);
    return root->level == HS_LEVEL_UNIT ? hs_view_string(view, root->name) : NULL;
}

/* A variable is its symbol; its slots have offsets. */
static struct hs_row_value offset_of(const struct hs_root *root)
{
    return root->symbol != 0 && root->level != HS_LEVEL_VARIABLE ? number(root->offset) : none;
}

static struct hs_sizes reachable(const struct hs_view *view, hs_node node)
{
    return hs_index_reachable(view->index, node);
}

static struct hs_sizes retained(const struct hs_view *view, hs_node node)
{
    return hs_index_retained(view->index, node);
}

static void get_one(struct hs_rows *rows, uint64_t node, unsigned column, struct hs_row_value *ret)
{
    const struct hs_view *view = rows->view;
    const struct hs_root *root = hs_snap_root(view->snap, node);
    HS_ROWS_SWITCH(ROOTS)
}

static hs_status find(struct hs_rows *rows, struct hs_error *err)
{
    (void)err;
    rows->n = rows->view->n_tree;
    return HS_OK;
}

HS_ROWS_COLUMNS(ROOTS);
const struct hs_noun hs_noun_roots = {HS_ROWS_NOUN(roots), .has_ids = true, .find = find};

struct hs_rows hs_rows_of_roots(const struct hs_view *view)
{
    struct hs_rows rows = {.noun = &hs_noun_roots, .is_lent = true, .n = view->n_tree};
    memcpy(&rows.view, &view, sizeof rows.view); /* which is only read */
    return rows;
}
