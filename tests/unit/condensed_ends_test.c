/* links: hs_dominator hs_graph */
#include "dominator/condensed_ends.h"

#include "unit.h"

#include "base/alloc.h"
#include "dominator/reach_bits.h"
#include "edge_list.h"

static struct hs_error err;

struct world {
    uint32_t n_nodes, n_tree, n_ends;
    struct hs_edge_list edges, to_ends; /* to_ends: node, end */
    struct hs_budget budget;
};

static void world_init(struct world *w, uint64_t seed, uint32_t n_nodes, uint32_t span)
{
    uint64_t random = seed + 1;
    *w = (struct world){.n_nodes = n_nodes, .n_tree = n_nodes / 8, .n_ends = n_nodes / 4};
    hs_budget_init((uint64_t)64 << 20, NULL, 1, &w->budget);
    for (uint32_t i = 1; i < w->n_tree; i++)
        hs_edge_list_add(&w->edges, n_nodes - 1, n_nodes - 1 - i);
    for (uint32_t node = 1; node + 1 < n_nodes; node++)
        for (uint32_t k = 0; k < 2; k++)
            hs_edge_list_add(&w->edges, node,
                             node - 1 - hs_random_below(&random, node < span ? node : span));
    for (uint32_t end = 0; end < w->n_ends; end++) /* some have none */
        for (uint32_t k = hs_random_below(&random, 5); k != 0; k--)
            hs_edge_list_add(&w->to_ends, hs_random_below(&random, n_nodes), end);
}

static void world_fini(struct world *w)
{
    hs_edge_list_fini(&w->edges);
    hs_edge_list_fini(&w->to_ends);
}

/* The rows of ends, in descending order of the ends: any order will do. */
static void ends_make(struct world *w, struct hs_condensed *condensed)
{
    struct hs_graph graph = hs_edge_list_graph(&w->to_ends, w->n_nodes, 1, false);
    struct hs_graph reverse;
    struct hs_spill *spill = &condensed->ends.spill;
    void *memory;
    assert_int_equal(hs_graph_reverse(&graph, &reverse, &err), HS_OK);
    assert_int_equal(hs_pages_alloc(w->n_nodes, 1, &memory, &err), HS_OK);
    condensed->ends.degree = memory;
    condensed->ends.n = w->n_ends;
    condensed->ends.n_edges = graph.n_edges;
    for (uint32_t i = 0; i < w->n_nodes; i++)
        for (uint32_t n = graph.begin[i + 1] - graph.begin[i]; n != 0; n /= 2)
            condensed->ends.degree[i]++;
    assert_int_equal(hs_spill_open(&w->budget, "ends", spill, &err), HS_OK);
    for (uint32_t end = w->n_ends; end-- > 0;) {
        if (reverse.begin[end] == reverse.begin[end + 1])
            continue;
        assert_int_equal(hs_spill_put_varint(spill, end, &err), HS_OK);
        for (uint32_t e = reverse.begin[end]; e < reverse.begin[end + 1]; e++)
            assert_int_equal(hs_spill_put_varint(spill, reverse.target[e] + (uint64_t)1, &err),
                             HS_OK);
        assert_int_equal(hs_spill_put_varint(spill, 0, &err), HS_OK);
    }
    assert_int_equal(hs_spill_seal(spill, &err), HS_OK);
    hs_graph_fini(&reverse);
    hs_graph_fini(&graph);
}

/* What is reached, with ends left out or as nodes 0 .. n_ends - 1 of the graph itself. */
static void make(struct world *w, bool left_out, struct hs_condensed *ret)
{
    struct hs_condensed condensed = {.n_tree = w->n_tree, .budget = &w->budget};
    uint32_t shift = left_out ? 0 : w->n_ends;
    struct hs_edge_list list = {0};
    void *memory;
    condensed.n_nodes = w->n_nodes + shift;
    for (size_t i = 0; i < w->edges.n_edges; i++)
        hs_edge_list_add(&list, shift + w->edges.ends[2 * i], shift + w->edges.ends[2 * i + 1]);
    for (size_t i = 0; i < w->to_ends.n_edges && !left_out; i++)
        hs_edge_list_add(&list, shift + w->to_ends.ends[2 * i], w->to_ends.ends[2 * i + 1]);
    condensed.graph = hs_edge_list_graph(&list, condensed.n_nodes, 1, false);
    hs_edge_list_fini(&list);
    assert_int_equal(hs_pages_alloc(w->n_tree, sizeof(uint32_t), &memory, &err), HS_OK);
    condensed.of_tree = memory;
    for (uint32_t i = 0; i < w->n_tree; i++)
        condensed.of_tree[i] = condensed.n_nodes - 1 - i;
    assert_int_equal(hs_unit_sizes_init(w->n_nodes + w->n_ends, &w->budget, &condensed.sizes, &err),
                     HS_OK);
    for (uint32_t i = 0; i < w->n_nodes + w->n_ends; i++) {
        bool is_end = i < w->n_ends;
        uint64_t at = !left_out ? i : is_end ? w->n_nodes + i : i - w->n_ends;
        const struct hs_sizes own = {i * 7 % 101, 1, i % 50 / 49, i % 50 / 49};
        assert_int_equal(hs_unit_sizes_add(&condensed.sizes, at, &own, &err), HS_OK);
    }
    if (left_out)
        ends_make(w, &condensed);
    *ret = condensed;
}

static hs_status reach(struct world *w, bool left_out, uint64_t room, struct hs_sizes **ret)
{
    struct hs_condensed condensed;
    uint64_t used = w->budget.used_bytes;
    make(w, left_out, &condensed);
    w->budget.limit_bytes = w->budget.used_bytes + room;
    hs_status status = hs_condensed_reach(&condensed, NULL, NULL, ret, &err);
    w->budget.limit_bytes = (uint64_t)64 << 20;
    hs_condensed_fini(&condensed);
    assert_true(w->budget.used_bytes == used);
    return status;
}

/* Ends left out change no answer: searches alone (few nodes), and many that travel together, in
 * less and less memory. */
static void test_left_out(void **state)
{
    static const struct {
        uint32_t n_nodes, span;
    } shapes[] = {{60, 9}, {700, 50}, {20000, 40}, {20000, 9000}};
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++) {
        struct world w;
        struct hs_sizes *expected, *found;
        unsigned n_done = 0, n_refused = 0;
        world_init(&w, i, shapes[i].n_nodes, shapes[i].span);
        assert_int_equal(reach(&w, false, (uint64_t)32 << 20, &expected), HS_OK);
        for (uint64_t room = (uint64_t)32 << 20; room > 512; room -= room / 3) {
            hs_status status = reach(&w, true, room, &found);
            n_done += status == HS_OK;
            n_refused += status == HS_LIMIT;
            if (status != HS_OK)
                continue;
            assert_memory_equal(found, expected, w.n_tree * sizeof *found);
            hs_free(found);
        }
        assert_true(n_done >= 5 && n_refused >= 1);
        hs_free(expected);
        world_fini(&w);
    }
}

/* Pairs that do not fit go in several batches; each end counts once per search, met by whatever
 * many nodes. */
static void test_batches(void **state)
{
    enum { SEARCHES = 40 };
    struct world w;
    struct hs_condensed condensed;
    struct ends_batch batch;
    struct hs_sizes sums[2][SEARCHES];
    unsigned n_given[2] = {0};
    world_init(&w, 5, 300, 20);
    make(&w, true, &condensed);
    for (int run = 0; run < 2; run++) {
        if (run == 1) /* room for what must be, no more */
            w.budget.limit_bytes = w.budget.used_bytes + 60 * 16 + 1024;
        memset(sums[run], 0, sizeof sums[run]);
        assert_int_equal(
            condensed_ends_batch_init(&condensed, 50, sums[run], SEARCHES, &batch, &err), HS_OK);
        assert_true(run == 0 ? batch.capacity > 2000 : batch.capacity < 100);
        for (uint32_t search = 0; search < SEARCHES; search++) {
            uint64_t before = batch.n;
            assert_int_equal(condensed_ends_batch_reserve(&batch, 50, &err), HS_OK);
            n_given[run] += batch.n < before;
            for (uint32_t i = 0; i < 50; i++)
                condensed_ends_batch_put(&batch, (search * 31 + i * 3) % 300, search);
        }
        assert_int_equal(condensed_ends_batch_credit(&batch, &err), HS_OK);
        assert_int_equal(batch.n, 0);
        condensed_ends_batch_fini(&batch);
    }
    assert_int_equal(n_given[0], 0);
    assert_int_equal(n_given[1], SEARCHES - 1);
    assert_memory_equal(sums[0], sums[1], sizeof sums[0]);
    for (uint32_t search = 0; search < SEARCHES; search++) {
        struct hs_sizes expected = {0};
        bool is_met[300] = {0}, has_end[75] = {0};
        for (uint32_t i = 0; i < 50; i++)
            is_met[(search * 31 + i * 3) % 300] = true;
        for (size_t i = 0; i < w.to_ends.n_edges; i++)
            if (is_met[w.to_ends.ends[2 * i]])
                has_end[w.to_ends.ends[2 * i + 1]] = true;
        for (uint32_t end = 0; end < w.n_ends; end++)
            if (has_end[end])
                hs_unit_sizes_sum(&condensed.sizes, w.n_nodes + end, &expected);
        assert_memory_equal(&expected, &sums[0][search], sizeof expected);
    }
    hs_condensed_fini(&condensed);
    world_fini(&w);
}

/* Passes of few bits and few sets, done again with fewer, ends included. */
static void test_widths(void **state)
{
    static const struct reach_bits_options options[] = {{0}, {.first_bits = 64}, {512, 9, NULL}};
    enum { QUERIES = 150 };
    struct root_query queries[QUERIES], expected[QUERIES];
    struct world w;
    struct hs_condensed condensed;
    world_init(&w, 11, 900, 200);
    for (size_t i = 0; i < sizeof options / sizeof *options; i++)
        for (int left_out = 0; left_out < 2; left_out++) {
            make(&w, left_out, &condensed);
            struct root_query *to = left_out ? queries : expected;
            for (uint32_t k = 0; k < QUERIES; k++)
                to[k] = (struct root_query){.node = condensed.n_nodes - 1 - 5 * k};
            assert_int_equal(hs_condensed_reverse(&condensed, &err), HS_OK);
            assert_int_equal(reach_bits_run(&condensed, to, QUERIES, &options[i], &err), HS_OK);
            hs_condensed_fini(&condensed);
            for (uint32_t k = 0; k < QUERIES && left_out; k++)
                assert_memory_equal(&queries[k].sizes, &expected[k].sizes, sizeof to[k].sizes);
        }
    world_fini(&w);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_left_out),
        cmocka_unit_test(test_batches),
        cmocka_unit_test(test_widths),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
