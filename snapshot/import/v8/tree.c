/* The tree above the heap: the root and the groups below it that only the root reaches.
 *
 *   V8:    root -> (GC roots) -> (Strong roots) -> object        and   root -> global object
 *   ours:  all -> kind -> module (Strong roots) -> unit -> leaf -> object
 *
 * Groups of groups are laid flat. That moves some immediate dominators from one node of the tree to
 * another, and none of an object's retained size. */
#include <stdio.h>
#include <string.h>

#include "base/bisect.h"
#include "run.h"

static struct v8_group *group_find(struct v8_run *run, uint64_t node)
{
    size_t low = HS_FIRST_NOT(at, 0, run->n_groups, run->groups[at].node < node);
    return low < run->n_groups && run->groups[low].node == node ? &run->groups[low] : NULL;
}

static hs_status tree_edge_put(struct v8_run *run, uint64_t from, const struct v8_edge *edge,
                               struct hs_error *err)
{
    struct v8_group *group = group_find(run, from);
    if (group != NULL && ++group->n_edges > V8_MAX_GROUP) {
        struct v8_group *to = group_find(run, edge->to);
        group->is_heap = true;
        if (to != NULL)
            to->is_heap = true;
        return HS_OK;
    }
    HS_TRY(maker_grow(run->maker, (void **)&run->tree_edges, &run->tree_edge_capacity,
                      run->n_tree_edges + 1, sizeof *run->tree_edges, "edges of the root", err));
    run->tree_edges[run->n_tree_edges++] =
        (struct v8_tree_edge){from, edge->to, edge->name, edge->kind};
    return HS_OK;
}

/* Every edge of the file: those that leave the tree are kept, those that enter it from the heap
 * make a block of their target. */
static hs_status tree_scan(struct v8_run *run, struct hs_error *err)
{
    struct v8_walk walk = hs_v8_walk_begin(&run->file);
    for (uint64_t from = 0; from < run->file.n_nodes; from++) {
        struct v8_node node;
        struct v8_edge edge;
        HS_TRY(hs_v8_next_node(&walk, &node, err));
        bool is_tree = hs_bitmap_get(&run->tree, from);
        for (uint64_t i = 0; i < node.n_edges; i++) {
            HS_TRY(hs_v8_next_edge(&walk, &edge, err));
            if (is_tree)
                HS_TRY(tree_edge_put(run, from, &edge, err));
            else if (hs_bitmap_get(&run->tree, edge.to) && edge.to != run->file.root)
                group_find(run, edge.to)->is_heap = true;
        }
        HS_TRY(hs_v8_tell(run, &walk, "reading the roots", err));
    }
    return hs_v8_walk_end(&walk, true, err);
}

/* One round over the tree's edges; whether anything changed. */
static bool tree_spread(struct v8_run *run)
{
    bool changed = false;
    for (size_t i = 0; i < run->n_tree_edges; i++) {
        const struct v8_tree_edge *edge = &run->tree_edges[i];
        struct v8_group *to = group_find(run, edge->to);
        const struct v8_group *from = group_find(run, edge->from);
        if (to == NULL || to->is_heap)
            continue;
        if (from != NULL && from->is_heap) {
            to->is_heap = true;
            changed = true;
        } else if (!to->is_reached && edge->kind != V8_WEAK && (from == NULL || from->is_reached)) {
            to->is_reached = true;
            changed = true;
        }
    }
    return changed;
}

/* A round decides one level at least; files have three. What is not decided by then, or not
 * reached, is of the heap: and so is all that it leads to. */
static hs_status tree_resolve(struct v8_run *run, struct hs_error *err)
{
    enum { ROUNDS = 16 };
    bool changed = true;
    for (int i = 0; i < ROUNDS && changed; i++)
        changed = tree_spread(run);
    bool none = changed;
    for (size_t i = 0; i < run->n_groups; i++)
        run->groups[i].is_heap |= !run->groups[i].is_reached;
    for (int i = 0; i < ROUNDS && (i == 0 || changed); i++)
        changed = tree_spread(run);
    none |= changed;
    for (size_t i = 0; i < run->n_groups; i++) {
        struct v8_group *group = &run->groups[i];
        group->is_heap |= none;
        if (group->is_heap)
            hs_bitmap_clear(&run->tree, group->node);
    }
    uint64_t n_tree;
    return hs_bitmap_index(&run->tree, &n_tree, err);
}

hs_status hs_v8_tree_read(struct v8_run *run, struct hs_error *err)
{
    HS_TRY(tree_scan(run, err));
    HS_TRY(tree_resolve(run, err));
    HS_TRY(hs_v8_bitmap(run, run->file.n_strings, &run->labels, err));
    for (size_t i = 0; i < run->n_groups; i++)
        hs_bitmap_set(&run->labels, run->groups[i].name);
    for (size_t i = 0; i < run->n_tree_edges; i++) {
        const struct v8_tree_edge *edge = &run->tree_edges[i];
        if (hs_v8_is_named(edge->kind) && edge->kind != V8_OTHER_EDGE)
            hs_bitmap_set(&run->labels, edge->name);
    }
    return HS_OK;
}

/* ---- the root tree ---- */

struct tree_maker {
    struct v8_run *run;
    hs_node kinds[HS_N_ROOT_KINDS]; /* 0: not made */
};

static hs_str label_of(const struct v8_run *run, uint64_t string)
{
    return run->label[hs_bitmap_rank(&run->labels, string)];
}

static unsigned kind_of(const char *name)
{
    if (strstr(name, "Stack roots") != NULL)
        return HS_ROOT_STACK;
    if (strstr(name, "Handle scope") != NULL)
        return HS_ROOT_LOCAL;
    if (strstr(name, "handles") != NULL || strncmp(name, "C++", 3) == 0)
        return HS_ROOT_C_ROOT;
    return HS_ROOT_GLOBAL;
}

/* A unit below a module of the same name, ready for leaves. */
static hs_status unit_make(struct tree_maker *t, unsigned kind, hs_str name, hs_node *ret,
                           struct hs_error *err)
{
    struct maker *maker = t->run->maker;
    if (t->kinds[kind] == 0) {
        hs_str group;
        HS_TRY(hs_strtab_add(&maker->strings, hs_root_group_name(kind), &group, err));
        HS_TRY(maker_group(maker, 0, kind, group, &t->kinds[kind], err));
    }
    hs_node module;
    HS_TRY(maker_group(maker, t->kinds[kind], kind, name, &module, err));
    return maker_group(maker, module, kind, name, ret, err);
}

static hs_status leaf_make(struct v8_run *run, hs_node unit, const struct v8_tree_edge *edge,
                           bool is_weak, struct hs_error *err)
{
    struct maker *maker = run->maker;
    char name[3 * MAKER_NAME_BYTES]; /* of two names and a number */
    hs_str symbol = 0;
    const char *group = hs_strtab_get(&maker->strings, maker->roots[unit].name);
    int n;
    if (hs_v8_is_named(edge->kind) && edge->kind != V8_OTHER_EDGE) {
        symbol = label_of(run, edge->name);
        const char *text = hs_strtab_get(&maker->strings, symbol);
        bool is_number = text[0] >= '0' && text[0] <= '9';
        n = snprintf(name, sizeof name, is_number ? "%s[%s]" : "%s.%s", group, text);
    } else {
        n = snprintf(name, sizeof name, "%s[%llu]", group, (unsigned long long)edge->name);
    }
    struct hs_root root = {
        .parent = unit,
        .target = edge->to, /* a node of the file until all roots are made */
        .level = HS_LEVEL_LEAF,
        .field = HS_NO_FIELD,
        .weak = is_weak,
        .symbol = symbol,
    };
    HS_TRY(maker_name(maker, "", name, (size_t)n, &root.name, err));
    return maker_root(maker, &root, NULL, err);
}

/* The edges that leave a node stand side by side, in the order of the nodes. */
static size_t first_edge(const struct v8_run *run, uint64_t from)
{
    return HS_FIRST_NOT(at, 0, run->n_tree_edges, run->tree_edges[at].from < from);
}

/* The next edge from `from` into the heap at or behind `at`; n_tree_edges when there is none. */
static size_t next_leaf(const struct v8_run *run, uint64_t from, size_t at)
{
    for (; at < run->n_tree_edges && run->tree_edges[at].from == from; at++)
        if (!hs_bitmap_get(&run->tree, run->tree_edges[at].to))
            return at;
    return run->n_tree_edges;
}

static bool has_leaves(const struct v8_run *run, uint64_t from)
{
    return next_leaf(run, from, first_edge(run, from)) < run->n_tree_edges;
}

static hs_status leaves_make(struct tree_maker *t, uint64_t from, hs_node unit,
                             struct hs_error *err)
{
    struct v8_run *run = t->run;
    size_t at = next_leaf(run, from, first_edge(run, from));
    for (; at < run->n_tree_edges; at = next_leaf(run, from, at + 1)) {
        const struct v8_tree_edge *edge = &run->tree_edges[at];
        const struct v8_edge as_read = {edge->kind, edge->name, edge->to};
        bool retains = hs_v8_retains(run, from, 0, &as_read);
        if (retains || run->policy->weak == HS_WEAK_KEEP)
            HS_TRY(leaf_make(run, unit, edge, !retains, err));
    }
    return HS_OK;
}

static hs_status groups_make(struct tree_maker *t, struct hs_error *err)
{
    struct v8_run *run = t->run;
    for (size_t i = 0; i < run->n_groups; i++) {
        const struct v8_group *group = &run->groups[i];
        if (group->is_heap || !has_leaves(run, group->node))
            continue;
        hs_str name = label_of(run, group->name);
        hs_node unit;
        unsigned kind = kind_of(hs_strtab_get(&run->maker->strings, name));
        HS_TRY(unit_make(t, kind, name, &unit, err));
        HS_TRY(leaves_make(t, group->node, unit, err));
    }
    return HS_OK;
}

/* Makes roots of the objects that nothing retains, and that V8 has found all the same: DevTools and
 * memlab hang them on the root. */
static hs_status orphans_make(struct tree_maker *t, struct hs_error *err)
{
    struct v8_run *run = t->run;
    hs_node unit = 0;
    for (uint64_t node = 0; node < run->file.n_nodes; node++) {
        if (hs_bitmap_get(&run->retained, node) || hs_bitmap_get(&run->tree, node))
            continue;
        if (unit == 0) {
            hs_str name;
            HS_TRY(hs_strtab_add(&run->maker->strings, "(weakly held)", &name, err));
            HS_TRY(unit_make(t, HS_ROOT_C_ROOT, name, &unit, err));
        }
        const struct v8_tree_edge edge = {run->file.root, node, node, V8_ELEMENT};
        HS_TRY(leaf_make(run, unit, &edge, false, err));
    }
    return HS_OK;
}

hs_status hs_v8_roots_make(struct v8_run *run, struct hs_error *err)
{
    struct tree_maker t = {.run = run};
    struct maker *maker = run->maker;
    hs_str name;
    hs_node unit;
    HS_TRY(hs_strtab_add(&maker->strings, "all", &name, err));
    HS_TRY(maker_group(maker, 0, 0, name, NULL, err));
    if (has_leaves(run, run->file.root)) {
        HS_TRY(hs_strtab_add(&maker->strings, "(root)", &name, err));
        HS_TRY(unit_make(&t, HS_ROOT_GLOBAL, name, &unit, err));
        HS_TRY(leaves_make(&t, run->file.root, unit, err));
    }
    HS_TRY(groups_make(&t, err));
    HS_TRY(orphans_make(&t, err));
    for (size_t i = 0; i < maker->n_roots; i++)
        if (maker->roots[i].target != HS_NO_NODE)
            maker->roots[i].target = hs_v8_block(run, maker->roots[i].target);
    return HS_OK;
}
