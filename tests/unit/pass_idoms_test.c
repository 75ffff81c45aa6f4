/* links: hs_passes hs_dominator hs_graph hs_format */
#include "unit.h"

#include "edge_list.h"
#include "fail_each.h"
#include "made_passes.h"
#include "seeds.h"

static struct hs_error err;

struct check {
    const struct hs_domtree *tree;
    const uint32_t *order;
    hs_node next;
};

static hs_status check_take(void *context, hs_node node, hs_node idom, struct hs_error *e)
{
    struct check *check = context;
    uint32_t number = check->tree->number[node];
    assert_true(node == check->next++);
    if (number <= 1)
        assert_true(idom == HS_NO_NODE);
    else
        assert_int_equal(idom, check->order[check->tree->idom[number - 1]]);
    return HS_OK;
}

static hs_status run(const struct hs_passes *passes, const struct hs_domtree *tree)
{
    struct check check = {.tree = tree};
    uint32_t *order;
    made_must(hs_domtree_order(tree, &order, &err), &err);
    check.order = order;
    hs_status status =
        hs_passes_idoms(passes, &(struct hs_idom_sink){.put = check_take, .context = &check}, &err);
    if (status == HS_OK)
        assert_true(check.next == passes->n_nodes);
    hs_pages_free(order, tree->n_nodes, sizeof *order);
    return status;
}

static void check_graph(const struct hs_graph *graph, uint64_t seed, uint64_t room_bytes)
{
    struct hs_budget budget;
    struct hs_domtree tree;
    struct hs_passes passes;
    made_budget_init(&budget);
    assert_int_equal(hs_domtree_build(graph, NULL, &tree, &err), HS_OK);
    made_passes_init(graph, &tree, seed, &budget, &passes);
    uint64_t used = budget.used_bytes;
    budget.limit_bytes = room_bytes == UINT64_MAX ? UINT64_MAX : used + room_bytes;
    assert_int_equal(run(&passes, &tree), HS_OK);
    assert_true(budget.used_bytes == used);
    made_passes_fini(&passes);
    hs_domtree_fini(&tree);
}

static void test_small(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(3000); seed++) {
        struct hs_random_shape shape = {.n_leaves = 1 + (uint32_t)(seed % 23),
                                        .n_blocks = 1 + (uint32_t)(seed % 61),
                                        .n_edges = (uint32_t)(seed % 97),
                                        .flat = seed % 5 == 0,
                                        .keep_duplicates = seed % 4 == 0,
                                        .local = seed % 2 == 0};
        struct hs_graph graph = hs_random_graph(seed, &shape);
        check_graph(&graph, seed, UINT64_MAX);
        hs_graph_fini(&graph);
    }
}

/* A list of cells with a payload each, deeper than the stack keeps in memory, and so little memory
 * that nodes come back in parts. */
static struct hs_graph long_list(uint32_t n_cells)
{
    enum { FIRST = 2 };
    struct hs_edge_list list = {0};
    hs_edge_list_add(&list, 0, 1);
    hs_edge_list_add(&list, 1, FIRST);
    for (uint32_t i = 0; i < n_cells; i++) {
        hs_edge_list_add(&list, FIRST + i, FIRST + n_cells + i);
        if (i + 1 < n_cells)
            hs_edge_list_add(&list, FIRST + i, FIRST + i + 1);
        if (i % 1000 == 0) /* a core node here and there */
            hs_edge_list_add(&list, FIRST + i / 2, FIRST + n_cells + i);
    }
    struct hs_graph graph = hs_edge_list_graph(&list, FIRST + 2 * n_cells, FIRST, false);
    hs_edge_list_fini(&list);
    return graph;
}

static void test_little_memory(void **state)
{
    struct hs_graph graph = long_list(300000);
    for (uint64_t seed = 0; seed < 2; seed++) {
        check_graph(&graph, seed, UINT64_MAX);
        check_graph(&graph, seed, (uint64_t)1700 << 10);
    }
    hs_graph_fini(&graph);
}

static void test_too_little_memory(void **state)
{
    struct hs_graph graph = long_list(300000);
    struct hs_budget budget;
    struct hs_domtree tree;
    struct hs_passes passes;
    made_budget_init(&budget);
    assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
    made_passes_init(&graph, &tree, 0, &budget, &passes);
    uint64_t used = budget.used_bytes;
    for (uint64_t room = 0; room < 1200 << 10; room += 100 << 10) {
        budget.limit_bytes = used + room;
        assert_int_equal(run(&passes, &tree), HS_LIMIT);
        assert_true(budget.used_bytes == used);
    }
    made_passes_fini(&passes);
    hs_domtree_fini(&tree);
    hs_graph_fini(&graph);
}

static void test_every_allocation_fails(void **state)
{
    struct hs_graph graph = long_list(40000);
    struct hs_budget budget;
    struct hs_domtree tree;
    struct hs_passes passes;
    made_budget_init(&budget);
    assert_int_equal(hs_domtree_build(&graph, NULL, &tree, &err), HS_OK);
    made_passes_init(&graph, &tree, 1, &budget, &passes);
    uint64_t used = budget.used_bytes;
    struct check check = {.tree = &tree};
    uint32_t *order;
    made_must(hs_domtree_order(&tree, &order, &err), &err);
    const struct hs_idom_sink sink = {.put = check_take, .context = &check};
    check.order = order;
    FAIL_EACH (each, .at_least = 6) {
        check.next = 0;
        (void)FAIL_EACH_TRY(each, hs_passes_idoms(&passes, &sink, &err));
        assert_true(budget.used_bytes == used);
    }
    hs_pages_free(order, tree.n_nodes, sizeof *order);
    made_passes_fini(&passes);
    hs_domtree_fini(&tree);
    hs_graph_fini(&graph);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_too_little_memory),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
