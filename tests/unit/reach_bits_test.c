/* links: hs_dominator hs_graph */
#include "dominator/reach_bits.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "fail_each.h"

static struct hs_error err;

enum { NODES = 700, QUERIES = 333 };

/* Every edge leads to a smaller number; turned round. */
static struct hs_condensed random_condensed(uint64_t seed, uint32_t n_edges)
{
    struct hs_edge_list list = {0};
    struct hs_condensed condensed = {0};
    uint64_t random = seed + 1;
    for (uint32_t i = 0; i < n_edges; i++) {
        uint32_t source = 1 + hs_random_below(&random, NODES - 1);
        hs_edge_list_add(&list, source, hs_random_below(&random, source));
    }
    condensed.graph = hs_edge_list_graph(&list, NODES, 1, false);
    hs_edge_list_fini(&list);
    condensed.n_nodes = NODES;
    assert_int_equal(hs_condensed_reverse(&condensed, &err), HS_OK);
    assert_int_equal(hs_unit_sizes_init(NODES, NULL, &condensed.sizes, &err), HS_OK);
    for (uint32_t i = 0; i < NODES; i++) {
        struct hs_sizes own = {hs_random_below(&random, 100), 1, i % 5 / 4 * i, i % 5 / 4};
        assert_int_equal(hs_unit_sizes_add(&condensed.sizes, i, &own, &err), HS_OK);
    }
    return condensed;
}

static struct hs_sizes naive(const struct hs_condensed *condensed, uint32_t from)
{
    bool reached[NODES] = {0};
    struct hs_sizes sum = {0};
    reached[from] = true;
    for (uint32_t node = from + 1; node-- > 0;) {
        for (uint32_t e = condensed->graph.begin[node]; e < condensed->graph.begin[node + 1]; e++)
            reached[node] |= reached[condensed->graph.target[e]];
        if (reached[node])
            hs_unit_sizes_sum(&condensed->sizes, node, &sum);
    }
    return sum;
}

static void queries_make(struct root_query *queries)
{
    for (uint32_t i = 0; i < QUERIES; i++)
        queries[i] = (struct root_query){.node = NODES - 1 - 2 * i};
}

static void check(const struct hs_condensed *condensed, const struct reach_bits_options *options)
{
    struct root_query queries[QUERIES];
    queries_make(queries);
    assert_int_equal(reach_bits_run(condensed, queries, QUERIES, options, &err), HS_OK);
    for (uint32_t i = 0; i < QUERIES; i++) {
        struct hs_sizes expected = naive(condensed, NODES - 1 - 2 * i);
        assert_memory_equal(&queries[i].sizes, &expected, sizeof expected);
    }
}

/* Any width to begin with, and so few sets that passes are done again with fewer bits. */
static void test_widths(void **state)
{
    static const uint32_t widths[] = {0, 64, 128, 512, 4096};
    static const uint64_t sets[] = {0, 3, 40, 200};
    for (uint64_t seed = 0; seed < 8; seed++) {
        struct hs_condensed condensed = random_condensed(seed, 200 + 200 * (uint32_t)seed);
        for (size_t i = 0; i < sizeof widths / sizeof *widths; i++)
            for (size_t k = 0; k < sizeof sets / sizeof *sets; k++)
                check(&condensed, &(struct reach_bits_options){widths[i], sets[k], NULL});
        hs_condensed_fini(&condensed);
    }
}

static void test_nothing_asked(void **state)
{
    struct hs_condensed condensed = random_condensed(1, 100);
    assert_int_equal(reach_bits_run(&condensed, NULL, 0, &(struct reach_bits_options){0}, &err),
                     HS_OK);
    hs_condensed_fini(&condensed);
}

static void test_every_allocation_fails(void **state)
{
    struct hs_condensed condensed = random_condensed(4, 900);
    struct reach_bits_options options = {.first_bits = 128};
    struct root_query queries[QUERIES];
    queries_make(queries);
    FAIL_EACH (each, .at_least = 1) {
        (void)FAIL_EACH_TRY(each, reach_bits_run(&condensed, queries, QUERIES, &options, &err));
    }
    hs_condensed_fini(&condensed);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_nothing_asked),
        cmocka_unit_test(test_widths),
        cmocka_unit_test(test_every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
