/* links: hs_passes hs_dominator hs_graph hs_format */
#include "fail_each.h"
#include "passes/pass_scatter.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "made_passes.h"

static struct hs_error err;

static const uint64_t most[SCATTER_COLUMNS] = {0, 255, 0x123456789a, UINT64_MAX};

static uint64_t value_of(uint64_t key, unsigned column)
{
    uint64_t value = (key * 31 + column) * 0x9E3779B97F4A7C15ULL;
    return most[column] == UINT64_MAX ? value : value % (most[column] + 1);
}

struct check {
    uint64_t next, every;
    unsigned n_columns;
};

static hs_status check_take(void *context, uint64_t key, const uint64_t *values, struct hs_error *e)
{
    struct check *check = context;
    assert_true(key == check->next++);
    for (unsigned i = 0; i < check->n_columns; i++)
        assert_true(values[i] == (key % check->every == 0 ? value_of(key, i) : 0));
    return HS_OK;
}

/* Every so many keys, in an order of their own. Returns the number of parts. */
static hs_status scatter(struct hs_budget *budget, uint64_t n_keys, uint64_t every,
                         unsigned n_columns, uint32_t *ret_n_parts)
{
    struct pass_scatter_shape shape = {
        .n_keys = n_keys, .n_columns = n_columns, .reserve_bytes = 1000};
    struct check check = {.every = every, .n_columns = n_columns};
    const struct pass_scatter_sink sink = {check_take, &check};
    struct pass_scatter s = {0};
    uint64_t n_rows = (n_keys + every - 1) / every;
    memcpy(shape.max, most, sizeof most);
    hs_status status = pass_scatter_init(&shape, budget, "rows", &s, &err);
    *ret_n_parts = s.n_parts;
    for (uint64_t i = 0; i < n_rows && status == HS_OK; i++) {
        uint64_t key = (i * 1000003 + 17) % n_rows * every, values[SCATTER_COLUMNS];
        for (unsigned k = 0; k < n_columns; k++)
            values[k] = value_of(key, k);
        status = pass_scatter_put(&s, key, values, &err);
    }
    if (status == HS_OK)
        status = pass_scatter_emit(&s, &sink, &err);
    if (status == HS_OK)
        assert_true(check.next == n_keys);
    pass_scatter_fini(&s);
    return status;
}

static void test_small(void **state)
{
    struct hs_budget budget;
    uint32_t n_parts;
    made_budget_init(&budget);
    for (uint64_t n_keys = 1; n_keys < 40; n_keys++)
        for (unsigned n_columns = 1; n_columns <= SCATTER_COLUMNS; n_columns++) {
            assert_int_equal(scatter(&budget, n_keys, 1 + n_keys % 3, n_columns, &n_parts), HS_OK);
            assert_int_equal(n_parts, 1);
        }
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

/* More parts the less there is, until their buffers alone are too much. */
static void test_parts(void **state)
{
    enum { KEYS = 600011 };
    struct hs_budget budget;
    uint32_t before = 1, n_parts;
    bool refused = false;
    for (uint64_t room = 10 << 20; room > 1 << 20; room -= room / 5) {
        made_budget_init(&budget);
        budget.limit_bytes = budget.used_bytes + room;
        hs_status status = scatter(&budget, KEYS, 2, SCATTER_COLUMNS, &n_parts);
        assert_true(status == HS_OK || status == HS_LIMIT);
        assert_true(!refused || status == HS_LIMIT);
        assert_true(budget.peak_bytes <= budget.limit_bytes);
        assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
        refused = status == HS_LIMIT;
        if (!refused) {
            assert_true(n_parts >= before);
            before = n_parts;
        }
    }
    assert_true(refused && before > 3);
}

static hs_status chain_take(void *context, uint64_t key, const uint64_t *values, struct hs_error *e)
{
    uint64_t *next = context;
    assert_true(key == (*next)++);
    bool is_leaf = key % 2 == 1;
    assert_true(values[0] == (is_leaf ? 3 : 5000000 - 2 * key));
    assert_true(values[1] == (is_leaf ? 1 : 3000000 - key));
    return HS_OK;
}

/* Sizes along a chain whose cells have a leaf each: six bytes a record. */
static void test_chain(void **state)
{
    enum { KEYS = 1200000, ROOM_BYTES = 3 << 20 };
    struct pass_scatter_shape shape = {.n_keys = KEYS, .n_columns = 2, .max = {5000000, 3000000}};
    uint64_t next = 0;
    const struct pass_scatter_sink sink = {chain_take, &next};
    struct pass_scatter s = {0};
    struct hs_budget budget;
    made_budget_init(&budget);
    budget.limit_bytes = budget.used_bytes + ROOM_BYTES;
    hs_spill_most_again();
    assert_int_equal(pass_scatter_init(&shape, &budget, "rows", &s, &err), HS_OK);
    assert_true(s.n_parts > 2 && s.n_parts == pass_scatter_parts(KEYS, s.row_bytes, ROOM_BYTES));
    uint64_t n_spilled = KEYS - s.per_part;
    for (uint64_t key = KEYS; key-- > 0;) {
        const uint64_t leaf[] = {3, 1}, cell[] = {5000000 - 2 * key, 3000000 - key};
        assert_int_equal(pass_scatter_put(&s, key, key % 2 == 1 ? leaf : cell, &err), HS_OK);
    }
    assert_int_equal(pass_scatter_emit(&s, &sink, &err), HS_OK);
    assert_true(next == KEYS);
    assert_true(hs_spill_most_bytes() <= 6 * n_spilled + 64 * s.n_parts);
    pass_scatter_fini(&s);
}

static void test_every_allocation_fails(void **state)
{
    struct hs_budget budget;
    uint32_t n_parts;
    made_budget_init(&budget);
    budget.limit_bytes = budget.used_bytes + (7 << 20);
    FAIL_EACH (each, .at_least = 4) {
        (void)FAIL_EACH_TRY(each, scatter(&budget, 600011, 5, SCATTER_COLUMNS, &n_parts));
        assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
    }
    assert_true(n_parts > 1);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_small), cmocka_unit_test(test_parts),
                                       cmocka_unit_test(test_chain),
                                       cmocka_unit_test(test_every_allocation_fails)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
