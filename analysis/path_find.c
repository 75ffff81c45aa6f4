/* The search for paths from the roots (graph/paths.h), by the rows of an index. */
#include "analysis/path_find.h"

#include "analysis/used_edges.h"

static struct hs_row sources_of(void *context, hs_node node)
{
    const struct hs_view *view = context;
    return hs_index_predecessors(view->index, node);
}

static bool takes_part(void *context, hs_node source, hs_node target)
{
    return hs_edge_is_used(context, source, target);
}

hs_node hs_path_root(const struct hs_view *view, hs_node leaf)
{
    hs_node root = hs_view_root_of(view, leaf);
    return root == HS_NO_NODE ? leaf : root;
}

static hs_node root_of(const void *context, hs_node leaf)
{
    return hs_path_root(context, leaf);
}

static hs_status find(const struct hs_view *view, struct hs_path_query *query, struct hs_paths *ret,
                      struct hs_error *err)
{
    struct hs_predecessors predecessors = {sources_of, (void *)(uintptr_t)view, view->n_nodes,
                                           view->n_tree, takes_part};
    struct hs_paths paths = {0};

    query->root_of = root_of;
    query->root_context = view;
    query->budget = view->session.budget;
    query->progress = view->session.progress;
    hs_status status = hs_paths_find(&predecessors, query, &paths, err);
    if (status == HS_OK)
        status = hs_used_edges_check(view, err);
    if (status == HS_OK)
        *ret = paths;
    else
        hs_paths_fini(&paths);
    return status;
}

hs_status hs_paths_to(const struct hs_view *view, hs_node target, uint64_t limit, bool disjoint,
                      struct hs_paths *ret, struct hs_error *err)
{
    struct hs_path_query query = {
        .target = target, .limit = limit == 0 ? UINT64_MAX : limit, .disjoint = disjoint};
    return find(view, &query, ret, err);
}

hs_status hs_paths_until(const struct hs_view *view, hs_node target, uint64_t limit,
                         bool (*is_enough)(void *context, const struct hs_paths *found,
                                           size_t least_nodes),
                         void *context, struct hs_paths *ret, struct hs_error *err)
{
    struct hs_path_query query = {
        .target = target, .limit = limit, .is_enough = is_enough, .enough_context = context};
    return find(view, &query, ret, err);
}
