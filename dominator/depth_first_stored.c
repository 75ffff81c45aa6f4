/* The search of rows in a file. The way down is a stack of nodes, and the begin of a node's row is
 * its next edge, so that nothing grows with the number of edges. */
#include <assert.h>

#include "depth_first.h"
#include "dominator/dominators.h"

#define EDGES_PER_TELL ((uint32_t)1 << 20)

struct stored_search {
    struct depth_first *search;
    struct hs_stored_rows *rows;
    const struct hs_progress *progress;
    struct engine_stack way; /* of nodes */
    uint32_t depth;
    uint32_t n_edges; /* wraps */
};

static hs_status node_enter(struct stored_search *s, uint32_t node, uint32_t above,
                            struct hs_error *err)
{
    struct depth_first *search = s->search;
    uint32_t mine = search->n_reached++;

    search->number[node] = mine + 1;
    search->parent[mine] = above;
    if (above == 0)
        search->branch = mine;
    HS_TRY(engine_stack_reserve(&s->way, (size_t)s->depth + 1, err));
    ((uint32_t *)s->way.items)[s->depth++] = node;
    return HS_OK;
}

static hs_status edge_follow(struct stored_search *s, uint32_t source, uint32_t target,
                             struct hs_error *err)
{
    struct depth_first *search = s->search;

    if (s->n_edges++ % EDGES_PER_TELL == 0)
        HS_TRY(hs_progress_tell(s->progress, "searching the graph", search->n_reached,
                                search->n_nodes, err));
    if (search->number[target] == 0)
        return node_enter(s, target, search->number[source] - 1, err);
    depth_first_met(search, search->number[target] - 1, search->number[source] - 1);
    return edge_log_room(&search->log) == 0 ? edge_log_flush(&search->log, err) : HS_OK;
}

static hs_status search_run(struct stored_search *s, struct hs_error *err)
{
    const uint32_t *way = s->way.items;

    HS_TRY(node_enter(s, 0, 0, err));
    while (s->depth != 0) {
        uint32_t node = way[s->depth - 1], target;
        HS_TRY(hs_stored_rows_word(s->rows, s->rows->begin[node], &target, err));
        if (target == HS_NONE) {
            s->depth--;
            continue;
        }
        s->rows->begin[node]++;
        HS_TRY(edge_follow(s, node, target, err));
    }
    return edge_log_end(&s->search->log, err);
}

/* The way may become as long as there are nodes: the cache leaves it room. */
static hs_status search_all(struct stored_search *s, struct hs_error *err)
{
    struct depth_first *search = s->search;

    HS_TRY(depth_first_alloc(search, s->rows->n_words, err));
    HS_TRY(engine_stack_init(search->budget, search->n_nodes, sizeof(uint32_t), "the search's way",
                             &s->way, err));
    HS_TRY(hs_stored_rows_open(s->rows, (uint64_t)search->n_nodes * sizeof(uint32_t), err));
    return search_run(s, err);
}

hs_status depth_first_stored_search(struct hs_stored_rows *rows, const struct hs_progress *progress,
                                    struct depth_first *ret, struct hs_error *err)
{
    struct depth_first search = {
        .budget = rows->budget, .is_tight = true, .n_nodes = rows->n_nodes, .n_spine = 1};
    struct stored_search s = {.search = &search, .rows = rows, .progress = progress};

    assert(rows->n_nodes >= 1);
    hs_status status = search_all(&s, err);
    engine_stack_fini(&s.way);
    if (status == HS_OK)
        *ret = search;
    else
        depth_first_fini(&search);
    return status;
}

/* Counts what is taken while searching: begins, numbers, parents, the way, two bits. While
 * evaluating: parents, labels, begins of rows, a path, three bits and ranks. While climbing:
 * parents, semidominators, two numbers for jumps. And blocks of rows, of the log, of edges to sort
 * and of stacks. */
uint64_t hs_domtree_stored_bytes(uint64_t n_nodes)
{
    return 16 * n_nodes + n_nodes / 2 +
           4 * HS_STORED_LEAST_BYTES; /* of which a block of the log: 2 */
}
