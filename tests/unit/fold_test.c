/* links: hs_tools_lib */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "base/alloc.h"
#include "fold.h"

static void add(struct hs_fold *fold, hs_node node, uint32_t type, uint64_t offset_words)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_step step = {node, offset_words, type, 1};
    assert_int_equal(hs_fold_add(fold, &step, &err), HS_OK);
}

static uint64_t n_objects(const struct hs_fold *fold)
{
    uint64_t n = 0;
    for (size_t i = 0; i < fold->n_steps; i++)
        n += fold->steps[i].repeat;
    return n;
}

static void a_list(void **state)
{
    (void)state;
    struct hs_fold fold = {0};
    for (hs_node i = 0; i < 400000; i++)
        add(&fold, 100 + i, 7, 1);
    add(&fold, 9, 7, 0);
    hs_fold_finish(&fold);
    assert_int_equal(fold.n_steps, 2);
    assert_int_equal(fold.steps[0].repeat, 400000);
    assert_int_equal(fold.steps[0].node, 100); /* the first of the run */
    assert_int_equal(fold.steps[1].repeat, 1);
    hs_fold_fini(&fold);
    assert_null(fold.steps);
    hs_fold_fini(&fold);
}

/* Another type or another field ends a run. */
static void runs_end(void **state)
{
    (void)state;
    struct hs_fold fold = {0};
    add(&fold, 1, 0, 1);
    add(&fold, 2, 0, 2);
    add(&fold, 3, 1, 2);
    add(&fold, 4, 1, 2);
    add(&fold, 5, 0, 2);
    hs_fold_finish(&fold);
    assert_int_equal(fold.n_steps, 4);
    assert_int_equal(fold.steps[2].repeat, 2);
    assert_int_equal(fold.steps[2].node, 3);
    hs_fold_fini(&fold);
}

static void long_paths(void **state)
{
    (void)state;
    for (uint32_t n = 0; n < 60; n++) {
        struct hs_fold fold = {0};
        for (uint32_t i = 0; i < n; i++)
            add(&fold, i, i % 2, 0); /* unlike their neighbours */
        hs_fold_finish(&fold);
        assert_int_equal(n_objects(&fold), n);
        assert_true(fold.n_steps <= HS_FOLD_MAX_STEPS + 1);
        if (n <= HS_FOLD_MAX_STEPS) {
            assert_int_equal(fold.n_steps, n);
        } else {
            size_t middle = HS_FOLD_MAX_STEPS / 2;
            assert_int_equal(fold.n_steps, HS_FOLD_MAX_STEPS + 1);
            assert_true(fold.steps[middle].node == HS_NO_NODE);
            assert_int_equal(fold.steps[middle - 1].node, middle - 1);
            assert_int_equal(fold.steps[HS_FOLD_MAX_STEPS].node, n - 1); /* the target stays */
        }
        hs_fold_fini(&fold);
    }
}

static void the_gap_counts_objects(void **state)
{
    (void)state;
    struct hs_fold fold = {0};
    for (uint32_t i = 0; i < 40; i++)
        for (uint32_t j = 0; j < 5; j++)
            add(&fold, i * 5 + j, i % 2, 0);
    hs_fold_finish(&fold);
    assert_int_equal(n_objects(&fold), 200);
    assert_int_equal(fold.steps[HS_FOLD_MAX_STEPS / 2].repeat, 200 - 5 * HS_FOLD_MAX_STEPS);
    hs_fold_fini(&fold);
}

static void out_of_memory(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_fold fold = {0};
    struct hs_step step = {1, 0, 0, 1};
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_fold_add(&fold, &step, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_int_equal(fold.n_steps, 0);
    assert_int_equal(hs_fold_add(&fold, &step, &err), HS_OK);
    assert_int_equal(fold.n_steps, 1);
    hs_fold_fini(&fold);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list),        cmocka_unit_test(runs_end),
        cmocka_unit_test(long_paths),    cmocka_unit_test(the_gap_counts_objects),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
