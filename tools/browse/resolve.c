/* Rows as objects: which node a key, a set or a type means, and the lists that are asked of it. */
#include <stdio.h>
#include <string.h>

#include "analysis/object_lookup.h"
#include "base/alloc.h"
#include "base/bitmap.h"
#include "model.h"

/* ---- keys */

/* Keys are called by variables, and by slots of them. */
static bool may_be_key(const struct hs_view *view, hs_node node)
{
    return hs_snap_root(view->snap, node)->level >= HS_LEVEL_VARIABLE;
}

/* The root that a key is called by; of several, the one that retains most. O(tree). */
static hs_node root_of_key(struct hs_browse *browse, const char *name)
{
    struct hs_view *view = &browse->view;
    char text[HS_KEY_TEXT_BYTES];
    hs_node found = HS_NO_NODE;
    uint64_t most = 0;
    for (hs_node node = 0; node < view->n_tree; node++) {
        uint64_t words = hs_index_retained(view->index, node).words;
        if (!may_be_key(view, node) || (found != HS_NO_NODE && words <= most))
            continue;
        hs_key_root_name(view, node, text, sizeof text);
        if (strcmp(text, name) != 0)
            continue;
        found = node;
        most = words;
    }
    return found;
}

/* A slot of a variable keeps nothing alone where other slots lead to the same: then the variable.
 */
static hs_node keeper_of(struct hs_browse *browse, hs_node root)
{
    if (root == HS_NO_NODE || hs_index_dominated(browse->view.index, root).n != 0)
        return root;
    hs_node variable = hs_view_root_of(&browse->view, root);
    return variable == HS_NO_NODE ? root : variable;
}

/* Finds the first block of the type among the largest children of a node, else among those of the
 * largest child, and so on a few levels down; HS_NO_NODE when there is none. */
static hs_status child_of_type(struct hs_browse *browse, hs_node node,
                               const struct hs_bitmap *types, hs_node *ret, struct hs_error *err)
{
    enum { MOST_CHILDREN = 64, MOST_DEPTH = 4 };
    *ret = HS_NO_NODE;
    for (unsigned depth = 0; depth < MOST_DEPTH && *ret == HS_NO_NODE; depth++) {
        hs_auto_free struct hs_child *children = NULL;
        struct hs_node_facts facts;
        uint64_t n;
        HS_TRY(hs_index_largest(browse->view.index, node, MOST_CHILDREN, &children, &n, err));
        for (uint64_t i = 0; i < n && *ret == HS_NO_NODE; i++) {
            HS_TRY(hs_view_facts(&browse->view, children[i].node, &facts, err));
            if (!facts.is_root && hs_bitmap_get(types, facts.type))
                *ret = children[i].node;
        }
        if (n == 0)
            break;
        node = children[0].node;
    }
    return HS_OK;
}

/* Goes one step of a key further down the dominator tree: HS_NO_NODE when it is not found there. */
static hs_status step_down(struct hs_browse *browse, const char *type, hs_node from, hs_node *ret,
                           struct hs_error *err)
{
    struct hs_type_family family;
    struct hs_bitmap types = {0};
    *ret = HS_NO_NODE;
    if (from == HS_NO_NODE || !hs_type_family_find(&browse->view, type, &family))
        return HS_OK;
    hs_status status = hs_type_family_members(&browse->view, family, &types, err);
    if (status == HS_OK)
        status = child_of_type(browse, from, &types, ret, err);
    hs_bitmap_fini(&types);
    return status;
}

static hs_status largest_of_type(struct hs_browse *browse, const char *name,
                                 struct hs_browse_what *ret, struct hs_error *err)
{
    char what[HS_TYPE_NAME_BYTES + 8];
    struct hs_object_spec found;
    (void)snprintf(what, sizeof what, "type:%s", name);
    HS_TRY(hs_object_lookup(&browse->view, what, &found, err));
    *ret = (struct hs_browse_what){HS_BROWSE_NODE, found.nodes[0]};
    hs_browse_say(browse, "this is the largest block of that type in the heap");
    return HS_OK;
}

static hs_status block_of_key(struct hs_browse *browse, uint64_t key, struct hs_browse_what *ret,
                              struct hs_error *err)
{
    enum { MOST_STEPS = 64 };
    uint64_t steps[MOST_STEPS];
    size_t n = 0;
    for (uint64_t at = key; at != 0 && n < MOST_STEPS; n++) {
        steps[n] = at;
        at = hs_browse_key(&browse->owners, at)->parent;
    }
    hs_node root = root_of_key(browse, hs_browse_key_name(&browse->owners, steps[n - 1]));
    hs_node node = keeper_of(browse, root);
    for (size_t i = n - 1; i > 0 && node != HS_NO_NODE; i--)
        HS_TRY(
            step_down(browse, hs_browse_key_name(&browse->owners, steps[i - 1]), node, &node, err));
    if (node == HS_NO_NODE)
        return n == 1 ? hs_fail(err, HS_USAGE, "its root is not found by its name")
                      : largest_of_type(browse, hs_browse_key_name(&browse->owners, key), ret, err);
    *ret = (struct hs_browse_what){HS_BROWSE_NODE, node};
    if (n > 1)
        hs_browse_say(browse, "this is the largest of these blocks that is found from their root");
    return HS_OK;
}

static hs_status resolve_key(struct hs_browse *browse, uint64_t key, struct hs_browse_what *ret,
                             struct hs_error *err)
{
    if (key == 0) {
        *ret = (struct hs_browse_what){HS_BROWSE_NODE, 0};
        return HS_OK;
    }
    if (hs_browse_key_is_lost(&browse->owners, key))
        return hs_fail(err, HS_USAGE, "no root reaches these: L lists what is lost");
    return block_of_key(browse, key, ret, err);
}

hs_status hs_browse_resolve(struct hs_browse *browse, struct hs_browse_what what,
                            struct hs_browse_what *ret, struct hs_error *err)
{
    char name[HS_TYPE_NAME_BYTES];
    switch (what.kind) {
    case HS_BROWSE_KEY:
        return resolve_key(browse, what.id, ret, err);
    case HS_BROWSE_TYPE:
        hs_type_family_name(&browse->view, (uint32_t)what.id, HS_TYPE_HEAD, name, sizeof name);
        return largest_of_type(browse, name, ret, err);
    case HS_BROWSE_NODE:
    case HS_BROWSE_SET:
        *ret = what;
        return HS_OK;
    case HS_BROWSE_TYPE_NAME:
    case HS_BROWSE_NOTHING:
        break;
    }
    return hs_fail(err, HS_USAGE, "this row is no object");
}

/* ---- what is asked of a row */

/* A type by its name becomes one. */
hs_status hs_browse_what_of_row(struct hs_browse *browse, struct hs_browse_what *ret,
                                struct hs_error *err)
{
    struct hs_browse_level *level = hs_browse_top(browse);
    const struct hs_browse_row *row = hs_browse_level_row(level);
    struct hs_type_family family;
    if (row == NULL || row->is_more)
        return hs_fail(err, HS_USAGE, "this row is no object");
    *ret = row->what;
    if (row->what.kind == HS_BROWSE_NOTHING && level->form == HS_BROWSE_DOMINATORS)
        *ret = level->what; /* the row of the node itself */
    if (row->what.kind != HS_BROWSE_TYPE_NAME)
        return HS_OK;
    const char *name = hs_browse_level_text(level, (size_t)(row - level->rows));
    if (!hs_type_family_find(&browse->view, name, &family))
        return hs_fail(err, HS_USAGE, "of these blocks nothing is known but their sizes");
    *ret = (struct hs_browse_what){HS_BROWSE_TYPE, family.first};
    return HS_OK;
}

static uint32_t key_of_tree_node(struct hs_browse *browse, hs_node node)
{
    char name[HS_KEY_TEXT_BYTES];
    if (node == HS_NO_NODE || !may_be_key(&browse->view, node))
        return HS_NO_KEY;
    hs_key_root_name(&browse->view, node, name, sizeof name);
    return hs_browse_key_of_root(&browse->owners, name);
}

/* The key of the slot, or else of the root, that keeps a node; else all. */
uint32_t hs_browse_key_of_node(struct hs_browse *browse, hs_node node)
{
    struct hs_view *view = &browse->view;
    for (uint64_t n = 0; node != HS_NO_NODE && node >= view->n_tree; n++)
        node = n < view->n_nodes ? hs_index_idom(view->index, node) : HS_NO_NODE;
    uint32_t key = key_of_tree_node(browse, node);
    if (key == HS_NO_KEY && node != HS_NO_NODE)
        key = key_of_tree_node(browse, hs_view_root_of(view, node));
    return key == HS_NO_KEY ? 0 : key;
}
