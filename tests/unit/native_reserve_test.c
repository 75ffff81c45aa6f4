/* links: hs_native */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fail_each.h"
#include "native/reserve.h"

enum { BLOCKS = 100, BYTES = 800, ELEMENT = 8 };

static struct hs_error err = HS_ERROR_INIT;

static void say(struct hs_native_reserves *reserves, uint64_t rank, uint64_t used)
{
    assert_int_equal(hs_native_reserves_say(reserves, rank, BYTES, used, ELEMENT, &err), HS_OK);
}

static void the_vector_that_says_most_is_right(void **state)
{
    (void)state;
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    assert_int_equal(hs_native_reserves_used(&reserves, 7, BYTES), BYTES);
    say(&reserves, 7, 80);
    assert_int_equal(hs_native_reserves_used(&reserves, 7, BYTES), 80);
    assert_int_equal(hs_native_reserves_used(&reserves, 8, BYTES), BYTES);
    say(&reserves, 7, 0);
    assert_int_equal(hs_native_reserves_used(&reserves, 7, BYTES), 80);
    say(&reserves, 7, 400);
    assert_int_equal(hs_native_reserves_used(&reserves, 7, BYTES), 400);
    say(&reserves, 7, BYTES);
    assert_int_equal(hs_native_reserves_used(&reserves, 7, BYTES), BYTES);
    say(&reserves, 7, 400); /* moved from, before or after */
    assert_int_equal(hs_native_reserves_used(&reserves, 7, BYTES), BYTES);
    hs_native_reserves_fini(&reserves);
}

static void an_empty_vector_has_nothing_in_use(void **state)
{
    (void)state;
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    say(&reserves, BLOCKS - 1, 0);
    assert_int_equal(hs_native_reserves_used(&reserves, BLOCKS - 1, BYTES), 0);
    hs_native_reserves_fini(&reserves);
}

static void what_an_allocator_adds_is_no_reserve(void **state)
{
    (void)state;
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    say(&reserves, 1, BYTES - 16);
    assert_int_equal(hs_native_reserves_used(&reserves, 1, BYTES), BYTES);
    /* Less than an element is none either. */
    assert_int_equal(hs_native_reserves_say(&reserves, 2, BYTES, BYTES - 32, 40, &err), HS_OK);
    assert_int_equal(hs_native_reserves_used(&reserves, 2, BYTES), BYTES);
    hs_native_reserves_fini(&reserves);
}

static void what_does_not_fit_is_not_believed(void **state)
{
    (void)state;
    struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
    say(&reserves, 3, 80);
    say(&reserves, 3, BYTES + 1);
    say(&reserves, 3, UINT64_MAX - 7); /* an end before the begin */
    assert_int_equal(hs_native_reserves_used(&reserves, 3, BYTES), 80);
    hs_native_reserves_fini(&reserves);
}

static hs_status say_many(struct hs_native_reserves *reserves)
{
    for (uint64_t rank = 0; rank < BLOCKS; rank++)
        HS_TRY(hs_native_reserves_say(reserves, rank, BYTES, 80, ELEMENT, &err));
    return HS_OK;
}

static void every_allocation_fails(void **state)
{
    (void)state;
    FAIL_EACH (each, .at_least = 2) {
        struct hs_native_reserves reserves = {.n_blocks = BLOCKS};
        (void)FAIL_EACH_TRY(each, say_many(&reserves));
        hs_native_reserves_fini(&reserves);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_vector_that_says_most_is_right),
        cmocka_unit_test(an_empty_vector_has_nothing_in_use),
        cmocka_unit_test(what_an_allocator_adds_is_no_reserve),
        cmocka_unit_test(what_does_not_fit_is_not_believed),
        cmocka_unit_test(every_allocation_fails),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
