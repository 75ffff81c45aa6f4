/* links: hs_tools_lib */
/* parts: watch */
/* The lines of a watch's log, and the file that holds them. */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "tools/watch/dump.h"
#include "tools/watch/log.h"

#define NOON ((int64_t)1795334400)

static char top[64];
static int dir_fd;

static int set_up(void **state)
{
    snprintf(top, sizeof top, "/tmp/hs_watch_log_test.XXXXXX");
    if (mkdtemp(top) == NULL)
        return -1;
    dir_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)unlinkat(dir_fd, HS_WATCH_LOG, 0);
    (void)unlinkat(dir_fd, HS_WATCH_LOG_OLD, 0);
    (void)unlinkat(dir_fd, "elsewhere", 0);
    close(dir_fd);
    return rmdir(top);
}

static const char *text_of(struct hs_watch_line *line)
{
    line->text[line->n_bytes] = '\0';
    return line->text;
}

static void a_line(void **state)
{
    struct hs_watch_line line;
    hs_watch_line_begin(&line, NOON, "dump");
    hs_watch_line_text(&line, "file", "heap-20261122T080000Z-000012.snap");
    hs_watch_line_u64(&line, "pause_ns", 1800000);
    hs_watch_line_u64(&line, "words", UINT64_MAX);
    assert_string_equal(text_of(&line), "time=2026-11-22T08:00:00Z event=dump "
                                        "file=heap-20261122T080000Z-000012.snap pause_ns=1800000 "
                                        "words=18446744073709551615");
}

static void value_is(const char *value, const char *expected)
{
    struct hs_watch_line line = {0};
    hs_watch_line_text(&line, "why", value);
    assert_string_equal(text_of(&line), expected);
}

static void values_are_one_word_or_quoted(void **state)
{
    value_is("plain:/value,1", "why=plain:/value,1");
    value_is("", "why=\"\"");
    value_is("two words", "why=\"two words\"");
    value_is("a=b", "why=\"a=b\"");
    value_is("say \"hi\"", "why=\"say \\\"hi\\\"\"");
    value_is("back\\slash", "why=\"back\\\\slash\"");
    /* A name from the target cannot begin a line of its own, nor move the terminal's cursor. */
    value_is("x\ntime=now event=dump", "why=\"x\\\\x0atime=now event=dump\"");
    value_is("\033[2J", "why=\"\\\\x1b[2J\"");
}

static void what_does_not_fit_is_left_out(void **state)
{
    struct hs_watch_line line;
    char long_text[3000];
    memset(long_text, 'x', sizeof long_text - 1);
    long_text[sizeof long_text - 1] = '\0';
    hs_watch_line_begin(&line, NOON, "fail");
    size_t n = line.n_bytes;
    hs_watch_line_text(&line, "why", long_text);
    assert_int_equal(line.n_bytes, n);
    hs_watch_line_u64(&line, "blocks", 5);
    assert_non_null(strstr(text_of(&line), " blocks=5"));
    for (int i = 0; i < 1000; i++) {
        hs_watch_line_text(&line, "k", "quote me");
        assert_true(line.n_bytes < sizeof line.text);
    }
    memset(long_text, '"', sizeof long_text - 1); /* doubled by quoting */
    hs_watch_line_begin(&line, NOON, "fail");
    hs_watch_line_text(&line, "why", long_text);
    assert_true(line.n_bytes < sizeof line.text);
}

static off_t size_of(const char *name)
{
    struct stat about;
    return fstatat(dir_fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0 ? about.st_size : -1;
}

static void the_file_is_bounded(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_log log;
    assert_int_equal(hs_watch_log_init(dir_fd, true, &log, &err), HS_OK);
    assert_int_equal(log.max_bytes, HS_WATCH_LOG_BYTES);
    assert_int_equal(size_of(HS_WATCH_LOG), 0);
    log.max_bytes = 1000;
    for (uint64_t i = 0; i < 500; i++) {
        struct hs_watch_line line;
        hs_watch_line_begin(&line, NOON, "skip");
        hs_watch_line_u64(&line, "ticks", i);
        hs_watch_log_put(&log, &line);
        assert_in_range(size_of(HS_WATCH_LOG), 1, 1000);
        assert_true(size_of(HS_WATCH_LOG_OLD) <= 1000);
    }
    assert_true(size_of(HS_WATCH_LOG_OLD) > 900);
    assert_false(log.is_broken);

    /* Every line of both is whole, and the last is the last. */
    char text[1001];
    int fd = openat(dir_fd, HS_WATCH_LOG, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    text[n] = '\0';
    assert_int_equal(strncmp(text, "time=", 5), 0);
    assert_string_equal(strrchr(text, '=') - 5, "ticks=499\n");
}

/* Whoever tends logs may move it away at any moment. */
static void a_moved_file_is_made_anew(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_log log;
    struct hs_watch_line line;
    assert_int_equal(hs_watch_log_init(dir_fd, true, &log, &err), HS_OK);
    hs_watch_line_begin(&line, NOON, "start");
    hs_watch_log_put(&log, &line);
    off_t n_bytes = size_of(HS_WATCH_LOG);
    assert_int_equal(renameat(dir_fd, HS_WATCH_LOG, dir_fd, "elsewhere"), 0);
    hs_watch_log_put(&log, &line);
    assert_int_equal(size_of(HS_WATCH_LOG), n_bytes);
    assert_int_equal(size_of("elsewhere"), n_bytes);
}

static void a_link_is_not_written_through(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_log log;
    struct hs_watch_line line;
    int fd = openat(dir_fd, "elsewhere", O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(symlinkat("elsewhere", dir_fd, HS_WATCH_LOG), 0);
    assert_int_equal(hs_watch_log_init(dir_fd, true, &log, &err), HS_IO);
    assert_int_equal(unlinkat(dir_fd, HS_WATCH_LOG, 0), 0);
    assert_int_equal(mkfifoat(dir_fd, HS_WATCH_LOG, 0600), 0);
    assert_int_equal(hs_watch_log_init(dir_fd, true, &log, &err), HS_IO);
    assert_int_equal(unlinkat(dir_fd, HS_WATCH_LOG, 0), 0);

    assert_int_equal(hs_watch_log_init(dir_fd, true, &log, &err), HS_OK);
    assert_int_equal(unlinkat(dir_fd, HS_WATCH_LOG, 0), 0);
    assert_int_equal(symlinkat("elsewhere", dir_fd, HS_WATCH_LOG), 0); /* later, too */
    hs_watch_line_begin(&line, NOON, "start");
    hs_watch_log_put(&log, &line);
    assert_true(log.is_broken);
    assert_int_equal(size_of("elsewhere"), 0);
    assert_int_equal(unlinkat(dir_fd, HS_WATCH_LOG, 0), 0);
    hs_watch_log_put(&log, &line);
    assert_false(log.is_broken);
    assert_true(size_of(HS_WATCH_LOG) > 0);
}

static void plain_is(const char *message, const char *expected)
{
    char text[200];
    snprintf(text, sizeof text, "%s", message);
    hs_watch_dump_plain(text);
    assert_string_equal(text, expected);
}

static void messages_name_plain_files(void **state)
{
    plain_is("cannot write '/proc/self/fd/5/heap.snap': no", "cannot write 'heap.snap': no");
    plain_is("'/proc/self/fd/12/a' '/proc/self/fd/12/b'", "'a' 'b'");
    plain_is("in '/proc/self/fd/5'", "in ''");
    plain_is("/proc/self/fd/", "");
    plain_is("nothing", "nothing");
}

#define ON_A_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_line),
        cmocka_unit_test(values_are_one_word_or_quoted),
        cmocka_unit_test(what_does_not_fit_is_left_out),
        ON_A_DIRECTORY(the_file_is_bounded),
        ON_A_DIRECTORY(a_moved_file_is_made_anew),
        ON_A_DIRECTORY(a_link_is_not_written_through),
        cmocka_unit_test(messages_name_plain_files),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
