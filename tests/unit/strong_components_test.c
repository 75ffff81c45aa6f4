/* links: hs_dominator hs_graph */
#include "dominator/strong_components.h"

#include <setjmp.h>
#include <stdarg.h>
#include <string.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "edge_list.h"

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
    (void)state;
    for (uint64_t seed = 0; seed < 3000; seed++) {
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
    (void)state;
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

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_random), cmocka_unit_test(test_deep)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
