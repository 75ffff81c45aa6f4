/* links: hs_dominator hs_graph */
#include "dominator/strong_components.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "seeds.h"

static struct hs_error err;

enum { MAX_NODES = 64 };

/* Two nodes share a component when each reaches the other; edges never lead upward. */
static void check(const struct hs_graph *graph)
{
    static bool reaches[MAX_NODES][MAX_NODES];
    struct strong_components found;
    uint32_t n = graph->n_nodes;

    memset(reaches, 0, sizeof reaches);
    for (uint32_t u = 0; u < n; u++) {
        reaches[u][u] = true;
        for (uint32_t e = graph->begin[u]; e < graph->begin[u + 1]; e++)
            reaches[u][graph->target[e]] = true;
    }
    for (uint32_t k = 0; k < n; k++)
        for (uint32_t u = 0; u < n; u++)
            for (uint32_t v = 0; v < n; v++)
                reaches[u][v] |= reaches[u][k] && reaches[k][v];
    assert_int_equal(strong_components_find(graph, &found, &err), HS_OK);
    for (uint32_t u = 0; u < n; u++) {
        assert_int_equal(found.of[u] == HS_NONE, !reaches[0][u]);
        if (!reaches[0][u])
            continue;
        assert_true(found.of[u] < found.n_components);
        for (uint32_t v = 0; v < n; v++) {
            if (!reaches[u][v])
                continue;
            assert_int_equal(found.of[u] == found.of[v], reaches[v][u]);
            assert_true(found.of[v] <= found.of[u]);
        }
    }
    strong_components_fini(&found);
}

static void test_random(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(3000); seed++) {
        struct hs_random_shape shape = {.n_leaves = 1 + (uint32_t)(seed % 6),
                                        .n_blocks = 1 + (uint32_t)(seed % 40),
                                        .n_edges = (uint32_t)(seed % 70),
                                        .flat = seed % 2 == 0,
                                        .keep_duplicates = seed % 5 == 0};
        struct hs_graph graph = hs_random_graph(seed, &shape);
        check(&graph);
        hs_graph_fini(&graph);
    }
}

/* A ring of a million nodes is one component, a list as many as it has cells: no stack runs out. */
static void test_deep(void **state)
{
    enum { N = 1000000 };
    for (int is_ring = 0; is_ring < 2; is_ring++) {
        struct hs_edge_list list = {0};
        struct strong_components found;
        for (uint32_t i = 0; i + 1 < N; i++)
            hs_edge_list_add(&list, i, i + 1);
        if (is_ring)
            hs_edge_list_add(&list, N - 1, 0);
        struct hs_graph graph = hs_edge_list_graph(&list, N, 1, false);
        assert_int_equal(strong_components_find(&graph, &found, &err), HS_OK);
        assert_int_equal(found.n_components, is_ring ? 1 : N);
        strong_components_fini(&found);
        hs_graph_fini(&graph);
        hs_edge_list_fini(&list);
    }
}

static hs_status edges_run(const void *context, void (*put)(void *sink, uint32_t from, uint32_t to),
                           void *sink, struct hs_error *error)
{
    const struct hs_graph *graph = context;

    for (uint32_t node = 0; node < graph->n_nodes; node++)
        for (uint32_t e = graph->begin[node]; e < graph->begin[node + 1]; e++)
            put(sink, node, graph->target[e]);
    return HS_OK;
}

/* Rows in a file are searched in the same order. */
static void test_stored(void **state)
{
    for (uint64_t seed = 0; seed < 60; seed++) {
        struct hs_random_shape shape = {.n_leaves = 3,
                                        .n_blocks = seed % 20 == 0 ? 60000 : 50,
                                        .n_edges = seed % 20 == 0 ? 90000 : 80};
        struct hs_graph graph = hs_random_graph(seed, &shape);
        const struct hs_unit_edge_source edges = {edges_run, &graph};
        struct strong_components expected, found;
        struct hs_stored_rows rows;
        struct hs_budget budget;
        hs_budget_init(UINT64_MAX, NULL, 1, &budget);
        budget.limit_bytes =
            HS_BUDGET_BASE_BYTES + 4 * (uint64_t)graph.n_nodes + 3 * HS_STORED_LEAST_BYTES;
        assert_int_equal(strong_components_find(&graph, &expected, &err), HS_OK);
        assert_int_equal(
            hs_stored_rows_make(graph.n_nodes, &edges, &budget, "the test", &rows, &err), HS_OK);
        assert_int_equal(hs_stored_rows_open(&rows, 0, &err), HS_OK);
        assert_int_equal(strong_components_stored(&rows, &found, &err), HS_OK);
        assert_int_equal(found.n_components, expected.n_components);
        assert_memory_equal(found.of, expected.of, graph.n_nodes * sizeof *found.of);
        hs_stored_rows_fini(&rows);
        assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
        strong_components_fini(&found);
        strong_components_fini(&expected);
        hs_graph_fini(&graph);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_deep),
                                       cmocka_unit_test(test_stored)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
