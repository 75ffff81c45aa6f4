/* The tree builder: leaves in any order become numbered groups.
 *
 * A group is (parent group, name). Groups and leaves hang on child lists in order of first use, and
 * one preorder walk over those lists numbers them: linear in leaves, whatever their order. */
#include "process/roots.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/table.h"

enum { NO_LINK = 0 }; /* links hold index + 1 */

struct group {
    uint64_t first_child, last_child, next; /* groups */
    uint64_t head_leaf, tail_leaf;          /* leaves that hang directly on a unit or a variable */
    uint64_t parent, number;
    uint64_t first_leaf; /* index of the first leaf below: what a group shows it takes from there */
    hs_str name;
    uint8_t level, kind, certainty;
    bool weak;
};

struct builder {
    struct group *groups; /* owned; group 0 is "all" */
    size_t n_groups, capacity;
    uint64_t *next_leaf;     /* owned: index + 1 of the next leaf of the same group */
    struct hs_table by_name; /* of groups */
};

void hs_roots_fini(struct hs_roots *roots)
{
    if (roots == NULL)
        return;
    hs_free(roots->leaves);
    memset(roots, 0, sizeof *roots);
}

hs_status hs_roots_add(struct hs_roots *roots, const struct hs_root_leaf *leaf,
                       struct hs_error *err)
{
    HS_TRY(HS_GROW(&roots->leaves, &roots->leaves_capacity, roots->n_leaves + 1, err));
    roots->leaves[roots->n_leaves++] = *leaf;
    return HS_OK;
}

static void builder_fini(struct builder *b)
{
    hs_free(b->groups);
    hs_free(b->next_leaf);
    hs_table_fini(&b->by_name);
}

static hs_status builder_new_group(struct builder *b, uint64_t parent, hs_str name, uint8_t level,
                                   uint64_t leaf, struct hs_error *err)
{
    HS_TRY(HS_GROW(&b->groups, &b->capacity, b->n_groups + 1, err));
    b->groups[b->n_groups] = (struct group){
        .parent = parent, .name = name, .level = level, .first_leaf = leaf, .weak = true};
    b->n_groups++;
    return HS_OK;
}

/* The child of `parent` called `name`, made and linked when it is new. At the kind level `name` is
 * the kind's number + 1. */
static hs_status builder_child(struct builder *b, uint64_t parent, hs_str name, uint64_t leaf,
                               uint64_t *ret, struct hs_error *err)
{
    uint64_t hash = hs_hash_pair(parent, name);
    uint32_t known = HS_TABLE_FIND(&b->by_name, hash, i,
                                   b->groups[i].parent == parent && b->groups[i].name == name);
    if (known != HS_NO_NUMBER) {
        *ret = known;
        return HS_OK;
    }
    uint64_t number = b->n_groups;
    uint8_t level = (uint8_t)(b->groups[parent].level + 1);
    assert(level < HS_LEVEL_LEAF);
    HS_TRY(builder_new_group(b, parent, name, level, leaf, err));
    HS_TRY(hs_table_add(&b->by_name, hash, number, err));
    struct group *p = &b->groups[parent];
    if (p->first_child == NO_LINK)
        p->first_child = number + 1;
    else
        b->groups[p->last_child - 1].next = number + 1;
    p->last_child = number + 1;
    *ret = number;
    return HS_OK;
}

/* A group is as sure as its least sure leaf, and weak only when all of it is. */
static void builder_blend(struct builder *b, uint64_t group, const struct hs_root *root)
{
    for (;; group = b->groups[group].parent) {
        struct group *g = &b->groups[group];
        if (root->certainty > g->certainty)
            g->certainty = root->certainty;
        g->weak = g->weak && root->weak;
        if (group == 0)
            return;
    }
}

static hs_status builder_add_leaf(struct builder *b, const struct hs_root_leaf *leaf,
                                  uint64_t index, hs_str none, struct hs_error *err)
{
    uint64_t at = 0;
    hs_str path[4] = {(hs_str)leaf->root.kind + 1,
                      leaf->group_module != 0 ? leaf->group_module : none,
                      leaf->group_unit != 0 ? leaf->group_unit : none, leaf->group_variable};
    size_t depth = leaf->group_variable != 0 ? 4 : 3;
    for (size_t i = 0; i < depth; i++) {
        HS_TRY(builder_child(b, at, path[i], index, &at, err));
        b->groups[at].kind = leaf->root.kind;
    }
    struct group *group = &b->groups[at];
    if (group->head_leaf == NO_LINK)
        group->head_leaf = index + 1;
    else
        b->next_leaf[group->tail_leaf - 1] = index + 1;
    group->tail_leaf = index + 1;
    builder_blend(b, at, &leaf->root);
    return HS_OK;
}

/* Makes the record of an inner node. The place of a frame or a variable is that of its first leaf,
 * but that a variable begins where its offset is 0. */
static struct hs_root group_root(const struct group *g, const struct hs_root *first, hs_str name)
{
    struct hs_root root = {.target = HS_NO_NODE,
                           .level = g->level,
                           .kind = g->kind,
                           .certainty = g->certainty,
                           .weak = g->weak,
                           .field = HS_NO_FIELD,
                           .name = name};
    if (g->level >= HS_LEVEL_MODULE) {
        root.module = first->module;
        root.thread = first->thread;
    }
    bool is_variable = g->level == HS_LEVEL_VARIABLE;
    if (is_variable || (g->level == HS_LEVEL_UNIT && first->frame != 0)) {
        root.frame = first->frame;
        root.function = first->function;
        root.file = first->file;
        root.line = first->line;
    }
    if (is_variable) {
        root.symbol = first->symbol;
        root.address = first->address >= first->offset ? first->address - first->offset : 0;
    }
    return root;
}

static hs_status group_name(const struct group *g, struct hs_strtab *strings, hs_str *ret,
                            struct hs_error *err)
{
    *ret = g->name;
    if (g->level == HS_LEVEL_ALL)
        return hs_strtab_add(strings, "all", ret, err);
    if (g->level != HS_LEVEL_KIND)
        return HS_OK;
    const char *kind = hs_root_group_name(g->kind);
    return hs_strtab_add(strings, kind != NULL ? kind : "unknown", ret, err);
}

/* Writes the leaves of a group after it. */
static uint64_t place_leaves(const struct builder *b, const struct hs_roots *roots, uint64_t group,
                             uint64_t at, uint64_t n_tree, const struct hs_rank_of *rank_of,
                             struct hs_root *tree)
{
    for (uint64_t link = b->groups[group].head_leaf; link != NO_LINK;
         link = b->next_leaf[link - 1]) {
        const struct hs_root_leaf *leaf = &roots->leaves[link - 1];
        uint64_t rank = rank_of->rank(rank_of->context, leaf->target);
        tree[at] = leaf->root;
        tree[at].parent = b->groups[group].number;
        tree[at].level = HS_LEVEL_LEAF;
        tree[at].target = rank == HS_NO_NODE ? HS_NO_NODE : n_tree + rank;
        at++;
    }
    return at;
}

/* Preorder over the group lists, a unit's own leaves before its variables. Groups know their
 * parents, so no stack is needed. */
static hs_status builder_number(struct builder *b, const struct hs_roots *roots,
                                struct hs_strtab *strings, const struct hs_rank_of *rank_of,
                                struct hs_root *tree, uint64_t n_tree, struct hs_error *err)
{
    uint64_t at = 0, group = 0;
    const struct hs_root none = {0};
    for (;;) {
        struct group *g = &b->groups[group];
        hs_str name;
        HS_TRY(group_name(g, strings, &name, err));
        const struct hs_root *first =
            roots->n_leaves != 0 ? &roots->leaves[g->first_leaf].root : &none;
        g->number = at;
        tree[at] = group_root(g, first, name);
        tree[at].parent = b->groups[g->parent].number;
        at++;
        at = place_leaves(b, roots, group, at, n_tree, rank_of, tree);
        if (g->first_child != NO_LINK) {
            group = g->first_child - 1;
            continue;
        }
        while (group != 0 && b->groups[group].next == NO_LINK)
            group = b->groups[group].parent;
        if (group == 0)
            break;
        group = b->groups[group].next - 1;
    }
    assert(at == n_tree);
    return HS_OK;
}

static hs_status builder_run(struct builder *b, const struct hs_roots *roots,
                             struct hs_strtab *strings, const struct hs_rank_of *rank_of,
                             struct hs_root **ret_tree, uint64_t *ret_n_tree, struct hs_error *err)
{
    hs_str none;
    HS_TRY(hs_strtab_add(strings, "(none)", &none, err));
    HS_TRY(HS_ALLOC(&b->next_leaf, roots->n_leaves, err));
    HS_TRY(builder_new_group(b, 0, 0, HS_LEVEL_ALL, 0, err));
    for (size_t i = 0; i < roots->n_leaves; i++)
        HS_TRY(builder_add_leaf(b, &roots->leaves[i], i, none, err));
    if (roots->n_leaves == 0)
        b->groups[0].weak = false;

    uint64_t n_tree = b->n_groups + roots->n_leaves;
    hs_auto_free struct hs_root *tree = NULL;
    HS_TRY(HS_ALLOC(&tree, n_tree, err));
    HS_TRY(builder_number(b, roots, strings, rank_of, tree, n_tree, err));
    *ret_tree = HS_STEAL(tree);
    *ret_n_tree = n_tree;
    return HS_OK;
}

hs_status hs_roots_finish(const struct hs_roots *roots, struct hs_strtab *strings,
                          const struct hs_rank_of *rank_of, struct hs_root **ret_tree,
                          uint64_t *ret_n_tree, struct hs_error *err)
{
    struct builder b = {0};
    hs_status status = builder_run(&b, roots, strings, rank_of, ret_tree, ret_n_tree, err);
    builder_fini(&b);
    return status;
}
