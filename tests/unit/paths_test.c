/* links: hs_graph hs_base */
/* Paths against a plain breadth-first search, on random graphs and on shapes that hurt. */
#include "fail_each.h"
#include "graph/paths.h"

#include "unit.h"

#include "base/alloc.h"

enum { MAX_NODES = 64 };

struct small {
    uint32_t n_nodes, n_tree;
    uint32_t sources[MAX_NODES][MAX_NODES], n_sources[MAX_NODES];
};

/* A row of numbers near the node's, as an index packs it; valid until the next one is made. */
static struct hs_row row_of(hs_node node, const uint32_t *values, uint32_t n, hs_node n_nodes)
{
    static uint8_t bytes[MAX_NODES];
    for (uint32_t i = 0; i < n; i++) {
        int64_t step = i == 0 ? (int64_t)values[i] - (int64_t)node : values[i] - values[i - 1] - 1;
        bytes[i] = (uint8_t)(i == 0 ? (step < 0 ? -2 * step - 1 : 2 * step) : step);
        assert_true(bytes[i] < 0x80);
    }
    return (struct hs_row){
        .cursor = hs_cursor_make(bytes, n), .node = node, .n = n, .left = n, .n_values = n_nodes};
}

static struct hs_row small_of(void *context, hs_node node)
{
    const struct small *graph = context;
    return row_of(node, graph->sources[node], graph->n_sources[node], graph->n_nodes);
}

static struct hs_predecessors small_predecessors(struct small *graph)
{
    return (struct hs_predecessors){small_of, graph, graph->n_nodes, graph->n_tree, NULL};
}

static uint64_t seed = 12345;

static uint32_t random_below(uint32_t n)
{
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(seed >> 33) % n;
}

static bool has_source(const struct small *graph, uint32_t node, uint32_t source)
{
    for (uint32_t i = 0; i < graph->n_sources[node]; i++)
        if (graph->sources[node][i] == source)
            return true;
    return false;
}

/* Node 0 is the root of all; leaves are 1 .. n_tree - 1. */
static void small_fill(struct small *graph)
{
    memset(graph, 0, sizeof *graph);
    graph->n_tree = 2 + random_below(5);
    graph->n_nodes = graph->n_tree + 1 + random_below(20);
    for (uint32_t node = graph->n_tree; node < graph->n_nodes; node++)
        for (uint32_t source = 1; source < graph->n_nodes; source++)
            if (random_below(graph->n_nodes) < 2)
                graph->sources[node][graph->n_sources[node]++] = source;
}

/* Fewest objects on a path from each leaf to the target, by relaxing until nothing changes. */
static void distances(const struct small *graph, uint32_t target, uint32_t *distance)
{
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        distance[i] = HS_NONE;
    distance[target] = 1;
    for (bool changed = true; changed;) {
        changed = false;
        for (uint32_t node = graph->n_tree; node < graph->n_nodes; node++)
            for (uint32_t i = 0; i < graph->n_sources[node] && distance[node] != HS_NONE; i++) {
                uint32_t source = graph->sources[node][i];
                if (distance[source] > distance[node] + 1) {
                    distance[source] = distance[node] + 1;
                    changed = true;
                }
            }
    }
}

static void check_path(const struct small *graph, const struct hs_paths *paths, size_t at,
                       uint32_t target)
{
    const hs_node *nodes = paths->nodes + paths->begin[at];
    size_t n = paths->begin[at + 1] - paths->begin[at];
    assert_true(n >= 2);
    assert_true(nodes[0] < graph->n_tree);
    assert_int_equal(nodes[n - 1], target);
    for (size_t i = 1; i < n; i++)
        assert_true(has_source(graph, (uint32_t)nodes[i], (uint32_t)nodes[i - 1]));
}

static void test_one_shortest_path_from_each_root(void **state)
{
    for (int round = 0; round < 2000; round++) {
        static struct small graph;
        small_fill(&graph);
        uint32_t target = graph.n_tree + random_below(graph.n_nodes - graph.n_tree);
        uint32_t distance[MAX_NODES], n_leaves = 0;
        distances(&graph, target, distance);
        for (uint32_t leaf = 1; leaf < graph.n_tree; leaf++)
            n_leaves += distance[leaf] != HS_NONE;
        struct hs_predecessors predecessors = small_predecessors(&graph);
        struct hs_path_query query = {.target = target, .limit = MAX_NODES};
        struct hs_paths paths = {0};
        struct hs_error err = HS_ERROR_INIT;
        assert_int_equal(hs_paths_find(&predecessors, &query, &paths, &err), HS_OK);
        assert_int_equal(paths.n_paths, n_leaves);
        assert_true(paths.is_complete);
        size_t last = 0;
        for (size_t i = 0; i < paths.n_paths; i++) {
            size_t n = paths.begin[i + 1] - paths.begin[i];
            check_path(&graph, &paths, i, target);
            assert_int_equal(n, distance[paths.nodes[paths.begin[i]]]);
            assert_true(n >= last);
            last = n;
        }
        hs_paths_fini(&paths);
    }
}

static bool is_longer(void *context, const struct hs_paths *found, size_t least_nodes)
{
    const size_t *most_nodes = context;
    for (size_t i = 0; i < found->n_paths; i++)
        assert_true(found->begin[i + 1] - found->begin[i] <= least_nodes);
    return least_nodes > *most_nodes;
}

/* A search that ends has all paths of the nodes before that. */
static void test_paths_until_there_are_enough(void **state)
{
    for (int round = 0; round < 2000; round++) {
        static struct small graph;
        small_fill(&graph);
        uint32_t target = graph.n_tree + random_below(graph.n_nodes - graph.n_tree);
        uint32_t distance[MAX_NODES], n_nearer = 0, n_leaves = 0;
        size_t most_nodes = 1 + random_below(6);
        distances(&graph, target, distance);
        for (uint32_t leaf = 1; leaf < graph.n_tree; leaf++) {
            n_leaves += distance[leaf] != HS_NONE;
            n_nearer += distance[leaf] <= most_nodes;
        }
        struct hs_predecessors predecessors = small_predecessors(&graph);
        struct hs_path_query query = {.target = target,
                                      .limit = MAX_NODES,
                                      .is_enough = is_longer,
                                      .enough_context = &most_nodes};
        struct hs_paths paths = {0};
        struct hs_error err = HS_ERROR_INIT;
        assert_int_equal(hs_paths_find(&predecessors, &query, &paths, &err), HS_OK);
        assert_int_equal(paths.n_paths, n_nearer);
        assert_true(!paths.is_complete || n_nearer == n_leaves);
        hs_paths_fini(&paths);
    }
}

static void test_disjoint_paths_share_nothing_and_cannot_be_extended(void **state)
{
    for (int round = 0; round < 2000; round++) {
        static struct small graph;
        small_fill(&graph);
        uint32_t target = graph.n_tree + random_below(graph.n_nodes - graph.n_tree);
        struct hs_predecessors predecessors = small_predecessors(&graph);
        struct hs_path_query query = {.target = target, .limit = MAX_NODES, .disjoint = true};
        struct hs_paths paths = {0};
        struct hs_error err = HS_ERROR_INIT;
        assert_int_equal(hs_paths_find(&predecessors, &query, &paths, &err), HS_OK);
        bool used[MAX_NODES] = {false};
        for (size_t i = 0; i < paths.n_paths; i++) {
            check_path(&graph, &paths, i, target);
            for (size_t j = paths.begin[i]; j + 1 < paths.begin[i + 1]; j++) {
                assert_false(used[paths.nodes[j]]);
                used[paths.nodes[j]] = true;
            }
        }
        /* What is left has no path: take the used nodes out and look again. */
        for (uint32_t node = graph.n_tree; node < graph.n_nodes; node++) {
            uint32_t n = 0;
            for (uint32_t i = 0; i < graph.n_sources[node]; i++)
                if (!used[graph.sources[node][i]] && !(used[node] && node != target))
                    graph.sources[node][n++] = graph.sources[node][i];
            graph.n_sources[node] = n;
        }
        uint32_t distance[MAX_NODES];
        distances(&graph, target, distance);
        for (uint32_t leaf = 1; leaf < graph.n_tree; leaf++)
            assert_int_equal(distance[leaf], HS_NONE);
        hs_paths_fini(&paths);
    }
}

/* 0 all, 1 leaf, then a list of cells, each held by the one before. */
static struct hs_row chain_of(void *context, hs_node node)
{
    static const uint8_t the_one_before = 1;
    bool has_one = node >= 2;
    return (struct hs_row){
        .cursor = hs_cursor_make(&the_one_before, has_one),
        .node = node,
        .n = has_one,
        .left = has_one,
        .n_values = *(const hs_node *)context,
    };
}

static void test_a_long_list(void **state)
{
    enum { N_CELLS = 3000000 };
    hs_node n_nodes = N_CELLS + 2;
    struct hs_budget budget = {.limit_bytes = (uint64_t)64 << 20};
    struct hs_predecessors predecessors = {chain_of, &n_nodes, n_nodes, 2, NULL};
    struct hs_path_query query = {.target = N_CELLS + 1, .limit = 10, .budget = &budget};
    struct hs_paths paths = {0};
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_paths_find(&predecessors, &query, &paths, &err), HS_OK);
    assert_int_equal(paths.n_paths, 1);
    assert_int_equal(paths.n_nodes, N_CELLS + 1);
    for (uint32_t i = 0; i < paths.n_nodes; i++)
        assert_int_equal(paths.nodes[i], i + 1);
    hs_paths_fini(&paths);
    assert_int_equal(budget.used_bytes, 0);
    budget.limit_bytes = N_CELLS; /* not a third of what the search alone needs */
    assert_int_equal(hs_paths_find(&predecessors, &query, &paths, &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "no memory for the search for paths"));
    assert_int_equal(budget.used_bytes, 0);
}

/* Numbers that do not fit into 32 bits. */
static void test_beyond_32_bits(void **state)
{
    hs_node n_nodes = ((hs_node)1 << 32) + 10;
    enum { N_CELLS = 200 };
    struct hs_predecessors predecessors = {chain_of, &n_nodes, n_nodes, n_nodes - N_CELLS, NULL};
    struct hs_path_query query = {.target = n_nodes - 1, .limit = 10};
    struct hs_paths paths = {0};
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_paths_find(&predecessors, &query, &paths, &err), HS_OK);
    assert_int_equal(paths.n_paths, 1);
    assert_int_equal(paths.n_nodes, N_CELLS + 1);
    for (uint32_t i = 0; i < paths.n_nodes; i++)
        assert_true(paths.nodes[i] == n_nodes - N_CELLS - 1 + i);
    hs_paths_fini(&paths);
}

/* A row that ends early is damage, and no shorter answer. */
static struct hs_row damaged_of(void *context, hs_node node)
{
    static struct hs_packed packed; /* remembers it */
    struct hs_row row = chain_of(context, node);
    row.packed = &packed;
    row.n = row.left = 2;
    return row;
}

static void test_a_damaged_row(void **state)
{
    hs_node n_nodes = 9;
    struct hs_predecessors predecessors = {damaged_of, &n_nodes, n_nodes, 2, NULL};
    struct hs_path_query query = {.target = 8, .limit = 10};
    struct hs_paths paths = {0};
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_paths_find(&predecessors, &query, &paths, &err), HS_FORMAT);
    assert_null(paths.nodes);
}

static hs_node even_below(const void *context, hs_node leaf)
{
    return leaf & ~(hs_node)1;
}

/* Leaves of one root give one path, with and without `disjoint`. */
static void test_leaves_of_one_root(void **state)
{
    static struct small graph = {.n_nodes = 7, .n_tree = 6};
    for (uint32_t leaf = 2; leaf < 6; leaf++)
        graph.sources[6][graph.n_sources[6]++] = leaf;
    struct hs_predecessors predecessors = small_predecessors(&graph);
    for (int disjoint = 0; disjoint < 2; disjoint++) {
        struct hs_path_query query = {
            .target = 6, .limit = 9, .disjoint = disjoint, .root_of = even_below};
        struct hs_paths paths = {0};
        struct hs_error err = HS_ERROR_INIT;
        assert_int_equal(hs_paths_find(&predecessors, &query, &paths, &err), HS_OK);
        assert_int_equal(paths.n_paths, 2);
        assert_int_equal(paths.nodes[0], 2);
        assert_int_equal(paths.nodes[paths.begin[1]], 4);
        assert_true(paths.is_complete);
        hs_paths_fini(&paths);
    }
}

static void test_the_limit_is_kept_and_told(void **state)
{
    static struct small graph = {.n_nodes = 6, .n_tree = 5};
    for (uint32_t leaf = 1; leaf < 5; leaf++)
        graph.sources[5][graph.n_sources[5]++] = leaf;
    struct hs_predecessors predecessors = small_predecessors(&graph);
    for (int disjoint = 0; disjoint < 2; disjoint++) {
        struct hs_path_query query = {.target = 5, .limit = 3, .disjoint = disjoint};
        struct hs_paths paths = {0};
        struct hs_error err = HS_ERROR_INIT;
        assert_int_equal(hs_paths_find(&predecessors, &query, &paths, &err), HS_OK);
        assert_int_equal(paths.n_paths, 3);
        assert_false(paths.is_complete);
        hs_paths_fini(&paths);
    }
}

static void test_every_allocation_may_fail(void **state)
{
    static struct small graph;
    do
        small_fill(&graph);
    while (graph.n_sources[graph.n_tree] < 2);
    struct hs_predecessors predecessors = small_predecessors(&graph);
    struct hs_path_query query = {.target = graph.n_tree, .limit = 10};
    FAIL_EACH (each, .at_least = 2) {
        struct hs_paths paths = {0};
        struct hs_error err = HS_ERROR_INIT;
        hs_status status = FAIL_EACH_TRY(each, hs_paths_find(&predecessors, &query, &paths, &err));
        if (status == HS_OK) {
            hs_paths_fini(&paths);
        } else {
            assert_null(paths.nodes);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_one_shortest_path_from_each_root),
        cmocka_unit_test(test_paths_until_there_are_enough),
        cmocka_unit_test(test_disjoint_paths_share_nothing_and_cannot_be_extended),
        cmocka_unit_test(test_a_long_list),
        cmocka_unit_test(test_beyond_32_bits),
        cmocka_unit_test(test_a_damaged_row),
        cmocka_unit_test(test_leaves_of_one_root),
        cmocka_unit_test(test_the_limit_is_kept_and_told),
        cmocka_unit_test(test_every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
