/* links: hs_ocaml hs_runtimes hs_process hs_format hs_symbols hs_base */
/* Cycles in lists, and names. */
#include "unit.h"

#include "ocaml/roots.h"

static void finds_every_cycle_within_twice_its_way(void **state)
{
    for (uint64_t tail = 0; tail < 40; tail++) {
        for (uint64_t length = 1; length < 40; length++) {
            struct hs_cycle cycle = {0};
            uint64_t steps = 0, at = 0;
            while (!hs_cycle_found(&cycle, 0x1000 + 8 * at)) {
                at = at + 1 < tail + length ? at + 1 : tail;
                steps++;
                assert_true(steps <= 4 * (tail + length) + 4);
            }
            assert_true(steps >= length);
        }
    }
}

static void a_list_without_a_cycle_is_not_stopped(void **state)
{
    struct hs_cycle cycle = {0};
    for (uint64_t i = 1; i < 1000000; i++)
        assert_false(hs_cycle_found(&cycle, 8 * i));
}

static void names_are_cut_not_overrun(void **state)
{
    static char text[5000];
    struct hs_strtab strings = {0};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_ocaml rt = {.strings = &strings, .findings.strings = &strings};
    struct hs_root_walk walk = {.rt = &rt, .err = &err};
    hs_str id;
    memset(text, 'x', sizeof text - 1);
    assert_int_equal(hs_walk_name(&walk, &id, "%s", text), HS_OK);
    assert_int_equal(strlen(hs_strtab_get(&strings, id)), 1023);
    hs_strtab_fini(&strings);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_every_cycle_within_twice_its_way),
        cmocka_unit_test(a_list_without_a_cycle_is_not_stopped),
        cmocka_unit_test(names_are_cut_not_overrun),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
