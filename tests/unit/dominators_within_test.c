/* links: hs_dominator hs_graph */
#include "unit.h"

#include <signal.h>
#include <sys/resource.h>

#include "base/alloc.h"
#include "dominator/dominators.h"
#include "fail_each.h"
#include "graph/pages.h"
#include "odd_graphs.h"
#include "seeds.h"

static struct hs_error err;

/* The search's results for one graph, without a budget. */
static struct hs_domtree expected_tree(const struct hs_graph *graph)
{
    struct hs_domtree tree;
    assert_int_equal(hs_domtree_build(graph, NULL, &tree, &err), HS_OK);
    return tree;
}

static struct hs_graph graph_copy(const struct hs_graph *graph)
{
    struct hs_graph copy;
    assert_int_equal(
        hs_graph_init(graph->n_nodes, graph->n_tree, graph->target_capacity, &copy, &err), HS_OK);
    memcpy(copy.begin, graph->begin, ((size_t)graph->n_nodes + 1) * sizeof *copy.begin);
    memcpy(copy.target, graph->target, graph->n_edges * sizeof *copy.target);
    copy.n_edges = graph->n_edges;
    return copy;
}

static void check_tree(const struct hs_domtree *tree, const struct hs_domtree *expected)
{
    assert_int_equal(tree->n_nodes, expected->n_nodes);
    assert_int_equal(tree->n_reached, expected->n_reached);
    assert_memory_equal(tree->number, expected->number, tree->n_nodes * sizeof *tree->number);
    assert_memory_equal(tree->idom, expected->idom, tree->n_reached * sizeof *tree->idom);
    assert_int_equal(tree->counts.n_evals, expected->counts.n_evals);
    assert_int_equal(tree->counts.n_logged, expected->counts.n_logged);
}

/* A budget of `room` beside the graph: *ret_peak is what was taken of it, without the graph as long
 * as there was one. Gives all back whatever happens. */
static hs_status run_within(const struct hs_graph *graph, const struct hs_domtree *expected,
                            uint64_t room, uint64_t *ret_peak)
{
    struct hs_graph copy = graph_copy(graph);
    struct hs_domtree tree = {.n_nodes = 77};
    struct hs_budget budget;
    uint64_t n_bytes = hs_graph_bytes(graph->n_nodes, graph->target_capacity);

    hs_budget_init(UINT64_MAX, NULL, 1, &budget);
    budget.limit_bytes = HS_BUDGET_BASE_BYTES + n_bytes + room;
    assert_int_equal(hs_budget_reserve(&budget, n_bytes, "the graph", &err), HS_OK);
    hs_status status = hs_domtree_consume_within(&copy, &budget, NULL, &tree, &err);
    assert_null(copy.begin);
    if (status == HS_OK) {
        check_tree(&tree, expected);
        assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES + 8 * (uint64_t)tree.n_nodes);
        hs_domtree_drop_number(&tree);
        hs_domtree_fini(&tree);
    } else {
        assert_int_equal(tree.n_nodes, 77);
    }
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    assert_true(budget.peak_bytes <= budget.limit_bytes);
    *ret_peak = budget.peak_bytes - HS_BUDGET_BASE_BYTES - n_bytes;
    return status;
}

static struct hs_graph graph_of(uint64_t seed, uint32_t n)
{
    struct hs_random_shape shape = {
        .n_leaves = 1 + n / 50,
        .n_blocks = n,
        .n_edges = n / 2 * (1 + (uint32_t)(seed % 5)),
        .flat = seed % 4 == 0,
        .keep_duplicates = seed % 5 == 0,
        .local = seed % 2 == 0,
    };
    return hs_random_graph(seed + 1, &shape);
}

/* With exactly the room that is enough, nothing is refused and no file is made: the file system's
 * limit forbids it. */
static void test_room_is_enough(void **state)
{
    struct rlimit before, none;
    uint64_t peak;

    assert_int_equal(getrlimit(RLIMIT_NOFILE, &before), 0);
    for (uint64_t seed = 0; seed < 40; seed++) {
        struct hs_graph graph = graph_of(seed, seed % 3 == 0 ? 20000 : 300);
        struct hs_domtree expected = expected_tree(&graph);
        none = before;
        none.rlim_cur = 0;
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &none), 0);
        uint64_t room = hs_domtree_room_bytes(graph.n_nodes, graph.n_edges);
        assert_int_equal(run_within(&graph, &expected, room, &peak), HS_OK);
        assert_int_equal(run_within(&graph, &expected, room - 1, &peak), HS_IO);
        assert_int_equal(setrlimit(RLIMIT_NOFILE, &before), 0);
        hs_domtree_fini(&expected);
        hs_graph_fini(&graph);
    }
}

/* Any room: the same answer, or a refusal. */
static void check_rooms(const struct hs_graph *graph, uint64_t n_steps)
{
    struct hs_domtree expected = expected_tree(graph);
    uint64_t room = hs_domtree_room_bytes(graph->n_nodes, graph->n_edges), peak;
    uint32_t n_refused = 0, n_tight = 0;

    for (uint64_t step = 1; step <= n_steps; step++) {
        hs_status status = run_within(graph, &expected, room - room * step / n_steps, &peak);
        assert_true(status == HS_OK || status == HS_LIMIT);
        n_refused += status != HS_OK;
        n_tight += status == HS_OK;
    }
    assert_true(n_refused >= 1 && n_tight >= 1);
    hs_domtree_fini(&expected);
}

static void test_rooms(void **state)
{
    for (uint64_t seed = 0; seed < 20; seed++) {
        struct hs_graph graph = graph_of(seed, 60000);
        check_rooms(&graph, 12);
        hs_graph_fini(&graph);
    }
}

static void test_small_when_tight(void **state)
{
    uint64_t peak;

    for (uint64_t seed = 0; seed < HS_SEEDS(1500); seed++) {
        struct hs_graph graph = graph_of(seed, 1 + (uint32_t)(seed % 60));
        struct hs_domtree expected = expected_tree(&graph);
        uint64_t room = hs_domtree_room_bytes(graph.n_nodes, graph.n_edges);
        assert_int_equal(run_within(&graph, &expected, room - 1, &peak), HS_OK);
        hs_domtree_fini(&expected);
        hs_graph_fini(&graph);
    }
}

/* Several blocks of log; long paths and long climbs. */
static struct hs_graph deep_graph(uint32_t n, bool has_climbs)
{
    struct hs_edge_list list = {0};
    uint32_t half = n / 2;

    for (uint32_t i = 0; i < half; i++)
        hs_edge_list_add(&list, i, i + 1);
    for (uint32_t i = half + 1; i < n; i++) {
        hs_edge_list_add(&list, half, i);
        hs_edge_list_add(&list, has_climbs ? 1 + i % 97 : 1 + i % half, i);
    }
    for (uint32_t i = 2; !has_climbs && i < half; i++)
        hs_edge_list_add(&list, n - i, i);
    struct hs_graph graph = hs_edge_list_graph(&list, n, 1, false);
    hs_edge_list_fini(&list);
    return graph;
}

static void test_deep(void **state)
{
    for (int i = 0; i < 2; i++) {
        struct hs_graph graph = deep_graph(300000, i == 1);
        check_rooms(&graph, 10);
        hs_graph_fini(&graph);
    }
}

/* What the header promises: a heap of n nodes and 2 n edges with long evaluations. */
static void test_bound(void **state)
{
    struct hs_random_shape shape = {.n_leaves = 1000, .n_blocks = 200000, .n_edges = 400000};
    struct hs_graph graph = hs_random_graph(5, &shape);
    struct hs_domtree expected = expected_tree(&graph);
    uint64_t n = graph.n_nodes, peak, slack = 2 << 20;
    uint64_t room = 17 * n / 2 + 8 * graph.n_edges / 2 + slack;

    assert_true(room < hs_domtree_room_bytes(n, graph.n_edges));
    assert_int_equal(run_within(&graph, &expected, room, &peak), HS_OK);
    hs_domtree_fini(&expected);
    hs_graph_fini(&graph);
}

static void check_allocations(const struct hs_graph *graph, uint64_t room)
{
    struct hs_domtree expected = expected_tree(graph);

    FAIL_EACH (each, .mode = FAIL_BOTH, .at_least = 12) {
        struct hs_graph copy = graph_copy(graph);
        struct hs_domtree tree;
        struct hs_budget budget;
        uint64_t n_bytes = hs_graph_bytes(graph->n_nodes, graph->target_capacity);
        hs_budget_init(UINT64_MAX, NULL, 1, &budget);
        budget.limit_bytes = HS_BUDGET_BASE_BYTES + n_bytes + room;
        assert_int_equal(hs_budget_reserve(&budget, n_bytes, "the graph", &err), HS_OK);
        hs_status status =
            FAIL_EACH_TRY(each, hs_domtree_consume_within(&copy, &budget, NULL, &tree, &err));
        if (status == HS_OK) {
            check_tree(&tree, &expected);
            hs_domtree_fini(&tree);
        }
        assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    }
    hs_domtree_fini(&expected);
}

static void test_every_allocation_fails(void **state)
{
    struct hs_graph graph = deep_graph(40000, true);
    uint64_t room = hs_domtree_room_bytes(graph.n_nodes, graph.n_edges);
    check_allocations(&graph, room);
    check_allocations(&graph, room - 1);
    hs_graph_fini(&graph);
}

/* Files may have so many bytes: each spill that is too long ends the work cleanly. */
static void test_full_disk(void **state)
{
    struct rlimit before, less;
    struct hs_graph graph = deep_graph(40000, false);
    struct hs_domtree expected = expected_tree(&graph);
    uint64_t room = hs_domtree_room_bytes(graph.n_nodes, graph.n_edges), peak;
    uint32_t n_failed = 0, n_done = 0;

    (void)signal(SIGXFSZ, SIG_IGN);
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    for (uint64_t most = 4096; most < 1 << 20; most *= 2) {
        less = before;
        less.rlim_cur = most;
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &less), 0);
        hs_status status = run_within(&graph, &expected, room - 1, &peak);
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
        assert_true(status == HS_OK || status == HS_IO);
        n_failed += status == HS_IO;
        n_done += status == HS_OK;
    }
    assert_true(n_failed > 2 && n_done >= 1);
    hs_domtree_fini(&expected);
    hs_graph_fini(&graph);
}

/* ---- edges in a file ---- */

static hs_status edges_run(const void *context, void (*put)(void *sink, uint32_t from, uint32_t to),
                           void *sink, struct hs_error *error)
{
    const struct hs_graph *graph = context;

    for (uint32_t node = graph->n_nodes; node-- > 0;)
        for (uint32_t e = graph->begin[node]; e < graph->begin[node + 1]; e++)
            put(sink, node, graph->target[e]);
    return HS_OK;
}

/* By node, from 1; 0: not reached. */
static uint32_t *idoms_by_node(const struct hs_domtree *tree)
{
    uint32_t *order, *idoms = NULL;

    assert_int_equal(hs_domtree_order(tree, &order, &err), HS_OK);
    assert_int_equal(HS_ALLOC(&idoms, tree->n_nodes, &err), HS_OK);
    memset(idoms, 0, tree->n_nodes * sizeof *idoms);
    for (uint32_t i = 0; i < tree->n_reached; i++)
        idoms[order[i]] = 1 + order[tree->idom[i]];
    hs_pages_free(order, tree->n_nodes, sizeof *order);
    return idoms;
}

static hs_status run_stored(const struct hs_graph *graph, struct hs_budget *budget,
                            struct hs_domtree *ret)
{
    const struct hs_unit_edge_source edges = {edges_run, graph};
    struct hs_stored_rows rows = {0};

    HS_TRY(hs_stored_rows_make(graph->n_nodes, &edges, budget, "the test", &rows, &err));
    return hs_domtree_consume_stored(&rows, NULL, ret, &err);
}

static void check_stored(struct hs_graph graph)
{
    struct hs_domtree expected = expected_tree(&graph), tree = {0};
    struct hs_budget budget;

    hs_budget_init(UINT64_MAX, NULL, 1, &budget);
    budget.limit_bytes = HS_BUDGET_BASE_BYTES + hs_domtree_stored_bytes(graph.n_nodes);
    if (run_stored(&graph, &budget, &tree) != HS_OK)
        fail_msg("%s", err.message);
    assert_int_equal(tree.n_reached, expected.n_reached);
    uint32_t *idoms = idoms_by_node(&tree), *others = idoms_by_node(&expected);
    assert_memory_equal(idoms, others, graph.n_nodes * sizeof *idoms);
    hs_free(idoms);
    hs_free(others);
    hs_domtree_fini(&tree);
    hs_domtree_fini(&expected);
    hs_graph_fini(&graph);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

/* The bound holds and the dominators are right: rows longer than what is made at a time (all nodes
 * but one in one row, and into one node), many edges to evaluate, long ways and climbs. */
static void test_stored(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(300); seed++)
        check_stored(graph_of(seed, 1 + (uint32_t)(seed % 60)));
    for (uint64_t seed = 0; seed < 6; seed++)
        check_stored(graph_of(seed, 60000));
    for (uint32_t shape = 0; shape < ODD_SHAPES; shape++)
        check_stored(odd_shape(shape, 150000));
    check_stored(deep_graph(150000, false));
    check_stored(deep_graph(150000, true));
}

static void test_stored_allocations_fail(void **state)
{
    struct hs_graph graph = deep_graph(40000, true);

    FAIL_EACH (each, .mode = FAIL_BOTH, .at_least = 12) {
        struct hs_domtree tree = {0};
        struct hs_budget budget;
        hs_budget_init(UINT64_MAX, NULL, 1, &budget);
        budget.limit_bytes = HS_BUDGET_BASE_BYTES + hs_domtree_stored_bytes(graph.n_nodes);
        if (FAIL_EACH_TRY(each, run_stored(&graph, &budget, &tree)) == HS_OK)
            hs_domtree_fini(&tree);
        assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    }
    hs_graph_fini(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_room_is_enough),
        cmocka_unit_test(test_rooms),
        cmocka_unit_test(test_small_when_tight),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_bound),
        cmocka_unit_test(test_every_allocation_fails),
        cmocka_unit_test(test_full_disk),
        cmocka_unit_test(test_stored),
        cmocka_unit_test(test_stored_allocations_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
