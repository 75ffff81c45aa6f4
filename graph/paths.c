/* Shortest paths from the roots, by breadth-first search from the far end. */
#include "graph/paths.h"

#include <assert.h>

#include "base/alloc.h"
#include "trail.h"

struct search {
    const struct hs_predecessors *predecessors;
    const struct hs_path_query *query;
    /* Marked are the blocks that were put, and the blocks and roots that a path has used up. */
    struct trail trail;
    bool is_ended; /* what was found is enough */
    struct hs_paths paths;
};

static hs_status search_init(struct search *search, struct hs_error *err)
{
    struct hs_budget *budget = search->query->budget;
    HS_TRY(trail_init(search->predecessors->n_nodes, budget, &search->trail, err));
    search->paths.budget = budget;
    return HS_GROW(&search->paths.begin, &search->paths.begin_capacity, 1, err);
}

static void search_fini(struct search *search)
{
    trail_fini(&search->trail);
    hs_paths_fini(&search->paths);
}

static hs_status put_node(struct hs_paths *paths, hs_node node, struct hs_error *err)
{
    if (paths->n_nodes == paths->nodes_capacity) {
        size_t capacity = paths->nodes_capacity == 0 ? 64 : 2 * paths->nodes_capacity;
        uint64_t more = (capacity - paths->nodes_capacity) * sizeof *paths->nodes;
        size_t before = paths->nodes_capacity;
        HS_TRY(hs_budget_reserve(paths->budget, more, "the steps of the paths", err));
        hs_status status = HS_GROW(&paths->nodes, &paths->nodes_capacity, capacity, err);
        assert(status != HS_OK || paths->nodes_capacity == capacity);
        if (status != HS_OK) {
            assert(paths->nodes_capacity == before);
            hs_budget_release(paths->budget, more);
            return status;
        }
    }
    paths->nodes[paths->n_nodes++] = node;
    return HS_OK;
}

/* Adds the path leaf -> node of the entry -> ... -> target. */
static hs_status put_path(struct search *search, hs_node leaf, uint64_t entry, struct hs_error *err)
{
    struct hs_paths *paths = &search->paths;
    HS_TRY(put_node(paths, leaf, err));
    for (; entry != 0; entry = trail_from(&search->trail, entry))
        HS_TRY(put_node(paths, trail_node(&search->trail, entry), err));
    HS_TRY(put_node(paths, search->query->target, err));
    HS_TRY(HS_GROW(&paths->begin, &paths->begin_capacity, paths->n_paths + 2, err));
    paths->begin[++paths->n_paths] = paths->n_nodes;
    return HS_OK;
}

/* A leaf that leads to the node of the entry: a path, unless its root has given one. */
static hs_status reach(struct search *search, hs_node leaf, uint64_t entry, uint64_t *found,
                       struct hs_error *err)
{
    hs_node root = leaf;
    if (search->query->root_of != NULL)
        root = search->query->root_of(search->query->root_context, leaf);
    assert(root < search->predecessors->n_tree);
    if (trail_is_marked(&search->trail, root))
        return HS_OK;
    HS_TRY(trail_mark(&search->trail, root, err));
    HS_TRY(trail_mark(&search->trail, leaf, err));
    ++*found;
    return put_path(search, leaf, entry, err);
}

/* Tells of a hub's row too: it may be as long as the heap. */
static hs_status tell(const struct search *search, uint64_t n, struct hs_error *err)
{
    enum { TELL_EVERY = 1 << 20 };
    if (n % TELL_EVERY != TELL_EVERY - 1)
        return HS_OK;
    return hs_progress_tell(search->query->progress, "searching paths", search->trail.at,
                            search->predecessors->n_nodes, err);
}

static bool takes_part(const struct hs_predecessors *predecessors, hs_node source, hs_node target)
{
    return predecessors->takes_part == NULL ||
           predecessors->takes_part(predecessors->context, source, target);
}

/* Looks at the sources of the entry's node. *found: paths added. */
static hs_status expand(struct search *search, hs_node node, uint64_t entry, uint64_t limit,
                        uint64_t *found, struct hs_error *err)
{
    struct hs_row row = search->predecessors->of(search->predecessors->context, node);
    hs_node source;
    while (*found < limit && hs_row_next(&row, &source)) {
        assert(source < search->predecessors->n_nodes);
        HS_TRY(tell(search, row.left, err));
        if (trail_is_marked(&search->trail, source) || source == search->query->target ||
            !takes_part(search->predecessors, source, node))
            continue;
        if (source >= search->predecessors->n_tree)
            HS_TRY(trail_put(&search->trail, source, err));
        else
            HS_TRY(reach(search, source, entry, found, err));
    }
    return hs_row_check(&row, err);
}

static bool is_enough(struct search *search, size_t least_nodes)
{
    const struct hs_path_query *query = search->query;
    search->is_ended = query->is_enough != NULL &&
                       query->is_enough(query->enough_context, &search->paths, least_nodes);
    return search->is_ended;
}

/* Runs one search for up to `limit` paths. */
static hs_status run(struct search *search, uint64_t limit, uint64_t *ret_found,
                     struct hs_error *err)
{
    uint64_t found = 0, nearer_end = 1; /* the entries before it are as near as the last one */
    size_t n_nodes = 2; /* of a path by it: a leaf, the target, and what is between */
    hs_node node;
    trail_clear(&search->trail);
    HS_TRY(trail_put(&search->trail, search->query->target, err));
    while (found < limit && trail_next(&search->trail, &node)) {
        uint64_t entry = search->trail.at - 1;
        if (entry == nearer_end) {
            nearer_end = search->trail.n;
            n_nodes++;
        }
        if (is_enough(search, n_nodes))
            break;
        HS_TRY(expand(search, node, entry, limit, &found, err));
        HS_TRY(tell(search, entry, err));
    }
    *ret_found = found;
    return HS_OK;
}

/* Forgets what the last search saw, and keeps its path's blocks out of the next one. */
static hs_status remove_last_path(struct search *search, struct hs_error *err)
{
    const struct hs_paths *paths = &search->paths;
    trail_clear(&search->trail);
    for (size_t i = paths->begin[paths->n_paths - 1]; i < paths->n_nodes; i++)
        HS_TRY(trail_mark(&search->trail, paths->nodes[i], err));
    return HS_OK;
}

static hs_status find_disjoint(struct search *search, struct hs_error *err)
{
    while (search->paths.n_paths < search->query->limit) {
        uint64_t found;
        HS_TRY(run(search, 1, &found, err));
        if (found == 0) {
            search->paths.is_complete = true;
            return HS_OK;
        }
        HS_TRY(remove_last_path(search, err));
    }
    return HS_OK;
}

static hs_status find_from_each_root(struct search *search, struct hs_error *err)
{
    uint64_t found;
    HS_TRY(run(search, search->query->limit, &found, err));
    search->paths.is_complete =
        search->trail.at == search->trail.n && !search->is_ended && found < search->query->limit;
    return HS_OK;
}

hs_status hs_paths_find(const struct hs_predecessors *predecessors,
                        const struct hs_path_query *query, struct hs_paths *ret,
                        struct hs_error *err)
{
    assert(query->target >= predecessors->n_tree && query->target < predecessors->n_nodes);
    struct search search = {.predecessors = predecessors, .query = query};
    hs_status status = search_init(&search, err);
    if (status == HS_OK)
        status = query->disjoint ? find_disjoint(&search, err) : find_from_each_root(&search, err);
    if (status == HS_OK) {
        *ret = search.paths;
        search.paths = (struct hs_paths){0};
    }
    search_fini(&search);
    return status;
}

void hs_paths_fini(struct hs_paths *paths)
{
    hs_budget_release(paths->budget, paths->nodes_capacity * sizeof *paths->nodes);
    hs_free(paths->nodes);
    hs_free(paths->begin);
    *paths = (struct hs_paths){0};
}
