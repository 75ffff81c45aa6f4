#include "analysis/leaked_goroutines.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void hs_leaked_goroutines_fini(struct hs_leaked_goroutines *leaked)
{
    hs_free(leaked->groups);
    *leaked = (struct hs_leaked_goroutines){.groups = NULL};
}

static bool is_leaked(const struct hs_root *root)
{
    return root->level == HS_LEVEL_LEAF && root->reason == HS_REASON_LEAKED_GOROUTINE;
}

bool hs_is_leaked_goroutine(const struct hs_view *view, hs_node node)
{
    for (; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->level == HS_LEVEL_LEAF)
            return is_leaked(root);
    }
    return false;
}

/* Returns how a goroutine waits, by the name of its root: "goroutine 7, chan send in main.query".
 */
static const char *waits_of(const struct hs_view *view, const struct hs_root *root)
{
    static const char begin[] = ", ";
    const char *at = strstr(hs_view_string(view, root->name), begin);
    return at == NULL ? "" : at + sizeof begin - 1;
}

static bool is_alike(const struct hs_view *view, const struct hs_leaked_group *group, hs_node root,
                     const struct hs_root *leaf)
{
    const struct hs_root *first = hs_snap_root(view->snap, group->first);
    return group->root == root && first->line == leaf->line && first->file == leaf->file &&
           strcmp(group->waits, waits_of(view, leaf)) == 0;
}

static hs_status add(const struct hs_view *view, struct hs_table *by_name, hs_node node,
                     struct hs_leaked_goroutines *found, struct hs_error *err)
{
    const struct hs_root *leaf = hs_snap_root(view->snap, node);
    const char *waits = waits_of(view, leaf);
    hs_node root = hs_view_root_of(view, node);
    uint64_t hash = hs_hash_pair(hs_hash_bytes(waits, strlen(waits)), root + leaf->line);
    uint32_t at = HS_TABLE_FIND(by_name, hash, i, is_alike(view, &found->groups[i], root, leaf));

    if (at == HS_NO_NUMBER) {
        at = (uint32_t)found->n_groups;
        HS_TRY(HS_GROW(&found->groups, &found->capacity, found->n_groups + 1, err));
        HS_TRY(hs_table_add(by_name, hash, found->n_groups, err));
        found->groups[found->n_groups++] =
            (struct hs_leaked_group){.root = root, .first = node, .waits = waits};
    }
    found->groups[at].n++;
    found->groups[at].words += hs_index_retained(view->index, node).words;
    found->n++;
    return HS_OK;
}

static int compare_roots(const void *left, const void *right)
{
    const struct hs_leaked_group *a = left, *b = right;
    if (a->root != b->root)
        return a->root < b->root ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

static int compare_words(const void *left, const void *right)
{
    const struct hs_leaked_group *a = left, *b = right;
    if (a->words != b->words)
        return a->words > b->words ? -1 : 1;
    if (a->n != b->n)
        return a->n > b->n ? -1 : 1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Gives each group that is all of its root what the root keeps, with what its goroutines share. */
static void sum_up(const struct hs_view *view, struct hs_leaked_goroutines *found)
{
    if (found->n_groups > 1)
        qsort(found->groups, found->n_groups, sizeof *found->groups, compare_roots);
    for (size_t i = 0, end; i < found->n_groups; i = end) {
        hs_node root = found->groups[i].root;
        uint64_t words = hs_index_retained(view->index, root).words;
        for (end = i + 1; end < found->n_groups && found->groups[end].root == root;)
            end++;
        if (end == i + 1)
            found->groups[i].words = words;
        found->words += words;
    }
    if (found->n_groups > 1)
        qsort(found->groups, found->n_groups, sizeof *found->groups, compare_words);
}

hs_status hs_leaked_goroutines_find(const struct hs_view *view, struct hs_leaked_goroutines *ret,
                                    struct hs_error *err)
{
    struct hs_leaked_goroutines found = {0};
    struct hs_table by_name = {0};
    hs_status status = HS_OK;

    for (hs_node node = 0; node < view->n_tree && status == HS_OK; node++)
        if (is_leaked(hs_snap_root(view->snap, node)))
            status = add(view, &by_name, node, &found, err);
    hs_table_fini(&by_name);
    if (status == HS_OK) {
        sum_up(view, &found);
        *ret = found;
    } else {
        hs_leaked_goroutines_fini(&found);
    }
    return status;
}
