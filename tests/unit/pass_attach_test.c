/* links: hs_passes hs_dominator hs_graph hs_format */
#include "passes/pass_attach.h"

#include "unit.h"

#include "dominator/dominators.h"
#include "forest_shortage.h"
#include "graph/pages.h"
#include "made_forest.h"
#include "odd_graphs.h"
#include "seeds.h"

static struct hs_error err;
static const struct hs_passes_input input;

/* Immediate dominators by node; HS_NONE for node 0 and what is not reached. */
static uint32_t *idoms_expected(const struct hs_graph *graph)
{
    struct hs_domtree tree;
    uint32_t *order, *idom = made_zeroed(graph->n_nodes, sizeof *idom);

    assert_int_equal(hs_domtree_build(graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(hs_domtree_order(&tree, &order, &err), HS_OK);
    for (uint32_t i = 0; i < graph->n_nodes; i++)
        idom[i] = HS_NONE;
    for (uint32_t i = 1; i < tree.n_reached; i++)
        idom[order[i]] = order[tree.idom[i]];
    hs_pages_free(order, tree.n_nodes, sizeof *order);
    hs_domtree_fini(&tree);
    return idom;
}

static void check_attached(const struct made_forest *made, const uint32_t *idom)
{
    const struct hs_passes *passes = &made->passes;

    for (uint32_t node = 0; node < passes->n_nodes; node++) {
        uint32_t core = made->core_of[node];
        if (core == HS_NONE)
            continue;
        uint64_t attach = hs_ids_get(&passes->attach, core);
        if (idom[node] == HS_NONE)
            assert_int_equal(attach, HS_IDS_NONE);
        else
            assert_int_equal(made->order[attach], idom[node]);
    }
}

static void check_graph(const struct hs_graph *graph, uint32_t per_record,
                        struct pass_attach_counts *ret_counts)
{
    struct made_forest made;
    uint32_t *idom = idoms_expected(graph);

    made_forest_init(graph, per_record, &made);
    assert_int_equal(pass_core_run(&input, &made.passes, &err), HS_OK);
    uint32_t n_sequence = made.passes.n_sequence, last = made.passes.sequence[n_sequence - 1];
    assert_int_equal(pass_attach_counted(&input, &made.passes, ret_counts, &err), HS_OK);
    check_attached(&made, idom);
    assert_int_equal(made.passes.n_sequence, n_sequence);
    assert_int_equal(made.passes.sequence[n_sequence - 1], last);
    made_forest_fini(&made);
    assert_int_equal(made.budget.used_bytes, HS_BUDGET_BASE_BYTES);
    hs_free(idom);
}

static void test_small(void **state)
{
    struct pass_attach_counts counts;
    uint32_t n_with_graph = 0, n_with_queries = 0;

    for (uint64_t seed = 0; seed < HS_SEEDS(3000); seed++) {
        struct hs_graph graph = odd_graph(seed, seed % 2 == 0 ? 14 : 70);
        check_graph(&graph, seed % 4 == 0 ? 2 : CORE_EDGES_MAX, &counts);
        n_with_graph += counts.n_in_graph != 0;
        n_with_queries += counts.n_queries != 0;
        hs_graph_fini(&graph);
    }
    assert_true(n_with_graph > HS_SEEDS(300) && n_with_graph < HS_SEEDS(2700));
    assert_true(n_with_queries > HS_SEEDS(300) && n_with_queries < HS_SEEDS(2700));
}

static void test_heaps(void **state)
{
    struct pass_attach_counts counts;

    for (uint64_t seed = 0; seed < 24; seed++) {
        struct hs_graph graph = odd_heap(seed);
        check_graph(&graph, 3, &counts);
        hs_graph_fini(&graph);
    }
}

static void test_large(void **state)
{
    struct pass_attach_counts counts;
    uint32_t n = 200000;

    for (uint32_t shape = 0; shape < ODD_SHAPES; shape++) {
        struct hs_graph graph = odd_shape(shape, n);
        check_graph(&graph, CORE_EDGES_MAX, &counts);
        /* Steps, not seconds: quadratic would be 10^9 and more. */
        assert_true(counts.n_climbed < 40ULL * graph.n_edges);
        assert_true(counts.n_edges < 9ULL * graph.n_edges);
        assert_true(counts.n_spread <= 2 * counts.n_in_graph_edges);
        hs_graph_fini(&graph);
    }
}

/* ---- without enough ---- */

static hs_status passes_run(const struct hs_passes_input *with, struct hs_passes *passes,
                            struct hs_error *e)
{
    HS_TRY(pass_core_run(with, passes, e));
    return pass_attach_run(with, passes, e);
}

static void check_mixed(const struct made_forest *made, const struct hs_graph *graph)
{
    uint32_t *idom = idoms_expected(graph);
    check_attached(made, idom);
    hs_free(idom);
}

static const struct forest_step step = {passes_run, check_mixed};

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
