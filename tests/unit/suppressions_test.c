/* links: hs_analysis */
#include "unit.h"

#include <unistd.h>

#include "analysis/suppressions.h"
#include "base/alloc.h"
#include "fail_each.h"

static void test_patterns(void **state)
{
    static const struct {
        const char *pattern, *name;
        bool matches;
    } cases[] = {
        {"abc", "abc", true},
        {"abc", "xabcx", true},
        {"abc", "ab", false},
        {"^abc", "abcx", true},
        {"^abc", "xabc", false},
        {"abc$", "xabc", true},
        {"abc$", "abcx", false},
        {"^a*c$", "abbbc", true},
        {"^a*c$", "abbbcd", false},
        {"a*b*c", "xaxbxcx", true},
        {"a*b*c", "acb", false},
        {"*", "", true},
        {"^$", "", true},
        {"^$", "x", false},
        {"a$b", "xa$b", true},
        {"vector<*>$", "std::vector<int>", true},
        {"ab*ab$", "abab ab", true},
        {"ab$", "ab ab", true},
        {"*x", "yyy", false},
        {"a*", "b", false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_int_equal(hs_pattern_matches(cases[i].pattern, cases[i].name), cases[i].matches);
}

/* Nested stars must not explode. */
static void test_hostile_pattern(void **state)
{
    char name[2001];
    memset(name, 'a', 2000);
    name[2000] = '\0';
    assert_false(hs_pattern_matches("^a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*a*b", name));
}

static hs_status load_text(const char *text, struct hs_suppressions *ret, struct hs_error *err)
{
    char path[] = "/tmp/heapsnap-test.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, strlen(text)), strlen(text));
    close(fd);
    hs_status status = hs_suppressions_load(path, ret, err);
    unlink(path);
    return status;
}

static void test_load(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_suppressions s = {0};
    assert_int_equal(load_text("# known\n\n type:struct cache \r\nroot:g_table$", &s, &err), HS_OK);
    assert_int_equal(s.n, 2);
    assert_true(hs_suppressions_match(&s, HS_SUPPRESS_TYPE, "struct cache_line"));
    assert_false(hs_suppressions_match(&s, HS_SUPPRESS_ROOT, "struct cache_line"));
    assert_true(hs_suppressions_match(&s, HS_SUPPRESS_ROOT, "g_table"));
    assert_false(hs_suppressions_match(&s, HS_SUPPRESS_ROOT, "g_tables"));
    hs_suppressions_fini(&s);
    assert_int_equal(load_text("", &s, &err), HS_OK);
    assert_int_equal(s.n, 0);
    hs_suppressions_fini(&s);
}

static void test_refusals(void **state)
{
    static const char *const bad[] = {"leak:x", "type:", "type", "type:ok\nroot:  \n"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_suppressions s = {0};
        assert_int_equal(load_text(bad[i], &s, &err), HS_USAGE);
        assert_non_null(strstr(err.message, i == 3 ? "line 2" : "line 1"));
    }
    struct hs_error err = HS_ERROR_INIT;
    struct hs_suppressions s = {0};
    assert_int_equal(hs_suppressions_load("/nonexistent/x", &s, &err), HS_IO);
}

static void test_allocations(void **state)
{
    FAIL_EACH (each, .at_least = 2) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_suppressions s = {0};
        (void)FAIL_EACH_TRY(each, load_text("type:a\nroot:b\n", &s, &err));
        hs_suppressions_fini(&s);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_patterns),    cmocka_unit_test(test_hostile_pattern),
        cmocka_unit_test(test_load),        cmocka_unit_test(test_refusals),
        cmocka_unit_test(test_allocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
