/* links: hs_graph hs_format */
#include "fail_each.h"
#include "graph/graph.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "graph_builder.h"
#include "seeds.h"

static struct hs_error err;

static void check_row(const struct hs_graph *graph, hs_node node, uint32_t n,
                      const hs_node *expected)
{
    uint32_t found;
    const uint32_t *row = hs_graph_row(graph, (uint32_t)node, &found);
    assert_int_equal(found, n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(row[i], expected[i]);
}

/* Four blocks: 0 -> 1 twice, 0 -> 0, 0 -weak-> 2, 1 -ephemeron-> 3 and 0, 1 -> 3 strongly. */
static struct hs_snap *small(struct hs_graph_builder *b, uint32_t *leaf, uint32_t *weak_leaf)
{
    hs_graph_builder_small(b, leaf, weak_leaf);
    hs_graph_builder_edge(b, 1, 3, HS_EDGE_EXACT);
    return hs_graph_builder_open(b);
}

static void test_load(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_graph graph;
    uint32_t leaf, weak_leaf;
    struct hs_snap *snap = small(&b, &leaf, &weak_leaf);
    hs_node block[4];
    for (uint32_t i = 0; i < 4; i++)
        block[i] = hs_graph_builder_node(&b, i);
    for (int strong = 0; strong < 2; strong++) {
        enum hs_graph_edges edges = strong ? HS_GRAPH_STRONG : HS_GRAPH_RETAINING;
        assert_int_equal(hs_graph_load(snap, edges, NULL, &graph, &err), HS_OK);
        assert_int_equal(graph.n_tree, hs_graph_builder_n_tree(&b));
        assert_int_equal(graph.n_nodes, graph.n_tree + 4);
        check_row(&graph, block[0], 2, (hs_node[]){block[0], block[1]});
        if (strong)
            check_row(&graph, block[1], 1, (hs_node[]){block[3]});
        else
            check_row(&graph, block[1], 2, (hs_node[]){block[0], block[3]});
        check_row(&graph, block[2], 0, NULL);
        check_row(&graph, hs_graph_builder_leaf_node(&b, leaf), 1, (hs_node[]){block[0]});
        check_row(&graph, hs_graph_builder_leaf_node(&b, weak_leaf), 0, NULL);
        assert_int_equal(graph.n_edges, graph.begin[graph.n_nodes]);
        hs_graph_fini(&graph);
    }
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

/* Every tree node but the first has one predecessor, its parent, and stands behind it. */
static void test_tree_edges(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_graph graph, reverse;
    (void)hs_graph_builder_blocks(&b, 10, 3);
    for (uint32_t i = 0; i < 30; i++) {
        static const char *const modules[] = {"a", "b"}, *const units[] = {"U", "V", "W"};
        (void)hs_graph_builder_leaf(&b, i % 2 ? HS_ROOT_GLOBAL : HS_ROOT_STACK, modules[i % 2],
                                    units[i % 3], "x", i % 10);
    }
    struct hs_snap *snap = hs_graph_builder_open(&b);
    assert_int_equal(hs_graph_load(snap, HS_GRAPH_STRONG, NULL, &graph, &err), HS_OK);
    assert_int_equal(hs_graph_reverse(&graph, &reverse, &err), HS_OK);
    for (uint32_t i = 0; i < graph.n_tree; i++) {
        uint32_t n;
        const uint32_t *row = hs_graph_row(&reverse, i, &n);
        assert_int_equal(n, i == 0 ? 0 : 1);
        if (i != 0)
            assert_int_equal(row[0], hs_snap_root(snap, i)->parent);
    }
    hs_graph_fini(&graph);
    hs_graph_fini(&reverse);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

/* More blocks than one chunk, edges across chunks; against the list that they were made from. */
static void test_many_chunks(void **state)
{
    enum { N = 3 * HS_CHUNK_BLOCKS + 17 };
    struct hs_graph_builder b = {0};
    struct hs_edge_list list = {0};
    struct hs_graph graph;
    uint64_t random = 9;
    (void)hs_graph_builder_blocks(&b, N, 2);
    uint32_t leaf = hs_graph_builder_leaf(&b, HS_ROOT_GLOBAL, "m", "U", "x", 5);
    hs_node first = hs_graph_builder_node(&b, 0);
    for (uint32_t i = 0; i < N; i++) {
        uint32_t source = hs_random_below(&random, N), target = hs_random_below(&random, N);
        hs_graph_builder_edge(&b, source, target, HS_EDGE_EXACT);
        hs_edge_list_add(&list, (uint32_t)first + source, (uint32_t)first + target);
    }
    for (uint32_t i = 1; i < first; i++)
        hs_edge_list_add(&list, i - 1, i); /* all -> kind -> module -> unit -> leaf */
    hs_edge_list_add(&list, (uint32_t)hs_graph_builder_leaf_node(&b, leaf), (uint32_t)first + 5);
    struct hs_graph expected =
        hs_edge_list_graph(&list, (uint32_t)first + N, (uint32_t)first, false);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    assert_int_equal(hs_graph_load(snap, HS_GRAPH_RETAINING, NULL, &graph, &err), HS_OK);
    assert_int_equal(graph.n_edges, expected.n_edges);
    assert_memory_equal(graph.begin, expected.begin, (graph.n_nodes + 1) * sizeof(uint32_t));
    assert_memory_equal(graph.target, expected.target, graph.n_edges * sizeof(uint32_t));
    hs_graph_fini(&graph);
    hs_graph_fini(&expected);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
    hs_edge_list_fini(&list);
}

static void test_reverse(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(300); seed++) {
        struct hs_random_shape shape = {.n_leaves = 3,
                                        .n_blocks = 1 + (uint32_t)(seed % 50),
                                        .n_edges = (uint32_t)(seed % 130)};
        struct hs_graph graph = hs_random_graph(seed, &shape), reverse;
        assert_int_equal(hs_graph_reverse(&graph, &reverse, &err), HS_OK);
        assert_int_equal(reverse.n_edges, graph.n_edges);
        for (uint32_t v = 0; v < graph.n_nodes; v++) {
            uint32_t n, at = 0;
            const uint32_t *row = hs_graph_row(&reverse, v, &n);
            for (uint32_t u = 0; u < graph.n_nodes; u++)
                for (uint32_t e = graph.begin[u]; e < graph.begin[u + 1]; e++)
                    if (graph.target[e] == v)
                        assert_true(at < n && row[at++] == u);
            assert_int_equal(at, n);
        }
        hs_graph_fini(&graph);
        hs_graph_fini(&reverse);
    }
}

static void test_too_large(void **state)
{
    struct hs_graph graph = {.n_nodes = 7};
    assert_int_equal(hs_graph_init(UINT32_MAX, 1, 1, &graph, &err), HS_LIMIT);
    assert_int_equal(hs_graph_init((uint64_t)1 << 40, 1, 1, &graph, &err), HS_LIMIT);
    assert_int_equal(hs_graph_init(5, 1, UINT32_MAX, &graph, &err), HS_LIMIT);
    assert_int_equal(graph.n_nodes, 7);
}

static bool refuse(void *context, const char *phase, uint64_t done, uint64_t total)
{
    (void)context, (void)phase, (void)done, (void)total;
    return false;
}

static void test_failures(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_graph graph = {.n_nodes = 7}, reverse = {0};
    struct hs_progress progress = {refuse, NULL};
    uint32_t leaf, weak_leaf;
    struct hs_snap *snap = small(&b, &leaf, &weak_leaf);
    assert_int_equal(hs_graph_load(snap, HS_GRAPH_STRONG, &progress, &graph, &err), HS_LIMIT);
    assert_int_equal(graph.n_nodes, 7);
    FAIL_EACH (each, .at_least = 1) {
        fail_each_begin(&each);
        hs_status status = hs_graph_load(snap, HS_GRAPH_RETAINING, NULL, &graph, &err);
        if (status == HS_OK)
            status = hs_graph_reverse(&graph, &reverse, &err);
        (void)fail_each_end(&each, status);
        hs_graph_fini(&graph);
        hs_graph_fini(&reverse);
    }
    hs_graph_fini(NULL);
    hs_graph_fini(&(struct hs_graph){0});
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_load),        cmocka_unit_test(test_tree_edges),
        cmocka_unit_test(test_many_chunks), cmocka_unit_test(test_reverse),
        cmocka_unit_test(test_too_large),   cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
