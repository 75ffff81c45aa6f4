/* links: hs_tools_lib */
/* parts: watch */
/* The directory of a watch: what is listed, what goes, what is never touched. */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "tools/own_directory.h"
#include "tools/watch/series.h"

static char top[64];
static char path[PATH_MAX];
static int dir_fd;

static int set_up(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    snprintf(top, sizeof top, "/tmp/hs_watch_series_test.XXXXXX");
    if (mkdtemp(top) == NULL)
        return -1;
    snprintf(path, sizeof path, "%s/snaps", top);
    return hs_own_directory_open(path, &dir_fd, &err) == HS_OK ? 0 : -1;
}

static int tear_down(void **state)
{
    char command[PATH_MAX + 16];
    close(dir_fd);
    snprintf(command, sizeof command, "%s", top);
    pid_t pid = fork();
    if (pid == 0) {
        execlp("rm", "rm", "-rf", command, (char *)NULL);
        _exit(127);
    }
    (void)waitpid(pid, NULL, 0);
    return 0;
}

static void put(const char *name, size_t n_bytes)
{
    int fd = openat(dir_fd, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    assert_int_equal(ftruncate(fd, (off_t)n_bytes), 0);
    close(fd);
}

static bool is_there(const char *name)
{
    struct stat about;
    return fstatat(dir_fd, name, &about, AT_SYMLINK_NOFOLLOW) == 0;
}

static void name_of(uint64_t number, char *name)
{
    hs_watch_name_format(1795334400 + (int64_t)number * 60, number, name);
}

static void put_snap(uint64_t number, size_t n_bytes)
{
    char name[HS_WATCH_NAME_BYTES];
    name_of(number, name);
    put(name, n_bytes);
}

static bool has_snap(uint64_t number)
{
    char name[HS_WATCH_NAME_BYTES];
    name_of(number, name);
    return is_there(name);
}

static void scan(uint64_t first_number, struct hs_watch_series *series)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_watch_series_scan(dir_fd, first_number, series, &err), HS_OK);
}

/* ---- excess: pure ---- */

static size_t excess(size_t n, const uint64_t *n_bytes, uint64_t keep, uint64_t keep_bytes)
{
    struct hs_watch_file files[16] = {0};
    for (size_t i = 0; i < n; i++)
        files[i] = (struct hs_watch_file){.number = i + 1, .n_bytes = n_bytes[i]};
    struct hs_watch_series series = {.files = files, .n = n};
    return hs_watch_series_excess(&series, keep, keep_bytes);
}

static void what_is_too_much(void **state)
{
    static const uint64_t n_bytes[] = {10, 20, 30, 40, 50};
    assert_int_equal(excess(0, n_bytes, 3, 0), 0);
    assert_int_equal(excess(5, n_bytes, 0, 0), 0);
    assert_int_equal(excess(5, n_bytes, 5, 0), 0);
    assert_int_equal(excess(5, n_bytes, 3, 0), 2);
    assert_int_equal(excess(5, n_bytes, 1, 0), 4);
    assert_int_equal(excess(5, n_bytes, 0, 150), 0);
    assert_int_equal(excess(5, n_bytes, 0, 149), 1);
    assert_int_equal(excess(5, n_bytes, 0, 90), 3);
    assert_int_equal(excess(5, n_bytes, 0, 89), 4);
    assert_int_equal(excess(5, n_bytes, 0, 1), 4); /* the newest stays, however large */
    assert_int_equal(excess(5, n_bytes, 2, 1000), 3);
    assert_int_equal(excess(5, n_bytes, 4, 91), 3);
    static const uint64_t huge[] = {UINT64_MAX, UINT64_MAX, 1};
    assert_int_equal(excess(3, huge, 0, UINT64_MAX), 2);
}

static void room(void **state)
{
    assert_true(hs_watch_has_room(0, 0));
    assert_true(hs_watch_has_room(150, 100));
    assert_false(hs_watch_has_room(149, 100));
    assert_false(hs_watch_has_room(0, 1));
    assert_true(hs_watch_has_room(UINT64_MAX, 100));
    assert_false(hs_watch_has_room(UINT64_MAX, UINT64_MAX));
    assert_true(hs_watch_free_bytes(dir_fd) > 0);
    assert_true(hs_watch_free_bytes(-1) == UINT64_MAX);
}

/* ---- listing and removing ---- */

static void lists_its_own(void **state)
{
    struct hs_watch_series series = {0};
    scan(0, &series);
    assert_int_equal(series.n, 0);
    assert_int_equal(series.max_number, 0);
    static const uint64_t numbers[] = {12, 3, 1000000, 7, 999999};
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        put_snap(numbers[i], (size_t)numbers[i]);
    put("heap-other.snap", 5);
    put("watch.log", 5);
    put(".heap-20261122T080000Z-000099.snap.abcdef", 5);
    assert_int_equal(mkdirat(dir_fd, "heap-20261122T080000Z-000050.snap", 0700), 0);
    assert_int_equal(symlinkat("/etc/passwd", dir_fd, "heap-20261122T080000Z-000060.snap"), 0);
    assert_int_equal(mkfifoat(dir_fd, "heap-20261122T080000Z-000070.snap", 0600), 0);

    static const uint64_t sorted[] = {3, 7, 12, 999999, 1000000};
    scan(0, &series);
    assert_int_equal(series.n, 5);
    assert_int_equal(series.max_number, 1000000);
    for (size_t i = 0; i < series.n; i++) {
        assert_int_equal(series.files[i].number, sorted[i]);
        assert_int_equal(series.files[i].n_bytes, sorted[i]);
    }
    scan(12, &series);
    assert_int_equal(series.n, 3);
    assert_int_equal(series.files[0].number, 12);
    scan(2000000, &series); /* all of earlier series: their numbers still count */
    assert_int_equal(series.n, 0);
    assert_int_equal(series.max_number, 1000000);
    hs_watch_series_fini(&series);
}

static void removes_the_oldest_with_their_indexes(void **state)
{
    struct hs_watch_series series = {0};
    for (uint64_t i = 1; i <= 6; i++)
        put_snap(i, 10);
    char name[HS_WATCH_NAME_BYTES], index[HS_WATCH_NAME_BYTES + 16];
    name_of(3, name);
    snprintf(index, sizeof index, "%s.idx", name);
    put(index, 1);
    char part[HS_WATCH_NAME_BYTES + 16];
    snprintf(part, sizeof part, "%s.idx.part", name);
    put(part, 1);
    char careful[HS_WATCH_NAME_BYTES + 32], typed[HS_WATCH_NAME_BYTES + 32];
    snprintf(careful, sizeof careful, "%s.conservative.idx", name);
    snprintf(typed, sizeof typed, "%s.00c0ffee00c0ffee.idx.part", name);
    put(careful, 1);
    put(typed, 1);
    char stays[HS_WATCH_NAME_BYTES + 16], notes[HS_WATCH_NAME_BYTES + 16];
    snprintf(notes, sizeof notes, "%s.txt", name);
    put(notes, 1);
    name_of(6, name);
    snprintf(stays, sizeof stays, "%s.idx", name);
    put(stays, 1);
    scan(3, &series);
    assert_int_equal(hs_watch_series_remove(dir_fd, &series, hs_watch_series_excess(&series, 2, 0)),
                     2);
    for (uint64_t i = 1; i <= 6; i++)
        assert_int_equal(has_snap(i), i < 3 || i > 4); /* 1 and 2 are of an earlier series */
    assert_false(is_there(index));
    assert_false(is_there(part));
    assert_false(is_there(careful));
    assert_false(is_there(typed));
    assert_true(is_there(notes)); /* somebody else's */
    assert_true(is_there(stays));
    hs_watch_series_fini(&series);
}

/* Between listing and removing a name may come to mean something else. */
static void a_link_put_there_is_not_followed(void **state)
{
    struct hs_watch_series series = {0};
    char name[HS_WATCH_NAME_BYTES], victim[PATH_MAX];
    put_snap(1, 10);
    put_snap(2, 10);
    put_snap(3, 10);
    scan(0, &series);
    snprintf(victim, sizeof victim, "%s/victim", top);
    int fd = open(victim, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    name_of(1, name);
    assert_int_equal(unlinkat(dir_fd, name, 0), 0);
    assert_int_equal(symlinkat(victim, dir_fd, name), 0);
    assert_int_equal(hs_watch_series_remove(dir_fd, &series, 2), 1);
    assert_int_equal(access(victim, F_OK), 0);
    assert_true(has_snap(1)); /* the link is not ours: it stays */
    assert_false(has_snap(2));
    assert_true(has_snap(3));
    hs_watch_series_fini(&series);
}

/* The directory is replaced by a link to another: what is done goes on in the first. */
static void a_replaced_directory(void **state)
{
    struct hs_watch_series series = {0};
    char moved[PATH_MAX], other[PATH_MAX], foreign[2 * PATH_MAX], name[HS_WATCH_NAME_BYTES];
    snprintf(moved, sizeof moved, "%s/moved", top);
    snprintf(other, sizeof other, "%s/other", top);
    put_snap(1, 10);
    put_snap(2, 10);
    assert_int_equal(mkdir(other, 0700), 0);
    name_of(1, name);
    snprintf(foreign, sizeof foreign, "%s/%s", other, name);
    int fd = open(foreign, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(rename(path, moved), 0);
    assert_int_equal(symlink(other, path), 0);

    scan(0, &series);
    assert_int_equal(series.n, 2);
    assert_int_equal(hs_watch_series_remove(dir_fd, &series, 1), 1);
    assert_int_equal(access(foreign, F_OK), 0);
    assert_false(has_snap(1));
    hs_watch_series_fini(&series);
}

static void killed_dumps_are_swept(void **state)
{
    put(".heap-20261122T080000Z-000001.snap.abcdef", 100);
    put(".heap-20261122T080500Z-000002.snap.012345", 0);
    put(".heap-20261122T080500Z-000002.snap.0123456", 0);
    put(".other.abcdef", 1);
    assert_int_equal(symlinkat("nowhere", dir_fd, ".heap-20261122T080000Z-000003.snap.abcdef"), 0);
    put_snap(1, 1);
    assert_int_equal(hs_watch_neighbours_remove(dir_fd), 2);
    assert_int_equal(hs_watch_neighbours_remove(dir_fd), 0);
    assert_true(is_there(".heap-20261122T080500Z-000002.snap.0123456"));
    assert_true(is_there(".other.abcdef"));
    assert_true(is_there(".heap-20261122T080000Z-000003.snap.abcdef"));
    assert_true(has_snap(1));
}

static void no_memory(void **state)
{
    struct hs_watch_series series = {0};
    for (uint64_t i = 1; i <= 40; i++)
        put_snap(i, 10);
    FAIL_EACH (each, .mode = FAIL_REST, .keeps = true) {
        struct hs_error err = HS_ERROR_INIT;
        (void)FAIL_EACH_TRY(each, hs_watch_series_scan(dir_fd, 0, &series, &err));
    }
    assert_int_equal(series.n, 40);
    hs_watch_series_fini(&series);
}

/* ---- opening ---- */

static hs_status open_as(const char *what, struct hs_error *err)
{
    int fd = -1;
    hs_status status = hs_own_directory_open(what, &fd, err);
    if (status == HS_OK)
        close(fd);
    return status;
}

static void what_is_no_directory_of_ours(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    char other[PATH_MAX];

    struct stat about;
    assert_int_equal(fstat(dir_fd, &about), 0);
    assert_int_equal(about.st_mode & 0777, 0700);

    snprintf(other, sizeof other, "%s/link", top);
    assert_int_equal(symlink("snaps", other), 0);
    assert_int_equal(open_as(other, &err), HS_IO);
    assert_non_null(strstr(err.message, "it is a symbolic link"));
    snprintf(other, sizeof other, "%s/link//", top); /* would be followed as it stands */
    assert_int_equal(open_as(other, &err), HS_IO);
    assert_non_null(strstr(err.message, "it is a symbolic link"));

    snprintf(other, sizeof other, "%s/file", top);
    int fd = open(other, O_WRONLY | O_CREAT | O_CLOEXEC, 0600);
    assert_true(fd >= 0);
    close(fd);
    assert_int_equal(open_as(other, &err), HS_IO);
    assert_int_equal(err.sys_errno, ENOTDIR);
    snprintf(other, sizeof other, "%s/file/below", top);
    assert_int_equal(open_as(other, &err), HS_IO);
    snprintf(other, sizeof other, "%s/missing/below", top); /* one level is made, no more */
    assert_int_equal(open_as(other, &err), HS_IO);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(open_as("", &err), HS_IO);

    static char longest[PATH_MAX + 10];
    memset(longest, 'a', sizeof longest - 1);
    assert_int_equal(open_as(longest, &err), HS_IO);
}

static void one_watch_at_a_time(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(open_as(path, &err), HS_IO);
    assert_non_null(strstr(err.message, "another watch is at work there"));
    close(dir_fd);
    assert_int_equal(hs_own_directory_open(path, &dir_fd, &err), HS_OK);
}

#define ON_A_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, set_up, tear_down)

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_is_too_much),
        ON_A_DIRECTORY(room),
        ON_A_DIRECTORY(lists_its_own),
        ON_A_DIRECTORY(removes_the_oldest_with_their_indexes),
        ON_A_DIRECTORY(a_link_put_there_is_not_followed),
        ON_A_DIRECTORY(a_replaced_directory),
        ON_A_DIRECTORY(killed_dumps_are_swept),
        ON_A_DIRECTORY(no_memory),
        ON_A_DIRECTORY(what_is_no_directory_of_ours),
        ON_A_DIRECTORY(one_watch_at_a_time),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
