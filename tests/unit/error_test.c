/* links: hs_base */
#include "unit.h"

#include <errno.h>

#include "base/error.h"

static void fills_and_replaces(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_fail(&err, HS_FORMAT, "bad magic in '%s'", "x.snap"), HS_FORMAT);
    assert_string_equal(err.message, "bad magic in 'x.snap'");
    assert_int_equal(err.status, HS_FORMAT);
    assert_int_equal(hs_hint(&err, "dump it %s", "again"), HS_FORMAT);
    assert_string_equal(err.hint, "dump it again");
    assert_int_equal(hs_fail(&err, HS_LIMIT, "now this"), HS_LIMIT);
    assert_string_equal(err.message, "now this");
    assert_string_equal(err.hint, "");
}

static void errno_is_told_and_kept(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    errno = ENOENT;
    assert_int_equal(hs_fail_errno(&err, HS_IO, "cannot open '%s'", "a"), HS_IO);
    assert_string_equal(err.message, "cannot open 'a': No such file or directory");
    assert_int_equal(err.sys_errno, ENOENT);
    errno = 99999;
    (void)hs_fail_errno(&err, HS_IO, "odd");
    assert_string_equal(err.message, "odd: Unknown error 99999");
    (void)hs_fail(&err, HS_IO, "plain");
    assert_int_equal(err.sys_errno, 0);
}

static void context_reads_from_the_outside_in(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    (void)hs_fail(&err, HS_TARGET, "word missing");
    (void)hs_hint(&err, "stay");
    assert_int_equal(hs_context(&err, "reading thread %d", 7), HS_TARGET);
    (void)hs_context(&err, "dumping");
    assert_string_equal(err.message, "dumping: reading thread 7: word missing");
    assert_string_equal(err.hint, "stay");
}

static void arguments_may_be_the_old_message(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    (void)hs_fail(&err, HS_IO, "inner");
    (void)hs_hint(&err, "clue");
    (void)hs_fail(&err, HS_BUG, "outer %s, %s", err.message, err.hint);
    assert_string_equal(err.message, "outer inner, clue");
    (void)hs_context(&err, "%s", err.message);
    assert_string_equal(err.message, "outer inner, clue: outer inner, clue");
}

static void long_texts_are_cut_and_terminated(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[sizeof text - 1] = '\0';

    (void)hs_fail(&err, HS_IO, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    (void)hs_context(&err, "outside");
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    assert_memory_equal(err.message, "outside: xxx", 12);
    (void)hs_context(&err, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    (void)hs_hint(&err, "%s", text);
    assert_int_equal(strlen(err.hint), sizeof err.hint - 1);
    errno = ENOENT;
    (void)hs_fail_errno(&err, HS_IO, "%s", text);
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
    /* One byte of room left for the separator. */
    (void)hs_fail(&err, HS_IO, "%.*s", (int)sizeof err.message - 2, text);
    (void)hs_context(&err, "a");
    assert_int_equal(strlen(err.message), sizeof err.message - 1);
}

static hs_status forwards(hs_status status, int *ret_reached)
{
    *ret_reached = 0;
    HS_TRY(status);
    *ret_reached = 1;
    return HS_OK;
}

static void try_forwards_failures_only(void **state)
{
    int reached;
    assert_int_equal(forwards(HS_OK, &reached), HS_OK);
    assert_int_equal(reached, 1);
    for (int status = HS_OK + 1; status < HS_N_STATUS; status++) {
        assert_int_equal(forwards((hs_status)status, &reached), status);
        assert_int_equal(reached, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(fills_and_replaces),
        cmocka_unit_test(errno_is_told_and_kept),
        cmocka_unit_test(context_reads_from_the_outside_in),
        cmocka_unit_test(arguments_may_be_the_old_message),
        cmocka_unit_test(long_texts_are_cut_and_terminated),
        cmocka_unit_test(try_forwards_failures_only),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
