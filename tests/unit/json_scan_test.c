/* links: hs_import */
#include "unit.h"

#include "import/json_scan.h"

static struct json_slice slice(const char *text)
{
    return (struct json_slice){(const uint8_t *)text, (const uint8_t *)text + strlen(text)};
}

static size_t skipped(const char *text)
{
    struct json_slice all = slice(text);
    const uint8_t *end = hs_scan_skip(all.at, all.end);
    return end == NULL ? 0 : (size_t)(end - all.at);
}

static void skips_values(void **state)
{
    assert_int_equal(skipped("12,3"), 2);
    assert_int_equal(skipped("-1.5e+3]"), 7);
    assert_int_equal(skipped("null}"), 4);
    assert_int_equal(skipped("\"a\\\"]\\\\\",1"), 8);
    assert_int_equal(skipped("[1,2,3],4"), 7);
    assert_int_equal(skipped("[1,[2,\"]\"],{\"a\":[]}]x"), 20);
    assert_int_equal(skipped("{\"a\":{\"b\":\"}\"}}"), 15);
    assert_int_equal(skipped("[1,2"), 0);
    assert_int_equal(skipped("\"abc"), 0);
    assert_int_equal(skipped("\"abc\\"), 0);
    assert_int_equal(skipped(""), 0);
    assert_int_equal(skipped("}"), 0);
}

static void walks_members(void **state)
{
    struct json_slice key, value;
    struct json_slice walk = hs_scan_enter(slice("{ \"a\" : 1 , \"b\":[2]\n}"));
    assert_true(hs_scan_next(&walk, &key, &value));
    assert_true(hs_scan_is(key, "a"));
    assert_true(hs_scan_next(&walk, &key, &value));
    assert_true(hs_scan_is(key, "b"));
    assert_int_equal(value.end - value.at, 3);
    assert_false(hs_scan_next(&walk, &key, &value));
    assert_non_null(walk.at); /* the end, not a fault */
    walk = hs_scan_enter(slice("{\"a\" 1}"));
    assert_false(hs_scan_next(&walk, &key, &value));
    assert_null(walk.at);
    walk = hs_scan_enter(slice("12"));
    assert_false(hs_scan_next(&walk, NULL, &value));
    assert_true(hs_scan_member(slice("{\"x\":1,\"yy\":2}"), "yy", &value));
    assert_false(hs_scan_member(slice("{\"x\":1,\"yy\":2}"), "y", &value));
}

static void reads_numbers(void **state)
{
    uint64_t number = 7;
    bool ok = true;
    assert_true(hs_scan_count(slice("123456789012345678"), &number));
    assert_true(number == 123456789012345678);
    assert_false(hs_scan_count(slice("1234567890123456789"), &number)); /* too long for doubles */
    assert_false(hs_scan_count(slice("-1"), &number));
    assert_false(hs_scan_count(slice("1.5"), &number));
    assert_false(hs_scan_count(slice(""), &number));
    struct json_slice walk = slice("1,\n22 ,333]");
    assert_int_equal(hs_scan_number(&walk, &ok), 1);
    assert_int_equal(hs_scan_number(&walk, &ok), 22);
    assert_int_equal(hs_scan_number(&walk, &ok), 333);
    assert_true(ok);
    assert_int_equal(hs_scan_number(&walk, &ok), 0);
    assert_false(ok);
}

static void text_is(const char *string, const char *expected)
{
    char text[16];
    size_t n = hs_scan_text(slice(string), text, sizeof text);
    assert_int_equal(n, strlen(expected));
    assert_memory_equal(text, expected, n);
}

static void resolves_escapes(void **state)
{
    text_is("\"a\\n\\\"\\/\\\\\"", "a\n\"/\\");
    text_is("\"\\u00e4\\u4E2d\"", "\xc3\xa4\xe4\xb8\xad");
    text_is("\"\\ud83d\\ude00\"", "\xf0\x9f\x98\x80");
    text_is("\"\\ud83d!\"", "\xef\xbf\xbd!"); /* half of a pair */
    text_is("\"\\ude00\"", "\xef\xbf\xbd");
    text_is("\"\\u12\"", "\xef\xbf\xbd"
                         "12");
    text_is("\"0123456789abcdefghij\"", "0123456789abc"); /* cut where four bytes fit no more */
    text_is("\"", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(skips_values),
        cmocka_unit_test(walks_members),
        cmocka_unit_test(reads_numbers),
        cmocka_unit_test(resolves_escapes),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
