/* links: hs_trace_stats */
#include "unit.h"

#include "name_matches.h"
#include "stats/range.h"

#define S ((uint64_t)1000000000)

struct range_case {
    const char *text;
    enum hs_stats_range_kind kind;
    uint64_t from, to;
};

/* Of a run of 200 s with its peak at 50 s. */
static const struct hs_stats_whole whole = {200 * S, 50 * S, 200 * S};

static void test_good_ranges(void **state)
{
    static const struct range_case cases[] = {
        {"1..2", HS_RANGE_TIME, 1 * S, 2 * S},
        {"1s..2m", HS_RANGE_TIME, 1 * S, 120 * S},
        {"..1.5s", HS_RANGE_TIME, 0, 3 * S / 2},
        {"0.000001..", HS_RANGE_TIME, 1000, UINT64_MAX},
        {"10%..50%", HS_RANGE_TIME, 20 * S, 100 * S},
        {"12.5%..", HS_RANGE_TIME, 25 * S, UINT64_MAX},
        {"peak..end", HS_RANGE_TIME, 50 * S, 200 * S},
        {"peak", HS_RANGE_TIME, 50 * S, 50 * S},
        {"7ms", HS_RANGE_TIME, 7000000, 7000000},
        {"1.5..2.5", HS_RANGE_TIME, 3 * S / 2, 5 * S / 2},
        {"1us..1h", HS_RANGE_LIFE, 1000, 3600 * S},
        {"25%", HS_RANGE_LIFE, 50 * S, 50 * S},
        {"24", HS_RANGE_SIZE, 24, 24},
        {"1k..1.5Mi", HS_RANGE_SIZE, 1000, 1572864},
        {"1 KiB..1.5 MiB", HS_RANGE_SIZE, 1024, 1572864},
        {"1 TiB", HS_RANGE_SIZE, (uint64_t)1 << 40, (uint64_t)1 << 40},
        {"..2GiB", HS_RANGE_SIZE, 0, (uint64_t)2 << 30},
        {"100B..", HS_RANGE_SIZE, 100, UINT64_MAX},
        {"2.5k..", HS_RANGE_COUNT, 2500, UINT64_MAX},
        {"0..0", HS_RANGE_COUNT, 0, 0},
        {"100%", HS_RANGE_SHARE, 200 * S, 200 * S},
        {"18446744073709551615", HS_RANGE_COUNT, UINT64_MAX, UINT64_MAX},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_stats_range range;
        struct hs_stats_span span;
        assert_int_equal(hs_stats_range_parse(cases[i].text, cases[i].kind, false, &range, &err),
                         HS_OK);
        assert_false(range.is_never);
        assert_int_equal(range.is_point, strstr(cases[i].text, "..") == NULL);
        assert_int_equal(hs_stats_range_resolve(&range, &whole, &span, &err), HS_OK);
        assert_int_equal(span.from, cases[i].from);
        assert_int_equal(span.to, cases[i].to);
    }
}

static void test_bad_ranges(void **state)
{
    static const struct {
        const char *text;
        enum hs_stats_range_kind kind;
    } cases[] = {
        {"", HS_RANGE_TIME},
        {"..", HS_RANGE_TIME},
        {"x", HS_RANGE_TIME},
        {"1x", HS_RANGE_TIME},
        {"-1", HS_RANGE_TIME},
        {"1...2", HS_RANGE_TIME},
        {"1.", HS_RANGE_TIME},
        {".5", HS_RANGE_TIME},
        {"1.s", HS_RANGE_TIME},
        {"2..1", HS_RANGE_TIME},
        {"50%..10%", HS_RANGE_TIME},
        {"101%", HS_RANGE_TIME},
        {"never", HS_RANGE_TIME},
        {"peak", HS_RANGE_LIFE},
        {"end..", HS_RANGE_LIFE},
        {"10%", HS_RANGE_SIZE},
        {"1s", HS_RANGE_SIZE},
        {"1kk", HS_RANGE_SIZE},
        {"peak", HS_RANGE_COUNT},
        {"5", HS_RANGE_SHARE},
        {"5 %", HS_RANGE_SHARE},
        {"1..2..3", HS_RANGE_COUNT},
        {" 1", HS_RANGE_COUNT},
        {"1 ", HS_RANGE_COUNT},
        {"18446744073709551616", HS_RANGE_COUNT},
        {"18446744073709551615k", HS_RANGE_COUNT},
        {"99999999999999999999999999999999999", HS_RANGE_COUNT},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_stats_range range = {.is_point = true};
        assert_int_equal(hs_stats_range_parse(cases[i].text, cases[i].kind, false, &range, &err),
                         HS_USAGE);
        assert_true(err.message[0] != 0 && err.hint[0] != 0);
        assert_true(range.is_point); /* untouched */
    }
}

static void test_never(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_stats_range range;
    assert_int_equal(hs_stats_range_parse("never", HS_RANGE_TIME, true, &range, &err), HS_OK);
    assert_true(range.is_never);
    assert_int_equal(hs_stats_range_parse("never..", HS_RANGE_TIME, true, &range, &err), HS_USAGE);
    assert_non_null(strstr(err.hint, "never"));
}

/* What only the trace can tell. */
static void test_backwards_when_resolved(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_stats_range range;
    struct hs_stats_span span;
    assert_int_equal(hs_stats_range_parse("end..peak", HS_RANGE_TIME, false, &range, &err), HS_OK);
    assert_int_equal(hs_stats_range_resolve(&range, &whole, &span, &err), HS_USAGE);
    assert_int_equal(hs_stats_range_parse("60%..1s", HS_RANGE_TIME, false, &range, &err), HS_OK);
    assert_int_equal(hs_stats_range_resolve(&range, &whole, &span, &err), HS_USAGE);
}

static void test_patterns(void **state)
{
    assert_true(name_matches("Set.", "Stdlib__Set.Make.bal"));
    assert_false(name_matches("set.", "Stdlib__Set.Make.bal"));
    assert_true(name_matches("/^Stdlib__(Set|Map)\\./", "Stdlib__Map.add"));
    assert_false(name_matches("/^Set/", "Stdlib__Set.add"));
    assert_true(name_matches("/", "a/b")); /* too short for an expression */
    assert_true(name_matches("//", "a//b"));
    assert_true(name_matches("/usr", "/usr/lib"));
    assert_true(name_matches("(fun)", "f.(fun)"));
    assert_true(name_matches("/a{3}/", "caaat"));
    assert_true(name_matches("/a{2,}b/", "caaab"));
}

static void test_bad_patterns(void **state)
{
    char longest[HS_PATTERN_MAX_BYTES + 2];
    memset(longest, 'x', sizeof longest - 1);
    longest[sizeof longest - 1] = 0;
    const char *const cases[] = {
        "",
        "/(/",
        "/[/",
        "/a\\1/",
        "/(a)\\1/",
        "/a{1001}/",
        "/(a{40}){40}/",
        "/a{99999999999999999999}/",
        "/a{1,1001}/",
        longest,
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_name_pattern pattern;
        assert_int_equal(hs_name_pattern_init(&pattern, cases[i], &err), HS_USAGE);
        assert_true(err.message[0] != 0);
    }
    assert_true(name_matches(longest + 1, longest + 1)); /* the longest that is taken */
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_good_ranges), cmocka_unit_test(test_bad_ranges),
        cmocka_unit_test(test_never),       cmocka_unit_test(test_backwards_when_resolved),
        cmocka_unit_test(test_patterns),    cmocka_unit_test(test_bad_patterns),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
