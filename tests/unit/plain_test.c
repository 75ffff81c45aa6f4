/* links: hs_base */
/* UTF-8 becomes ASCII, a character for each code point. */
#include "unit.h"

#include "base/plain.h"

static void becomes(const char *text, const char *expected)
{
    char plain[64];
    size_t n = hs_plain(text, strlen(text), plain);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(plain, expected, n);
}

static void each_code_point_is_one_character(void **state)
{
    becomes("", "");
    becomes("g_cache > struct entry", "g_cache > struct entry");
    becomes("\xe2\x80\xa6::registry", "~::registry");
    becomes("\xe2\x96\x81\xe2\x96\x82\xe2\x96\x87\xe2\x96\x88", "_.*#");
    becomes("caf\xc3\xa9 \xf0\x9f\x98\x80", "caf? ?");
}

static void what_is_cut_or_wrong_ends_within(void **state)
{
    becomes("a\xe2\x80", "a?");
    becomes("\xa6\x81 b", " b");
    becomes("\xff\xfe", "??");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_code_point_is_one_character),
        cmocka_unit_test(what_is_cut_or_wrong_ends_within),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
