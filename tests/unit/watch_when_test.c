/* links: hs_tools_lib */
/* parts: watch */
#include "unit.h"

#include "tools/watch/when.h"

static struct hs_watch_when parsed(const char *text)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_when when = {0};
    assert_int_equal(hs_watch_when_add(&when, text, &err), HS_OK);
    return when;
}

static void spellings(void **state)
{
    struct hs_watch_when when = parsed("rss>4GiB");
    assert_int_equal(when.n, 1);
    assert_int_equal(when.conditions[0].measure, HS_WATCH_RSS);
    assert_int_equal(when.conditions[0].bound, (uint64_t)4 << 30);
    when = parsed("growth>10%");
    assert_int_equal(when.conditions[0].measure, HS_WATCH_GROWTH);
    assert_int_equal(when.conditions[0].bound, 10);
    when = parsed("  rss >  1k | growth> 0%");
    assert_int_equal(when.n, 2);
    assert_int_equal(when.conditions[0].bound, 1000);
    assert_int_equal(when.conditions[1].bound, 0);
    char text[HS_WATCH_CONDITION_BYTES];
    hs_watch_condition_describe(&when.conditions[0], text);
    assert_string_equal(text, "rss>1000");
    hs_watch_condition_describe(&when.conditions[1], text);
    assert_string_equal(text, "growth>0%");
    when = parsed("rss>18446744073709551615|growth>4294967295%");
    hs_watch_condition_describe(&when.conditions[0], text);
    assert_string_equal(text, "rss>18446744073709551615");
}

static void nonsense(void **state)
{
    static const char *const bad[] = {"",
                                      "|",
                                      "rss",
                                      "rss>",
                                      "rss<4GiB",
                                      "rss>4Gigs",
                                      "rss>-1",
                                      "rss>=1",
                                      "rss>10%",
                                      "growth>",
                                      "growth>10",
                                      "growth>%",
                                      "growth>x%",
                                      "growth>-1%",
                                      "growth>1.5%",
                                      "rss>1|",
                                      "|rss>1",
                                      "rsss>1",
                                      "RSS>1",
                                      "growth>4294967296%",
                                      "growth%",
                                      "rss>1 rss>2",
                                      "growth>10%%",
                                      "rss>99999999999999999999",
                                      "growing>",
                                      "growing>1MiB",
                                      "growing>1MiB/",
                                      "growing>/h",
                                      "growing>1MiB/hour",
                                      "growing>1MiB/m",
                                      "growing>10%/h",
                                      "growing>-1/h",
                                      "growing>1MiB/h/h",
                                      "growing>99999999999999999999/s"};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_watch_when when = {0};
        assert_int_equal(hs_watch_when_add(&when, bad[i], &err), HS_USAGE);
        assert_non_null(strstr(err.message, "is not a condition"));
        assert_non_null(strstr(err.hint, "rss>SIZE"));
    }
    char text[4096];
    memset(text, 'r', sizeof text - 1);
    text[sizeof text - 1] = '\0';
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_when when = {0};
    assert_int_equal(hs_watch_when_add(&when, text, &err), HS_USAGE);
    assert_true(strlen(err.message) < 120);
}

static void rates(void **state)
{
    static const struct {
        const char *text, *described;
        double least; /* bytes an hour that are not more */
    } cases[] = {
        {"growing>1MiB/h", "growing>1048576/h", 1048576},
        {"growing > 1.5k/min", "growing>1500/min", 90000},
        {"growing>2Gi/day", "growing>2147483648/day", 2147483648.0 / 24},
        {"growing>1k/s", "growing>1000/s", 3600000},
        {"growing>0/h", "growing>0/h", 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char text[HS_WATCH_CONDITION_BYTES];
        struct hs_watch_when when = parsed(cases[i].text);
        assert_int_equal(when.conditions[0].measure, HS_WATCH_GROWING);
        assert_true(hs_watch_when_needs_keys(&when));
        hs_watch_condition_describe(&when.conditions[0], text);
        assert_string_equal(text, cases[i].described);
        assert_null(hs_watch_when_grows(&when, cases[i].least));
        assert_ptr_equal(hs_watch_when_grows(&when, cases[i].least + 1), &when.conditions[0]);
        assert_null(
            hs_watch_when_holds(&when, UINT64_MAX, 1)); /* a look at the size says nothing */
    }
    struct hs_watch_when when = parsed("rss>1k|growth>5%");
    assert_false(hs_watch_when_needs_keys(&when));
    assert_null(hs_watch_when_grows(&when, 1e30));
    when = parsed("rss>1k | growing>1GiB/h | growing>1MiB/h");
    assert_ptr_equal(hs_watch_when_grows(&when, 2e6), &when.conditions[2]);
    assert_ptr_equal(hs_watch_when_holds(&when, 1001, 0), &when.conditions[0]);
}

static void too_many(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_when when = {0};
    for (int i = 0; i < HS_WATCH_MAX_CONDITIONS; i++)
        assert_int_equal(hs_watch_when_add(&when, "rss>1", &err), HS_OK);
    assert_int_equal(hs_watch_when_add(&when, "rss>1", &err), HS_USAGE);
    assert_string_equal(err.message, "--when: more than 32 conditions");
}

static void what_holds(void **state)
{
    struct hs_watch_when when = parsed("rss>1000");
    assert_null(hs_watch_when_holds(&when, 1000, 0));
    assert_ptr_equal(hs_watch_when_holds(&when, 1001, 0), &when.conditions[0]);

    when = parsed("growth>10%");
    assert_null(hs_watch_when_holds(&when, 1100, 1000));
    assert_non_null(hs_watch_when_holds(&when, 1101, 1000));
    assert_null(hs_watch_when_holds(&when, 500, 1000)); /* smaller is no growth */
    assert_null(hs_watch_when_holds(&when, 500, 0));    /* growth of nobody knows what */
    assert_null(hs_watch_when_holds(&when, UINT64_MAX, UINT64_MAX));
    assert_non_null(hs_watch_when_holds(&when, UINT64_MAX, UINT64_MAX / 2));
    when = parsed("growth>0%");
    assert_null(hs_watch_when_holds(&when, 1000, 1000));
    assert_non_null(hs_watch_when_holds(&when, 1001, 1000));
    when = parsed("growth>4294967295%");
    assert_null(hs_watch_when_holds(&when, UINT64_MAX, UINT64_MAX / 4294967));

    when = parsed("rss>1000|growth>10%"); /* any */
    assert_ptr_equal(hs_watch_when_holds(&when, 1001, 1000), &when.conditions[0]);
    assert_ptr_equal(hs_watch_when_holds(&when, 999, 100), &when.conditions[1]);
    assert_null(hs_watch_when_holds(&when, 999, 999));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(spellings), cmocka_unit_test(nonsense),   cmocka_unit_test(rates),
        cmocka_unit_test(too_many),  cmocka_unit_test(what_holds),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
