/* Merging paths. */
#include "analysis/path_tree.h"

#include <stdlib.h>

#include "analysis/neighbours.h"
#include "analysis/used_edges.h"
#include "base/alloc.h"
#include "base/bisect.h"
#include "shortest.h"

enum {
    MOST_SEARCHED = 30000000, /* nodes that searches may meet before the rest is left out */
    LARGE_WORDS = 32,         /* of a block without known members: its words are one field */
    TELL_EVERY = 1 << 16
};
#define NO_TYPE UINT32_MAX

/* The step by which a path leaves the block of an entry's parent. */
struct step {
    uint32_t type;
    bool is_element;
    uint64_t offset_words;
};

struct merge {
    struct hs_view *view;
    struct hs_path_tree tree;
    struct shortest paths;
    struct step *steps; /* owned pages: by entry; of leaves and of what they point to nothing */
    struct hs_table attributes; /* entries: the first step by each attribute of each class */
    uint32_t *order;            /* owned pages: entries by their parents' nodes */
    uint32_t *at; /* owned pages: by entry, the node of the tree that its path has come to */
};

static hs_status take(struct merge *merge, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(merge->view->session.budget, n_bytes, "the tree of paths", err));
    merge->tree.taken_bytes += n_bytes;
    return HS_OK;
}

/* ---- where the paths go */

static hs_status follow(struct merge *merge, const struct hs_path_tree_target *targets, size_t n,
                        struct hs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        merge->tree.of_target[i] = HS_PATH_TREE_NONE;
        if (targets[i].node == HS_NO_NODE ||
            !hs_index_is_reached(merge->view->index, targets[i].node))
            continue;
        if (merge->paths.n_searched > MOST_SEARCHED)
            merge->tree.n_unfollowed++;
        else
            HS_TRY(shortest_find(&merge->paths, targets[i].node, &merge->tree.of_target[i], err));
        if (i % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(hs_progress_tell(merge->view->session.progress, "searching paths", i, n, err));
    }
    return HS_OK;
}

/* ---- by which fields */

static int by_parent(const void *left, const void *right, void *context)
{
    const struct shortest_entry *entries = context;
    const struct shortest_entry *a = &entries[*(const uint32_t *)left];
    const struct shortest_entry *b = &entries[*(const uint32_t *)right];
    hs_node p = a->parent == HS_NO_NUMBER ? HS_NO_NODE : entries[a->parent].node;
    hs_node q = b->parent == HS_NO_NUMBER ? HS_NO_NODE : entries[b->parent].node;
    if (p != q)
        return p < q ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

/* Tells whether members of a type are attributes of the source, of which each has a name. */
static bool has_attributes(const struct hs_view *view, uint32_t type)
{
    uint8_t form = hs_snap_type(view->snap, type)->form;
    return form == HS_FORM_PYTHON || form == HS_FORM_GO;
}

/* The field of a step, as paths that are alike share it. */
static void name_step(const struct hs_view *view, uint64_t words, struct step *step)
{
    uint64_t stride_bytes = hs_snap_type(view->snap, step->type)->stride_bytes;
    uint64_t offset_bytes = step->offset_words * view->facts->word_bytes;
    if (step->offset_words == HS_NO_OFFSET) {
        step->offset_words = HS_PATH_TREE_ANY;
    } else if (stride_bytes != 0) {
        step->is_element = true;
        step->offset_words = offset_bytes % stride_bytes / view->facts->word_bytes;
    } else if ((words > LARGE_WORDS || has_attributes(view, step->type)) &&
               hs_snap_member_at(view->snap, step->type, offset_bytes, NULL) == NULL) {
        step->offset_words = HS_PATH_TREE_ANY;
    }
}

/* The attribute by which a step goes; NULL: it is none. */
static const struct hs_member *attribute_of(const struct hs_view *view, const struct step *step)
{
    uint64_t offset_bytes = step->offset_words * view->facts->word_bytes;
    if (step->is_element || step->offset_words >= HS_PATH_TREE_ANY ||
        !has_attributes(view, step->type))
        return NULL;
    const struct hs_member *member = hs_snap_member_at(view->snap, step->type, offset_bytes, NULL);
    return member != NULL && member->offset_bytes == offset_bytes ? member : NULL;
}

static bool is_alike(const struct hs_view *view, const struct step *a, const struct step *b)
{
    return hs_snap_type(view->snap, a->type)->name == hs_snap_type(view->snap, b->type)->name &&
           attribute_of(view, a)->name == attribute_of(view, b)->name;
}

/* Objects of one class of Python have an attribute in different places, as they came by it: the
 * first of these stands for all. */
static hs_status unite_places(struct merge *merge, uint32_t entry, struct hs_error *err)
{
    const struct hs_view *view = merge->view;
    struct step *steps = merge->steps, *step = &steps[entry];
    const struct hs_member *attribute = attribute_of(view, step);
    if (attribute == NULL)
        return HS_OK;
    uint64_t hash = hs_hash_pair(hs_snap_type(view->snap, step->type)->name, attribute->name);
    uint32_t first = HS_TABLE_FIND(&merge->attributes, hash, i, is_alike(view, &steps[i], step));
    if (first != HS_NO_NUMBER) {
        *step = steps[first];
        return HS_OK;
    }
    HS_TRY(take(merge, hs_table_growth_bytes(&merge->attributes, 1), err));
    return hs_table_add(&merge->attributes, hash, entry, err);
}

static hs_status find_step(struct merge *merge, uint32_t entry, struct hs_error *err)
{
    const struct shortest_entry *entries = merge->paths.entries;
    struct step *step = &merge->steps[entry];
    struct hs_node_facts facts;
    step->type = NO_TYPE;
    if (entries[entry].parent == HS_NO_NUMBER)
        return HS_OK;
    hs_node holder = entries[entries[entry].parent].node;
    if (holder < merge->view->n_tree)
        return HS_OK;
    HS_TRY(hs_link_offset(merge->view, holder, entries[entry].node, &step->offset_words, err));
    HS_TRY(hs_view_facts(merge->view, holder, &facts, err));
    step->type = facts.type;
    name_step(merge->view, facts.words, step);
    return unite_places(merge, entry, err);
}

static hs_status find_steps(struct merge *merge, struct hs_error *err)
{
    size_t n = merge->paths.n;
    HS_TRY(take(merge, n * (sizeof *merge->steps + 2 * sizeof *merge->order), err));
    HS_TRY(HS_PAGES_ALLOC(&merge->steps, n, err));
    HS_TRY(HS_PAGES_ALLOC(&merge->order, n, err));
    HS_TRY(HS_PAGES_ALLOC(&merge->at, n, err));
    for (size_t i = 0; i < n; i++)
        merge->order[i] = (uint32_t)i;
    qsort_r(merge->order, n, sizeof *merge->order, by_parent, merge->paths.entries);
    for (size_t i = 0; i < n; i++) {
        HS_TRY(find_step(merge, merge->order[i], err));
        if (i % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(hs_progress_tell(merge->view->session.progress, "reading the paths", i, n, err));
    }
    return HS_OK;
}

/* ---- the tree */

static bool is_same(const struct hs_path_tree_node *a, const struct hs_path_tree_node *b)
{
    return a->parent == b->parent && a->root == b->root && a->type == b->type &&
           a->offset_words == b->offset_words && a->is_element == b->is_element;
}

/* The number of a node with such content, a new one when there is none. */
static hs_status intern(struct merge *merge, const struct hs_path_tree_node *node, uint32_t *ret,
                        struct hs_error *err)
{
    struct hs_path_tree *tree = &merge->tree;
    uint64_t hash = hs_hash_pair(hs_hash_pair(node->parent, node->root),
                                 hs_hash_pair(node->type, node->offset_words));
    *ret = HS_TABLE_FIND(&tree->by_content, hash, i, is_same(&tree->nodes[i], node));
    if (*ret != HS_NO_NUMBER)
        return HS_OK;
    if (tree->n >= HS_PATH_TREE_NONE - 1)
        return hs_fail(err, HS_LIMIT, "%zu ways are too many", tree->n);
    if (tree->n == tree->capacity) {
        size_t capacity = tree->capacity == 0 ? 256 : 2 * tree->capacity;
        HS_TRY(take(merge, (capacity - tree->capacity) * sizeof *tree->nodes, err));
        HS_TRY(HS_GROW(&tree->nodes, &tree->capacity, capacity, err));
    }
    HS_TRY(take(merge, hs_table_growth_bytes(&tree->by_content, 1), err));
    HS_TRY(hs_table_add(&tree->by_content, hash, tree->n, err));
    tree->nodes[tree->n] = *node;
    *ret = (uint32_t)tree->n++;
    return HS_OK;
}

/* Goes one step more from node `at`. */
static hs_status extend(struct merge *merge, uint32_t at, const struct step *step, uint32_t *ret,
                        struct hs_error *err)
{
    struct hs_path_tree_node last = merge->tree.nodes[at];
    struct hs_path_tree_node next = {
        .root = HS_NO_NODE,
        .parent = at,
        .type = step->type,
        .offset_words = step->offset_words,
        .is_element = step->is_element,
        .depth = last.depth + 1,
    };
    bool is_run =
        last.root == HS_NO_NODE && last.type == step->type && step->offset_words != HS_NO_OFFSET;
    if (is_run && last.offset_words == step->offset_words && last.is_element == step->is_element) {
        merge->tree.nodes[at].is_run = true;
        *ret = at;
        return HS_OK;
    }
    if (is_run) {
        next.offset_words = HS_PATH_TREE_ANY;
        next.is_element = false;
    }
    if (is_run || last.depth > HS_PATH_TREE_DEPTH) { /* in its place */
        next.parent = last.parent;
        next.depth = last.depth;
    }
    HS_TRY(intern(merge, &next, ret, err));
    merge->tree.nodes[*ret].is_run |= is_run;
    return HS_OK;
}

static hs_status merge_entries(struct merge *merge, struct hs_error *err)
{
    const struct shortest *paths = &merge->paths;
    for (uint32_t i = 0; i < paths->n; i++) {
        const struct shortest_entry *entry = &paths->entries[i];
        if (entry->parent == HS_NO_NUMBER) {
            hs_node root = hs_view_root_of(merge->view, entry->node);
            struct hs_path_tree_node node = {
                .root = root == HS_NO_NODE ? entry->node : root,
                .parent = HS_PATH_TREE_NONE,
                .type = NO_TYPE,
            };
            HS_TRY(intern(merge, &node, &merge->at[i], err));
        } else if (merge->steps[i].type == NO_TYPE) {
            merge->at[i] = merge->at[entry->parent];
        } else {
            HS_TRY(extend(merge, merge->at[entry->parent], &merge->steps[i], &merge->at[i], err));
        }
    }
    return HS_OK;
}

static hs_status end_paths(struct merge *merge, const struct hs_path_tree_target *targets, size_t n,
                           struct hs_error *err)
{
    uint32_t *of_target = merge->tree.of_target;
    for (size_t i = 0; i < n; i++) {
        struct step end = {.type = targets[i].type, .offset_words = HS_NO_OFFSET};
        if (of_target[i] != HS_PATH_TREE_NONE)
            HS_TRY(extend(merge, merge->at[of_target[i]], &end, &of_target[i], err));
    }
    return HS_OK;
}

/* ---- life */

static hs_status make(struct merge *merge, const struct hs_path_tree_target *targets, size_t n,
                      struct hs_error *err)
{
    HS_TRY(take(merge, n * sizeof *merge->tree.of_target, err));
    HS_TRY(HS_PAGES_ALLOC(&merge->tree.of_target, n, err));
    merge->tree.n_targets = n;
    HS_TRY(follow(merge, targets, n, err));
    HS_TRY(find_steps(merge, err));
    HS_TRY(merge_entries(merge, err));
    return end_paths(merge, targets, n, err);
}

hs_status hs_path_tree_make(struct hs_view *view, const struct hs_path_tree_target *targets,
                            size_t n_targets, struct hs_path_tree *ret, struct hs_error *err)
{
    struct merge merge = {.view = view, .tree = {.view = view}};
    shortest_init(view, &merge.paths);
    hs_status status = make(&merge, targets, n_targets, err);
    if (status == HS_OK)
        status = hs_used_edges_check(view, err);
    size_t n = merge.paths.n;
    hs_table_fini(&merge.attributes);
    hs_pages_free(merge.steps, n, sizeof *merge.steps);
    hs_pages_free(merge.order, n, sizeof *merge.order);
    hs_pages_free(merge.at, n, sizeof *merge.at);
    shortest_fini(&merge.paths);
    if (status == HS_OK)
        *ret = merge.tree;
    else
        hs_path_tree_fini(&merge.tree);
    return status;
}

void hs_path_tree_fini(struct hs_path_tree *tree)
{
    if (tree->view != NULL)
        hs_budget_release(tree->view->session.budget, tree->taken_bytes);
    hs_free(tree->nodes);
    hs_table_fini(&tree->by_content);
    hs_pages_free(tree->of_target, tree->n_targets, sizeof *tree->of_target);
    *tree = (struct hs_path_tree){0};
}
