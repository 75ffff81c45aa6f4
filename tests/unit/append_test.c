/* links: hs_base */
#include "base/append.h"

#include "unit.h"

static void pieces_stand_one_behind_the_other(void **state)
{
    char text[32] = "";
    hs_append(text, sizeof text, "%s %d", "a", 1);
    hs_append(text, sizeof text, ", %s", "b");
    assert_string_equal(text, "a 1, b");
}

static void a_list_has_its_separator_between_items_alone(void **state)
{
    char text[32] = "";
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

static void words_are_read_back_by_a_shell(void **state)
{
    static const char *const cases[][2] = {
        {"heap.snap", "heap.snap"},
        {"a b", "a\\ b"},
        {"it's \"$HOME\"", "it\\'s\\ \\\"\\$HOME\\\""},
        {"#4", "\\#4"},
        {"a#4~", "a#4~"},
        {"", ""},
    };
    char text[HS_SHELL_WORD_BYTES], longer[2 * HS_SHELL_WORD_BYTES];
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_string_equal(hs_shell_word(cases[i][0], text), cases[i][1]);
    memset(longer, ' ', sizeof longer - 1);
    longer[sizeof longer - 1] = '\0';
    assert_true(strlen(hs_shell_word(longer, text)) < HS_SHELL_WORD_BYTES);
    assert_true(text[strlen(text) - 1] == ' ' && strlen(text) % 2 == 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_are_read_back_by_a_shell),
        cmocka_unit_test(pieces_stand_one_behind_the_other),
        cmocka_unit_test(a_list_has_its_separator_between_items_alone),
        cmocka_unit_test(what_has_no_room_is_cut),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
