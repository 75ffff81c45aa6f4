/* links: hs_graph hs_format */
#include "unit.h"

#include "base/alloc.h"
#include "graph/ids.h"

static void four_bytes_are_enough_below_2_to_32(void **state)
{
    assert_int_equal(hs_ids_width(0), 4);
    assert_int_equal(hs_ids_width(UINT32_MAX - 1), 4);
    assert_int_equal(hs_ids_width(UINT32_MAX), 5);
    assert_int_equal(hs_ids_width((uint64_t)1 << 39), 5);
}

/* Each number is written and read among its neighbours, the largest and "none" included. */
static void check_numbers(uint64_t bound, unsigned width)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_ids ids = {0};
    const uint64_t values[] = {0, 1, bound - 1, HS_IDS_NONE, bound / 2, 255, 256, bound - 1};
    enum { N = sizeof values / sizeof values[0] };

    assert_int_equal(hs_ids_init(N, bound, NULL, "the numbers", &ids, &err), HS_OK);
    assert_int_equal(ids.width, width);
    for (size_t i = 0; i < N; i++)
        assert_int_equal(hs_ids_get(&ids, i), 0);
    for (size_t round = 0; round < N; round++) {
        for (size_t i = N; i-- > 0;)
            hs_ids_set(&ids, i, values[(i + round) % N]);
        hs_ids_prefetch(&ids, round);
        for (size_t i = 0; i < N; i++)
            assert_true(hs_ids_get(&ids, i) == values[(i + round) % N]);
    }
    hs_ids_fill_none(&ids);
    for (size_t i = 0; i < N; i++)
        assert_true(hs_ids_get(&ids, i) == HS_IDS_NONE);
    hs_ids_fini(&ids);
    assert_null(ids.bytes);
    hs_ids_fini(&ids);
    hs_ids_fini(NULL);
}

static void keeps_numbers(void **state)
{
    check_numbers(1000, 4);
    check_numbers(UINT32_MAX - 1, 4);
    check_numbers(UINT32_MAX, 5);
    check_numbers((uint64_t)UINT32_MAX + 1, 5);
    check_numbers(((uint64_t)1 << 40) - 1, 5);
}

static void takes_from_the_budget_and_gives_back(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget;
    struct hs_ids ids = {0};

    hs_budget_init(HS_BUDGET_BASE_BYTES + 4008, NULL, 1, &budget);
    assert_int_equal(hs_ids_init(1001, 10, &budget, "the forest", &ids, &err), HS_LIMIT);
    assert_null(ids.bytes);
    assert_int_equal(hs_budget_left_bytes(&budget), 4008);
    assert_int_equal(hs_ids_init(1000, 10, &budget, "the forest", &ids, &err), HS_OK);
    assert_int_equal(hs_budget_left_bytes(&budget), 0);
    hs_ids_fini(&ids);
    assert_int_equal(hs_budget_left_bytes(&budget), 4008);

    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_ids_init(1000, 10, &budget, "the forest", &ids, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_int_equal(hs_budget_left_bytes(&budget), 4008);
}

static void refuses_what_has_no_room(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_ids ids = {0};

    assert_int_equal(hs_ids_init(1, (uint64_t)1 << 40, NULL, "x", &ids, &err), HS_LIMIT);
    assert_int_equal(hs_ids_init(UINT64_MAX / 2, 10, NULL, "x", &ids, &err), HS_LIMIT);
    assert_int_equal(hs_ids_init(UINT64_MAX / 4, 10, NULL, "x", &ids, &err), HS_LIMIT);
    assert_null(ids.bytes);
    assert_int_equal(hs_ids_init(0, 0, NULL, "x", &ids, &err), HS_OK);
    hs_ids_fini(&ids);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(four_bytes_are_enough_below_2_to_32),
        cmocka_unit_test(keeps_numbers),
        cmocka_unit_test(takes_from_the_budget_and_gives_back),
        cmocka_unit_test(refuses_what_has_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
