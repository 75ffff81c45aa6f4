/* links: hs_base */
#include "unit.h"

#include "base/bisect.h"

struct thing {
    uint32_t other;
    uint64_t key;
    uint8_t more;
};

/* Against the definition: for all lengths up to 40, with equal keys, below, between and above. */
static void finds_by_definition(void **state)
{
    struct thing things[40];
    for (size_t i = 0; i < 40; i++)
        things[i] = (struct thing){.other = UINT32_MAX, .key = i / 3 * 2 + 1, .more = 0xff};
    for (size_t n = 0; n <= 40; n++)
        for (uint64_t key = 0; key < 32; key++) {
            size_t above = 0, from = 0;
            while (above < n && things[above].key <= key)
                above++;
            while (from < n && things[from].key < key)
                from++;
            assert_int_equal(HS_FIRST_ABOVE(things, n, key, key), above);
            assert_int_equal(HS_FIRST_FROM(things, n, key, key), from);
        }
}

static void knows_the_borders(void **state)
{
    const struct thing things[] = {{.key = 0}, {.key = UINT64_MAX}, {.key = UINT64_MAX}};
    const struct thing *none = NULL;
    assert_int_equal(HS_FIRST_ABOVE(none, 0, key, 7), 0);
    assert_int_equal(HS_FIRST_FROM(none, 0, key, 0), 0);
    assert_int_equal(HS_FIRST_FROM(things, 3, key, 0), 0);
    assert_int_equal(HS_FIRST_ABOVE(things, 3, key, 0), 1);
    assert_int_equal(HS_FIRST_FROM(things, 3, key, UINT64_MAX), 1);
    assert_int_equal(HS_FIRST_ABOVE(things, 3, key, UINT64_MAX), 3);
}

/* A field of 32 bits, from some index on. */
static void finds_by_an_expression(void **state)
{
    const struct thing things[] = {{.other = 1}, {.other = 2}, {.other = 2}, {.other = UINT32_MAX}};
    assert_int_equal(HS_FIRST_NOT(at, 0, 4, things[at].other < 2), 1);
    assert_int_equal(HS_FIRST_NOT(at, 0, 4, things[at].other <= 2), 3);
    assert_int_equal(HS_FIRST_NOT(at, 2, 4, things[at].other < 2), 2);
    assert_int_equal(HS_FIRST_NOT(at, 0, 3, things[at].other <= 2), 3);
    assert_int_equal(HS_FIRST_NOT(at, 4, 3, things[at].other <= 2), 4);
}

/* What is out of order was foreign: the answer is of no use, but no index beyond the end. */
static void stays_inside_of_what_is_unsorted(void **state)
{
    const struct thing things[] = {{.key = 9}, {.key = 1}, {.key = 7}, {.key = 3}};
    for (uint64_t key = 0; key < 12; key++) {
        assert_true(HS_FIRST_ABOVE(things, 4, key, key) <= 4);
        assert_true(HS_FIRST_FROM(things, 4, key, key) <= 4);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_by_definition),
        cmocka_unit_test(finds_by_an_expression),
        cmocka_unit_test(knows_the_borders),
        cmocka_unit_test(stays_inside_of_what_is_unsorted),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
