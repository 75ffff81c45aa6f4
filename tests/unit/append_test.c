/* links: hs_base */
#include "base/append.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

static void pieces_stand_one_behind_the_other(void **state)
{
    char text[32] = "";
    (void)state;
    hs_append(text, sizeof text, "%s %d", "a", 1);
    hs_append(text, sizeof text, ", %s", "b");
    assert_string_equal(text, "a 1, b");
}

static void a_list_has_its_separator_between_items_alone(void **state)
{
    char text[32] = "";
    (void)state;
    hs_append_item(text, sizeof text, "; ", "one");
    assert_string_equal(text, "one");
    hs_append_item(text, sizeof text, "; ", "two");
    hs_append_item(text, sizeof text, "; ", "three");
    assert_string_equal(text, "one; two; three");
}

/* Nothing is written behind the end, however much comes, and what stands there stays. */
static void what_has_no_room_is_cut(void **state)
{
    char text[9] = "";
    (void)state;
    memset(text + 1, '#', sizeof text - 1);
    for (int i = 0; i < 3; i++)
        hs_append_item(text, 8, ", ", "abc");
    assert_string_equal(text, "abc, ab");
    assert_int_equal(text[8], '#');
    hs_append(text, 0, "x");
    assert_string_equal(text, "abc, ab");
    memset(text, '#', sizeof text); /* not terminated: it is full */
    hs_append(text, 8, "x");
    assert_memory_equal(text, "#########", 9);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(pieces_stand_one_behind_the_other),
        cmocka_unit_test(a_list_has_its_separator_between_items_alone),
        cmocka_unit_test(what_has_no_room_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
