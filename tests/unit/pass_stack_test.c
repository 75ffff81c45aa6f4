/* links: hs_passes hs_dominator hs_graph hs_format */
#include "passes/pass_stack.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "made_passes.h"

static struct hs_error err;

enum { ROW_WORDS = 3, MAX_ROWS = 400000 };

static void row_make(uint64_t *row, uint64_t number)
{
    for (uint64_t i = 0; i < ROW_WORDS; i++)
        row[i] = number * 7 + i;
}

static void check_top(const struct pass_stack *stack, uint64_t expected)
{
    uint64_t row[ROW_WORDS];
    row_make(row, expected);
    assert_memory_equal(pass_stack_top(stack), row, sizeof row);
}

/* Up and down by random steps, short and long: the top is always what was pushed there last. */
static void test_up_and_down(void **state)
{
    static uint64_t model[MAX_ROWS];
    uint64_t random = 3, n = 0, row[ROW_WORDS], deepest = 0;
    struct pass_stack stack;
    struct hs_budget budget;
    made_budget_init(&budget);
    uint64_t used = budget.used_bytes;
    assert_int_equal(pass_stack_init(&budget, "rows", MAX_ROWS, sizeof row, &stack, &err), HS_OK);
    for (uint64_t step = 0; step < 60; step++) {
        uint32_t most = hs_random_below(&random, 4) == 0 ? MAX_ROWS : 40000;
        uint64_t more = hs_random_below(&random, most);
        for (uint64_t i = 0; i < more && n < MAX_ROWS; i++) {
            model[n] = step * 1000003 + i;
            row_make(row, model[n++]);
            assert_int_equal(pass_stack_push(&stack, row, &err), HS_OK);
        }
        deepest = n > deepest ? n : deepest;
        uint64_t less = hs_random_below(&random, most), end = less < n ? n - less : 0;
        for (uint64_t by = 1; n > end; by = 1 + hs_random_below(&random, 9000)) {
            n = n - end < by ? end : n - by;
            assert_int_equal(pass_stack_cut(&stack, n, &err), HS_OK);
            assert_true(pass_stack_n(&stack) == n);
            if (n != 0)
                check_top(&stack, model[n - 1]);
        }
    }
    assert_true(deepest > 4 * PASS_STACK_HALF);
    assert_true(budget.peak_bytes - used <= pass_stack_max_bytes(MAX_ROWS, sizeof row));
    pass_stack_fini(&stack);
    assert_true(budget.used_bytes == used);
}

/* Rows that tell the rest of them by their first word. */
static void row_of_place(uint64_t *row, uint64_t place)
{
    row[0] = place;
    for (uint64_t i = 1; i < ROW_WORDS; i++)
        row[i] = place * 0x9E3779B97F4A7C15ULL + i;
}

static hs_status rest_fill(void *context, uint64_t *rows, uint64_t n, struct hs_error *unused)
{
    for (uint64_t i = 0; i < n; i++)
        row_of_place(rows + i * ROW_WORDS, rows[i * ROW_WORDS]);
    *(uint64_t *)context += n;
    return HS_OK;
}

/* Where places are near each other, only they are stored, in a byte each. */
static void check_rest(uint64_t distance)
{
    uint64_t row[ROW_WORDS], n_filled = 0;
    struct pass_stack stack;
    struct hs_budget budget;
    made_budget_init(&budget);
    assert_int_equal(pass_stack_init(&budget, "rows", MAX_ROWS, sizeof row, &stack, &err), HS_OK);
    stack.rest = (struct pass_stack_rest){rest_fill, &n_filled};
    hs_spill_most_again();
    for (uint64_t i = 0; i < MAX_ROWS; i++) {
        row_of_place(row, 1000000 + distance * i);
        assert_int_equal(pass_stack_push(&stack, row, &err), HS_OK);
    }
    uint64_t per_row = hs_spill_most_bytes() / (MAX_ROWS - 2 * stack.half);
    assert_true(distance <= 4 ? per_row == 1 : per_row >= 1 + 8 * (ROW_WORDS - 1));
    for (uint64_t i = MAX_ROWS; i-- > 1;) {
        assert_int_equal(pass_stack_cut(&stack, i, &err), HS_OK);
        row_of_place(row, 1000000 + distance * (i - 1));
        assert_memory_equal(pass_stack_top(&stack), row, sizeof row);
    }
    assert_int_equal(n_filled != 0, distance <= 4);
    pass_stack_fini(&stack);
}

static void test_rest(void **state)
{
    for (uint64_t distance = 1; distance < 6; distance++)
        check_rest(distance);
}

/* Rows are paid for as they are used, and refused where they cannot be. */
static void test_little_memory(void **state)
{
    uint64_t row[ROW_WORDS] = {0};
    struct pass_stack stack;
    struct hs_budget budget;
    hs_status status = HS_OK;
    made_budget_init(&budget);
    budget.limit_bytes = budget.used_bytes + 200000;
    assert_int_equal(pass_stack_init(&budget, "rows", MAX_ROWS, sizeof row, &stack, &err), HS_OK);
    uint64_t n = 0;
    for (; n < MAX_ROWS && status == HS_OK; n++)
        status = pass_stack_push(&stack, row, &err);
    assert_int_equal(status, HS_LIMIT);
    assert_true(n > 4096 && n < 9000);
    pass_stack_fini(&stack);
    assert_int_equal(budget.used_bytes, HS_BUDGET_BASE_BYTES);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(test_up_and_down),
                                       cmocka_unit_test(test_rest),
                                       cmocka_unit_test(test_little_memory)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
