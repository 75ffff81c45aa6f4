/* links: hs_passes hs_dominator hs_graph */
#include "fail_each.h"
#include "passes/passes.h"

#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "lengauer_tarjan.h"
#include "odd_graphs.h"
#include "piece_sweep.h"
#include "seeds.h"

static struct hs_error err;

/* Thousands of small files are made: in memory, where there is a place for that. */
static void budget_init(struct hs_budget *budget, uint64_t limit_bytes)
{
    const char *memory = "/dev/shm";
    hs_budget_init(limit_bytes, access(memory, W_OK) == 0 ? memory : NULL, 1, budget);
}

struct world {
    struct hs_graph graph, reverse;
    struct hs_piece_source forward, backward;
    struct hs_budget budget;
    const struct hs_progress *progress;
    struct hs_passes passes;
};

static void world_init(struct world *world, struct hs_graph graph)
{
    bool is_small = graph.n_nodes < 1000;
    *world = (struct world){.graph = graph};
    assert_int_equal(hs_graph_reverse(&world->graph, &world->reverse, &err), HS_OK);
    world->forward = (struct hs_piece_source){.graph = &world->graph,
                                              .piece_nodes = is_small ? 7 : 5000,
                                              .piece_edges = is_small ? 11 : 9000};
    world->backward = world->forward;
    world->backward.graph = &world->reverse;
    budget_init(&world->budget, UINT64_MAX);
}

static hs_status world_run(struct world *world)
{
    const struct hs_passes_input input = {
        .forward = hs_piece_sweep(&world->forward),
        .backward = hs_piece_sweep(&world->backward),
        .budget = &world->budget,
        .progress = world->progress,
    };
    return hs_passes_run(&input, &world->passes, &err);
}

static void world_fini(struct world *world)
{
    hs_passes_fini(&world->passes);
    assert_int_equal(world->budget.used_bytes, HS_BUDGET_BASE_BYTES);
    hs_graph_fini(&world->graph);
    hs_graph_fini(&world->reverse);
}

/* ---- dominators by node ---- */

static uint64_t *idoms_alloc(uint64_t n)
{
    void *memory;
    assert_int_equal(hs_alloc(n, sizeof(uint64_t), &memory, &err), HS_OK);
    return memory;
}

/* By the numbers of the sweeps. */
static uint64_t *idoms_of_tree(const struct world *world, const struct hs_domtree *tree)
{
    uint32_t *order;
    uint64_t *idom = idoms_alloc(tree->n_nodes);
    assert_int_equal(hs_domtree_order(tree, &order, &err), HS_OK);
    memset(idom, 0xff, tree->n_nodes * sizeof *idom);
    for (uint32_t i = 1; i < tree->n_reached; i++)
        idom[order[i]] = hs_piece_node(&world->forward, order[tree->idom[i]]);
    hs_pages_free(order, tree->n_nodes, sizeof(uint32_t));
    return idom;
}

static uint64_t spill_number(struct hs_spill_reader *reader, unsigned width)
{
    uint64_t number = 0;
    if (hs_spill_get_fixed(reader, width, &number, &err) != HS_OK)
        fail_msg("%s", err.message);
    return number;
}

/* From the pieces of the result, as its header says. */
static uint64_t *idoms_of_passes(const struct world *world)
{
    const struct hs_passes *passes = &world->passes;
    uint64_t *idom = idoms_alloc(world->graph.n_nodes), n = passes->n_positions;
    uint64_t *order = idoms_alloc(n), *way = idoms_alloc(passes->max_depth + 1);
    struct hs_spill_reader orders = {0}, depths = {0};
    uint32_t core = UINT32_MAX;

    memset(idom, 0xff, world->graph.n_nodes * sizeof *idom);
    assert_int_equal(hs_spill_read(&passes->order, 0, passes->order.n_bytes, &orders, &err), HS_OK);
    assert_int_equal(hs_spill_read(&passes->depths, 0, passes->depths.n_bytes, &depths, &err),
                     HS_OK);
    for (uint64_t i = 0; i < n; i++)
        order[i] = spill_number(&orders, hs_ids_width(passes->n_nodes));
    for (uint64_t i = 0; i < n; i++) {
        uint64_t depth = spill_number(&depths, 4), node = order[i];
        if (node >= world->forward.gap_at && world->forward.gap != 0)
            node -= world->forward.gap;
        core += hs_bitmap_get(&passes->is_head, i);
        way[depth] = i;
        assert_int_equal(depth == 0, hs_bitmap_get(&passes->is_head, i));
        if (!hs_bitmap_get(&passes->is_reached, core))
            continue;
        if (depth != 0)
            idom[node] = order[way[depth - 1]];
        else if (core != 0)
            idom[node] = order[hs_ids_get(&passes->attach, core)];
    }
    assert_int_equal(core + 1, passes->n_core);
    hs_spill_reader_close(&orders);
    hs_spill_reader_close(&depths);
    hs_free(order);
    hs_free(way);
    return idom;
}

/* What the header says of sequence and region. */
static void check_sequence(const struct hs_passes *passes)
{
    uint32_t n_reached = 0;
    uint64_t *place = idoms_alloc(passes->n_core);
    for (uint32_t core = 0; core < passes->n_core; core++)
        n_reached += hs_bitmap_get(&passes->is_reached, core);
    assert_int_equal(n_reached, passes->n_sequence);
    assert_int_equal(passes->sequence[0], 0);
    assert_int_equal(passes->region[0], HS_NONE);
    for (uint32_t i = 1; i < passes->n_sequence; i++) {
        uint32_t core = passes->sequence[i];
        place[core] = i;
        assert_true(hs_bitmap_get(&passes->is_reached, core));
        assert_true(passes->region[core] < passes->n_core);
        assert_true(passes->region[core] == 0 || place[passes->region[core]] != 0);
        uint64_t attach = hs_ids_get(&passes->attach, core);
        assert_int_equal(hs_bitmap_rank(&passes->is_head, attach + 1) - 1, passes->region[core]);
    }
    hs_free(place);
}

static void world_check(struct world *world)
{
    struct hs_domtree tree, oracle;
    assert_int_equal(hs_domtree_build(&world->graph, NULL, &tree, &err), HS_OK);
    assert_int_equal(hs_lengauer_tarjan(&world->graph, &oracle, &err), HS_OK);
    if (world_run(world) != HS_OK)
        fail_msg("%s", err.message);
    uint64_t *idom = idoms_of_passes(world);
    uint64_t *memory = idoms_of_tree(world, &tree), *expected = idoms_of_tree(world, &oracle);
    for (uint32_t i = 0; i < world->graph.n_nodes; i++)
        assert_int_equal(idom[i], expected[i]);
    assert_memory_equal(idom, memory, world->graph.n_nodes * sizeof *idom);
    check_sequence(&world->passes);
    hs_free(idom);
    hs_free(memory);
    hs_free(expected);
    hs_domtree_fini(&tree);
    hs_domtree_fini(&oracle);
    hs_passes_fini(&world->passes);
}

static void check_graph(struct hs_graph graph)
{
    struct world world;
    world_init(&world, graph);
    world_check(&world);
    world_fini(&world);
}

/* ---- graphs ---- */

static struct hs_graph random_graph(uint64_t seed, uint32_t n, uint32_t n_edges)
{
    struct hs_random_shape random = {
        .n_leaves = 1 + (uint32_t)(seed % 9) * n / 40,
        .n_blocks = n,
        .n_edges = n_edges,
        .flat = seed % 3 == 0,
        .keep_duplicates = seed % 4 == 0,
        .local = seed % 2 == 0,
    };
    return hs_random_graph(seed, &random);
}

static void test_small(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(1500); seed++)
        check_graph(random_graph(seed, 1 + (uint32_t)(seed % 41), (uint32_t)(seed % 83)));
}

/* Blocks point at tree nodes and at node 0; nothing is tidy. */
static void test_untidy(void **state)
{
    for (uint64_t seed = 1; seed < HS_SEEDS(1200); seed++) {
        uint64_t random = seed;
        uint32_t n = 1 + hs_random_below(&random, 40), n_tree = 1 + hs_random_below(&random, n);
        uint32_t n_edges = hs_random_below(&random, 3 * n);
        struct hs_edge_list list = {0};
        for (uint32_t i = 0; i < n_edges; i++)
            hs_edge_list_add(&list, hs_random_below(&random, n), hs_random_below(&random, n));
        check_graph(hs_edge_list_graph(&list, n, n_tree, seed % 2 == 0));
        hs_edge_list_fini(&list);
    }
}

/* Mostly trees with a few edges across: regions of many nodes and deep ways between them. */
static void test_bushy(void **state)
{
    for (uint64_t seed = 1; seed < HS_SEEDS(600); seed++) {
        uint64_t random = seed;
        uint32_t n = 20 + hs_random_below(&random, 200), near = 1 + hs_random_below(&random, 30);
        struct hs_edge_list list = {0};
        for (uint32_t i = 1; i < n; i++) {
            uint32_t back = 1 + hs_random_below(&random, near);
            hs_edge_list_add(&list, back > i ? 0 : i - back, i);
        }
        for (uint32_t i = hs_random_below(&random, n / 3); i != 0; i--)
            hs_edge_list_add(&list, hs_random_below(&random, n), hs_random_below(&random, n));
        check_graph(hs_edge_list_graph(&list, n, 1, false));
        hs_edge_list_fini(&list);
    }
}

static void test_large(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(16); seed++) {
        uint32_t n = seed % 2 == 0 ? 20000 : 80000;
        check_graph(random_graph(seed + 5, n, n / 2 * (1 + (uint32_t)(seed % 5))));
    }
}

/* Shapes that break engines that climb: n nodes, node 0 the root. */

/* A long list whose last cell holds an array; the list's first `n_holders` cells hold the elements,
 * too. */
static void add_list_and_array(struct hs_edge_list *list, uint32_t n, uint32_t n_holders)
{
    uint32_t half = n / 2;
    for (uint32_t i = 0; i < half; i++)
        hs_edge_list_add(list, i, i + 1);
    for (uint32_t i = half + 1; i < n; i++) {
        hs_edge_list_add(list, half, i);
        hs_edge_list_add(list, i % n_holders, i);
    }
}

static void add_list_then_array(struct hs_edge_list *list, uint32_t n)
{
    add_list_and_array(list, n, 1);
}

static void add_list_beside_array(struct hs_edge_list *list, uint32_t n)
{
    add_list_and_array(list, n, n < 200 ? 5 : 97);
}

/* With a pointer to its tail. */
static void add_doubly_linked(struct hs_edge_list *list, uint32_t n)
{
    hs_edge_list_add(list, 0, 1);
    hs_edge_list_add(list, 0, n - 1);
    for (uint32_t i = 1; i + 1 < n; i++) {
        hs_edge_list_add(list, i, i + 1);
        hs_edge_list_add(list, i + 1, i);
    }
}

/* A list whose every cell points at one string. */
static void add_common_string(struct hs_edge_list *list, uint32_t n)
{
    for (uint32_t i = 0; i + 2 < n; i++) {
        hs_edge_list_add(list, i, i + 1);
        hs_edge_list_add(list, i, n - 1);
    }
}

/* Irreducible, with back edges. */
static void add_ladder(struct hs_edge_list *list, uint32_t n)
{
    hs_edge_list_add(list, 0, 1);
    hs_edge_list_add(list, 0, n / 2);
    hs_edge_list_add(list, 0, n - 1);
    for (uint32_t i = 1; i + 3 < n; i++) {
        hs_edge_list_add(list, i, i + 1);
        hs_edge_list_add(list, i, i + 2);
        if (i > 2)
            hs_edge_list_add(list, i, i - 2);
    }
}

/* Two lists of the same elements, the second in the opposite order. */
static void add_parallel_lists(struct hs_edge_list *list, uint32_t n)
{
    uint32_t third = (n - 1) / 3;
    for (uint32_t i = 0; i < third; i++) {
        hs_edge_list_add(list, i == 0 ? 0 : i, i + 1);
        hs_edge_list_add(list, i == 0 ? 0 : third + i, third + i + 1);
        hs_edge_list_add(list, i + 1, 2 * third + 1 + i);
        hs_edge_list_add(list, third + i + 1, 3 * third - i);
    }
}

/* A list whose cells share strings, each of two that are far apart. */
static void add_shared_strings(struct hs_edge_list *list, uint32_t n)
{
    uint32_t half = n / 2;
    for (uint32_t i = 0; i + 1 < half; i++)
        hs_edge_list_add(list, i, i + 1);
    for (uint32_t i = 1; i < half; i++) {
        hs_edge_list_add(list, i, half + i);
        hs_edge_list_add(list, (i + half / 2) % half, half + i);
    }
}

/* A chain of diamonds, with garbage that points into all of it. */
static void add_diamonds(struct hs_edge_list *list, uint32_t n)
{
    uint32_t half = n / 2;
    for (uint32_t i = 0; i + 4 <= half; i += 3) {
        hs_edge_list_add(list, i, i + 1);
        hs_edge_list_add(list, i, i + 2);
        hs_edge_list_add(list, i + 1, i + 3);
        hs_edge_list_add(list, i + 2, i + 3);
    }
    for (uint32_t i = half + 1; i < n; i++) {
        hs_edge_list_add(list, i, i - half);
        hs_edge_list_add(list, i, i == half + 1 ? n - 1 : i - 1);
    }
}

static void test_shapes(void **state)
{
    static const uint32_t sizes[] = {40, 41, 1000, 150000};
    static void (*const shapes[])(struct hs_edge_list * list, uint32_t n) = {
        add_list_then_array, add_list_beside_array, add_doubly_linked,  add_common_string,
        add_ladder,          add_parallel_lists,    add_shared_strings, add_diamonds,
    };
    for (size_t shape = 0; shape < sizeof shapes / sizeof *shapes; shape++)
        for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
            struct hs_edge_list list = {0};
            shapes[shape](&list, sizes[i]);
            check_graph(hs_edge_list_graph(&list, sizes[i], 1, false));
            hs_edge_list_fini(&list);
        }
}

static void test_garbage_changes_nothing(void **state)
{
    struct hs_edge_list list = {0};
    /* 0 -> 1 -> 2 -> 3; the others are not reached and point everywhere, in circles too. */
    static const uint32_t ends[][2] = {{0, 1}, {1, 2}, {2, 3}, {4, 1}, {4, 3}, {5, 3}, {4, 5},
                                       {5, 5}, {6, 7}, {7, 6}, {7, 3}, {8, 9}, {9, 8}, {8, 4}};
    for (size_t i = 0; i < sizeof ends / sizeof *ends; i++)
        hs_edge_list_add(&list, ends[i][0], ends[i][1]);
    check_graph(hs_edge_list_graph(&list, 10, 1, false));
    hs_edge_list_fini(&list);
}

static void test_beyond_32_bits(void **state)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct world world;
        world_init(&world, random_graph(seed + 2, 3000, 5000));
        world.forward.gap_at = world.backward.gap_at = world.graph.n_nodes / 2;
        world.forward.gap = world.backward.gap = ((uint64_t)1 << 32) - 7;
        world_check(&world);
        world_fini(&world);
    }
}

/* ---- failures ---- */

static void test_budget(void **state)
{
    struct world world;
    world_init(&world, random_graph(4, 900, 1500));
    assert_int_equal(world_run(&world), HS_OK);
    uint64_t peak = world.budget.peak_bytes;
    hs_passes_fini(&world.passes);
    assert_true(peak - HS_BUDGET_BASE_BYTES >=
                hs_passes_min_bytes(world.graph.n_nodes, world.graph.n_tree));
    for (uint64_t limit = HS_BUDGET_BASE_BYTES; limit < peak; limit += 1 + (peak - limit) / 29) {
        budget_init(&world.budget, limit);
        assert_int_equal(world_run(&world), HS_LIMIT);
        assert_int_equal(world.budget.used_bytes, HS_BUDGET_BASE_BYTES);
    }
    budget_init(&world.budget, peak);
    world_check(&world);
    world_fini(&world);
}

/* What is planned from a count is enough, of memory and of disk, also where all of the core is
 * cycles. */
static void check_planned(struct hs_graph graph)
{
    struct world world;
    struct hs_passes_counts counts = {.n_words = 2 * (uint64_t)graph.n_nodes};
    world_init(&world, graph);
    const struct hs_sweep forward = hs_piece_sweep(&world.forward);
    assert_int_equal(hs_passes_count(&forward, NULL, &counts, &err), HS_OK);
    world.budget.limit_bytes = HS_BUDGET_BASE_BYTES + hs_passes_plan_bytes(&counts);
    hs_spill_most_again();
    world_check(&world);
    assert_true(hs_spill_most_bytes() <=
                hs_passes_disk_bytes(&counts, hs_passes_plan_bytes(&counts)));
    world_fini(&world);
}

static void test_planned(void **state)
{
    for (uint32_t shape = 0; shape < ODD_SHAPES; shape++)
        check_planned(odd_shape(shape, 150000));
    for (uint64_t seed = 0; seed < 2 * ODD_KINDS; seed++)
        check_planned(odd_graph(seed, 60000));
    check_planned(odd_mixed(100000));
}

static void test_every_allocation_fails(void **state)
{
    struct world world;
    world_init(&world, random_graph(4, 200, 400));
    FAIL_EACH (each, .mode = FAIL_BOTH, .at_least = 30) {
        if (FAIL_EACH_TRY(each, world_run(&world)) == HS_OK)
            hs_passes_fini(&world.passes);
        assert_int_equal(world.budget.used_bytes, HS_BUDGET_BASE_BYTES);
    }
    world_check(&world);
    world_fini(&world);
}

static bool refuse(void *context, const char *phase, uint64_t done, uint64_t total)
{
    assert_true(phase != NULL && (total == 0 || done <= total));
    return --*(int *)context > 0;
}

static void test_interrupted(void **state)
{
    struct world world;
    hs_status status = HS_LIMIT;
    int at = 1;
    world_init(&world, random_graph(4, 200, 400));
    for (; status != HS_OK; at++) {
        int left = at;
        struct hs_progress progress = {refuse, &left};
        world.progress = &progress;
        status = world_run(&world);
        assert_true(status == HS_OK || status == HS_LIMIT);
        assert_true(status == HS_OK || strstr(err.message, "interrupted") != NULL);
        assert_true(status == HS_OK || world.budget.used_bytes == HS_BUDGET_BASE_BYTES);
    }
    assert_true(at > 50);
    world_fini(&world);
}

static void test_no_spill(void **state)
{
    struct world world;
    world_init(&world, random_graph(4, 200, 400));
    world.budget.spill_dir = "/nowhere/at/all";
    assert_int_equal(world_run(&world), HS_IO);
    assert_non_null(strstr(err.message, "/nowhere/at/all"));
    world_fini(&world);
}

static void test_too_many_nodes(void **state)
{
    struct world world;
    world_init(&world, random_graph(4, 200, 400));
    world.forward.gap_at = world.backward.gap_at = 100;
    world.forward.gap = world.backward.gap = (uint64_t)1 << 37;
    assert_int_equal(world_run(&world), HS_LIMIT);
    world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_garbage_changes_nothing),
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_untidy),
        cmocka_unit_test(test_bushy),
        cmocka_unit_test(test_shapes),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_beyond_32_bits),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_planned),
        cmocka_unit_test(test_every_allocation_fails),
        cmocka_unit_test(test_interrupted),
        cmocka_unit_test(test_no_spill),
        cmocka_unit_test(test_too_many_nodes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
