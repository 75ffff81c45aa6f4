/* Shortest paths from the roots, by breadth-first search from the far end. */
#include "graph/paths.h"

#include <assert.h>

#include "base/alloc.h"

/* Values of `toward` beside a node's number plus TOWARD_NODE. */
enum { TOWARD_UNSEEN = 0, TOWARD_USED = 1, TOWARD_NODE = 2 };

struct search {
    const struct hs_predecessors *predecessors;
    const struct hs_path_query *query;
    uint32_t *toward; /* the next node on the way to the target */
    uint32_t *queue;
    uint64_t n_queued, at;
    struct hs_paths paths;
};

static hs_status search_init(struct search *search, struct hs_error *err)
{
    uint64_t n = search->predecessors->n_nodes;
    HS_TRY(hs_pages_alloc(n, sizeof(uint32_t), (void **)&search->toward, err));
    HS_TRY(hs_pages_alloc(n, sizeof(uint32_t), (void **)&search->queue, err));
    return hs_grow((void **)&search->paths.begin, &search->paths.begin_capacity, 1,
                   sizeof *search->paths.begin, err);
}

static void search_fini(struct search *search)
{
    hs_pages_free(search->toward, search->predecessors->n_nodes, sizeof(uint32_t));
    hs_pages_free(search->queue, search->predecessors->n_nodes, sizeof(uint32_t));
    hs_paths_fini(&search->paths);
}

static hs_status put_node(struct hs_paths *paths, uint32_t node, struct hs_error *err)
{
    HS_TRY(hs_grow((void **)&paths->nodes, &paths->nodes_capacity, paths->n_nodes + 1,
                   sizeof *paths->nodes, err));
    paths->nodes[paths->n_nodes++] = node;
    return HS_OK;
}

/* Adds the path leaf -> from -> ... -> target. */
static hs_status put_path(struct search *search, uint32_t leaf, uint32_t from, struct hs_error *err)
{
    struct hs_paths *paths = &search->paths;
    HS_TRY(put_node(paths, leaf, err));
    for (uint32_t node = from; node != search->query->target;) {
        HS_TRY(put_node(paths, node, err));
        assert(search->toward[node] >= TOWARD_NODE);
        node = search->toward[node] - TOWARD_NODE;
    }
    HS_TRY(put_node(paths, search->query->target, err));
    HS_TRY(hs_grow((void **)&paths->begin, &paths->begin_capacity, paths->n_paths + 2,
                   sizeof *paths->begin, err));
    paths->begin[++paths->n_paths] = paths->n_nodes;
    return HS_OK;
}

static void queue_put(struct search *search, uint32_t node, uint32_t toward)
{
    assert(search->n_queued < search->predecessors->n_nodes);
    search->toward[node] = toward;
    search->queue[search->n_queued++] = node;
}

/* Looks at the sources of one node. *ret_found: paths added. */
static hs_status expand(struct search *search, uint32_t node, uint64_t limit, uint64_t *ret_found,
                        struct hs_error *err)
{
    uint32_t n;
    const uint32_t *sources = search->predecessors->of(search->predecessors->context, node, &n);
    uint64_t found = 0;
    for (uint32_t i = 0; i < n && found < limit; i++) {
        uint32_t source = sources[i];
        assert(source < search->predecessors->n_nodes);
        if (search->toward[source] != TOWARD_UNSEEN || source == search->query->target)
            continue;
        if (source >= search->predecessors->n_tree) {
            queue_put(search, source, node + TOWARD_NODE);
            continue;
        }
        search->toward[source] = TOWARD_USED;
        HS_TRY(put_path(search, source, node, err));
        found++;
    }
    *ret_found = found;
    return HS_OK;
}

/* One search for up to `limit` paths. */
static hs_status run(struct search *search, uint64_t limit, uint64_t *ret_found,
                     struct hs_error *err)
{
    enum { TELL_EVERY = 1 << 20 };
    uint64_t found = 0;
    search->n_queued = 0;
    queue_put(search, search->query->target, TOWARD_NODE);
    for (search->at = 0; search->at < search->n_queued && found < limit; search->at++) {
        uint64_t more;
        HS_TRY(expand(search, search->queue[search->at], limit - found, &more, err));
        found += more;
        if (search->at % TELL_EVERY == TELL_EVERY - 1)
            HS_TRY(hs_progress_tell(search->query->progress, "searching paths", search->at,
                                    search->predecessors->n_nodes, err));
    }
    *ret_found = found;
    return HS_OK;
}

/* Forgets what the last search saw, and keeps its path's blocks out of the next one. */
static void take_out_last_path(struct search *search)
{
    for (uint64_t i = 0; i < search->n_queued; i++)
        search->toward[search->queue[i]] = TOWARD_UNSEEN;
    const struct hs_paths *paths = &search->paths;
    for (size_t i = paths->begin[paths->n_paths - 1]; i < paths->n_nodes; i++)
        search->toward[paths->nodes[i]] = TOWARD_USED;
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
        take_out_last_path(search);
    }
    return HS_OK;
}

static hs_status find_from_each_root(struct search *search, struct hs_error *err)
{
    uint64_t found;
    HS_TRY(run(search, search->query->limit, &found, err));
    search->paths.is_complete = search->at == search->n_queued && found < search->query->limit;
    return HS_OK;
}

hs_status hs_paths_find(const struct hs_predecessors *predecessors,
                        const struct hs_path_query *query, struct hs_paths *ret,
                        struct hs_error *err)
{
    assert(query->target >= predecessors->n_tree && query->target < predecessors->n_nodes);
    assert(predecessors->n_nodes <= HS_NONE - TOWARD_NODE);
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
    hs_free(paths->nodes);
    hs_free(paths->begin);
    *paths = (struct hs_paths){0};
}
