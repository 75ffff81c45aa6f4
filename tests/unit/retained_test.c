/* links: hs_dominator hs_graph */
#include "dominator/retained.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "seeds.h"

static struct hs_error err;

enum { MAX_NODES = 128 };

static uint64_t reach(const struct hs_graph *graph, const struct hs_weights *weights,
                      enum hs_dimension dimension, uint32_t removed)
{
    bool seen[MAX_NODES] = {0};
    uint32_t stack[MAX_NODES], n = 0;
    uint64_t sum = 0;
    if (removed == 0)
        return 0;
    seen[0] = true;
    stack[n++] = 0;
    while (n != 0) {
        uint32_t node = stack[--n], degree;
        const uint32_t *row = hs_graph_row(graph, node, &degree);
        sum += hs_weights_in(weights, node, dimension);
        for (uint32_t i = 0; i < degree; i++)
            if (!seen[row[i]] && row[i] != removed) {
                seen[row[i]] = true;
                stack[n++] = row[i];
            }
    }
    return sum;
}

/* What the sparse sums say must be what the others say. */
static void check_static(const struct hs_domtree *tree, const struct hs_weights *weights,
                         enum hs_dimension dimension, const struct hs_retained *sum)
{
    struct hs_retained_static sparse;
    assert_int_equal(hs_retained_static_sum(tree, weights, dimension, &sparse, &err), HS_OK);
    for (uint32_t i = 0; i < tree->n_reached; i++) {
        bool has = hs_bitmap_get(&sparse.has, i);
        uint64_t value = has ? sparse.sum[hs_bitmap_rank(&sparse.has, i)] : 0;
        assert_true(value == hs_retained_at(sum, i));
        assert_true(has == (value != 0));
    }
    hs_retained_static_fini(&sparse);
}

static void check(const struct hs_graph *graph, const struct hs_weights *weights)
{
    struct hs_domtree tree;
    assert_int_equal(hs_domtree_build(graph, NULL, &tree, &err), HS_OK);
    for (unsigned dimension = 0; dimension < HS_N_DIMENSIONS; dimension++) {
        struct hs_retained sum;
        uint64_t all = reach(graph, weights, dimension, HS_NONE);
        assert_int_equal(hs_retained_sum(&tree, weights, dimension, &sum, &err), HS_OK);
        for (uint32_t v = 0; v < graph->n_nodes; v++)
            if (tree.number[v] != 0)
                assert_true(hs_retained_at(&sum, tree.number[v] - 1) ==
                            all - reach(graph, weights, dimension, v));
        if (dimension == HS_DIM_STATIC_WORDS || dimension == HS_DIM_STATIC_OBJECTS)
            check_static(&tree, weights, dimension, &sum);
        hs_retained_fini(&sum);
    }
    hs_domtree_fini(&tree);
}

/* What is lost by deleting each node in turn, on random graphs with garbage. */
static void test_brute_force(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(3000); seed++) {
        struct hs_random_shape shape = {.n_leaves = 1 + (uint32_t)(seed % 8),
                                        .n_blocks = 1 + (uint32_t)(seed % 60),
                                        .n_edges = (uint32_t)(seed % 101),
                                        .flat = seed % 3 == 0,
                                        .local = seed % 2 == 0};
        struct hs_graph graph = hs_random_graph(seed, &shape);
        struct hs_weights weights;
        uint64_t random = seed + 1;
        assert_true(graph.n_nodes <= MAX_NODES);
        assert_int_equal(hs_weights_init(graph.n_nodes, graph.n_tree, &weights, &err), HS_OK);
        for (uint32_t i = graph.n_tree; i < graph.n_nodes; i++) {
            uint64_t words =
                1 + ((uint64_t)hs_random_below(&random, 9) << (i % (seed % 2 ? 40 : 8)));
            assert_int_equal(
                hs_weights_set(&weights, i, words, hs_random_below(&random, 3) == 0, &err), HS_OK);
        }
        check(&graph, &weights);
        hs_weights_fini(&weights);
        hs_graph_fini(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_brute_force)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
