/* What a suspect's memory is made of, and what it is called. */
#include "analysis/attribution.h"
#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/path_find.h"
#include "base/alloc.h"
#include "group_tree.h"
#include "suspect_finds.h"

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
static hs_status set_holder(const struct hs_view *view, hs_node root,
                            const struct hs_path_fold *fold, struct hs_suspect *suspect,
                            struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    const char *name = hs_view_string(view, hs_snap_root(view->snap, root)->name);
    HS_TRY(HS_ALLOC(&text, HS_FIELD_PATH_BYTES, err));
    if (hs_field_path(view, name, fold, text, HS_FIELD_PATH_BYTES) == 0)
        return hs_strdup(name, &suspect->holder, err);
    return hs_strdup(text, &suspect->holder, err);
}

/* What one root alone retains, by dominators: all ways pass through these. */
static hs_status name_holder(struct hs_view *view, hs_node block, struct hs_suspect *suspect,
                             struct hs_error *err)
{
    hs_auto_free hs_node *way = NULL;
    struct hs_path_fold fold = {0};
    hs_node root = suspect->roots[0];
    HS_TRY(HS_ALLOC(&way, MOST_STEPS, err));
    size_t n = way_down(view, block, way, &root);
    if (root >= view->n_tree)
        return hs_view_fail_circle(view, err);
    hs_status status = fold_way(view, way, n, &fold, err);
    if (status == HS_OK)
        status = set_holder(view, root, &fold, suspect, err);
    hs_path_fold_fini(&fold);
    return status;
}

static bool is_of_set(struct hs_view *view, uint32_t set, hs_node root)
{
    struct hs_row row = hs_index_set_roots(view->index, set);
    for (hs_node node; hs_row_next(&row, &node);)
        if (node == root)
            return true;
    return false;
}

/* How little its name tells a reader: "server", ".bss+0x748" with a function that uses it,
 * "pthread_setspecific key 3", ".bss+0x610". */
static unsigned tells_little(const struct hs_view *view, hs_node leaf)
{
    const struct hs_root *root = hs_snap_root(view->snap, leaf);
    bool is_named = hs_root_is_named(view, leaf);

    if (is_named && root->kind != HS_ROOT_TLS)
        return 0;
    return root->function != 0 ? 1 : is_named ? 2 : 3;
}

/* The path from the firmest of the set's roots, of these the shortest, where two steps more are
 * worth a better name; n_paths when there is none: doubtful words lead in from elsewhere, too. */
static size_t best_path(struct hs_view *view, uint32_t set, const struct hs_paths *paths)
{
    enum { STEPS_FOR_A_NAME = 2 };
    size_t best = paths->n_paths, best_steps = SIZE_MAX;
    unsigned best_tier = HS_TIER_NONE;
    for (size_t i = 0; i < paths->n_paths; i++) {
        hs_node leaf = paths->nodes[paths->begin[i]];
        unsigned tier = hs_snap_root(view->snap, leaf)->tier;
        size_t steps = paths->begin[i + 1] - paths->begin[i] +
                       STEPS_FOR_A_NAME * (size_t)tells_little(view, leaf);
        bool is_better = tier < best_tier || (tier == best_tier && steps < best_steps);
        if (is_better && is_of_set(view, set, hs_path_root(view, leaf))) {
            best = i;
            best_tier = tier;
            best_steps = steps;
        }
    }
    return best;
}

/* What several roots keep, by a path from one of them. */
static hs_status name_joint_holder(struct hs_view *view, hs_node block, struct hs_suspect *suspect,
                                   struct hs_error *err)
{
    enum { PATHS = 16 };
    struct hs_paths paths = {0};
    struct hs_path_fold fold = {0};
    HS_TRY(hs_paths_to(view, block, PATHS, /* disjoint= */ false, &paths, err));
    size_t best = best_path(view, suspect->set, &paths);
    hs_status status = HS_OK;
    if (best < paths.n_paths) {
        const hs_node *nodes = paths.nodes + paths.begin[best];
        size_t n = paths.begin[best + 1] - paths.begin[best];
        status = hs_path_fold_nodes(&fold, view, nodes + 1, n - 1, err);
        if (status == HS_OK)
            status = set_holder(view, nodes[0], &fold, suspect, err);
        suspect->holder_root = nodes[0];
    }
    hs_path_fold_fini(&fold);
    hs_paths_fini(&paths);
    return status;
}

/* Whether the members hang on one node rather than on each other. */
bool hs_suspect_has_table(const struct hs_suspect *suspect)
{
    const struct hs_accumulation *at = &suspect->at;
    enum { LEAST = 8, LEAST_PART = 50 };
    return at->n_direct >= LEAST && at->n_direct >= at->steps[at->members].n_blocks / LEAST_PART;
}

/* The members, and where they hang. */
static void take_members(const struct hs_view *view, struct hs_suspect *suspect)
{
    const struct hs_accumulation *at = &suspect->at;
    const struct hs_accumulated *members = &at->steps[at->members];
    bool is_block = at->point != HS_NO_NODE && at->point >= view->n_tree;
    suspect->type = members->type;
    suspect->count = members->n_blocks;
    suspect->each_words = at->median_words;
    suspect->evidence = hs_suspect_has_table(suspect) && is_block ? at->point : at->top;
}

/* ---- who else refers to it */

enum { MOST_ALIASES = 100, MOST_SOURCES = 1000, MOST_CLIMBED = 1000 };

/* Whether it hangs below the root; taken for granted far below. */
static bool hangs_below(struct hs_view *view, hs_node node, hs_node root)
{
    for (unsigned i = 0; i < MOST_CLIMBED && node != HS_NO_NODE; i++) {
        if (node == root)
            return true;
        node = hs_index_idom(view->index, node);
    }
    return node != HS_NO_NODE;
}

/* Objects of Python own what they refer to unless a name does: then the edge is a guessed one. The
 * slot of the name itself is no other. */
static hs_status is_alias(struct hs_view *view, const struct hs_link *link, hs_node root_node,
                          bool *ret, struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, root_node);
    struct hs_node_facts facts;
    *ret = false;
    if (link->edge_class != HS_EDGE_GUESSED || link->other < view->n_tree ||
        !hs_index_is_reached(view->index, link->other))
        return HS_OK;
    HS_TRY(hs_view_facts(view, link->other, &facts, err));
    hs_addr slot = facts.address + link->offset_words * view->facts->word_bytes;
    *ret = hs_snap_type(view->snap, facts.type)->form == HS_FORM_PYTHON && slot != root->address &&
           !hangs_below(view, link->other, root_node);
    return HS_OK;
}

static hs_status count_aliases(struct hs_view *view, struct hs_suspect *suspect,
                               struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, suspect->roots[0]);
    if (root->target == HS_NO_NODE || root->target < view->n_tree)
        return HS_OK;
    struct hs_links links = {0};
    struct hs_referrers referrers = hs_referrers_of(view, root->target, MOST_SOURCES);
    hs_status status = hs_referrers_next(&referrers, MOST_SOURCES, &links, err);
    for (size_t i = 0; i < links.n && status == HS_OK && suspect->n_aliases < MOST_ALIASES; i++) {
        bool is_one = false;
        status = is_alias(view, &links.links[i], suspect->roots[0], &is_one, err);
        suspect->n_aliases += is_one;
    }
    hs_links_fini(&links);
    return status;
}

static hs_status look_into(const struct hs_group_kinds *kinds, const struct hs_group_place *place,
                           unsigned follow_percent, struct hs_suspect *suspect,
                           struct hs_error *err)
{
    struct hs_group_tree tree;
    HS_TRY(hs_group_tree_init(kinds, place, &tree, err));
    hs_status status = hs_group_accumulation(&tree, place, follow_percent, &suspect->at, err);
    suspect->doubtful_words = tree.doubtful_words;
    hs_group_tree_fini(&tree);
    HS_TRY(status);
    if (suspect->at.members != 0)
        take_members(kinds->view, suspect);
    if (suspect->list == HS_SUSPECT_JOINT)
        return name_joint_holder(kinds->view, suspect->evidence, suspect, err);
    return suspect->at.members == 0 ? HS_OK
                                    : name_holder(kinds->view, suspect->evidence, suspect, err);
}

hs_status hs_suspect_look_into(struct hs_view *view, const struct hs_suspect_query *query,
                               struct hs_suspects *found, struct hs_error *err)
{
    struct hs_group_kinds kinds;
    HS_TRY(hs_group_kinds_init(view, &kinds, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < found->n && status == HS_OK; i++) {
        struct hs_suspect *suspect = &found->rows[i];
        struct hs_group_place owner = {.node = suspect->roots[0]};
        struct hs_group_place joint = {.node = HS_NO_NODE, .set = suspect->set};
        if (suspect->list == HS_SUSPECT_OWNER)
            status = look_into(&kinds, &owner, query->follow_percent, suspect, err);
        else if (suspect->list == HS_SUSPECT_JOINT)
            status = look_into(&kinds, &joint, query->follow_joint_percent, suspect, err);
        if (status == HS_OK && suspect->list == HS_SUSPECT_OWNER)
            status = count_aliases(view, suspect, err);
    }
    hs_group_kinds_fini(&kinds);
    return status;
}
