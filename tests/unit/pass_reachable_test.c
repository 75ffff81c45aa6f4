/* links: hs_passes hs_dominator hs_graph hs_format */
#include "unit.h"

#include "dominator/reachable.h"
#include "edge_list.h"
#include "made_owners.h"
#include "made_passes.h"
#include "made_weights.h"
#include "seeds.h"

static struct hs_error err;

/* Room in which all is done, but with the graph of what roots share in files. */
#define STORED ((uint64_t)1 << 40)

struct world {
    struct hs_graph graph;
    struct hs_budget budget;
    struct hs_domtree tree;
    struct hs_weights weights;
    struct hs_sizes *expected;
    struct made_owners owners;
    uint64_t seed, n_allocations;
    bool is_owned; /* the root tree holds blocks below its leaves only: sets have a meaning */
};

/* Takes the graph. */
static void world_init(struct world *w, struct hs_graph graph, uint64_t seed)
{
    uint32_t n;
    const uint32_t *row = hs_graph_row(&graph, 0, &n);
    *w = (struct world){.graph = graph, .seed = seed};
    w->is_owned = n == 0 || row[n - 1] < graph.n_tree;
    made_budget_init(&w->budget);
    assert_int_equal(hs_domtree_build(&w->graph, NULL, &w->tree, &err), HS_OK);
    made_weights_init(&w->graph, seed, &w->weights);
    const struct hs_row_source source = {.graph = &w->graph};
    made_owners_init(&w->graph, seed, &w->owners);
    const struct hs_reachable_task task = {.source = &source,
                                           .tree = &w->tree,
                                           .weights = &w->weights,
                                           .owners = w->is_owned ? &w->owners.request : NULL};
    assert_int_equal(hs_reachable_find(&task, NULL, &w->expected, &err), HS_OK);
}

static void world_fini(struct world *w)
{
    hs_free(w->expected);
    made_owners_fini(&w->owners);
    hs_weights_fini(&w->weights);
    hs_domtree_fini(&w->tree);
    hs_graph_fini(&w->graph);
}

/* The nth allocation fails; 0: none does. */
static hs_status world_fail(struct world *w, uint64_t room_bytes, uint64_t nth)
{
    const struct hs_weight_source source = made_weight_source(&w->weights);
    struct hs_sizes *found = NULL;
    struct made_owners owners;
    struct hs_passes passes;
    uint64_t used = w->budget.used_bytes;
    w->budget.limit_bytes = UINT64_MAX;
    made_passes_init(&w->graph, &w->tree, w->seed, &w->budget, &passes);
    if (room_bytes != UINT64_MAX)
        w->budget.limit_bytes = w->budget.used_bytes + room_bytes;
    made_owners_init(&w->graph, w->seed, &owners);
    if (room_bytes == STORED)
        owners.request.sink_bytes = 2 * STORED; /* that there is no room for beside a graph */
    w->n_allocations = hs_alloc_count();
    hs_alloc_fail_at(nth, false);
    hs_status status = hs_passes_reachable(&passes, &source, w->is_owned ? &owners.request : NULL,
                                           NULL, &found, &err);
    hs_alloc_fail_at(0, false);
    w->n_allocations = hs_alloc_count() - w->n_allocations;
    made_passes_fini(&passes);
    assert_true(w->budget.used_bytes == used);
    if (status == HS_OK)
        assert_memory_equal(found, w->expected, w->graph.n_tree * sizeof *found);
    else
        assert_null(found);
    if (status == HS_OK && w->is_owned)
        assert_true(owners.is_taken && made_owners_equal(&owners, &w->owners));
    made_owners_fini(&owners);
    hs_free(found);
    return status;
}

static hs_status world_run(struct world *w, uint64_t room_bytes)
{
    return world_fail(w, room_bytes, 0);
}

static void test_small(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(3000); seed++) {
        struct hs_random_shape shape = {.n_leaves = 1 + (uint32_t)(seed % 23),
                                        .n_blocks = 1 + (uint32_t)(seed % 61),
                                        .n_edges = (uint32_t)(seed % 97),
                                        .flat = seed % 7 == 0,
                                        .keep_duplicates = seed % 4 == 0,
                                        .local = seed % 2 == 0};
        struct world w;
        world_init(&w, hs_random_graph(seed, &shape), seed);
        assert_int_equal(world_run(&w, UINT64_MAX), HS_OK);
        if (w.is_owned && seed % 8 == 0)
            assert_int_equal(world_run(&w, STORED), HS_OK);
        world_fini(&w);
    }
}

static void test_held_blocks_are_not_followed(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(3000); seed++) {
        struct hs_random_shape shape = {.n_leaves = 1 + (uint32_t)(seed % 9),
                                        .n_blocks = 2 + (uint32_t)(seed % 37),
                                        .n_edges = (uint32_t)(seed % 61)};
        struct hs_graph plain = hs_random_graph(seed, &shape);
        struct world w;
        world_init(&w, hs_held_graph(&plain, seed, 1 + (uint32_t)(seed % 9)), seed);
        assert_int_equal(world_run(&w, UINT64_MAX), HS_OK);
        world_fini(&w);
        hs_graph_fini(&plain);
    }
}

/* Many roots that travel together, in less and less memory. */
static void test_little_memory(void **state)
{
    struct hs_random_shape shape = {.n_leaves = 3000, .n_blocks = 60000, .n_edges = 80000};
    struct world w;
    unsigned n_done = 0, n_refused = 0;
    world_init(&w, hs_random_graph(3, &shape), 1);
    for (uint64_t room = (uint64_t)40 << 10; room < (uint64_t)20 << 20; room += room / 4) {
        hs_status status = world_run(&w, room);
        assert_true(status == HS_OK || status == HS_LIMIT);
        n_done += status == HS_OK;
        n_refused += status == HS_LIMIT;
        assert_true(n_done == 0 || status == HS_OK);
    }
    assert_true(n_done >= 3 && n_refused >= 2);
    world_fini(&w);
}

/* Sets of roots that differ nearly everywhere, so that a pass holds few of them at a time. */
static void test_sets_that_differ(void **state)
{
    enum { LEAVES = 2000, BLOCKS = 20000, FIRST = LEAVES + 1 };
    struct hs_edge_list list = {0};
    uint64_t random = 5;
    for (uint32_t i = 0; i < LEAVES; i++) {
        hs_edge_list_add(&list, 0, 1 + i);
        hs_edge_list_add(&list, 1 + i, FIRST + i);
    }
    for (uint32_t i = 0; i < BLOCKS; i++)
        for (uint32_t k = 0; k < 2 && i + 1 < BLOCKS; k++) {
            uint32_t span = BLOCKS - i - 1 < 3000 ? BLOCKS - i - 1 : 3000;
            hs_edge_list_add(&list, FIRST + i, FIRST + i + 1 + hs_random_below(&random, span));
        }
    struct world w;
    world_init(&w, hs_edge_list_graph(&list, FIRST + BLOCKS, FIRST, false), 4);
    assert_int_equal(world_run(&w, UINT64_MAX), HS_OK);
    assert_int_equal(world_run(&w, (uint64_t)2600 << 10), HS_OK);
    assert_int_equal(world_run(&w, STORED), HS_OK);
    world_fini(&w);
    hs_edge_list_fini(&list);
}

/* Every pair of roots and more has a block of its own: more sets than can be numbered, or than the
 * table has room for where there is little memory, so that they are looked at part by part. */
static void test_many_sets_in_little_memory(void **state)
{
    enum { LEAVES = 17, BLOCKS = 1 << LEAVES, FIRST = LEAVES + 1 };
    struct hs_edge_list list = {0};
    for (uint32_t root = 0; root < LEAVES; root++) {
        hs_edge_list_add(&list, 0, 1 + root);
        for (uint32_t i = 0; i < BLOCKS; i++)
            if (i >> root & 1)
                hs_edge_list_add(&list, 1 + root, FIRST + i);
    }
    struct world w;
    world_init(&w, hs_edge_list_graph(&list, FIRST + BLOCKS, FIRST, false), 4);
    assert_int_equal(w.owners.n_sets, HS_OWNER_SETS_MAX);
    assert_int_equal(w.owners.n_others, BLOCKS - 1 - LEAVES - HS_OWNER_SETS_MAX);
    assert_int_equal(world_run(&w, STORED), HS_OK);
    unsigned n_refused = 0;
    for (uint64_t room = (uint64_t)20 << 20; n_refused == 0; room -= room / 4) {
        hs_status status = world_run(&w, room);
        assert_true(status == HS_OK || status == HS_LIMIT);
        n_refused += status == HS_LIMIT;
        assert_true(status == HS_OK || room < (uint64_t)12 << 20);
    }
    world_fini(&w);
    hs_edge_list_fini(&list);
}

static void test_every_allocation_fails(void **state)
{
    struct hs_random_shape shape = {.n_leaves = 300, .n_blocks = 9000, .n_edges = 12000};
    struct world w;
    world_init(&w, hs_random_graph(8, &shape), 1);
    assert_int_equal(world_run(&w, UINT64_MAX), HS_OK);
    uint64_t n = w.n_allocations;
    assert_true(n > 30);
    for (uint64_t nth = 1; nth <= n; nth++)
        assert_int_equal(world_fail(&w, UINT64_MAX, nth), HS_LIMIT);
    assert_int_equal(world_run(&w, STORED), HS_OK);
    n = w.n_allocations;
    for (uint64_t nth = 1; nth <= n; nth++)
        assert_int_equal(world_fail(&w, STORED, nth), HS_LIMIT);
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_held_blocks_are_not_followed),
        cmocka_unit_test(test_little_memory),
        cmocka_unit_test(test_sets_that_differ),
        cmocka_unit_test(test_many_sets_in_little_memory),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
