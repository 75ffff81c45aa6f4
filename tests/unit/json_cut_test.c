/* links: hs_viewer */
/* Strings are cut at whole characters, wherever the pieces end that pass. */
#include "viewer/json_cut.h"

#include "unit.h"

#define E "\xe2\x80\xa6"

static void cut_in(const char *json, size_t most, size_t piece, char *to)
{
    struct json_cut cut = {.most = most};
    size_t n = strlen(json), n_to = 0;
    for (size_t at = 0; at < n; at += piece)
        n_to += json_cut_copy(&cut, json + at, n - at < piece ? n - at : piece, to + n_to);
    to[n_to] = '\0';
}

static void strings(void **state)
{
    static const struct {
        const char *json, *cut;
    } cases[] = {
        {"{\"a\":[1,2],\"b\":null}", "{\"a\":[1,2],\"b\":null}"},
        {"\"abcd\"", "\"abcd\""},
        {"\"abcde\"", "\"abcd" E "\""},
        {"[\"abcdefgh\",\"x\",12345678]", "[\"abcd" E "\",\"x\",12345678]"},
        {"\"ab\\u0041cd\"", "\"ab\\u0041" E "\""}, /* an escape stays whole */
        {"\"abc\\\"d\"", "\"abc\\\"" E "\""},      /* and a quote in it ends nothing */
        {"\"\\\\\\\\\\\\\"", "\"\\\\\\\\" E "\""},
        {"\"abc\xc3\xa9"
         "d\"",
         "\"abc\xc3\xa9" E "\""}, /* a letter of two bytes */
        {"\"abc\xc3\xa9\"", "\"abc\xc3\xa9\""},
        {"\"abcde\",\"fghij\"", "\"abcd" E "\",\"fghi" E "\""},
        {"\"\"", "\"\""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t piece = 1; piece <= 12; piece++) {
            char to[200];
            cut_in(cases[i].json, 4, piece, to);
            assert_string_equal(to, cases[i].cut);
            cut_in(cases[i].json, 100, piece, to);
            assert_string_equal(to, cases[i].json);
        }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(strings)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
