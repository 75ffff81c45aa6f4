/* links: hs_base */
#include "unit.h"

#include "base/progress.h"

struct heard {
    int n_calls;
    uint64_t done, total;
    bool answer;
};

static bool hear(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct heard *heard = context;
    assert_string_equal(phase, "reading the graph");
    heard->n_calls++;
    heard->done = done;
    heard->total = total;
    return heard->answer;
}

static void tells_and_can_be_stopped(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct heard heard = {.answer = true};
    struct hs_progress progress = {hear, &heard};
    assert_int_equal(hs_progress_tell(&progress, "reading the graph", 3, 9, &err), HS_OK);
    assert_int_equal(heard.done, 3);
    assert_int_equal(heard.total, 9);
    heard.answer = false;
    assert_int_equal(hs_progress_tell(&progress, "reading the graph", 4, 9, &err), HS_LIMIT);
    assert_string_equal(err.message, "interrupted while reading the graph");
    assert_int_equal(heard.n_calls, 2);
}

static void nobody_has_to_listen(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_progress nobody = {0};
    assert_int_equal(hs_progress_tell(NULL, "x", 0, 0, &err), HS_OK);
    assert_int_equal(hs_progress_tell(&nobody, "x", 0, 0, &err), HS_OK);
}

static void time_does_not_go_back(void **state)
{
    uint64_t last = hs_now_ns();
    assert_true(last > 0);
    for (int i = 0; i < 1000; i++) {
        uint64_t now = hs_now_ns();
        assert_true(now >= last);
        last = now;
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(tells_and_can_be_stopped),
        cmocka_unit_test(nobody_has_to_listen),
        cmocka_unit_test(time_does_not_go_back),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
