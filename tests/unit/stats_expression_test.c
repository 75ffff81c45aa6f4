/* links: hs_trace_stats */
#include "unit.h"

#include <regex.h>

#include "fail_each.h"
#include "name_matches.h"

static uint64_t draw_state = 88172645463325252;

static unsigned draw(unsigned n)
{
    draw_state ^= draw_state << 13;
    draw_state ^= draw_state >> 7;
    draw_state ^= draw_state << 17;
    return (unsigned)(draw_state % n);
}

static const char *const pieces[] = {
    "a",           "b",
    "c",           "ab",
    ".",           "(",
    ")",           "(",
    ")",           "*",
    "+",           "?",
    "|",           "{2}",
    "{1,2}",       "{0,1}",
    "{2,}",        "{,2}",
    "^",           "$",
    "[ab]",        "[^a]",
    "[a-c]",       "[]b]",
    "[[:alpha:]]", "[^[:digit:]-]",
    "[b-]",        "\\w",
    "\\W",         "\\(",
    "\\.",         "1",
    "-",           "_",
};

/* With few repetitions: the library takes minutes for "((a*)**{2,}+{2,})". */
static void draw_expression(char *text, size_t n_text)
{
    size_t n = 0;
    unsigned n_repeats = 0;
    for (unsigned i = 1 + draw(9); i > 0; i--) {
        const char *piece = pieces[draw(sizeof pieces / sizeof *pieces)];
        n_repeats += strchr("*+?{", piece[0]) != NULL;
        if (n_repeats <= 3 && n + strlen(piece) < n_text)
            n += (size_t)snprintf(text + n, n_text - n, "%s", piece);
    }
}

static void draw_name(char *text)
{
    static const char letters[] = "aaabbbcc1-_(). \xe9";
    unsigned n = draw(9);
    for (unsigned i = 0; i < n; i++)
        text[i] = letters[draw(sizeof letters - 1)];
    text[n] = 0;
}

/* The C library, where it is not beyond its means, is the judge. */
static unsigned compare_with_library(const char *expression, const char *opening,
                                     const char *closing)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_name_pattern pattern;
    regex_t regex;
    char text[128], whole[128], name[16];
    (void)snprintf(whole, sizeof whole, "%s%s%s", opening, expression, closing);
    (void)snprintf(text, sizeof text, "/%s/", whole);
    bool is_good = regcomp(&regex, whole, REG_EXTENDED | REG_NOSUB) == 0;
    hs_status status = hs_name_pattern_init(&pattern, text, &err);
    if (is_good != (status == HS_OK))
        fail_msg("'%s': the library says %d, the pattern %d", whole, is_good, status);
    if (!is_good)
        return 0;
    for (int i = 0; i < 12; i++) {
        draw_name(name);
        bool wanted = regexec(&regex, name, 0, NULL, 0) == 0;
        if (hs_name_pattern_matches(&pattern, name) != wanted)
            fail_msg("'%s' in '%s': %d expected", whole, name, wanted);
    }
    regfree(&regex);
    hs_name_pattern_fini(&pattern);
    return 1;
}

static void test_as_the_library(void **state)
{
    char expression[64];
    unsigned n_good = 0;
    for (int i = 0; i < 30000; i++) {
        draw_expression(expression, sizeof expression);
        n_good += compare_with_library(expression, "", "");
        n_good += compare_with_library(expression, "^(", ")$");
    }
    assert_true(n_good > 10000);
}

static void test_anchors(void **state)
{
    assert_true(name_matches("/^a|b$/", "ac") && name_matches("/^a|b$/", "cb"));
    assert_false(name_matches("/^a|b$/", "cac"));
    assert_true(name_matches("/^$/", "") && !name_matches("/^$/", "a"));
    assert_true(name_matches("/(^|\\.)add$/", "Map.add") && name_matches("/(^|\\.)add$/", "add"));
    assert_false(name_matches("/(^|\\.)add$/", "padd"));
    assert_true(name_matches("/\\<add\\>/", "Map.add (x)") &&
                !name_matches("/\\<add\\>/", "adder"));
    assert_true(name_matches("/\\badd\\b/", "add") && !name_matches("/\\Badd/", "add"));
    assert_true(name_matches("/\\`a.*z\\'/", "abcz") && name_matches("/a\\sb/", "a b"));
    assert_true(name_matches("/[[.-.]a]/", "-") && name_matches("/[[=b=]]/", "b"));
}

/* "/((((a+)+)+)+)b/", forty deep. */
static void nest(char *text, const char *closing, const char *end)
{
    size_t n = (size_t)snprintf(text, HS_PATTERN_MAX_BYTES, "/");
    for (int i = 0; i < 40; i++)
        text[n++] = '(';
    text[n++] = 'a';
    for (int i = 0; i < 40; i++)
        n += (size_t)snprintf(text + n, HS_PATTERN_MAX_BYTES - n, "%s", closing);
    (void)snprintf(text + n, HS_PATTERN_MAX_BYTES - n, "%s/", end);
}

/* Each took the C library gigabytes, minutes, or both. */
static void test_explosive(void **state)
{
    char plus[HS_PATTERN_MAX_BYTES], stars[HS_PATTERN_MAX_BYTES], name[4096];
    nest(plus, "+)", "");
    nest(stars, "*)", "b");
    memset(name, 'a', sizeof name - 1);
    name[sizeof name - 1] = 0;
    assert_true(name_matches(plus, "xa") && !name_matches(plus, "x"));
    assert_true(name_matches(stars, "b") && !name_matches(stars, name));
    assert_false(name_matches("/((a*)*){50}b/", name));
    assert_false(name_matches("/(a|b)*a(a|b){200}c/", name));
}

static void test_too_large(void **state)
{
    static const char *const cases[] = {"/(abcde){1000}/", "/((a?){40}){25}{9}/",
                                        "/((a|b){900}+c|d){3}/"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_name_pattern pattern;
        assert_int_equal(hs_name_pattern_init(&pattern, cases[i], &err), HS_USAGE);
    }
}

static void test_memory(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    FAIL_EACH (f, .at_least = 5) {
        struct hs_name_pattern pattern = {0};
        (void)FAIL_EACH_TRY(f, hs_name_pattern_init(&pattern, "/(a|[bc]{3})+d*/", &err));
        hs_name_pattern_fini(&pattern);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_as_the_library), cmocka_unit_test(test_anchors),
        cmocka_unit_test(test_explosive),      cmocka_unit_test(test_too_large),
        cmocka_unit_test(test_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
