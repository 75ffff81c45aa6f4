/* links: hs_passes hs_dominator hs_graph */
#include "fail_each.h"
#include "passes/pass_steps.h"

#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "passes/core_edges.h"
#include "passes/forest_stack.h"
#include "piece_sweep.h"
#include "seeds.h"

static struct hs_error err;

/* Thousands of small files are made: in memory, where there is a place for that. */
static void budget_init(struct hs_budget *budget, uint64_t limit_bytes)
{
    const char *memory = "/dev/shm";
    hs_budget_init(limit_bytes, access(memory, W_OK) == 0 ? memory : NULL, 1, budget);
}

/* A graph with its reverse as sweeps, and the result of the step. */
struct world {
    struct hs_graph graph, reverse;
    struct hs_piece_source forward, backward;
    struct hs_budget budget;
    struct hs_passes passes;
    struct hs_passes_input input;
};

static void world_init(struct world *world, struct hs_graph graph)
{
    *world = (struct world){.graph = graph};
    assert_int_equal(hs_graph_reverse(&world->graph, &world->reverse, &err), HS_OK);
    world->forward = (struct hs_piece_source){&world->graph, 7, 11, 0, 0, NULL};
    world->backward = (struct hs_piece_source){&world->reverse, 5, 3, 0, 0, NULL};
    budget_init(&world->budget, UINT64_MAX);
}

static hs_status world_run(struct world *world)
{
    world->input = (struct hs_passes_input){
        .forward = hs_piece_sweep(&world->forward),
        .backward = hs_piece_sweep(&world->backward),
        .budget = &world->budget,
        .progress = world->input.progress,
    };
    world->passes = (struct hs_passes){
        .n_nodes = world->input.forward.n_nodes,
        .n_tree = world->graph.n_tree,
        .budget = &world->budget,
    };
    return pass_forest_run(&world->input, &world->passes, &err);
}

static void world_fini_passes(struct world *world)
{
    struct hs_passes *passes = &world->passes;
    hs_spill_close(&passes->order);
    hs_spill_close(&passes->depths);
    hs_spill_close(&passes->core_edges);
    pass_bitmap_fini(&world->budget, &passes->is_head);
    *passes = (struct hs_passes){0};
    assert_int_equal(world->budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

static void world_fini(struct world *world)
{
    hs_graph_fini(&world->graph);
    hs_graph_fini(&world->reverse);
}

/* ---- what is expected, by the book ---- */

struct forest_book {
    uint32_t n_positions, n_core, max_depth;
    uint32_t *n_in, *order, *depth, *place; /* place: UINT32_MAX for none */
    bool *is_head;
};

static void *book_alloc(size_t n, size_t size)
{
    void *memory;
    assert_int_equal(hs_alloc(n + 1, size, &memory, &err), HS_OK);
    return memory;
}

static bool is_counted(const uint32_t *row, uint32_t i, uint32_t node)
{
    return row[i] != node && (i == 0 || row[i] != row[i - 1]);
}

static void book_visit(struct forest_book *book, uint32_t node, uint32_t depth)
{
    book->is_head[book->n_positions] = depth == 0;
    book->n_core += depth == 0;
    book->max_depth = depth > book->max_depth ? depth : book->max_depth;
    book->place[node] = book->n_positions;
    book->depth[book->n_positions] = depth;
    book->order[book->n_positions++] = node;
}

static void book_region(struct forest_book *book, const struct hs_graph *graph, uint32_t head)
{
    struct {
        uint32_t node, depth;
    } *stack = book_alloc(graph->n_edges + 1, sizeof *stack);
    uint32_t n = 0;
    stack[n].node = head;
    stack[n++].depth = 0;
    while (n != 0) {
        uint32_t node = stack[--n].node, depth = stack[n].depth, degree;
        const uint32_t *row = hs_graph_row(graph, node, &degree);
        book_visit(book, node, depth);
        for (uint32_t i = degree; i-- > 0;)
            if (is_counted(row, i, node) && book->n_in[row[i]] == 1 && row[i] != 0) {
                stack[n].node = row[i];
                stack[n++].depth = depth + 1;
            }
    }
    hs_free(stack);
}

static void book_init(struct forest_book *book, const struct hs_graph *graph,
                      const struct hs_graph *reverse)
{
    uint32_t n = graph->n_nodes;
    *book = (struct forest_book){
        .n_in = book_alloc(n, sizeof(uint32_t)),
        .order = book_alloc(n, sizeof(uint32_t)),
        .depth = book_alloc(n, sizeof(uint32_t)),
        .place = book_alloc(n, sizeof(uint32_t)),
        .is_head = book_alloc(n, sizeof(bool)),
    };
    for (uint32_t node = 0; node < n; node++) {
        uint32_t degree;
        const uint32_t *row = hs_graph_row(reverse, node, &degree);
        for (uint32_t i = 0; i < degree; i++)
            book->n_in[node] += is_counted(row, i, node);
        book->place[node] = UINT32_MAX;
    }
    for (uint32_t node = 0; node < n; node++)
        if (node == 0 || book->n_in[node] > 1)
            book_region(book, graph, node);
}

static void book_fini(struct forest_book *book)
{
    hs_free(book->n_in);
    hs_free(book->order);
    hs_free(book->depth);
    hs_free(book->place);
    hs_free(book->is_head);
}

/* ---- comparing ---- */

static void check_positions(const struct world *world, const struct forest_book *book)
{
    const struct hs_passes *passes = &world->passes;
    struct hs_spill_reader order = {0}, depths = {0};

    assert_int_equal(passes->n_positions, book->n_positions);
    assert_int_equal(passes->is_head.n_bits, book->n_positions);
    assert_int_equal(passes->n_core, book->n_core);
    assert_int_equal(passes->max_depth, book->max_depth);
    assert_int_equal(hs_spill_read(&passes->order, 0, passes->order.n_bytes, &order, &err), HS_OK);
    assert_int_equal(hs_spill_read(&passes->depths, 0, passes->depths.n_bytes, &depths, &err),
                     HS_OK);
    for (uint32_t i = 0; i < book->n_positions; i++) {
        uint64_t node = 0, depth = 0;
        unsigned width = hs_ids_width(passes->n_nodes);
        assert_int_equal(hs_spill_get_fixed(&order, width, &node, &err), HS_OK);
        assert_int_equal(hs_spill_get_fixed(&depths, 4, &depth, &err), HS_OK);
        assert_int_equal(node, hs_piece_node(&world->forward, book->order[i]));
        assert_int_equal(depth, book->depth[i]);
        assert_int_equal(hs_bitmap_get(&passes->is_head, i), book->is_head[i]);
    }
    assert_true(hs_spill_at_end(&order) && hs_spill_at_end(&depths));
    assert_int_equal(hs_bitmap_rank(&passes->is_head, book->n_positions), book->n_core);
    hs_spill_reader_close(&order);
    hs_spill_reader_close(&depths);
}

/* Marks every edge that is read; each is expected once. */
static void check_edges(const struct world *world, const struct forest_book *book)
{
    struct hs_spill_reader reader = {0};
    struct core_edges *edges = book_alloc(1, sizeof *edges);
    const struct hs_spill *spill = &world->passes.core_edges;
    uint32_t *n_found = book_alloc(world->graph.n_nodes, sizeof *n_found), last = 0;
    bool more;

    assert_int_equal(hs_spill_read(spill, 0, spill->n_bytes, &reader, &err), HS_OK);
    for (;;) {
        assert_int_equal(core_edges_get(&reader, edges, &more, &err), HS_OK);
        if (!more)
            break;
        assert_true(edges->core != 0 && edges->core >= last && edges->core < book->n_core);
        last = edges->core;
        uint32_t head = 0;
        for (uint32_t rank = 0;; head++)
            if (book->is_head[head] && rank++ == edges->core)
                break;
        for (uint32_t i = 0; i < edges->n; i++) {
            uint32_t degree, source, n_same = 0;
            const uint32_t *row = hs_graph_row(&world->reverse, book->order[head], &degree);
            assert_true(edges->source[i] < book->n_positions);
            assert_true(i == 0 || edges->source[i] > edges->source[i - 1]);
            source = book->order[edges->source[i]];
            for (uint32_t k = 0; k < degree; k++)
                n_same += row[k] == source;
            assert_true(n_same != 0 && source != book->order[head]);
            n_found[book->order[head]]++;
        }
    }
    for (uint32_t node = 1; node < world->graph.n_nodes; node++) {
        uint32_t degree, expected = 0;
        const uint32_t *row = hs_graph_row(&world->reverse, node, &degree);
        for (uint32_t i = 0; i < degree; i++)
            expected += is_counted(row, i, node) && book->place[row[i]] != UINT32_MAX;
        assert_int_equal(n_found[node], book->n_in[node] > 1 ? expected : 0);
    }
    hs_free(n_found);
    hs_free(edges);
    hs_spill_reader_close(&reader);
}

static void world_check(struct world *world)
{
    struct forest_book book;
    book_init(&book, &world->graph, &world->reverse);
    assert_int_equal(world_run(world), HS_OK);
    check_positions(world, &book);
    check_edges(world, &book);
    world_fini_passes(world);
    book_fini(&book);
}

static struct hs_graph shape(uint64_t seed, uint32_t scale)
{
    struct hs_random_shape random = {
        .n_leaves = 1 + (uint32_t)(seed % 9),
        .n_blocks = scale + (uint32_t)(seed % 41),
        .n_edges = (uint32_t)(seed % 83) * scale / 30,
        .flat = seed % 3 == 0,
        .keep_duplicates = seed % 4 == 0,
        .local = seed % 2 == 0,
    };
    return hs_random_graph(seed, &random);
}

static void test_random(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(1500); seed++) {
        struct world world;
        world_init(&world, shape(seed, seed % 50 == 0 ? 900 : 30));
        world.forward.piece_nodes = 1 + (uint32_t)(seed % 17);
        world.backward.piece_edges = 1 + (uint32_t)(seed % 5);
        world_check(&world);
        world_fini(&world);
    }
}

/* Node 0 has predecessors, single nodes stand in circles, nodes point at themselves. */
static void test_untidy(void **state)
{
    for (uint64_t seed = 1; seed < HS_SEEDS(1500); seed++) {
        uint64_t random = seed;
        struct hs_edge_list list = {0};
        struct world world;
        uint32_t n = 2 + hs_random_below(&random, 30), n_edges = hs_random_below(&random, 2 * n);
        for (uint32_t i = 0; i < n_edges; i++)
            hs_edge_list_add(&list, hs_random_below(&random, n), hs_random_below(&random, n));
        world_init(&world, hs_edge_list_graph(&list, n, 1, seed % 2 == 0));
        world_check(&world);
        world_fini(&world);
        hs_edge_list_fini(&list);
    }
}

static void test_single_node(void **state)
{
    struct hs_edge_list list = {0};
    struct world world;
    world_init(&world, hs_edge_list_graph(&list, 1, 1, false));
    world_check(&world);
    world_fini(&world);
}

/* Numbers of five bytes, and a gap that must cost no time. */
static void test_beyond_32_bits(void **state)
{
    for (uint64_t seed = 0; seed < 3; seed++) {
        struct world world;
        world_init(&world, shape(seed + 60, 200));
        world.forward.gap_at = world.backward.gap_at = world.graph.n_nodes / 3;
        world.forward.gap = world.backward.gap = ((uint64_t)1 << 32) + 12345;
        world_check(&world);
        world_fini(&world);
    }
}

/* Cells of three: next, a box of two, in either order of addresses. Every box waits on the stack
 * when it comes after the next cell. */
static struct hs_graph deep_list(uint32_t n_cells, bool box_first)
{
    struct hs_edge_list list = {0};
    for (uint32_t i = 0; i < n_cells; i++) {
        uint32_t cell = box_first ? 3 * (n_cells - i) : 3 * i, box = cell + 1;
        uint32_t next = box_first ? cell - 3 : cell + 3;
        if (i == 0)
            hs_edge_list_add(&list, 0, cell);
        if (i + 1 < n_cells)
            hs_edge_list_add(&list, cell, next);
        hs_edge_list_add(&list, cell, box);
        hs_edge_list_add(&list, box, box + 1);
    }
    struct hs_graph graph = hs_edge_list_graph(&list, 3 * n_cells + 3, 1, false);
    hs_edge_list_fini(&list);
    return graph;
}

static void test_deep_list(void **state)
{
    for (int box_first = 0; box_first < 2; box_first++) {
        struct world world;
        world_init(&world, deep_list(100000, box_first == 1));
        world.forward.piece_nodes = world.backward.piece_nodes = 1000;
        world.forward.piece_edges = world.backward.piece_edges = 3000;
        world_check(&world);
        world_fini(&world);
    }
}

static void test_wide_rows(void **state)
{
    struct hs_edge_list list = {0};
    struct world world;
    /* Node 1 is an array of all others, each of which points at node 2 but every third. */
    uint32_t n = 3 * CORE_EDGES_MAX;
    hs_edge_list_add(&list, 0, 1);
    for (uint32_t i = 2; i < n; i++) {
        hs_edge_list_add(&list, 1, i);
        if (i % 3 != 0)
            hs_edge_list_add(&list, i, 2);
    }
    world_init(&world, hs_edge_list_graph(&list, n, 1, false));
    for (uint32_t edges = 100; edges < 20000; edges *= 3) {
        world.forward.piece_edges = world.backward.piece_edges = edges;
        world_check(&world);
    }
    world_fini(&world);
    hs_edge_list_fini(&list);
}

/* ---- the stack alone ---- */

static void test_stack_spills(void **state)
{
    struct forest_stack stack = {0};
    struct hs_budget budget;
    uint64_t random = 5, n = 0;
    uint32_t *depths = book_alloc(100000, sizeof *depths);
    bool is_empty;

    budget_init(&budget, UINT64_MAX);
    assert_int_equal(forest_stack_init(&budget, 0, 100, &stack, &err), HS_OK);
    for (uint32_t i = 0; i < 100000; i++) {
        /* Up to 5000 frames, then down again, many times over every border. */
        bool up = i / 5000 % 2 == 0 ? hs_random_below(&random, 10) != 0
                                    : hs_random_below(&random, 10) == 0;
        if (up) {
            struct forest_cursor cursor = {.at = ((uint64_t)1 << 39) + i,
                                           .child = ((uint64_t)1 << 36) + 3 * n,
                                           .has_more = i % 3 == 0};
            depths[n] = i % 7 == 0 ? UINT32_MAX - i : i;
            if (forest_stack_push(&stack, &cursor, depths[n], &err) != HS_OK)
                fail_msg("%s", err.message);
            n++;
        }
        assert_int_equal(forest_stack_load(&stack, &is_empty, &err), HS_OK);
        assert_int_equal(is_empty, n == 0);
        if (up || n == 0)
            continue;
        struct forest_frame frame = stack.frames[--stack.n];
        n--;
        struct forest_cursor cursor = forest_frame_cursor(&frame);
        assert_int_equal(forest_frame_depth(&frame), depths[n]);
        assert_int_equal(cursor.child, ((uint64_t)1 << 36) + 3 * n);
        assert_int_equal(cursor.has_more, (cursor.at - ((uint64_t)1 << 39)) % 3 == 0);
    }
    assert_true(stack.reserved == 200);
    forest_stack_fini(&stack);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    hs_free(depths);
}

/* ---- failures ---- */

static void test_budget(void **state)
{
    struct world world;
    world_init(&world, shape(72, 900));
    assert_int_equal(world_run(&world), HS_OK);
    uint64_t peak = world.budget.peak_bytes;
    world_fini_passes(&world);
    for (uint64_t limit = HS_BUDGET_BASE_BYTES; limit < peak; limit += 1 + (peak - limit) / 7) {
        budget_init(&world.budget, limit);
        assert_int_equal(world_run(&world), HS_LIMIT);
        assert_non_null(strstr(err.hint, "--memory"));
        world_fini_passes(&world);
    }
    budget_init(&world.budget, peak);
    assert_int_equal(world_run(&world), HS_OK);
    world_fini_passes(&world);
    world_fini(&world);
}

static void test_every_allocation_fails(void **state)
{
    struct world world;
    world_init(&world, shape(72, 200));
    FAIL_EACH (each, .mode = FAIL_BOTH, .at_least = 10) {
        (void)FAIL_EACH_TRY(each, world_run(&world));
        world_fini_passes(&world);
    }
    world_fini(&world);
}

static void test_sweeps_fail(void **state)
{
    struct world world;
    world_init(&world, shape(72, 200));
    for (int way = 0; way < 2; way++) {
        uint32_t left, n = 0;
        hs_status status = HS_FORMAT;
        for (; status != HS_OK; n++) {
            left = n;
            world.forward.fail_after = way == 0 ? &left : NULL;
            world.backward.fail_after = way == 1 ? &left : NULL;
            status = world_run(&world);
            assert_true(status == HS_OK || status == HS_FORMAT);
            world_fini_passes(&world);
        }
        assert_true(n > 20);
    }
    world_fini(&world);
}

static void test_no_spill(void **state)
{
    struct world world;
    world_init(&world, shape(72, 200));
    world.budget.spill_dir = "/nowhere/at/all";
    assert_int_equal(world_run(&world), HS_IO);
    assert_non_null(strstr(err.message, "/nowhere/at/all"));
    world_fini_passes(&world);
    world_fini(&world);
}

/* Sweeps that contradict each other must not be followed for ever. */
static void test_contradicting_sweeps(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(600); seed++) {
        struct world world;
        struct hs_graph other = shape(seed, 30);
        world_init(&world, shape(seed, 30));
        uint64_t random = seed + 1;
        for (uint32_t e = 0; e < other.n_edges; e++) /* ascending still: whole rows move */
            other.target[e] = world.graph.target[hs_random_below(&random, 4) == 0 ? 0 : e];
        for (uint32_t u = 0; u < other.n_nodes; u++)
            for (uint32_t e = other.begin[u] + 1; e < other.begin[u + 1]; e++)
                if (other.target[e] <= other.target[e - 1])
                    other.target[e] = other.target[e - 1];
        world.forward.graph = &other;
        hs_status status = world_run(&world);
        assert_true(status == HS_OK || status == HS_BUG);
        world_fini_passes(&world);
        hs_graph_fini(&other);
        world_fini(&world);
    }
}

static bool refuse(void *context, const char *phase, uint64_t done, uint64_t total)
{
    assert_true(phase != NULL && done <= total);
    return --*(int *)context > 0;
}

static void test_interrupted(void **state)
{
    struct world world;
    hs_status status = HS_LIMIT;
    int at = 1;
    world_init(&world, shape(72, 200));
    for (; status != HS_OK; at++) {
        int left = at;
        struct hs_progress progress = {refuse, &left};
        world.input.progress = &progress;
        status = world_run(&world);
        assert_true(status == HS_OK || status == HS_LIMIT);
        assert_true(status == HS_OK || strstr(err.message, "interrupted") != NULL);
        world_fini_passes(&world);
    }
    assert_true(at > 50);
    world_fini(&world);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_single_node),
        cmocka_unit_test(test_random),
        cmocka_unit_test(test_untidy),
        cmocka_unit_test(test_beyond_32_bits),
        cmocka_unit_test(test_deep_list),
        cmocka_unit_test(test_wide_rows),
        cmocka_unit_test(test_stack_spills),
        cmocka_unit_test(test_budget),
        cmocka_unit_test(test_every_allocation_fails),
        cmocka_unit_test(test_sweeps_fail),
        cmocka_unit_test(test_no_spill),
        cmocka_unit_test(test_contradicting_sweeps),
        cmocka_unit_test(test_interrupted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
