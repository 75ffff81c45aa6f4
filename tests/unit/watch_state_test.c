/* links: hs_tools_lib */
/* parts: watch */
/* watch.json: read back as written, whole or not at all, and never trusted. */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "tools/watch/names.h"
#include "tools/watch/state.h"

static char top[64];
static int dir_fd;

static int set_up(void **state)
{
    snprintf(top, sizeof top, "/tmp/hs_watch_state_test.XXXXXX");
    if (mkdtemp(top) == NULL)
        return -1;
    dir_fd = open(top, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    return dir_fd < 0 ? -1 : 0;
}

static int tear_down(void **state)
{
    (void)unlinkat(dir_fd, HS_WATCH_STATE, 0);
    (void)unlinkat(dir_fd, HS_WATCH_STATE, AT_REMOVEDIR);
    (void)unlinkat(dir_fd, ".watch.json.new", 0);
    close(dir_fd);
    return rmdir(top);
}

static const struct hs_watch_state example = {
    .pid = 4242,
    .start_time = 123456789,
    .boot_id = "2b1c7e0a-7f0e-4b0e-9f43-0a6d3f3c9d11",
    .first_number = 7,
    .next_number = 12,
    .last_ms = 1795334400123,
    .last_rss_bytes = (uint64_t)5 << 40,
    .last_file_bytes = 987654321,
};

static void write_text(const char *text, size_t n)
{
    int fd = openat(dir_fd, HS_WATCH_STATE, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, text, n), n);
    close(fd);
}

static bool read_state(struct hs_watch_state *ret, const char **why)
{
    struct hs_error err = HS_ERROR_INIT;
    bool is_known = true;
    assert_int_equal(hs_watch_state_read(dir_fd, ret, &is_known, why, &err), HS_OK);
    return is_known;
}

static void there_and_back(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_state found = {0};
    const char *why = "?";
    assert_false(read_state(&found, &why)); /* none yet: no reason to complain */
    assert_null(why);
    assert_int_equal(hs_watch_state_write(dir_fd, &example, &err), HS_OK);
    assert_true(read_state(&found, &why));
    assert_memory_equal(&found, &example, sizeof found);
    struct stat about;
    assert_int_equal(fstatat(dir_fd, HS_WATCH_STATE, &about, AT_SYMLINK_NOFOLLOW), 0);
    assert_int_equal(about.st_mode & 0777, 0600);
    assert_int_not_equal(faccessat(dir_fd, ".watch.json.new", F_OK, 0), 0);

    struct hs_watch_state other = example; /* replaced, also over what a crash left */
    other.next_number = 13;
    assert_int_equal(symlinkat("/nowhere", dir_fd, ".watch.json.new"), 0);
    assert_int_equal(hs_watch_state_write(dir_fd, &other, &err), HS_OK);
    assert_true(read_state(&found, &why));
    assert_int_equal(found.next_number, 13);
}

static void who_is_who(void **state)
{
    struct hs_watch_state other = example;
    other.next_number = 99;
    assert_true(hs_watch_state_is_same(&example, &other));
    other.start_time++;
    assert_false(hs_watch_state_is_same(&example, &other));
    other = example;
    other.pid++;
    assert_false(hs_watch_state_is_same(&example, &other));
    other = example;
    other.boot_id[0] = 'x';
    assert_false(hs_watch_state_is_same(&example, &other));
}

/* What was written, cut at each length and with each byte changed. */
static void damaged(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    char text[1024], changed[1024];
    assert_int_equal(hs_watch_state_write(dir_fd, &example, &err), HS_OK);
    int fd = openat(dir_fd, HS_WATCH_STATE, O_RDONLY | O_CLOEXEC);
    ssize_t n = read(fd, text, sizeof text - 1);
    close(fd);
    assert_true(n > 100);
    text[n] = '\0';
    assert_non_null(strstr(text, "\"schema\": \"heapsnap.watch/1\""));

    size_t n_refused = 0;
    for (size_t i = 0; i < (size_t)n; i++) {
        struct hs_watch_state found = {0};
        snprintf(changed, sizeof changed, "%.*s", (int)i, text);
        n_refused += !hs_watch_state_parse(changed, &found);
        static const char instead[] = {'\n', '"', '9', 'x', ','};
        for (size_t j = 0; j < sizeof instead; j++) {
            memcpy(changed, text, (size_t)n + 1);
            changed[i] = instead[j];
            if (!hs_watch_state_parse(changed, &found))
                continue;
            assert_true(found.first_number <= found.next_number);
            assert_true(found.next_number <= HS_WATCH_MAX_NUMBER);
            assert_true(strlen(found.boot_id) < sizeof found.boot_id);
        }
    }
    assert_true(n_refused >=
                (size_t)n - 12); /* all but what ends in the last number or behind it */

    struct hs_watch_state found = example;
    static const char *const bad[] = {"", "{}", "\n", "{\"schema\": \"heapsnap.watch/2\"}",
                                      "\"schema\": \"heapsnap.watch/1\""};
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        const char *why = NULL;
        write_text(bad[i], strlen(bad[i]));
        assert_false(read_state(&found, &why));
        assert_string_equal(why, "watch.json cannot be understood");
    }
    assert_memory_equal(&found, &example, sizeof found);
}

static void numbers_that_cannot_be(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_state bad = example, found;
    const char *why;
    bad.first_number = 13;
    assert_int_equal(hs_watch_state_write(dir_fd, &bad, &err), HS_OK);
    assert_false(read_state(&found, &why));
    bad = example;
    bad.next_number = HS_WATCH_MAX_NUMBER + 1;
    assert_int_equal(hs_watch_state_write(dir_fd, &bad, &err), HS_OK);
    assert_false(read_state(&found, &why));
}

static void not_a_plain_file(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_watch_state found;
    const char *why = NULL;
    bool is_known = true;

    char large[5000];
    memset(large, ' ', sizeof large);
    write_text(large, sizeof large);
    assert_false(read_state(&found, &why));
    assert_non_null(why);
    assert_int_equal(unlinkat(dir_fd, HS_WATCH_STATE, 0), 0);
    assert_int_equal(mkfifoat(dir_fd, HS_WATCH_STATE, 0600), 0); /* must not wait for a writer */
    assert_false(read_state(&found, &why));
    assert_int_equal(unlinkat(dir_fd, HS_WATCH_STATE, 0), 0);
    assert_int_equal(symlinkat("/etc/passwd", dir_fd, HS_WATCH_STATE), 0);
    assert_int_equal(hs_watch_state_read(dir_fd, &found, &is_known, &why, &err), HS_IO);
    assert_int_equal(unlinkat(dir_fd, HS_WATCH_STATE, 0), 0);
    assert_int_equal(mkdirat(dir_fd, HS_WATCH_STATE, 0700), 0);
    assert_false(read_state(&found, &why));
    assert_int_equal(hs_watch_state_write(dir_fd, &example, &err), HS_IO);
    assert_non_null(strstr(err.message, "cannot write 'watch.json'"));
    assert_int_not_equal(faccessat(dir_fd, ".watch.json.new", F_OK, 0), 0); /* nothing is left */
}

static void no_memory(void **state)
{
    FAIL_EACH (each, .mode = FAIL_REST) {
        struct hs_error err = HS_ERROR_INIT;
        (void)FAIL_EACH_TRY(each, hs_watch_state_write(dir_fd, &example, &err));
        bool is_there = faccessat(dir_fd, HS_WATCH_STATE, F_OK, 0) == 0;
        assert_int_equal(is_there, each.status == HS_OK);
    }
}

#define ON_A_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        ON_A_DIRECTORY(there_and_back),   cmocka_unit_test(who_is_who),
        ON_A_DIRECTORY(damaged),          ON_A_DIRECTORY(numbers_that_cannot_be),
        ON_A_DIRECTORY(not_a_plain_file), ON_A_DIRECTORY(no_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
