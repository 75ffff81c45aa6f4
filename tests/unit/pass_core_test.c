/* links: hs_passes hs_dominator hs_graph hs_format */
#include "passes/pass_core.h"

#include "unit.h"

#include "dominator/dominators.h"
#include "forest_shortage.h"
#include "graph/pages.h"
#include "made_forest.h"
#include "odd_graphs.h"
#include "seeds.h"

static struct hs_error err;
static const struct hs_passes_input input;

/* By node: whether it is reached, and the core node whose region holds its immediate dominator. */
static void expect_regions(const struct made_forest *made, const struct hs_graph *graph,
                           uint32_t *ret)
{
    struct hs_domtree tree;
    uint32_t *order;

    assert_int_equal(hs_domtree_build(graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(hs_domtree_order(&tree, &order, &err), HS_OK);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        ret[i] = HS_NONE;
    for (uint32_t i = 1; i < tree.n_reached; i++) { /* dominators first */
        uint32_t above = order[tree.idom[i]], core = made->core_of[above];
        ret[order[i]] = core != HS_NONE ? core : ret[above];
    }
    hs_pages_free(order, tree.n_nodes, sizeof *order);
    hs_domtree_fini(&tree);
}

static void check_sequence(const struct hs_passes *passes)
{
    bool *seen = made_zeroed(passes->n_core, sizeof *seen);
    uint64_t n_reached = 0;

    assert_int_equal(passes->sequence[0], 0);
    for (uint32_t i = 0; i < passes->n_sequence; i++) {
        uint32_t core = passes->sequence[i];
        assert_false(seen[core]);
        assert_true(hs_bitmap_get(&passes->is_reached, core));
        assert_true(i == 0 || seen[passes->region[core]]);
        seen[core] = true;
    }
    for (uint32_t core = 0; core < passes->n_core; core++)
        n_reached += hs_bitmap_get(&passes->is_reached, core);
    assert_int_equal(n_reached, passes->n_sequence);
    hs_free(seen);
}

static void check_regions(const struct made_forest *made, const struct hs_graph *graph)
{
    const struct hs_passes *passes = &made->passes;
    uint32_t *expected = made_zeroed(graph->n_nodes, sizeof *expected);

    expect_regions(made, graph, expected);
    for (uint32_t node = 0; node < graph->n_nodes; node++) {
        uint32_t core = made->core_of[node];
        if (core == HS_NONE)
            continue;
        assert_int_equal(passes->region[core], expected[node]);
        assert_int_equal(hs_bitmap_get(&passes->is_reached, core),
                         node == 0 || expected[node] != HS_NONE);
    }
    hs_free(expected);
    check_sequence(passes);
}

static void check_graph(const struct hs_graph *graph, uint32_t per_record,
                        struct pass_core_counts *ret_counts)
{
    struct made_forest made;

    made_forest_init(graph, per_record, &made);
    assert_int_equal(pass_core_counted(&input, &made.passes, ret_counts, &err), HS_OK);
    check_regions(&made, graph);
    made_forest_fini(&made);
    assert_int_equal(made.budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

static void test_small(void **state)
{
    struct pass_core_counts counts;
    uint32_t n_with_graph = 0;

    for (uint64_t seed = 0; seed < HS_SEEDS(3000); seed++) {
        struct hs_graph graph = odd_graph(seed, seed % 2 == 0 ? 12 : 60);
        check_graph(&graph, seed % 4 == 0 ? 2 : CORE_EDGES_MAX, &counts);
        n_with_graph += counts.n_in_graph != 0;
        hs_graph_fini(&graph);
    }
    assert_true(n_with_graph > HS_SEEDS(300) && n_with_graph < HS_SEEDS(2700));
}

static void test_heaps(void **state)
{
    struct pass_core_counts counts;

    for (uint64_t seed = 0; seed < 24; seed++) {
        struct hs_graph graph = odd_heap(seed);
        check_graph(&graph, 3, &counts);
        hs_graph_fini(&graph);
    }
}

static void test_large(void **state)
{
    struct pass_core_counts counts;
    uint32_t n = 200000;

    for (uint32_t shape = 0; shape < ODD_SHAPES; shape++) {
        struct hs_graph graph = odd_shape(shape, n);
        check_graph(&graph, CORE_EDGES_MAX, &counts);
        /* Steps, not seconds: quadratic would be 10^9 and more. */
        assert_true(counts.n_climbed < 40ULL * graph.n_edges);
        assert_true(counts.n_edges < 9ULL * graph.n_edges);
        hs_graph_fini(&graph);
    }
}

/* ---- without enough ---- */

static const struct forest_step step = {pass_core_run, check_regions};

static void test_allocations_fail(void **state)
{
    forest_allocations_fail(&step);
}

static void test_budgets(void **state)
{
    forest_budgets(&step);
}

static void test_interrupted(void **state)
{
    forest_interrupted(&step);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),   cmocka_unit_test(test_heaps),
        cmocka_unit_test(test_large),   cmocka_unit_test(test_allocations_fail),
        cmocka_unit_test(test_budgets), cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
