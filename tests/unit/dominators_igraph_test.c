/* links: hs_dominator hs_graph */
#include "unit.h"

#ifdef HS_HAVE_IGRAPH
#pragma GCC diagnostic push
#pragma GCC diagnostic ignored "-Wconversion"
#pragma GCC diagnostic ignored "-Wstrict-prototypes"
#include <igraph.h>
#pragma GCC diagnostic pop

#include "dominator/dominators.h"
#include "edge_list.h"
#include "graph/pages.h"

static struct hs_error err;

static void igraph_idoms(const struct hs_graph *graph, igraph_vector_int_t *ret)
{
    igraph_vector_int_t ends;
    igraph_t g;

    assert_int_equal(igraph_vector_int_init(&ends, (igraph_integer_t)graph->n_edges * 2), 0);
    for (uint32_t u = 0; u < graph->n_nodes; u++)
        for (uint32_t e = graph->begin[u]; e < graph->begin[u + 1]; e++) {
            VECTOR(ends)[2 * (size_t)e] = u;
            VECTOR(ends)[2 * (size_t)e + 1] = graph->target[e];
        }
    assert_int_equal(igraph_create(&g, &ends, graph->n_nodes, true), 0);
    assert_int_equal(igraph_vector_int_init(ret, 0), 0);
    assert_int_equal(igraph_dominator_tree(&g, 0, ret, NULL, NULL, IGRAPH_OUT), 0);
    igraph_vector_int_destroy(&ends);
    igraph_destroy(&g);
}

static void check(uint64_t seed, uint32_t n)
{
    struct hs_random_shape shape = {
        .n_leaves = n / 40 + 1,
        .n_blocks = n,
        .n_edges = n / 2 * (1 + (uint32_t)(seed % 4)),
        .flat = seed % 3 == 0,
        .local = seed % 2 == 0,
    };
    struct hs_graph graph = hs_random_graph(seed, &shape);
    struct hs_domtree tree;
    igraph_vector_int_t expected;
    uint32_t *order;

    igraph_idoms(&graph, &expected);
    assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(hs_domtree_order(&tree, &order, &err), HS_OK);
    for (uint32_t i = 1; i < tree.n_reached; i++)
        assert_int_equal(VECTOR(expected)[order[i]], order[tree.idom[i]]);
    for (uint32_t v = 1; v < graph.n_nodes; v++)
        assert_int_equal(tree.number[v] == 0, VECTOR(expected)[v] < 0);
    hs_pages_free(order, tree.n_nodes, sizeof *order);
    igraph_vector_int_destroy(&expected);
    hs_domtree_fini(&tree);
    hs_graph_fini(&graph);
}

static void test_equal(void **state)
{
    for (uint64_t seed = 0; seed < 60; seed++)
        check(seed, 500);
    check(101, 60000);
    check(102, 60000);
    check(103, 300000);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_equal)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
#else
int main(void)
{
    (void)fprintf(stderr, "skipped: built without igraph (libigraph-dev)\n");
    return 77;
}
#endif
