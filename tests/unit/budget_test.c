/* links: hs_base */
#include "unit.h"

#include "base/budget.h"

static void takes_and_gives(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget;

    hs_budget_init(HS_BUDGET_BASE_BYTES + 100, "/somewhere", 3, &budget);
    assert_string_equal(budget.spill_dir, "/somewhere");
    assert_int_equal(budget.n_threads, 3);
    assert_int_equal(hs_budget_left_bytes(&budget), 100);
    assert_int_equal(hs_budget_reserve(&budget, 60, "the forest", &err), HS_OK);
    assert_int_equal(hs_budget_reserve(&budget, 40, "the forest", &err), HS_OK);
    assert_int_equal(hs_budget_reserve(&budget, 0, "nothing", &err), HS_OK);
    assert_int_equal(hs_budget_left_bytes(&budget), 0);
    assert_int_equal(hs_budget_reserve(&budget, 1, "the tree", &err), HS_LIMIT);
    hs_budget_release(&budget, 40);
    assert_int_equal(hs_budget_reserve(&budget, 41, "the tree", &err), HS_LIMIT);
    assert_int_equal(hs_budget_left_bytes(&budget), 40);
    hs_budget_release(&budget, 60);
    assert_int_equal(hs_budget_left_bytes(&budget), 100);
    assert_int_equal(budget.peak_bytes, HS_BUDGET_BASE_BYTES + 100);
}

static void refuses_with_figures(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget;

    hs_budget_init((uint64_t)64 << 20, NULL, 1, &budget);
    assert_int_equal(hs_budget_reserve(&budget, (uint64_t)100 << 20, "the forest", &err), HS_LIMIT);
    assert_string_equal(
        err.message,
        "no memory for the forest: 100.0 MiB are needed, 52.0 MiB of 64.0 MiB are left");
    assert_string_equal(err.hint, "allow more with --memory");
    assert_int_equal(hs_budget_reserve(&budget, UINT64_MAX, "the forest", &err), HS_LIMIT);
    assert_int_equal(hs_budget_left_bytes(&budget), (uint64_t)52 << 20);
}

static void a_limit_below_the_base_leaves_nothing(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget;

    hs_budget_init(1, NULL, 1, &budget);
    assert_int_equal(hs_budget_left_bytes(&budget), 0);
    assert_int_equal(hs_budget_reserve(&budget, 1, "x", &err), HS_LIMIT);
}

static void no_budget_and_no_limit(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget;

    assert_int_equal(hs_budget_reserve(NULL, UINT64_MAX, "x", &err), HS_OK);
    hs_budget_release(NULL, UINT64_MAX);
    assert_true(hs_budget_left_bytes(NULL) == UINT64_MAX);
    hs_budget_init(UINT64_MAX, NULL, 1, &budget);
    assert_int_equal(hs_budget_reserve(&budget, (uint64_t)1 << 60, "x", &err), HS_OK);
    assert_true(hs_budget_left_bytes(&budget) == UINT64_MAX);
}

static void has_defaults(void **state)
{
    struct hs_budget budget;

    hs_budget_init(0, NULL, 0, &budget);
    assert_true(budget.limit_bytes >= HS_BUDGET_MIN_BYTES && budget.limit_bytes != UINT64_MAX);
    assert_true(budget.n_threads >= 1 && budget.n_threads <= 8);
    assert_true(hs_memory_available_bytes() > 0);
}

static void asks_for_disk(void **state)
{
    struct hs_error err = HS_ERROR_INIT;

    assert_int_equal(hs_disk_need("/", 0, &err), HS_OK);
    assert_int_equal(hs_disk_need("/tmp", UINT64_MAX, &err), HS_IO);
    assert_non_null(strstr(err.message, "do not fit in '/tmp'"));
    assert_non_null(strstr(err.hint, "--spill-dir"));
    assert_int_equal(hs_disk_need("/there/is/none", 1, &err), HS_IO);
    assert_non_null(strstr(err.message, "'/there/is/none'"));
}

static void let_go(struct hs_budget_cache *cache)
{
    cache->n_bytes = 0;
}

/* What may be looked at again leaves when what is reserved needs the room, and not before. */
static void caches_make_room(void **state)
{
    const uint64_t mib = 1 << 20;
    struct hs_budget_cache first = {.let_go = let_go, .n_bytes = 10 * mib}, second = first;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_budget budget;

    hs_budget_init(64 * mib, NULL, 1, &budget); /* of which 52 are left */
    hs_budget_add_cache(&budget, &first);
    hs_budget_add_cache(&budget, &second);
    hs_budget_add_cache(&budget, &first);
    assert_int_equal(hs_budget_left_bytes(&budget), 52 * mib);
    assert_int_equal(hs_budget_reserve(&budget, 32 * mib, "the forest", &err), HS_OK);
    assert_int_equal(first.n_bytes + second.n_bytes, 20 * mib);
    assert_int_equal(hs_budget_reserve(&budget, 21 * mib, "the forest", &err), HS_LIMIT);
    assert_int_equal(first.n_bytes + second.n_bytes, 20 * mib);
    assert_int_equal(hs_budget_reserve(&budget, 1, "the forest", &err), HS_OK);
    assert_int_equal(first.n_bytes + second.n_bytes, 0);
    first.n_bytes = second.n_bytes = mib;
    hs_budget_remove_cache(&budget, &second);
    hs_budget_remove_cache(&budget, &second);
    assert_int_equal(hs_budget_reserve(&budget, 20 * mib - 1, "the forest", &err), HS_OK);
    assert_int_equal(first.n_bytes, 0);
    assert_int_equal(second.n_bytes, mib);
    hs_budget_remove_cache(&budget, &first);
    assert_null(budget.caches);
    hs_budget_add_cache(NULL, &first);
    hs_budget_remove_cache(NULL, &first);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_and_gives),
        cmocka_unit_test(refuses_with_figures),
        cmocka_unit_test(a_limit_below_the_base_leaves_nothing),
        cmocka_unit_test(no_budget_and_no_limit),
        cmocka_unit_test(has_defaults),
        cmocka_unit_test(asks_for_disk),
        cmocka_unit_test(caches_make_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
