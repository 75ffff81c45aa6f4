/* links: hs_passes hs_dominator hs_graph hs_format */
#include "unit.h"

#include "dominator/retained.h"
#include "edge_list.h"
#include "fail_each.h"
#include "made_passes.h"
#include "made_weights.h"
#include "seeds.h"

static struct hs_error err;

struct check {
    const struct hs_domtree *tree;
    struct hs_retained sum[HS_N_DIMENSIONS];
    hs_node next;
};

static hs_status check_take(void *context, hs_node node, const struct hs_sizes *retained,
                            struct hs_error *e)
{
    struct check *check = context;
    struct hs_sizes expected = {0};
    uint32_t number = check->tree->number[node];
    assert_true(node == check->next++);
    if (number != 0)
        expected =
            (struct hs_sizes){hs_retained_at(&check->sum[HS_DIM_WORDS], number - 1),
                              hs_retained_at(&check->sum[HS_DIM_OBJECTS], number - 1),
                              hs_retained_at(&check->sum[HS_DIM_STATIC_WORDS], number - 1),
                              hs_retained_at(&check->sum[HS_DIM_STATIC_OBJECTS], number - 1)};
    assert_memory_equal(retained, &expected, sizeof expected);
    return HS_OK;
}

struct world {
    struct hs_graph graph;
    struct hs_budget budget;
    struct hs_domtree tree;
    struct hs_passes passes;
    struct hs_weights weights;
    struct check check;
    uint64_t used;
};

/* Takes the graph. */
static void world_init(struct world *w, struct hs_graph graph, uint64_t seed)
{
    *w = (struct world){.graph = graph};
    made_budget_init(&w->budget);
    assert_int_equal(hs_domtree_build(&w->graph, NULL, &w->tree, &err), HS_OK);
    made_passes_init(&w->graph, &w->tree, seed, &w->budget, &w->passes);
    made_weights_init(&w->graph, seed, &w->weights);
    w->check.tree = &w->tree;
    for (unsigned i = 0; i < HS_N_DIMENSIONS; i++)
        assert_int_equal(hs_retained_sum(&w->tree, &w->weights, i, &w->check.sum[i], &err), HS_OK);
    w->used = w->budget.used_bytes;
}

static void world_fini(struct world *w)
{
    for (unsigned i = 0; i < HS_N_DIMENSIONS; i++)
        hs_retained_fini(&w->check.sum[i]);
    made_passes_fini(&w->passes);
    hs_weights_fini(&w->weights);
    hs_domtree_fini(&w->tree);
    hs_graph_fini(&w->graph);
}

static hs_status world_run(struct world *w, uint64_t room_bytes)
{
    const struct hs_weight_source source = made_weight_source(&w->weights);
    const struct hs_retained_sink sink = {.put = check_take, .context = &w->check};
    w->check.next = 0;
    w->budget.limit_bytes = room_bytes == UINT64_MAX ? UINT64_MAX : w->used + room_bytes;
    hs_status status = hs_passes_retained(&w->passes, &source, NULL, &sink, &err);
    assert_true(w->budget.used_bytes == w->used);
    if (status == HS_OK)
        assert_true(w->check.next == w->passes.n_nodes);
    return status;
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
        struct world w;
        world_init(&w, hs_random_graph(seed, &shape), seed);
        assert_int_equal(world_run(&w, UINT64_MAX), HS_OK);
        world_fini(&w);
    }
}

/* A deep list and a wide rest, from all the memory that one likes down to too little. */
static struct hs_graph large_graph(uint32_t n_cells)
{
    enum { FIRST = 3 };
    struct hs_edge_list list = {0};
    uint64_t random = 77;
    hs_edge_list_add(&list, 0, 1);
    hs_edge_list_add(&list, 0, 2);
    hs_edge_list_add(&list, 1, FIRST);
    hs_edge_list_add(&list, 2, FIRST + 3 * n_cells - 1);
    for (uint32_t i = 0; i < n_cells; i++) {
        hs_edge_list_add(&list, FIRST + i, FIRST + n_cells + i);
        if (i + 1 < n_cells)
            hs_edge_list_add(&list, FIRST + i, FIRST + i + 1);
    }
    for (uint32_t i = 0; i < 2 * n_cells; i++)
        hs_edge_list_add(&list, FIRST + n_cells + hs_random_below(&random, 2 * n_cells),
                         FIRST + 2 * n_cells + hs_random_below(&random, n_cells));
    struct hs_graph graph = hs_edge_list_graph(&list, FIRST + 3 * n_cells, FIRST, false);
    hs_edge_list_fini(&list);
    return graph;
}

/* Children in either order: sums that wait for their parents are few, or as many as cells. */
static void test_little_memory(void **state)
{
    for (uint64_t seed = 2; seed < 4; seed++) {
        struct world w;
        unsigned n_done = 0, n_refused = 0;
        world_init(&w, large_graph(120000), seed);
        assert_int_equal(world_run(&w, UINT64_MAX), HS_OK);
        for (uint64_t room = 250 << 10; room < 8000 << 10; room += 700 << 10) {
            hs_status status = world_run(&w, room);
            assert_true(status == HS_OK || status == HS_LIMIT);
            n_done += status == HS_OK;
            n_refused += status == HS_LIMIT;
            assert_true(n_done == 0 || status == HS_OK); /* more memory never does harm */
        }
        assert_true(n_done >= 3 && n_refused >= 2);
        world_fini(&w);
    }
}

static void test_every_allocation_fails(void **state)
{
    struct world w;
    world_init(&w, large_graph(10000), 3);
    FAIL_EACH (each, .at_least = 20) {
        (void)FAIL_EACH_TRY(each, world_run(&w, UINT64_MAX));
    }
    world_fini(&w);
}

static hs_status bad_run(const void *context,
                         hs_status (*put)(void *sink, hs_node node, uint64_t words, bool is_static,
                                          struct hs_error *err),
                         void *sink, struct hs_error *e)
{
    const hs_node *nodes = context;
    for (unsigned i = 0; i < 2; i++)
        HS_TRY(put(sink, nodes[i], 1, false, e));
    return HS_OK;
}

/* Sizes of nodes that are none of a block, or not in order. */
static void test_sizes_out_of_place(void **state)
{
    struct world w;
    world_init(&w, large_graph(100), 3);
    const hs_node bad[][2] = {{2, 3}, {5, 5}, {5, 4}, {5, 303}, {5, UINT64_MAX}};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const struct hs_weight_source source = {bad_run, bad[i]};
        const struct hs_retained_sink sink = {.put = check_take, .context = &w.check};
        assert_int_equal(hs_passes_retained(&w.passes, &source, NULL, &sink, &err), HS_FORMAT);
        assert_true(w.budget.used_bytes == w.used);
    }
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_every_allocation_fails),
        cmocka_unit_test(test_sizes_out_of_place),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
