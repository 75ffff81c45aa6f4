/* links: hs_graph hs_format */
#include "fail_each.h"
#include "graph/sweep.h"

#include "unit.h"

#include "base/alloc.h"
#include "collect_sweep.h"
#include "edge_list.h"
#include "graph_builder.h"
#include "seeds.h"

static struct hs_error err;

static void check_collected_row(const struct hs_collected *c, hs_node node, uint32_t n,
                                const hs_node *expected)
{
    assert_int_equal(c->begin[node + 1] - c->begin[node], n);
    for (uint32_t i = 0; i < n; i++)
        assert_int_equal(c->target[c->begin[node] + i], expected[i]);
}

static void collect_snap(const struct hs_snap_sweep *source, struct hs_collected *ret)
{
    struct hs_sweep sweep;
    assert_int_equal(hs_sweep_of_snap(source, &sweep, &err), HS_OK);
    hs_collected_init(ret, 0, sweep.n_nodes);
    struct hs_piece_sink sink = hs_collected_sink(ret);
    assert_int_equal(sweep.run(sweep.context, &sink, &err), HS_OK);
    assert_true(hs_collected_is_whole(ret));
    assert_true(ret->n_edges <= sweep.max_edges);
}

/* Four blocks: 0 -> 1 twice, 0 -> 0, 0 -weak-> 2, 1 -ephemeron-> 3, 0 and 1, 1 -guessed-> 3. */
static struct hs_snap *small(struct hs_graph_builder *b, uint32_t *leaf, uint32_t *weak_leaf)
{
    hs_graph_builder_small(b, leaf, weak_leaf);
    hs_graph_builder_edge(b, 1, 1, HS_EDGE_EPHEMERON);
    hs_graph_builder_edge(b, 1, 3, HS_EDGE_GUESSED);
    return hs_graph_builder_open(b);
}

static void leaves_out_loops_duplicates_and_weak_edges(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_collected c;
    uint32_t leaf, weak_leaf;
    struct hs_snap *snap = small(&b, &leaf, &weak_leaf);
    hs_node block[4];

    for (uint32_t i = 0; i < 4; i++)
        block[i] = hs_graph_builder_node(&b, i);
    for (enum hs_graph_edges edges = HS_GRAPH_STRONG; edges <= HS_GRAPH_SURE; edges++) {
        const struct hs_snap_sweep source = {.snap = snap, .edges = edges};
        collect_snap(&source, &c);
        check_collected_row(&c, block[0], 1, (hs_node[]){block[1]});
        if (edges == HS_GRAPH_STRONG)
            check_collected_row(&c, block[1], 1, (hs_node[]){block[3]});
        else
            check_collected_row(&c, block[1], 2, (hs_node[]){block[0], block[3]});
        check_collected_row(&c, block[2], 0, NULL);
        check_collected_row(&c, hs_graph_builder_leaf_node(&b, leaf), 1, (hs_node[]){block[0]});
        check_collected_row(&c, hs_graph_builder_leaf_node(&b, weak_leaf), 0, NULL);
        hs_collected_fini(&c);
    }
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void node_0_holds_what_it_is_told_to(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_collected c;
    struct hs_bitmap held;
    uint32_t leaf, weak_leaf;
    struct hs_snap *snap = small(&b, &leaf, &weak_leaf);
    hs_node n_tree = hs_graph_builder_n_tree(&b), n = n_tree + 4;

    assert_int_equal(hs_bitmap_init(&held, n, &err), HS_OK);
    const struct hs_snap_sweep source = {.snap = snap, .edges = HS_GRAPH_STRONG, .held = &held};
    collect_snap(&source, &c);
    uint64_t n_children = c.begin[1], n_edges = c.n_edges;
    assert_true(n_children != 0 && c.target[n_children - 1] < n_tree);
    hs_collected_fini(&c);

    hs_bitmap_set(&held, 1); /* of the tree: no block, so not counted */
    hs_bitmap_set(&held, n_tree + 1);
    hs_bitmap_set(&held, n_tree + 3);
    collect_snap(&source, &c);
    assert_int_equal(c.n_edges, n_edges + 2);
    assert_int_equal(c.begin[1], n_children + 2);
    assert_int_equal(c.target[n_children], n_tree + 1);
    assert_int_equal(c.target[n_children + 1], n_tree + 3);
    hs_collected_fini(&c);
    hs_bitmap_fini(&held);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

/* Several chunks, several units and edges of all classes. */
static struct hs_snap *large(struct hs_graph_builder *b, uint32_t n_edges)
{
    enum { N = 5 * HS_CHUNK_BLOCKS + 17 };
    uint64_t random = 11;

    (void)hs_graph_builder_blocks(b, N, 2);
    for (uint32_t i = 0; i < 200; i++) {
        static const char *const modules[] = {"a", "b"}, *const units[] = {"U", "V", "W"};
        (void)hs_graph_builder_leaf(b, i % 2 ? HS_ROOT_GLOBAL : HS_ROOT_STACK, modules[i % 2],
                                    units[i % 3], "x", hs_random_below(&random, N));
    }
    for (uint32_t i = 0; i < n_edges; i++) {
        uint32_t source = hs_random_below(&random, N), target = hs_random_below(&random, N);
        unsigned edge_class = hs_random_below(&random, HS_N_EDGE_CLASSES);
        if (i % 16 == 0)
            target = source;
        hs_graph_builder_edge(b, source, target, i % 5 == 0 ? edge_class : HS_EDGE_EXACT);
    }
    return hs_graph_builder_open(b);
}

static void gives_what_a_graph_in_memory_has(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_budget budget;
    struct hs_graph graph;
    struct hs_collected c;
    struct hs_snap *snap = large(&b, 700000);

    for (enum hs_graph_edges edges = HS_GRAPH_STRONG; edges <= HS_GRAPH_SURE; edges++) {
        assert_int_equal(hs_graph_load(snap, edges, NULL, &graph, &err), HS_OK);
        for (unsigned n_threads = 0; n_threads <= 4; n_threads++) {
            hs_budget_init((uint64_t)40 << 20, NULL, n_threads == 0 ? 1 : n_threads, &budget);
            const struct hs_snap_sweep source = {
                .snap = snap, .edges = edges, .budget = n_threads == 0 ? NULL : &budget};
            uint64_t left = hs_budget_left_bytes(&budget);
            collect_snap(&source, &c);
            assert_true(hs_collected_equals(&c, &graph, false));
            assert_int_equal(hs_budget_left_bytes(&budget), left);
            assert_true(n_threads == 0 || budget.peak_bytes > HS_BUDGET_BASE_BYTES);
            hs_collected_fini(&c);
        }
        hs_graph_fini(&graph);
    }
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

/* One block and node 0 hold more than a piece has room for. */
static void long_rows_come_in_parts(void **state)
{
    enum { N = 1500000 };
    struct hs_graph_builder b = {0};
    struct hs_budget budget;
    struct hs_bitmap held;
    struct hs_graph graph;
    struct hs_collected c;

    (void)hs_graph_builder_blocks(&b, N, 1);
    (void)hs_graph_builder_leaf(&b, HS_ROOT_GLOBAL, "m", "U", "x", 7);
    for (uint32_t i = 0; i < N - 100; i++)
        hs_graph_builder_edge(&b, 70000, i, HS_EDGE_EXACT);
    for (uint32_t i = 0; i < 1000; i++) {
        hs_graph_builder_edge(&b, 69999, i * 3, HS_EDGE_EXACT);
        hs_graph_builder_edge(&b, 70001, i * 5, HS_EDGE_EXACT);
        hs_graph_builder_edge(&b, 80001 + i, i, HS_EDGE_EXACT);
    }
    struct hs_snap *snap = hs_graph_builder_open(&b);
    hs_budget_init((uint64_t)256 << 20, NULL, 2, &budget);
    assert_int_equal(hs_graph_load(snap, HS_GRAPH_STRONG, NULL, &graph, &err), HS_OK);
    struct hs_snap_sweep source = {.snap = snap, .budget = &budget};
    collect_snap(&source, &c);
    assert_true(hs_collected_equals(&c, &graph, false));
    assert_int_equal(c.n_parts, 2);
    hs_collected_fini(&c);

    assert_int_equal(hs_bitmap_init(&held, graph.n_nodes, &err), HS_OK);
    for (hs_node node = graph.n_tree; node < graph.n_nodes; node++)
        hs_bitmap_set(&held, node);
    source.held = &held;
    collect_snap(&source, &c);
    assert_int_equal(c.n_edges, graph.n_edges - 1 + N);
    assert_true(c.n_parts > 20);
    hs_collected_fini(&c);

    hs_budget_init((uint64_t)24 << 20, NULL, 2, &budget); /* the chunk alone has 18 MB */
    source.held = NULL;
    struct hs_sweep sweep;
    assert_int_equal(hs_sweep_of_snap(&source, &sweep, &err), HS_OK);
    hs_collected_init(&c, 0, sweep.n_nodes);
    struct hs_piece_sink sink = hs_collected_sink(&c);
    assert_int_equal(sweep.run(sweep.context, &sink, &err), HS_LIMIT);
    assert_int_equal(hs_budget_left_bytes(&budget), (uint64_t)12 << 20);
    hs_collected_fini(&c);
    hs_bitmap_fini(&held);
    hs_graph_fini(&graph);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void sweeps_graphs_in_memory(void **state)
{
    struct hs_collected c;

    for (uint64_t seed = 0; seed < HS_SEEDS(200); seed++) {
        struct hs_random_shape shape = {.n_leaves = 3,
                                        .n_blocks = 1 + (uint32_t)(seed % 50),
                                        .n_edges = (uint32_t)(seed % 130),
                                        .keep_duplicates = seed % 3 == 0};
        if (seed == 199) {
            shape.n_blocks = 200000;
            shape.n_edges = 2000000;
        }
        struct hs_graph graph = hs_random_graph(seed, &shape);
        struct hs_sweep sweep = hs_sweep_of_graph(&graph);
        assert_int_equal(sweep.n_nodes, graph.n_nodes);
        assert_int_equal(sweep.n_tree, graph.n_tree);
        hs_collected_init(&c, 0, sweep.n_nodes);
        struct hs_piece_sink sink = hs_collected_sink(&c);
        assert_int_equal(sweep.run(sweep.context, &sink, &err), HS_OK);
        assert_true(hs_collected_equals(&c, &graph, false));
        hs_collected_fini(&c);
        hs_graph_fini(&graph);
    }
}

/* ---- failures ---- */

static bool refuse_at(void *context, const char *phase, uint64_t done, uint64_t total)
{
    int *left = context;
    assert_string_equal(phase, "sweeping");
    assert_true(done < total);
    return (*left)-- > 0;
}

static hs_status count_to_failure(void *context, const struct hs_piece *piece, struct hs_error *e)
{
    int *left = context;
    return (*left)-- > 0 ? HS_OK : hs_fail(e, HS_BUG, "enough");
}

static hs_status take_all(void *context, const struct hs_piece *piece, struct hs_error *e)
{
    (void)context, (void)piece, (void)e;
    return HS_OK;
}

static void ends_when_it_is_told_to(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_budget budget;
    struct hs_sweep sweep;
    struct hs_snap *snap = large(&b, 100000);

    for (unsigned n_threads = 1; n_threads <= 3; n_threads++) {
        hs_budget_init((uint64_t)40 << 20, NULL, n_threads, &budget);
        for (int n = 0; n < 8; n++) {
            int tells = n, pieces = n;
            struct hs_progress progress = {refuse_at, &tells};
            struct hs_snap_sweep source = {
                .snap = snap, .budget = &budget, .progress = &progress, .phase = "sweeping"};
            const struct hs_piece_sink all = {take_all, NULL}, some = {count_to_failure, &pieces};
            assert_int_equal(hs_sweep_of_snap(&source, &sweep, &err), HS_OK);
            hs_status status = sweep.run(sweep.context, &all, &err);
            assert_int_equal(status, n < 6 ? HS_LIMIT : HS_OK);
            source.progress = NULL;
            status = sweep.run(sweep.context, &some, &err);
            assert_int_equal(status, n < 7 ? HS_BUG : HS_OK);
            assert_int_equal(hs_budget_left_bytes(&budget), (uint64_t)28 << 20);
        }
    }
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void every_allocation_can_fail(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_budget budget;
    struct hs_sweep sweep;
    struct hs_snap *snap = large(&b, 100000);
    const struct hs_piece_sink sink = {take_all, NULL};

    for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
        hs_budget_init((uint64_t)40 << 20, NULL, n_threads, &budget);
        const struct hs_snap_sweep source = {
            .snap = snap, .edges = HS_GRAPH_RETAINING, .budget = &budget};
        assert_int_equal(hs_sweep_of_snap(&source, &sweep, &err), HS_OK);
        FAIL_EACH (each, .at_least = 5) {
            (void)FAIL_EACH_TRY(each, sweep.run(sweep.context, &sink, &err));
            assert_int_equal(hs_budget_left_bytes(&budget), (uint64_t)28 << 20);
        }
    }
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void needs_memory_for_a_chunk(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_budget budget;
    struct hs_sweep sweep;
    uint32_t leaf, weak_leaf;
    struct hs_snap *snap = small(&b, &leaf, &weak_leaf);
    const struct hs_piece_sink sink = {take_all, NULL};
    const struct hs_snap_sweep source = {.snap = snap, .budget = &budget};

    hs_budget_init(HS_BUDGET_BASE_BYTES + 10000, NULL, 2, &budget);
    assert_int_equal(hs_sweep_of_snap(&source, &sweep, &err), HS_OK);
    assert_int_equal(sweep.run(sweep.context, &sink, &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "decoding"));
    hs_budget_init(HS_BUDGET_BASE_BYTES + 10, NULL, 2, &budget);
    assert_int_equal(sweep.run(sweep.context, &sink, &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "the root tree"));
    assert_int_equal(hs_budget_left_bytes(&budget), 10);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(leaves_out_loops_duplicates_and_weak_edges),
        cmocka_unit_test(node_0_holds_what_it_is_told_to),
        cmocka_unit_test(gives_what_a_graph_in_memory_has),
        cmocka_unit_test(long_rows_come_in_parts),
        cmocka_unit_test(sweeps_graphs_in_memory),
        cmocka_unit_test(ends_when_it_is_told_to),
        cmocka_unit_test(every_allocation_can_fail),
        cmocka_unit_test(needs_memory_for_a_chunk),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
