/* Cycles that are entered at several places are mostly resolved without a search. Let `root` be the
 * nearest common ancestor of all resolved sources of what is left: it dominates all of it. A node
 * gets a *label*, once: the child of the root above its resolved sources, or the label of a source,
 * or itself when it is known to be a child of the root.
 *
 * Whatever lies below the root and dominates a node is on the way by which its label came, and had
 * that label itself. So a node with sources of different labels has no such dominator: the root is
 * its immediate one. (For the same reason no node may change its label, and nodes are resolved only
 * when all labels have been assigned.) */
#include "pass_core.h"

#include <assert.h>

#include "base/alloc.h"

/* Sweeps that assign labels, and times that all labels are assigned anew. */
#define SWEEPS_MAX 4
#define PHASES_MAX 8

struct labels {
    struct core_work *work;
    uint32_t root;
    struct hs_bitmap is_child; /* of the root, as was found */
    uint32_t n_children, n_given;
};

/* Nodes that are not resolved have no jump: its place holds the label, 0 for none. */
static inline uint32_t *label_of(const struct labels *labels, uint32_t node)
{
    return &labels->work->tree.jump[node].to;
}

/* Sources resolved since the row was written are taken into account, then the whole into the root.
 */
static hs_status row_gather(void *context, struct core_row *row, struct hs_error *err)
{
    struct labels *labels = context;
    struct hs_passes *passes = labels->work->passes;
    uint32_t *region = &passes->region[row->node];

    (void)err;
    for (uint32_t i = 0; i < row->n; i++) {
        uint32_t source = row->source[i];
        if (hs_bitmap_get(&passes->is_reached, source))
            *region =
                *region == HS_NONE ? source : core_tree_nca(&labels->work->tree, *region, source);
    }
    if (*region != HS_NONE)
        labels->root = labels->root == HS_NONE
                           ? *region
                           : core_tree_nca(&labels->work->tree, labels->root, *region);
    return HS_OK;
}

/* The label that a node's resolved sources give; HS_NONE when they say that it is a child of the
 * root, 0 when there are none. */
static uint32_t label_of_region(struct labels *labels, uint32_t node)
{
    uint32_t region = labels->work->passes->region[node];

    if (region == HS_NONE)
        return 0;
    if (region == labels->root)
        return HS_NONE;
    return core_tree_child(&labels->work->tree, labels->root, region);
}

static hs_status row_label(void *context, struct core_row *row, struct hs_error *err)
{
    struct labels *labels = context;
    const struct hs_bitmap *is_reached = &labels->work->passes->is_reached;
    uint32_t *mine = label_of(labels, row->node);
    uint32_t before = *mine, from = label_of_region(labels, row->node);
    uint32_t label = before != 0 ? before : from;
    bool is_child = from == HS_NONE || (from != 0 && from != label);

    (void)err;
    for (uint32_t i = 0; i < row->n && !is_child; i++) {
        if (hs_bitmap_get(is_reached, row->source[i]))
            continue; /* in region[] */
        uint32_t other = *label_of(labels, row->source[i]);
        label = label == 0 ? other : label;
        is_child = other != 0 && other != label;
    }
    if (is_child && !hs_bitmap_get(&labels->is_child, row->node)) {
        hs_bitmap_set(&labels->is_child, row->node);
        labels->n_children++;
    }
    if (before == 0)
        *mine = is_child ? row->node : label;
    labels->n_given += before == 0 && *mine != 0;
    return HS_OK;
}

static hs_status labels_assign(struct labels *labels, const struct core_rows *rows,
                               struct hs_error *err)
{
    const struct hs_bitmap *is_reached = &labels->work->passes->is_reached;
    const struct core_row_sink gather = {row_gather, labels}, label = {row_label, labels};
    uint32_t n_nodes = 0;

    labels->root = HS_NONE;
    HS_TRY(core_rows_sweep(rows, is_reached, &gather, err));
    for (unsigned i = 0; i < SWEEPS_MAX && labels->root != HS_NONE; i++) {
        uint32_t n_before = labels->n_given;
        HS_TRY(core_rows_sweep(rows, is_reached, &label, err));
        n_nodes = labels->n_given;
        if (n_nodes - n_before <= n_nodes / 8)
            break;
    }
    return HS_OK;
}

/* Resolves what was found, and takes all labels away. */
static hs_status labels_clear(struct labels *labels, struct hs_error *err)
{
    struct hs_passes *passes = labels->work->passes;

    for (uint32_t node = 1; node < passes->n_core; node++) {
        if (hs_bitmap_get(&passes->is_reached, node))
            continue;
        *label_of(labels, node) = 0;
        if (!hs_bitmap_get(&labels->is_child, node))
            continue;
        passes->region[node] = labels->root;
        HS_TRY(core_work_resolve(labels->work, node, err));
    }
    return HS_OK;
}

static hs_status labels_phase(struct core_work *work, struct peel *peel, bool *ret_goes_on,
                              struct hs_error *err)
{
    struct hs_passes *passes = work->passes;
    struct labels labels = {.work = work};
    uint64_t n_before = peel->rows.n_edges;

    HS_TRY(pass_bitmap_init(passes->budget, passes->n_core, "the core's labels", &labels.is_child,
                            err));
    hs_status status = labels_assign(&labels, &peel->rows, err);
    if (status == HS_OK)
        status = labels_clear(&labels, err);
    pass_bitmap_fini(passes->budget, &labels.is_child);
    if (status == HS_OK && labels.n_children != 0)
        status = peel_run(peel, err);
    uint64_t n_after = peel->rows.n_edges;
    *ret_goes_on = n_after < n_before && n_after <= n_before - n_before / 8;
    return status;
}

hs_status core_labels_resolve(struct core_work *work, struct peel *peel, struct hs_error *err)
{
    bool goes_on = true;

    for (unsigned i = 0; i < PHASES_MAX && goes_on && peel->rows.n_edges != 0; i++)
        HS_TRY(labels_phase(work, peel, &goes_on, err));
    return HS_OK;
}
