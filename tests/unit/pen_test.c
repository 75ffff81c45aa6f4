/* links: hs_export */
/* What exporters write with: texts and numbers arrive in order, however many, and the first failure
 * is the one that is told. */
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "export/pen.h"
#include "fail_each.h"

/* All that a pen can write, `n` times. */
static void draw(struct hs_pen *pen, unsigned n)
{
    for (unsigned i = 0; i < n && hs_pen_ok(pen); i++) {
        hs_pen_text(pen, "a ");
        hs_pen_number(pen, UINT64_MAX);
        hs_pen_byte(pen, ' ');
        hs_pen_hex(pen, UINT64_MAX);
        hs_pen_byte(pen, ' ');
        hs_pen_number(pen, 0);
        hs_pen_byte(pen, ' ');
        hs_pen_clean(pen, "tab\t", HS_TEXT_TSV);
        hs_pen_byte(pen, ' ');
        hs_pen_json(pen, "\"<\xff\n");
        hs_pen_byte(pen, '\n');
    }
}

static const char line[] = "a 18446744073709551615 ffffffffffffffff 0 tab\\t "
                           "\"\\\"<\xef\xbf\xbd\\n\"\n";

static void all_arrives_in_order(void **state)
{
    enum { LINES = 60000 }; /* several pieces of a MiB */
    static char bytes[LINES * sizeof line];
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out;
    char path[] = "/tmp/heapsnap-pen.XXXXXX";
    int fd = mkstemp(path);
    assert_true(fd >= 0);
    assert_int_equal(unlink(path), 0);
    assert_int_equal(hs_out_open_fd(fd, "the file", &out, &err), HS_OK);
    struct hs_pen pen = hs_pen_of(&out);
    draw(&pen, LINES);
    assert_int_equal(hs_pen_finish(&pen, HS_OK, &err), HS_OK);
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_out_close(&out);
    size_t each = sizeof line - 1;
    assert_int_equal(pread(fd, bytes, sizeof bytes, 0), LINES * each);
    for (size_t i = 0; i < LINES; i++)
        assert_memory_equal(bytes + i * each, line, each);
    assert_int_equal(close(fd), 0);
}

static void a_full_disk_is_told_once(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out;
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    assert_int_equal(hs_out_open_fd(fd, "the file", &out, &err), HS_OK);
    struct hs_pen pen = hs_pen_of(&out);
    draw(&pen, 100000);
    assert_false(hs_pen_ok(&pen));
    assert_int_equal(hs_pen_finish(&pen, HS_OK, &err), HS_IO);
    assert_non_null(strstr(err.message, "No space left"));
    hs_out_close(&out);
    assert_int_equal(close(fd), 0);
}

static void an_earlier_failure_stays(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out;
    assert_int_equal(hs_out_open_fd(-1, "nothing", &out, &err), HS_OK);
    struct hs_pen pen = hs_pen_of(&out);
    hs_status status = hs_fail(&err, HS_FORMAT, "damaged");
    assert_int_equal(hs_pen_finish(&pen, status, &err), HS_FORMAT);
    assert_string_equal(err.message, "damaged");
    hs_out_close(&out);
}

static void every_allocation_may_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    FAIL_EACH (each, .at_least = 2) {
        struct hs_out out;
        assert_int_equal(hs_out_open_fd(fd, "the file", &out, &err), HS_OK);
        struct hs_pen pen = hs_pen_of(&out);
        fail_each_begin(&each);
        draw(&pen, 10);
        (void)fail_each_end(&each, hs_pen_finish(&pen, HS_OK, &err));
        hs_out_close(&out);
    }
    assert_int_equal(close(fd), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(all_arrives_in_order),
        cmocka_unit_test(a_full_disk_is_told_once),
        cmocka_unit_test(an_earlier_failure_stays),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
