/* links: hs_dominator hs_graph hs_format */
#include "dominator/weights.h"

#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "graph_builder.h"

static struct hs_error err;

static bool sizes_are(struct hs_sizes a, struct hs_sizes b)
{
    return memcmp(&a, &b, sizeof a) == 0;
}

static void test_set_and_get(void **state)
{
    static const uint64_t words[] = {
        1, 2, UINT32_MAX - 1, UINT32_MAX, (uint64_t)UINT32_MAX + 1, UINT64_MAX, 0, 77};
    enum { N = sizeof words / sizeof *words, TREE = 3 };
    struct hs_weights weights;
    assert_int_equal(hs_weights_init(TREE + N, TREE, &weights, &err), HS_OK);
    for (uint32_t i = 0; i < N; i++)
        assert_int_equal(hs_weights_set(&weights, TREE + i, words[i], i % 2, &err), HS_OK);
    for (uint32_t i = 0; i < TREE; i++)
        assert_true(sizes_are(hs_weights_of(&weights, i), (struct hs_sizes){0}));
    for (uint32_t i = 0; i < N; i++) {
        uint64_t heap = i % 2 == 0 ? words[i] : 0, fixed = i % 2 == 1 ? words[i] : 0;
        struct hs_sizes expected = {heap, i % 2 == 0, fixed, i % 2 == 1};
        assert_true(sizes_are(hs_weights_of(&weights, TREE + i), expected));
        assert_true(hs_weights_in(&weights, TREE + i, HS_DIM_WORDS) == heap);
        assert_true(hs_weights_in(&weights, TREE + i, HS_DIM_STATIC_WORDS) == fixed);
        assert_true(hs_weights_in(&weights, TREE + i, HS_DIM_OBJECTS) == expected.objects);
        assert_true(hs_weights_in(&weights, TREE + i, HS_DIM_STATIC_OBJECTS) ==
                    expected.static_objects);
    }
    assert_int_equal(weights.n_static, N / 2);
    hs_weights_fini(&weights);
    hs_weights_fini(&weights);
    hs_weights_fini(NULL);
}

static void test_load(void **state)
{
    struct hs_graph_builder b = {0};
    struct hs_weights weights = {0};
    (void)hs_graph_builder_block(&b, 3, false);
    (void)hs_graph_builder_block(&b, (uint64_t)1 << 40, false);
    (void)hs_graph_builder_block(&b, 5, true);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    uint32_t first = (uint32_t)hs_graph_builder_node(&b, 0);
    FAIL_EACH (each, .at_least = 1) {
        if (FAIL_EACH_TRY(each, hs_weights_load(snap, NULL, &weights, &err)) != HS_OK)
            assert_null(weights.words);
    }
    assert_true(hs_weights_words(&weights, first) == 3);
    assert_true(hs_weights_words(&weights, first + 1) == (uint64_t)1 << 40);
    assert_true(sizes_are(hs_weights_of(&weights, first + 2),
                          (struct hs_sizes){.static_words = 5, .static_objects = 1}));
    hs_weights_fini(&weights);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_set_and_get),
                                       cmocka_unit_test(test_load)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
