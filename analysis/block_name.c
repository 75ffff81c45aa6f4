#include "analysis/block_name.h"

#include <string.h>

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/path_find.h"
#include "base/alloc.h"

enum { MOST_STEPS = 4096 };

/* The dominators of a block from its root's leaf, or the root itself, downwards: their number, 0
 * when they are more than MOST_STEPS. */
static size_t way_down(const struct hs_view *view, hs_node node, hs_node *way, hs_node *ret_root)
{
    size_t n = 0;
    hs_node at = node;
    for (; at != HS_NO_NODE && at >= view->n_tree; at = hs_index_idom(view->index, at)) {
        if (n == MOST_STEPS)
            return 0;
        way[n++] = at;
    }
    for (size_t i = 0; i < n / 2; i++) {
        hs_node swapped = way[i];
        way[i] = way[n - 1 - i];
        way[n - 1 - i] = swapped;
    }
    *ret_root = at;
    return n;
}

/* Folds a way by dominators; where one does not point to the next there is a gap. */
static hs_status fold_way(struct hs_view *view, const hs_node *way, size_t n,
                          struct hs_path_fold *fold, struct hs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct hs_path_step step = {.node = way[i], .offset_words = HS_NO_OFFSET, .repeat = 1};
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, way[i], &facts, err));
        step.type = facts.type;
        if (i + 1 < n)
            HS_TRY(hs_link_offset(view, way[i], way[i + 1], &step.offset_words, err));
        HS_TRY(hs_path_fold_add(fold, &step, err));
        if (i + 1 < n && step.offset_words == HS_NO_OFFSET) {
            const struct hs_path_step gap = {.node = HS_NO_NODE, .repeat = 1};
            HS_TRY(hs_path_fold_add(fold, &gap, err));
        }
    }
    hs_path_fold_finish(fold);
    return HS_OK;
}

/* The text of a folded way from a root; the root's name alone where types say nothing. */
hs_status hs_fold_text(const struct hs_view *view, hs_node root, const struct hs_path_fold *fold,
                       char **ret, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    const char *name = hs_view_string(view, hs_snap_root(view->snap, root)->name);
    HS_TRY(HS_ALLOC(&text, HS_FIELD_PATH_BYTES, err));
    if (hs_field_path(view, name, fold, text, HS_FIELD_PATH_BYTES) == 0)
        return hs_strdup(name, ret, err);
    return hs_strdup(text, ret, err);
}

/* Names what one root alone retains, by dominators: all ways pass through these. */
hs_status hs_name_by_dominators(struct hs_view *view, hs_node block, hs_node root, char **ret,
                                struct hs_error *err)
{
    hs_auto_free hs_node *way = NULL;
    struct hs_path_fold fold = {0};
    HS_TRY(HS_ALLOC(&way, MOST_STEPS, err));
    size_t n = way_down(view, block, way, &root);
    if (root >= view->n_tree)
        return hs_view_fail_circle(view, err);
    hs_status status = fold_way(view, way, n, &fold, err);
    if (status == HS_OK)
        status = hs_fold_text(view, root, &fold, ret, err);
    hs_path_fold_fini(&fold);
    return status;
}

/* Cuts a path where no member leads on by name; the way so far says as much. */
static void cut_gap(char *text)
{
    static const char gap[] = "->...";
    size_t n = strlen(text), n_gap = sizeof gap - 1;
    if (n > n_gap && strcmp(text + n - n_gap, gap) == 0)
        text[n - n_gap] = '\0';
}

static hs_status name_block(struct hs_view *view, hs_node block, char **ret, struct hs_error *err)
{
    struct hs_paths paths = {0};
    struct hs_path_fold fold = {0};
    hs_node root = hs_view_retaining_root(view, block);
    if (root != HS_NO_NODE)
        return hs_name_by_dominators(view, block, root, ret, err);
    HS_TRY(hs_paths_to(view, block, 1, /* disjoint= */ false, &paths, err));
    hs_status status = HS_OK;
    if (paths.n_paths != 0) {
        const hs_node *nodes = paths.nodes + paths.begin[0];
        size_t n = paths.begin[1] - paths.begin[0];
        status = hs_path_fold_nodes(&fold, view, nodes + 1, n - 1, err);
        if (status == HS_OK)
            status = hs_fold_text(view, nodes[0], &fold, ret, err);
    }
    hs_path_fold_fini(&fold);
    hs_paths_fini(&paths);
    return status;
}

hs_status hs_block_name(struct hs_view *view, hs_node block, char **ret, struct hs_error *err)
{
    HS_TRY(name_block(view, block, ret, err));
    if (*ret != NULL)
        cut_gap(*ret);
    return HS_OK;
}
