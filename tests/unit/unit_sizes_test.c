/* links: hs_dominator hs_graph */
#include "dominator/unit_sizes.h"

#include "unit.h"

#include "base/alloc.h"

static struct hs_error err;

enum { N = 500 };

static void add(struct hs_unit_sizes *sizes, uint64_t at, struct hs_sizes more)
{
    assert_int_equal(hs_unit_sizes_add(sizes, at, &more, &err), HS_OK);
}

static void is(const struct hs_unit_sizes *sizes, uint64_t at, struct hs_sizes expected)
{
    struct hs_sizes sum = {1, 2, 3, 4};
    hs_sizes_add(&expected, &sum);
    hs_unit_sizes_sum(sizes, at, &sum);
    assert_memory_equal(&sum, &expected, sizeof sum);
}

/* The greatest that fit, one more, and what is added to those that do not. */
static void test_limits(void **state)
{
    struct hs_unit_sizes sizes;
    assert_int_equal(hs_unit_sizes_init(4, NULL, &sizes, &err), HS_OK);
    add(&sizes, 0, (struct hs_sizes){.words = HS_UNIT_MAX_WORDS, .objects = HS_UNIT_MAX_OBJECTS});
    is(&sizes, 0, (struct hs_sizes){.words = HS_UNIT_MAX_WORDS, .objects = HS_UNIT_MAX_OBJECTS});
    assert_int_equal(sizes.n_wide, 0);
    add(&sizes, 0, (struct hs_sizes){.words = 1});
    is(&sizes, 0,
       (struct hs_sizes){.words = HS_UNIT_MAX_WORDS + 1, .objects = HS_UNIT_MAX_OBJECTS});
    add(&sizes, 1, (struct hs_sizes){.words = 5, .objects = HS_UNIT_MAX_OBJECTS + 1});
    add(&sizes, 1, (struct hs_sizes){.words = 5, .objects = 1});
    is(&sizes, 1, (struct hs_sizes){.words = 10, .objects = HS_UNIT_MAX_OBJECTS + 2});
    add(&sizes, 2, (struct hs_sizes){.words = 7, .objects = 2});
    assert_int_equal(sizes.n_wide, 2);
    add(&sizes, 2, (struct hs_sizes){.static_words = 9, .static_objects = 1});
    is(&sizes, 2, (struct hs_sizes){7, 2, 9, 1});
    assert_int_equal(sizes.n_wide, 3);
    is(&sizes, 3, (struct hs_sizes){0});
    hs_unit_sizes_fini(&sizes);
}

/* What is wide is paid for as it grows; all is given back. */
static void test_budget(void **state)
{
    struct hs_budget budget;
    struct hs_unit_sizes sizes;
    unsigned n_refused = 0;
    hs_budget_init((uint64_t)64 << 20, NULL, 1, &budget);
    uint64_t used = budget.used_bytes;
    budget.limit_bytes = used + N * 8 + 200 * sizeof(struct hs_sizes);
    assert_int_equal(hs_unit_sizes_init(N, &budget, &sizes, &err), HS_OK);
    for (uint32_t i = 0; i < N; i++) {
        const struct hs_sizes more = {.static_objects = 1};
        n_refused += hs_unit_sizes_add(&sizes, i, &more, &err) == HS_LIMIT;
    }
    assert_int_equal(n_refused, N - 128);
    is(&sizes, 127, (struct hs_sizes){.static_objects = 1});
    is(&sizes, 128, (struct hs_sizes){0});
    assert_true(budget.used_bytes == used + N * 8 + 128 * sizeof(struct hs_sizes));
    hs_unit_sizes_fini(&sizes);
    assert_true(budget.used_bytes == used);
    budget.limit_bytes = used + 8;
    assert_int_equal(hs_unit_sizes_init(N, &budget, &sizes, &err), HS_LIMIT);
    assert_true(budget.used_bytes == used);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_limits),
        cmocka_unit_test(test_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
