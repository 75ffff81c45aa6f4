/* links: hs_dominator hs_graph */
#include "dominator/reachable.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "fail_each.h"
#include "graph/pages.h"
#include "seeds.h"

static struct hs_error err;

static struct hs_weights random_weights(const struct hs_graph *graph, uint64_t seed)
{
    struct hs_weights weights;
    uint64_t random = seed + 99;
    assert_int_equal(hs_weights_init(graph->n_nodes, graph->n_tree, &weights, &err), HS_OK);
    for (uint32_t i = graph->n_tree; i < graph->n_nodes; i++) {
        uint64_t words = 1 + hs_random_below(&random, 1000);
        if (hs_random_below(&random, 500) == 0)
            words = UINT32_MAX - 1 + (uint64_t)hs_random_below(&random, 5);
        bool is_static = hs_random_below(&random, 4) == 0;
        assert_int_equal(hs_weights_set(&weights, i, words, is_static, &err), HS_OK);
    }
    return weights;
}

/* One traversal from one tree node; edges from node 0 to blocks are not followed. */
static struct hs_sizes naive(const struct hs_graph *graph, const struct hs_weights *weights,
                             uint32_t root, uint32_t *seen, uint32_t *stack)
{
    struct hs_sizes sum = {0};
    uint32_t n = 0;
    stack[n++] = root;
    seen[root] = root + 1;
    while (n != 0) {
        uint32_t node = stack[--n], degree;
        const uint32_t *row = hs_graph_row(graph, node, &degree);
        struct hs_sizes sizes = hs_weights_of(weights, node);
        hs_sizes_add(&sum, &sizes);
        for (uint32_t i = 0; i < degree; i++) {
            if (seen[row[i]] == root + 1 || (node == 0 && row[i] >= graph->n_tree))
                continue;
            seen[row[i]] = root + 1;
            stack[n++] = row[i];
        }
    }
    return sum;
}

static hs_status find(const struct hs_graph *graph, const struct hs_domtree *tree,
                      const struct hs_weights *weights, struct hs_sizes **ret)
{
    const struct hs_row_source source = {.graph = graph};
    const struct hs_reachable_task task = {.source = &source, .tree = tree, .weights = weights};
    return hs_reachable_find(&task, NULL, ret, &err);
}

static void check_naive(const struct hs_graph *graph, uint64_t seed)
{
    struct hs_weights weights = random_weights(graph, seed);
    struct hs_domtree tree;
    struct hs_sizes *found;
    void *seen, *stack;

    assert_int_equal(hs_alloc(graph->n_nodes, sizeof(uint32_t), &seen, &err), HS_OK);
    assert_int_equal(hs_alloc(graph->n_nodes, sizeof(uint32_t), &stack, &err), HS_OK);
    assert_int_equal(hs_domtree_build(graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(find(graph, &tree, &weights, &found), HS_OK);
    for (uint32_t i = 0; i < graph->n_tree; i++) {
        struct hs_sizes expected = naive(graph, &weights, i, seen, stack);
        assert_memory_equal(&found[i], &expected, sizeof expected);
    }
    hs_free(seen);
    hs_free(stack);
    hs_free(found);
    hs_domtree_fini(&tree);
    hs_weights_fini(&weights);
}

static void test_small(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(4000); seed++) {
        struct hs_random_shape shape = {
            .n_leaves = 1 + (uint32_t)(seed % 23),
            .n_blocks = 1 + (uint32_t)(seed % 37),
            .n_edges = (uint32_t)(seed % 71),
            .keep_duplicates = seed % 4 == 0,
            .local = seed % 2 == 0,
        };
        struct hs_graph graph = hs_random_graph(seed, &shape);
        check_naive(&graph, seed);
        hs_graph_fini(&graph);
    }
}

static void test_heads_are_not_followed(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(2000); seed++) {
        struct hs_random_shape shape = {.n_leaves = 1 + (uint32_t)(seed % 9),
                                        .n_blocks = 2 + (uint32_t)(seed % 37),
                                        .n_edges = (uint32_t)(seed % 61)};
        struct hs_graph plain = hs_random_graph(seed, &shape);
        struct hs_graph graph = hs_held_graph(&plain, seed, 1 + (uint32_t)(seed % 5));
        check_naive(&graph, seed);
        hs_graph_fini(&plain);
        hs_graph_fini(&graph);
    }
}

/* Large enough that most roots travel together, sparse enough that they reach different things. */
static void test_many_roots(void **state)
{
    for (uint64_t seed = 0; seed < 6; seed++) {
        struct hs_random_shape shape = {
            .n_leaves = 1500,
            .n_blocks = 20000,
            .n_edges = 14000 + 5000 * (uint32_t)seed,
            .local = seed % 2 == 0,
        };
        struct hs_graph graph = hs_random_graph(seed + 5, &shape);
        check_naive(&graph, seed);
        hs_graph_fini(&graph);
    }
}

/* A long list into every 7th cell of which a root points, and one that is held from its end. No
 * cycle, a different answer for each root. */
static void test_roots_along_a_list(void **state)
{
    enum { LEAVES = 900, CELLS = LEAVES * 7, FIRST = LEAVES + 1 };
    struct hs_edge_list list = {0};
    for (uint32_t i = 0; i < LEAVES; i++) {
        hs_edge_list_add(&list, 0, 1 + i);
        hs_edge_list_add(&list, 1 + i, FIRST + 7 * i);
    }
    for (uint32_t i = 0; i + 1 < CELLS; i++)
        hs_edge_list_add(&list, FIRST + i, FIRST + i + 1);
    struct hs_graph graph = hs_edge_list_graph(&list, FIRST + CELLS, FIRST, false);
    check_naive(&graph, 3);
    hs_graph_fini(&graph);
    hs_edge_list_fini(&list);
}

/* A directed acyclic graph of random edges forward: sets of roots differ nearly everywhere, so a
 * pass has more sets than it keeps and is done again with fewer bits. */
static void test_sets_that_differ(void **state)
{
    enum { LEAVES = 2000, BLOCKS = 30000, FIRST = LEAVES + 1 };
    struct hs_edge_list list = {0};
    uint64_t random = 5;
    for (uint32_t i = 0; i < LEAVES; i++) {
        hs_edge_list_add(&list, 0, 1 + i);
        hs_edge_list_add(&list, 1 + i, FIRST + i);
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        for (uint32_t k = 0; k < 2 && i + 1 < BLOCKS; k++) {
            uint32_t span = BLOCKS - i - 1 < 3000 ? BLOCKS - i - 1 : 3000;
            hs_edge_list_add(&list, FIRST + i, FIRST + i + 1 + hs_random_below(&random, span));
        }
    struct hs_graph graph = hs_edge_list_graph(&list, FIRST + BLOCKS, FIRST, false);
    check_naive(&graph, 11);
    hs_graph_fini(&graph);
    hs_edge_list_fini(&list);
}

static void test_no_blocks(void **state)
{
    struct hs_edge_list list = {0};
    struct hs_sizes zero = {0}, *found;
    struct hs_weights weights;
    struct hs_domtree tree;
    hs_edge_list_add(&list, 0, 1);
    struct hs_graph graph = hs_edge_list_graph(&list, 2, 2, false);
    assert_int_equal(hs_weights_init(2, 2, &weights, &err), HS_OK);
    assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(find(&graph, &tree, &weights, &found), HS_OK);
    assert_memory_equal(&found[0], &zero, sizeof zero);
    assert_memory_equal(&found[1], &zero, sizeof zero);
    hs_free(found);
    hs_domtree_fini(&tree);
    hs_weights_fini(&weights);
    hs_graph_fini(&graph);
    hs_edge_list_fini(&list);
}

static void test_every_allocation_fails(void **state)
{
    struct hs_random_shape shape = {.n_leaves = 300, .n_blocks = 9000, .n_edges = 12000};
    struct hs_graph graph = hs_random_graph(8, &shape);
    struct hs_weights weights = random_weights(&graph, 1);
    struct hs_domtree tree;
    struct hs_sizes *found = NULL;
    assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
    FAIL_EACH (each, .at_least = 20) {
        (void)FAIL_EACH_TRY(each, find(&graph, &tree, &weights, &found));
        assert_true((found == NULL) == (each.status != HS_OK));
    }
    hs_free(found);
    hs_domtree_fini(&tree);
    hs_weights_fini(&weights);
    hs_graph_fini(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_no_blocks),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_heads_are_not_followed),
        cmocka_unit_test(test_many_roots),
        cmocka_unit_test(test_roots_along_a_list),
        cmocka_unit_test(test_sets_that_differ),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
