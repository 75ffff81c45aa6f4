/* links: hs_base */
#include "unit.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/file.h"
#include "fail_each.h"

static char directory[64];
static char path[128];

static int make_directory(void **state)
{
    (void)snprintf(directory, sizeof directory, "%s", "/tmp/hs_file_test.XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    (void)snprintf(path, sizeof path, "%s/out", directory);
    return 0;
}

/* Fails when anything was left behind, so each test also says: no litter. */
static int remove_directory(void **state)
{
    (void)chmod(directory, 0755);
    (void)unlink(path);
    return rmdir(directory);
}

static void put(const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_true(fputs(text, file) >= 0);
    assert_int_equal(fclose(file), 0);
}

static void assert_content(const char *expected)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map = {0};
    assert_int_equal(hs_map_open(path, &map, &err), HS_OK);
    assert_int_equal(map.n_bytes, strlen(expected));
    if (map.n_bytes != 0)
        assert_memory_equal(map.bytes, expected, map.n_bytes);
    hs_map_close(&map);
    assert_null(map.bytes);
    hs_map_close(&map);
}

static void maps_files(void **state)
{
    put("some text");
    assert_content("some text");
    put("");
    assert_content("");
    hs_map_close(NULL);
}

static void maps_files_that_say_they_are_empty(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map = {0};
    assert_int_equal(hs_map_open("/proc/self/maps", &map, &err), HS_OK);
    assert_true(map.n_bytes > 100);
    hs_map_close(&map);
    assert_int_equal(hs_map_open("/dev/null", &map, &err), HS_OK);
    assert_int_equal(map.n_bytes, 0);
    assert_null(map.bytes);
    hs_map_close(&map);
}

enum { PIECES = 40, PIECE_STEP = 168 << 10, PIECE_BYTES = 20 << 10 };

static size_t resident_pages(const struct hs_map *map)
{
    size_t page = (size_t)sysconf(_SC_PAGESIZE), n = map->n_bytes / page, n_resident = 0;
    uint64_t *entries = calloc(n, sizeof *entries);
    int fd = open("/proc/self/pagemap", O_RDONLY | O_CLOEXEC);

    assert_true(fd >= 0 && entries != NULL);
    off_t at = (off_t)((uintptr_t)map->bytes / page * sizeof *entries);
    assert_int_equal(pread(fd, entries, n * sizeof *entries, at), n * sizeof *entries);
    for (size_t i = 0; i < n; i++)
        n_resident += entries[i] >> 63;
    (void)close(fd);
    free(entries);
    return n_resident;
}

/* Of what is read in pieces and given back nothing stays, though the system maps more than is
 * touched. */
static void gives_back_what_was_read(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map = {0};
    char *bytes = calloc(PIECES, PIECE_STEP);
    unsigned sum = 0;

    assert_non_null(bytes);
    memset(bytes, 'x', (size_t)PIECES * PIECE_STEP);
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    assert_int_equal(fwrite(bytes, PIECE_STEP, PIECES, file), PIECES);
    assert_int_equal(fclose(file), 0);
    free(bytes);
    assert_int_equal(hs_map_open(path, &map, &err), HS_OK);
    for (size_t i = 0; i < PIECES; i++) {
        for (size_t at = 0; at < PIECE_BYTES; at++)
            sum += map.bytes[i * PIECE_STEP + at];
        hs_map_release(&map, i * PIECE_STEP, i * PIECE_STEP + PIECE_BYTES);
    }
    assert_int_equal(sum, PIECES * PIECE_BYTES * 'x');
    assert_int_equal(resident_pages(&map), 0);
    for (size_t at = 0; at < map.n_bytes; at++) /* it comes again */
        assert_int_equal(map.bytes[at], 'x');
    hs_map_release(&map, 0, map.n_bytes);
    assert_int_equal(resident_pages(&map), 0);
    hs_map_close(&map);
}

static void says_why_a_file_cannot_be_mapped(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map = {.n_bytes = 42};
    assert_int_equal(hs_map_open("/nonexistent/x", &map, &err), HS_IO);
    assert_string_equal(err.message, "cannot open '/nonexistent/x': No such file or directory");
    assert_int_equal(err.sys_errno, ENOENT);
    assert_int_equal(hs_map_open("/tmp", &map, &err), HS_IO);
    assert_string_equal(err.message, "cannot read '/tmp': it is a directory");
    assert_int_equal(map.n_bytes, 42); /* untouched */
}

enum { FED_BYTES = 300000 };

static uint8_t fed_byte(size_t at)
{
    return (uint8_t)(at * 7 + at / 251);
}

static void *feed(void *argument)
{
    int fd = *(int *)argument;
    uint8_t bytes[777];
    size_t at = 0;
    while (at < FED_BYTES) {
        size_t n = FED_BYTES - at < sizeof bytes ? FED_BYTES - at : sizeof bytes;
        for (size_t i = 0; i < n; i++)
            bytes[i] = fed_byte(at + i);
        ssize_t done = write(fd, bytes, n);
        if (done < 0)
            return "write failed";
        at += (size_t)done;
    }
    return close(fd) == 0 ? NULL : "close failed";
}

/* Standard input replaced by `fd` while the map is made. */
static hs_status map_from(int fd, struct hs_map *map, struct hs_error *err)
{
    int saved = dup(STDIN_FILENO);
    assert_int_equal(dup2(fd, STDIN_FILENO), STDIN_FILENO);
    hs_status status = hs_map_open("-", map, err);
    assert_int_equal(dup2(saved, STDIN_FILENO), STDIN_FILENO);
    (void)close(saved);
    return status;
}

static void reads_pipes_to_the_end(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    for (int nonblocking = 0; nonblocking < 2; nonblocking++) {
        struct hs_map map = {0};
        int ends[2];
        pthread_t thread;
        void *failure = "none";
        assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
        if (nonblocking)
            assert_int_equal(fcntl(ends[0], F_SETFL, O_NONBLOCK), 0);
        assert_int_equal(pthread_create(&thread, NULL, feed, &ends[1]), 0);
        assert_int_equal(map_from(ends[0], &map, &err), HS_OK);
        assert_int_equal(pthread_join(thread, &failure), 0);
        assert_null(failure);
        assert_int_equal(map.n_bytes, FED_BYTES);
        for (size_t i = 0; i < FED_BYTES; i++)
            assert_int_equal(map.bytes[i], fed_byte(i));
        hs_map_close(&map);
        (void)close(ends[0]);
    }
}

static void reads_the_rest_of_a_redirected_file(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map = {0};
    put("head and tail");
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_int_equal(lseek(fd, 9, SEEK_SET), 9);
    assert_int_equal(map_from(fd, &map, &err), HS_OK);
    assert_int_equal(map.n_bytes, 4);
    assert_memory_equal(map.bytes, "tail", 4);
    hs_map_close(&map);
    (void)close(fd);
}

static void pipe_reading_survives_failing_allocations(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    for (uint64_t nth = 1; nth <= 2; nth++) {
        struct hs_map map = {0};
        int fd = open("/dev/zero", O_RDONLY | O_CLOEXEC); /* never ends: the limit does */
        hs_alloc_fail_at(nth, false);
        assert_int_equal(map_from(fd, &map, &err), HS_LIMIT);
        hs_alloc_fail_at(0, false);
        assert_null(map.bytes);
        (void)close(fd);
    }
}

static void an_output_appears_when_committed(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    assert_int_equal(hs_out_open_path(path, &out, &err), HS_OK);
    assert_int_equal(hs_out_write(&out, "abc", 3, &err), HS_OK);
    assert_int_equal(hs_out_write(&out, NULL, 0, &err), HS_OK);
    assert_int_equal(access(path, F_OK), -1);
    assert_int_equal(out.n_written, 3);
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_out_close(&out);
    assert_content("abc");
}

static void an_output_given_up_leaves_the_old_file(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    put("old");
    assert_int_equal(hs_out_open_path(path, &out, &err), HS_OK);
    for (int i = 0; i < 30000; i++)
        assert_int_equal(hs_out_write(&out, "new bytes", 9, &err), HS_OK);
    hs_out_close(&out);
    hs_out_close(&out);
    hs_out_close(NULL);
    assert_content("old");
}

static void writes_small_and_large_pieces_in_order(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    static const size_t sizes[] = {1, 65535, 65536, 7, 200000, 65536, 3, 65530, 6, 1};
    static char piece[200000];
    size_t total = 0;
    assert_int_equal(hs_out_open_path(path, &out, &err), HS_OK);
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        memset(piece, 'a' + (int)i, sizes[i]);
        assert_int_equal(hs_out_write(&out, piece, sizes[i], &err), HS_OK);
        total += sizes[i];
        assert_int_equal(out.n_written, total);
    }
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_out_close(&out);
    struct hs_map map = {0};
    assert_int_equal(hs_map_open(path, &map, &err), HS_OK);
    assert_int_equal(map.n_bytes, total);
    for (size_t i = 0, at = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (size_t n = 0; n < sizes[i]; n++)
            assert_int_equal(map.bytes[at++], 'a' + i);
    hs_map_close(&map);
}

/* The old file's mode is not the new one's: somebody may have made it for us to fill. */
static void keeps_links_and_no_modes(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    struct stat about;
    char link_path[128];
    put("old");
    assert_int_equal(chmod(path, 0666), 0);
    (void)snprintf(link_path, sizeof link_path, "%s/link", directory);
    assert_int_equal(symlink(path, link_path), 0);
    assert_int_equal(hs_out_open_path(link_path, &out, &err), HS_OK);
    assert_int_equal(hs_out_write(&out, "new", 3, &err), HS_OK);
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_out_close(&out);
    assert_content("new");
    assert_int_equal(lstat(link_path, &about), 0);
    assert_true(S_ISLNK(about.st_mode));
    assert_int_equal(stat(path, &about), 0);
    assert_int_equal(about.st_mode & 07777, 0600);
    assert_int_equal(unlink(link_path), 0);
}

/* The mode of what is written and of what was, under an umask, with the access that is asked for.
 */
static mode_t mode_under(mode_t mask, const struct hs_out_access *access)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    struct stat during, after;
    mode_t saved = umask(mask);
    hs_status status = hs_out_open_path_as(path, access, &out, &err);
    (void)umask(saved);
    assert_int_equal(status, HS_OK);
    assert_int_equal(fstat(out.fd, &during), 0);
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_out_close(&out);
    assert_int_equal(stat(path, &after), 0);
    assert_int_equal(during.st_mode, after.st_mode);
    return after.st_mode & 07777;
}

static void is_the_owners_alone_whatever_the_umask(void **state)
{
    static const mode_t masks[] = {0, 022, 027, 077, 0777};
    const struct hs_out_access none = {0}, some = {.has_mode = true, .mode = 0644},
                               group = {.has_group = true, .group = getegid()};
    for (size_t i = 0; i < sizeof masks / sizeof *masks; i++) {
        assert_int_equal(mode_under(masks[i], NULL), 0600);
        assert_int_equal(mode_under(masks[i], &none), 0600);
        assert_int_equal(mode_under(masks[i], &some), 0644);
        assert_int_equal(mode_under(masks[i], &group), 0640);
    }
}

static void a_group_that_is_not_ours_is_told(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    const struct hs_out_access access = {.has_group = true, .group = (gid_t)-2};
    put("old");
    hs_status status = hs_out_open_path_as(path, &access, &out, &err);
    if (geteuid() == 0 && status == HS_OK) { /* root may give to any */
        struct stat about;
        assert_int_equal(fstat(out.fd, &about), 0);
        assert_int_equal(about.st_gid, (gid_t)-2);
        hs_out_close(&out);
    } else {
        assert_int_equal(status, HS_IO);
        assert_non_null(strstr(err.message, "to group 4294967294"));
        assert_true(err.hint[0] != '\0');
    }
    assert_content("old");
}

static void a_full_device_is_told_at_commit(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    assert_int_equal(hs_out_open_path("/dev/full", &out, &err), HS_OK);
    assert_null(out.temporary); /* a device is not replaced */
    assert_int_equal(hs_out_write(&out, "x", 1, &err), HS_OK);
    assert_int_equal(hs_out_commit(&out, &err), HS_IO);
    assert_string_equal(err.message, "cannot write '/dev/full': No space left on device");
    assert_int_equal(hs_out_write(&out, "x", 1, &err), HS_IO);
    assert_string_equal(err.message, "cannot write '/dev/full': an earlier write failed");
    assert_int_equal(hs_out_commit(&out, &err), HS_IO);
    hs_out_close(&out);
}

static void a_full_device_is_told_while_writing(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    static const char zeros[100000];
    int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
    assert_int_equal(hs_out_open_fd(fd, "standard output", &out, &err), HS_OK);
    assert_int_equal(hs_out_write(&out, zeros, sizeof zeros, &err), HS_IO);
    assert_string_equal(err.message, "cannot write 'standard output': No space left on device");
    assert_int_equal(err.sys_errno, ENOSPC);
    hs_out_close(&out);
    assert_int_equal(fcntl(fd, F_GETFD), FD_CLOEXEC); /* still ours */
    (void)close(fd);
}

static void devices_are_written_in_place(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    struct stat about;
    assert_int_equal(hs_out_open_path("/dev/null", &out, &err), HS_OK);
    assert_int_equal(hs_out_write(&out, "x", 1, &err), HS_OK);
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_out_close(&out);
    assert_int_equal(stat("/dev/null", &about), 0);
    assert_true(S_ISCHR(about.st_mode));
}

static void *drain(void *argument)
{
    static uint8_t bytes[4096];
    int fd = *(int *)argument;
    size_t at = 0;
    (void)usleep(20000); /* long enough for the pipe to be full first */
    for (;;) {
        ssize_t n = read(fd, bytes, sizeof bytes);
        if (n <= 0)
            return n == 0 && at == FED_BYTES ? NULL : "wrong end";
        for (ssize_t i = 0; i < n; i++)
            if (bytes[i] != fed_byte(at++))
                return "wrong byte";
    }
}

static void waits_for_pipes_that_do_not_block(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    static uint8_t bytes[FED_BYTES];
    pthread_t thread;
    void *failure = "none";
    int ends[2];
    for (size_t i = 0; i < FED_BYTES; i++)
        bytes[i] = fed_byte(i);
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, O_NONBLOCK), 0);
    assert_int_equal(pthread_create(&thread, NULL, drain, &ends[0]), 0);
    assert_int_equal(hs_out_open_fd(ends[1], "pipe", &out, &err), HS_OK);
    assert_int_equal(hs_out_write(&out, bytes, FED_BYTES - 5, &err), HS_OK);
    assert_int_equal(hs_out_write(&out, bytes + FED_BYTES - 5, 5, &err), HS_OK);
    assert_int_equal(hs_out_commit(&out, &err), HS_OK);
    hs_out_close(&out);
    (void)close(ends[1]);
    assert_int_equal(pthread_join(thread, &failure), 0);
    assert_null(failure);
    (void)close(ends[0]);
}

static void failed_reads_are_told(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_map map = {0};
    /* Page zero is never there. */
    assert_int_equal(hs_map_open("/proc/self/mem", &map, &err), HS_IO);
    assert_string_equal(err.message, "cannot read '/proc/self/mem': Input/output error");
    assert_null(map.bytes);
}

static void a_closed_descriptor_is_told(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    int fd = open("/dev/null", O_WRONLY | O_CLOEXEC);
    assert_int_equal(hs_out_open_fd(fd, "standard output", &out, &err), HS_OK);
    (void)close(fd);
    assert_int_equal(hs_out_write(&out, "x", 1, &err), HS_OK);
    assert_int_equal(hs_out_commit(&out, &err), HS_IO);
    assert_int_equal(err.sys_errno, EBADF);
    hs_out_close(&out);
}

static void says_why_an_output_cannot_be_made(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {.n_written = 42};
    assert_int_equal(hs_out_open_path("/nonexistent/x", &out, &err), HS_IO);
    assert_string_equal(err.message, "cannot create '/nonexistent/x': No such file or directory");
    assert_int_equal(hs_out_open_path("", &out, &err), HS_IO);
    assert_string_equal(err.message, "cannot write '': it names no file");
    assert_int_equal(hs_out_open_path("x/", &out, &err), HS_IO);
    assert_int_equal(hs_out_open_path(directory, &out, &err), HS_IO);
    assert_non_null(strstr(err.message, "it is a directory"));
    assert_int_equal(out.n_written, 42); /* untouched */
}

static void a_directory_may_be_read_only(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    /* Nobody may create files in /proc, root neither: the permission bits bind only others. */
    assert_int_equal(hs_out_open_path("/proc/self/heap.snap", &out, &err), HS_IO);
    assert_int_equal(chmod(directory, 0555), 0);
    hs_status status = hs_out_open_path(path, &out, &err);
    if (geteuid() == 0) {
        assert_int_equal(status, HS_OK);
        hs_out_close(&out);
    } else {
        assert_int_equal(status, HS_IO);
        assert_int_equal(err.sys_errno, EACCES);
    }
}

static void a_failed_rename_leaves_no_litter(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    assert_int_equal(hs_out_open_path(path, &out, &err), HS_OK);
    assert_int_equal(mkdir(path, 0755), 0); /* in the way since */
    assert_int_equal(hs_out_commit(&out, &err), HS_IO);
    assert_int_equal(err.sys_errno, EISDIR);
    hs_out_close(&out);
    assert_int_equal(rmdir(path), 0);
}

static void each_allocation_of_an_output_can_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_out out = {0};
    FAIL_EACH (each, .at_least = 4) {
        (void)FAIL_EACH_TRY(each, hs_out_open_path(path, &out, &err));
    }
    hs_out_close(&out);
    FAIL_EACH (each, .at_least = 2) {
        (void)FAIL_EACH_TRY(each, hs_out_open_fd(1, "standard output", &out, &err));
    }
    hs_out_close(&out);
}

#define IN_DIRECTORY(test) cmocka_unit_test_setup_teardown(test, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        IN_DIRECTORY(maps_files),
        IN_DIRECTORY(maps_files_that_say_they_are_empty),
        IN_DIRECTORY(gives_back_what_was_read),
        IN_DIRECTORY(says_why_a_file_cannot_be_mapped),
        IN_DIRECTORY(reads_pipes_to_the_end),
        IN_DIRECTORY(reads_the_rest_of_a_redirected_file),
        IN_DIRECTORY(pipe_reading_survives_failing_allocations),
        IN_DIRECTORY(an_output_appears_when_committed),
        IN_DIRECTORY(an_output_given_up_leaves_the_old_file),
        IN_DIRECTORY(writes_small_and_large_pieces_in_order),
        IN_DIRECTORY(keeps_links_and_no_modes),
        IN_DIRECTORY(is_the_owners_alone_whatever_the_umask),
        IN_DIRECTORY(a_group_that_is_not_ours_is_told),
        IN_DIRECTORY(a_full_device_is_told_at_commit),
        IN_DIRECTORY(a_full_device_is_told_while_writing),
        IN_DIRECTORY(devices_are_written_in_place),
        IN_DIRECTORY(waits_for_pipes_that_do_not_block),
        IN_DIRECTORY(failed_reads_are_told),
        IN_DIRECTORY(a_closed_descriptor_is_told),
        IN_DIRECTORY(says_why_an_output_cannot_be_made),
        IN_DIRECTORY(a_directory_may_be_read_only),
        IN_DIRECTORY(a_failed_rename_leaves_no_litter),
        IN_DIRECTORY(each_allocation_of_an_output_can_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
