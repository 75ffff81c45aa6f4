/* links: hs_dominator hs_graph */
#include "dominator/dominators.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "graph/pages.h"
#include "lengauer_tarjan.h"
#include "seeds.h"

static struct hs_error err;

/* Immediate dominators by node; HS_NONE for node 0 and what is not reached. */
static uint32_t *idoms_by_node(const struct hs_domtree *tree)
{
    uint32_t *order;
    void *memory;
    assert_int_equal(hs_domtree_order(tree, &order, &err), HS_OK);
    assert_int_equal(hs_alloc(tree->n_nodes, sizeof(uint32_t), &memory, &err), HS_OK);
    uint32_t *idom = memory;
    for (uint32_t i = 0; i < tree->n_nodes; i++)
        idom[i] = HS_NONE;
    for (uint32_t i = 1; i < tree->n_reached; i++)
        idom[order[i]] = order[tree->idom[i]];
    hs_pages_free(order, tree->n_nodes, sizeof(uint32_t));
    return idom;
}

/* What node 0 reaches without `removed` (HS_NONE: nothing is removed). */
static void reach_without(const struct hs_graph *graph, uint32_t removed, bool *reached)
{
    uint32_t stack[256], n = 0;
    assert_true(graph->n_nodes <= 256);
    memset(reached, 0, graph->n_nodes);
    if (removed == 0)
        return;
    reached[0] = true;
    stack[n++] = 0;
    while (n != 0) {
        uint32_t degree;
        const uint32_t *row = hs_graph_row(graph, stack[--n], &degree);
        for (uint32_t i = 0; i < degree; i++) {
            if (row[i] == removed || reached[row[i]])
                continue;
            reached[row[i]] = true;
            stack[n++] = row[i];
        }
    }
}

/* Deletes each node in turn: u dominates exactly what is then no longer reached, and idom(v) is
 * the dominator of v that all others dominate, the one with the most dominators itself. */
static void check_brute_force(const struct hs_graph *graph, const uint32_t *idom)
{
    static bool dominates[256][256];
    bool reached[256], now[256];
    uint32_t n = graph->n_nodes, n_dominators[256] = {0};

    reach_without(graph, HS_NONE, reached);
    for (uint32_t u = 0; u < n; u++) {
        reach_without(graph, u, now);
        for (uint32_t v = 0; v < n; v++) {
            dominates[u][v] = u != v && reached[u] && reached[v] && !now[v];
            n_dominators[v] += dominates[u][v];
        }
    }
    for (uint32_t v = 0; v < n; v++) {
        uint32_t best = HS_NONE;
        for (uint32_t u = 0; u < n; u++)
            if (dominates[u][v] && (best == HS_NONE || n_dominators[u] > n_dominators[best]))
                best = u;
        assert_int_equal(idom[v], best);
    }
}

static void check_small(uint64_t seed, const struct hs_random_shape *shape)
{
    struct hs_graph graph = hs_random_graph(seed, shape);
    struct hs_domtree tree, oracle;

    assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(hs_lengauer_tarjan(&graph, &oracle, &err), HS_OK);
    uint32_t *idom = idoms_by_node(&tree), *expected = idoms_by_node(&oracle);
    check_brute_force(&graph, idom);
    assert_memory_equal(idom, expected, graph.n_nodes * sizeof(uint32_t));
    hs_free(idom);
    hs_free(expected);
    hs_domtree_fini(&tree);
    hs_domtree_fini(&oracle);
    hs_graph_fini(&graph);
}

static void test_brute_force(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(6000); seed++) {
        struct hs_random_shape shape = {
            .n_leaves = 1 + (uint32_t)(seed % 9),
            .n_blocks = 1 + (uint32_t)(seed % 41),
            .n_edges = (uint32_t)(seed % 83),
            .flat = seed % 3 == 0,
            .keep_duplicates = seed % 4 == 0,
            .local = seed % 2 == 0,
        };
        check_small(seed, &shape);
    }
}

/* Graphs that are no heaps: blocks point at tree nodes, tree nodes at blocks and at each other. */
static void test_untidy_trees(void **state)
{
    for (uint64_t seed = 1; seed < HS_SEEDS(3000); seed++) {
        uint64_t random = seed;
        uint32_t n = 3 + hs_random_below(&random, 30), n_tree = 1 + hs_random_below(&random, n);
        struct hs_edge_list list = {0};
        struct hs_domtree tree;
        for (uint32_t i = 0; i < 2 * n; i++)
            hs_edge_list_add(&list, hs_random_below(&random, n), hs_random_below(&random, n));
        struct hs_graph graph = hs_edge_list_graph(&list, n, n_tree, seed % 2 == 0);
        assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
        uint32_t *idom = idoms_by_node(&tree);
        check_brute_force(&graph, idom);
        hs_free(idom);
        hs_domtree_fini(&tree);
        hs_graph_fini(&graph);
        hs_edge_list_fini(&list);
    }
}

static void check_against_oracle(const struct hs_graph *graph)
{
    struct hs_domtree tree, oracle;
    assert_int_equal(hs_domtree_build(graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(hs_lengauer_tarjan(graph, &oracle, &err), HS_OK);
    assert_int_equal(tree.n_reached, oracle.n_reached);
    uint32_t *idom = idoms_by_node(&tree), *expected = idoms_by_node(&oracle);
    assert_memory_equal(idom, expected, graph->n_nodes * sizeof(uint32_t));
    hs_free(idom);
    hs_free(expected);
    hs_domtree_fini(&tree);
    hs_domtree_fini(&oracle);
}

static void test_oracle(void **state)
{
    static const uint32_t sizes[] = {10000, 60000, 300000};
    for (uint64_t seed = 0; seed < 12; seed++) {
        struct hs_random_shape shape = {
            .n_leaves = sizes[seed % 3] / 50,
            .n_blocks = sizes[seed % 3],
            .n_edges = sizes[seed % 3] / 2 * (1 + (uint32_t)(seed % 5)),
            .flat = seed % 4 == 0,
            .keep_duplicates = seed % 5 == 0,
            .local = seed % 2 == 0,
        };
        struct hs_graph graph = hs_random_graph(seed + 100, &shape);
        check_against_oracle(&graph);
        hs_graph_fini(&graph);
    }
}

/* Shapes on which engines that climb become quadratic: n nodes, node 0 the root. */
static void adversarial(struct hs_edge_list *list, int shape, uint32_t n)
{
    uint32_t half = n / 2;
    switch (shape) {
    case 0: /* a long list whose last cell holds an array; the root holds each element, too */
    case 1: /* its first 97 cells hold them */
        for (uint32_t i = 0; i < half; i++)
            hs_edge_list_add(list, i, i + 1);
        for (uint32_t i = half + 1; i < n; i++) {
            hs_edge_list_add(list, half, i);
            hs_edge_list_add(list, shape == 0 ? 0 : 1 + i % 97, i);
        }
        break;
    case 2: /* a doubly linked list with a pointer to its tail */
        hs_edge_list_add(list, 0, 1);
        hs_edge_list_add(list, 0, n - 1);
        for (uint32_t i = 1; i + 1 < n; i++) {
            hs_edge_list_add(list, i, i + 1);
            hs_edge_list_add(list, i + 1, i);
        }
        break;
    case 3: /* a list whose every cell points at one string */
        for (uint32_t i = 0; i + 2 < n; i++) {
            hs_edge_list_add(list, i, i + 1);
            hs_edge_list_add(list, i, n - 1);
        }
        break;
    case 4: /* an irreducible ladder with back edges */
        hs_edge_list_add(list, 0, 1);
        hs_edge_list_add(list, 0, half);
        hs_edge_list_add(list, 0, n - 1);
        for (uint32_t i = 1; i + 3 < n; i++) {
            hs_edge_list_add(list, i, i + 1);
            hs_edge_list_add(list, i, i + 2);
            if (i > 2)
                hs_edge_list_add(list, i, i - 2);
        }
        break;
    default: /* two lists of the same elements, the second in the opposite order */
        n--;
        for (uint32_t i = 0; i < n / 3; i++) {
            hs_edge_list_add(list, i == 0 ? 0 : i, i + 1);
            hs_edge_list_add(list, i == 0 ? 0 : n / 3 + i, n / 3 + i + 1);
            hs_edge_list_add(list, i + 1, 2 * (n / 3) + 1 + i);
            hs_edge_list_add(list, n / 3 + i + 1, 2 * (n / 3) + n / 3 - i);
        }
    }
}

static void test_adversarial(void **state)
{
    for (int shape = 0; shape < 6; shape++) {
        struct hs_edge_list list = {0};
        struct hs_domtree tree;
        uint32_t n = 300000;
        adversarial(&list, shape, n);
        struct hs_graph graph = hs_edge_list_graph(&list, n, 1, false);
        check_against_oracle(&graph);
        assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
        /* Steps, not seconds, so that a slow machine does not fail: quadratic would be 10^9. */
        assert_true(tree.counts.n_climbed < 40ULL * n);
        assert_true(tree.counts.n_evals < 3ULL * n);
        hs_domtree_fini(&tree);
        hs_graph_fini(&graph);
        hs_edge_list_fini(&list);
    }
}

static void test_garbage_changes_nothing(void **state)
{
    struct hs_edge_list list = {0};
    struct hs_domtree tree;
    /* 0 -> 1 -> 2 -> 3; 4 and 5 are not reached and point everywhere. */
    static const uint32_t ends[][2] = {{0, 1}, {1, 2}, {2, 3}, {4, 1},
                                       {4, 3}, {5, 3}, {4, 5}, {5, 5}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        hs_edge_list_add(&list, ends[i][0], ends[i][1]);
    struct hs_graph graph = hs_edge_list_graph(&list, 6, 1, false);
    assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(tree.n_reached, 4);
    assert_int_equal(tree.number[4], 0);
    assert_int_equal(tree.number[5], 0);
    uint32_t *idom = idoms_by_node(&tree);
    for (uint32_t i = 1; i < 4; i++)
        assert_int_equal(idom[i], i - 1);
    hs_free(idom);
    hs_domtree_fini(&tree);
    hs_graph_fini(&graph);
    hs_edge_list_fini(&list);
}

static bool refuse(void *context, const char *phase, uint64_t done, uint64_t total)
{
    (void)phase, (void)done, (void)total;
    return --*(int *)context > 0;
}

static void test_interrupted(void **state)
{
    struct hs_random_shape shape = {.n_leaves = 5, .n_blocks = 50, .n_edges = 99};
    struct hs_graph graph = hs_random_graph(1, &shape);
    for (int at = 1; at <= 2; at++) {
        int left = at;
        struct hs_progress progress = {refuse, &left};
        struct hs_domtree tree = {.n_nodes = 77};
        assert_int_equal(hs_domtree_build(&graph, &progress, &tree, &err), HS_LIMIT);
        assert_int_equal(tree.n_nodes, 77);
    }
    hs_graph_fini(&graph);
}

static void test_every_allocation_fails(void **state)
{
    struct hs_random_shape shape = {.n_leaves = 5, .n_blocks = 200, .n_edges = 600};
    struct hs_graph graph = hs_random_graph(3, &shape);
    struct hs_domtree tree;
    uint64_t before = hs_alloc_count();
    assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
    uint64_t n = hs_alloc_count() - before;
    hs_domtree_fini(&tree);
    assert_true(n > 10);
    for (uint64_t nth = 1; nth <= n; nth++) {
        hs_alloc_fail_at(nth, false);
        assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_LIMIT);
        hs_alloc_fail_at(nth, true);
        assert_int_equal(hs_lengauer_tarjan(&graph, &tree, &err), nth <= 12 ? HS_LIMIT : HS_OK);
        hs_alloc_fail_at(0, false);
        if (nth > 12)
            hs_domtree_fini(&tree);
    }
    hs_graph_fini(&graph);
}

static void test_single_node(void **state)
{
    struct hs_edge_list list = {0};
    struct hs_graph graph = hs_edge_list_graph(&list, 1, 1, false);
    struct hs_domtree tree;
    assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(tree.n_reached, 1);
    assert_int_equal(tree.idom[0], 0);
    hs_domtree_fini(&tree);
    hs_graph_fini(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_node), cmocka_unit_test(test_garbage_changes_nothing),
        cmocka_unit_test(test_brute_force), cmocka_unit_test(test_untidy_trees),
        cmocka_unit_test(test_oracle),      cmocka_unit_test(test_adversarial),
        cmocka_unit_test(test_interrupted), cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
