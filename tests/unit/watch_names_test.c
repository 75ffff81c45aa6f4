/* links: hs_tools_lib */
/* parts: watch */
#include "unit.h"

#include "tools/watch/names.h"

#define DAY_S ((int64_t)86400)

static void there_and_back(void **state)
{
    static const struct {
        int64_t unix_s;
        uint64_t number;
        const char *name;
    } cases[] = {
        {0, 1, "heap-19700101T000000Z-000001.snap"},
        {1795334400, 12, "heap-20261122T080000Z-000012.snap"},
        {1709251199, 999999, "heap-20240229T235959Z-999999.snap"},
        {1709251199, 1000000, "heap-20240229T235959Z-1000000.snap"},
        {253402300799, HS_WATCH_MAX_NUMBER, "heap-99991231T235959Z-999999999999.snap"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char name[HS_WATCH_NAME_BYTES];
        uint64_t number = 0;
        hs_watch_name_format(cases[i].unix_s, cases[i].number, name);
        assert_string_equal(name, cases[i].name);
        assert_true(hs_watch_name_parse(name, &number));
        assert_int_equal(number, cases[i].number);
    }
    char text[HS_WATCH_TIME_BYTES];
    hs_watch_time_format(1795334400 + 5 * 60, text);
    assert_string_equal(text, "2026-11-22T08:05:00Z");
}

static void not_ours(void **state)
{
    static const char *const names[] = {
        "",
        "heap.snap",
        "heap-20261122T080000Z-000012.snap.idx",
        "heap-20261122T080000Z-000012.snapx",
        "heap-20261122T080000Z-000012.sna",
        "heap-20261122T080000Z-00012.snap",         /* too short */
        "heap-20261122T080000Z-0000012.snap",       /* no such way to write it */
        "heap-20261122T080000Z-1000000000000.snap", /* too long */
        "heap-20261122T080000Z-.snap",
        "heap-20261122T080000Z-+00012.snap",
        "heap-20261122t080000z-000012.snap",
        "heap-2026112T080000Z-000012.snap",
        "heap-2026-11-22T080000Z-000012.snap",
        "Heap-20261122T080000Z-000012.snap",
        "x/heap-20261122T080000Z-000012.snap",
        " heap-20261122T080000Z-000012.snap",
        ".heap-20261122T080000Z-000012.snap",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        uint64_t number = 77;
        assert_false(hs_watch_name_parse(names[i], &number));
        assert_int_equal(number, 77);
        assert_false(hs_watch_name_is_neighbour(names[i]));
    }
}

static void key_files(void **state)
{
    uint64_t number = 0;
    assert_true(hs_watch_name_parse_keys("heap-20261122T080000Z-000012.snap.keys", &number));
    assert_int_equal(number, 12);
    static const char *const names[] = {
        "heap-20261122T080000Z-000013.snap",       "heap-20261122T080000Z-000013.keys",
        "heap-20261122T080000Z-000013.snap.keysx", "heap-20261122T080000Z-000013.snap.key",
        "heap-20261122T080000Z-13.snap.keys",      "good.snap.keys",
        ".heap-20261122T080000Z-000013.snap.keys", "",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(hs_watch_name_parse_keys(names[i], &number));
    assert_int_equal(number, 12);
}

static void neighbours(void **state)
{
    assert_true(hs_watch_name_is_neighbour(".heap-20261122T080000Z-000012.snap.abcxyz"));
    assert_true(hs_watch_name_is_neighbour(".heap-20261122T080000Z-1000012.snap.012345"));
    assert_true(hs_watch_name_is_neighbour(".heap-20261122T080000Z-000012.snap.keys.abcxyz"));
    static const char *const names[] = {
        ".heap-20261122T080000Z-000012.snap.abcxy",
        ".heap-20261122T080000Z-000012.snap.abcxyzz",
        ".heap-20261122T080000Z-000012.snap.ABCXYZ",
        ".heap-20261122T080000Z-000012.snap.abc678",
        ".heap-20261122T080000Z-000012.snap.",
        ".heap-20261122T080000Z-000012.snap",
        "heap-20261122T080000Z-000012.snap.abcxyz",
        ".heap-20261122T080000Z-000012.snap-abcxyz",
        "..heap-20261122T080000Z-000012.snap.abcxyz",
        ".heap.snap.abcxyz",
        ".watch.json.abcxyz",
        ".",
        "..",
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++)
        assert_false(hs_watch_name_is_neighbour(names[i]));
}

/* Every day of four centuries, at odd times: what is written is read back, and names of one
 * series sort by time. */
static void many_times(void **state)
{
    char before[HS_WATCH_NAME_BYTES] = "";
    for (int64_t day = 0; day < 400 * 366; day++) {
        char name[HS_WATCH_NAME_BYTES];
        uint64_t number = 0;
        hs_watch_name_format(day * DAY_S + day * 7919 % DAY_S, (uint64_t)day, name);
        assert_true(hs_watch_name_parse(name, &number));
        assert_int_equal(number, day);
        assert_true(strcmp(before, name) < 0);
        memcpy(before, name, sizeof before);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(there_and_back), cmocka_unit_test(not_ours),   cmocka_unit_test(key_files),
        cmocka_unit_test(neighbours),     cmocka_unit_test(many_times),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
