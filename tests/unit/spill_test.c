/* links: hs_base */
#include "unit.h"

#include <dirent.h>
#include <errno.h>
#include <signal.h>
#include <sys/mount.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/alloc.h"

#include "base/spill.h"

static char directory[64];
static struct hs_budget budget;

static int make_directory(void **state)
{
    (void)snprintf(directory, sizeof directory, "%s", "/tmp/hs_spill_test.XXXXXX");
    if (mkdtemp(directory) == NULL)
        return -1;
    hs_budget_init(UINT64_MAX, directory, 1, &budget);
    return 0;
}

/* Fails when anything is left, so each test also says: no litter. */
static int remove_directory(void **state)
{
    return rmdir(directory);
}

static void spill_open(struct hs_spill *spill)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_spill_open(&budget, "the numbers", spill, &err), HS_OK);
}

static uint64_t random_next(uint64_t *state)
{
    *state = *state * 6364136223846793005ULL + 1442695040888963407ULL;
    return *state >> 20;
}

/* Small ones mostly, and each length up to the longest. */
static uint64_t number_next(uint64_t *state)
{
    uint64_t value = random_next(state);
    unsigned kind = (unsigned)(random_next(state) % 80);
    if (kind < 64)
        return value << kind >> kind;
    return kind == 64 ? UINT64_MAX : value & 0x7f;
}

static void reads_varints_back(void **state)
{
    enum { N = 1500000 }; /* more than a piece, and more than two with the fixed ones */
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill = {0};
    struct hs_spill_reader reader = {0};
    uint64_t random = 1;

    spill_open(&spill);
    for (int i = 0; i < N; i++)
        assert_int_equal(hs_spill_put_varint(&spill, number_next(&random), &err), HS_OK);
    assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);
    assert_true(spill.n_bytes > 2 * HS_SPILL_PIECE_BYTES);
    assert_int_equal(hs_spill_read(&spill, 0, spill.n_bytes, &reader, &err), HS_OK);
    random = 1;
    for (int i = 0; i < N; i++) {
        uint64_t value = 0;
        assert_false(hs_spill_at_end(&reader));
        assert_int_equal(hs_spill_get_varint(&reader, &value, &err), HS_OK);
        assert_true(value == number_next(&random));
    }
    assert_true(hs_spill_at_end(&reader));
    uint64_t untouched = 7;
    assert_int_equal(hs_spill_get_varint(&reader, &untouched, &err), HS_BUG);
    assert_int_equal(untouched, 7);
    hs_spill_reader_close(&reader);
    hs_spill_reader_close(&reader);
    hs_spill_close(&spill);
    hs_spill_close(&spill);
}

static void reads_fixed_numbers_both_ways(void **state)
{
    enum { N = 300000 };
    struct hs_error err = HS_ERROR_INIT;

    for (unsigned width = 1; width <= 8; width++) {
        struct hs_spill spill = {0};
        struct hs_spill_reader reader = {0};
        uint64_t mask = UINT64_MAX >> (64 - 8 * width), value = 0;
        spill_open(&spill);
        for (uint64_t i = 0; i < N; i++)
            assert_int_equal(hs_spill_put_fixed(&spill, i * 0x9e3779b97f4a7c15ULL, width, &err),
                             HS_OK);
        assert_int_equal(spill.n_bytes, N * width);
        assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);

        uint64_t first = 1000, last = N - 777; /* [first, last) */
        assert_int_equal(hs_spill_read(&spill, first * width, last * width, &reader, &err), HS_OK);
        for (uint64_t i = first; i < last; i++) {
            assert_int_equal(hs_spill_get_fixed(&reader, width, &value, &err), HS_OK);
            assert_true(value == (i * 0x9e3779b97f4a7c15ULL & mask));
        }
        assert_true(hs_spill_at_end(&reader));
        assert_int_equal(hs_spill_get_fixed(&reader, width, &value, &err), HS_BUG);
        hs_spill_reader_close(&reader);

        assert_int_equal(hs_spill_read(&spill, first * width, last * width, &reader, &err), HS_OK);
        for (uint64_t i = last; i-- > first;) {
            assert_int_equal(hs_spill_get_fixed_back(&reader, width, &value, &err), HS_OK);
            assert_true(value == (i * 0x9e3779b97f4a7c15ULL & mask));
        }
        assert_true(hs_spill_at_end(&reader));
        assert_int_equal(hs_spill_get_fixed_back(&reader, width, &value, &err), HS_BUG);
        hs_spill_reader_close(&reader);
        hs_spill_close(&spill);
    }
}

static void skipped_bytes_are_zeros_that_take_no_disk(void **state)
{
    static const uint64_t n_hole = 8 << 20;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill;
    struct stat found;
    uint8_t bytes[8];
    spill_open(&spill);
    assert_int_equal(hs_spill_skip(&spill, n_hole, &err), HS_OK);
    assert_int_equal(hs_spill_write(&spill, "middle", 6, &err), HS_OK);
    assert_int_equal(hs_spill_skip(&spill, n_hole - 6, &err), HS_OK);
    assert_int_equal(hs_spill_skip(&spill, UINT64_MAX, &err), HS_IO);
    assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);
    assert_int_equal(spill.n_bytes, 2 * n_hole);
    assert_int_equal(hs_spill_read_at(&spill, n_hole - 1, bytes, 8, &err), HS_OK);
    assert_memory_equal(bytes, "\0middle", 8);
    assert_int_equal(hs_spill_read_at(&spill, 2 * n_hole - 8, bytes, 8, &err), HS_OK);
    assert_memory_equal(bytes, "\0\0\0\0\0\0\0\0", 8);
    assert_int_equal(fstat(spill.fd, &found), 0);
    assert_true(found.st_blocks * 512 < 1 << 20);
    hs_spill_close(&spill);
}

static void writes_and_reads_runs_of_bytes(void **state)
{
    enum { N = 3 << 20 }; /* longer than the buffer and than a piece */
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill = {0};
    struct hs_spill_reader reader = {0};
    hs_auto_free uint8_t *bytes = NULL;
    const uint8_t *got = NULL;
    void *memory;

    assert_int_equal(hs_alloc(N, 1, &memory, &err), HS_OK);
    bytes = memory;
    for (size_t i = 0; i < N; i++)
        bytes[i] = (uint8_t)(i * 7 + i / 251);
    spill_open(&spill);
    assert_int_equal(hs_spill_write(&spill, bytes, 0, &err), HS_OK);
    assert_int_equal(hs_spill_write(&spill, bytes, 5, &err), HS_OK);
    assert_int_equal(hs_spill_write(&spill, bytes + 5, N - 5, &err), HS_OK);
    assert_int_equal(hs_spill_write(&spill, bytes, N, &err), HS_OK);
    assert_int_equal(spill.n_bytes, 2 * N);
    assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);

    assert_int_equal(hs_spill_read(&spill, 0, spill.n_bytes, &reader, &err), HS_OK);
    size_t at = 0, run = 1;
    while (at < 2 * N) {
        size_t n = run % (HS_SPILL_BUFFER_BYTES / 2) + 1;
        n = n < 2 * N - at ? n : 2 * N - at;
        n = at < N && n > N - at ? N - at : n;
        assert_int_equal(hs_spill_get_bytes(&reader, n, &got, &err), HS_OK);
        assert_memory_equal(got, bytes + at % N, n);
        at += n;
        run = run * 3 + 1;
    }
    assert_int_equal(hs_spill_get_bytes(&reader, 0, &got, &err), HS_OK);
    assert_int_equal(hs_spill_get_bytes(&reader, 1, &got, &err), HS_BUG);
    hs_spill_reader_close(&reader);

    uint8_t part[1000];
    assert_int_equal(hs_spill_read_at(&spill, N - 500, part, sizeof part, &err), HS_OK);
    assert_memory_equal(part, bytes + N - 500, 500);
    assert_memory_equal(part + 500, bytes, 500);
    assert_int_equal(hs_spill_read_at(&spill, 2 * N - 1, part, 2, &err), HS_BUG);
    hs_spill_close(&spill);
}

static void an_empty_spill_is_at_its_end(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill = {0};
    struct hs_spill_reader reader = {0};
    uint64_t value;

    spill_open(&spill);
    assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);
    assert_int_equal(hs_spill_read(&spill, 0, 0, &reader, &err), HS_OK);
    assert_true(hs_spill_at_end(&reader));
    assert_int_equal(hs_spill_get_varint(&reader, &value, &err), HS_BUG);
    hs_spill_reader_close(&reader);
    hs_spill_close(&spill);
    hs_spill_close(NULL);
    hs_spill_reader_close(NULL);
}

static void offsets_go_beyond_4_gib(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill = {0};
    struct hs_spill_reader reader = {0};
    const uint64_t hole = ((uint64_t)5 << 30) + 123;
    uint64_t value = 0;

    spill_open(&spill);
    spill.n_bytes = hole; /* as if so much had been written: a hole */
    spill.n_pushed = hole / HS_SPILL_PIECE_BYTES * HS_SPILL_PIECE_BYTES;
    for (uint64_t i = 0; i < 1000000; i++)
        assert_int_equal(hs_spill_put_fixed(&spill, i, 5, &err), HS_OK);
    assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);
    assert_int_equal(hs_spill_read(&spill, hole, spill.n_bytes, &reader, &err), HS_OK);
    for (uint64_t i = 0; i < 1000000; i++) {
        assert_int_equal(hs_spill_get_fixed(&reader, 5, &value, &err), HS_OK);
        assert_int_equal(value, i);
    }
    hs_spill_reader_close(&reader);
    assert_int_equal(hs_spill_read(&spill, hole - 8, hole, &reader, &err), HS_OK);
    assert_int_equal(hs_spill_get_fixed(&reader, 8, &value, &err), HS_OK);
    assert_int_equal(value, 0);
    hs_spill_reader_close(&reader);
    hs_spill_close(&spill);
}

/* ---- failures ---- */

/* Writes until it fails; says how many bytes were taken. */
static uint64_t write_until_full(struct hs_spill *spill, struct hs_error *err)
{
    hs_status status = HS_OK;
    for (uint64_t i = 0; status == HS_OK && i < (uint64_t)64 << 20; i++)
        status = hs_spill_put_varint(spill, UINT64_MAX, err);
    assert_int_equal(status, HS_IO);
    uint64_t n_bytes = spill->n_bytes;
    assert_int_equal(hs_spill_put_fixed(spill, 1, 8, err), HS_IO); /* and stays so */
    assert_int_equal(hs_spill_write(spill, "0123456789", 10, err), HS_IO);
    assert_int_equal(hs_spill_seal(spill, err), HS_IO);
    return n_bytes;
}

static void a_limit_of_the_file_size_ends_it(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill = {0};
    struct rlimit before, limit = {5 << 20, 5 << 20};

    assert_int_equal(getrlimit(RLIMIT_FSIZE, &before), 0);
    limit.rlim_max = before.rlim_max;
    void (*handler)(int) = signal(SIGXFSZ, SIG_IGN);
    spill_open(&spill);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    uint64_t n_bytes = write_until_full(&spill, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &before), 0);
    (void)signal(SIGXFSZ, handler);
    assert_true(n_bytes >= 5 << 20);
    assert_int_equal(err.sys_errno, EFBIG);
    assert_non_null(strstr(err.message, directory));
    assert_non_null(strstr(err.message, "5.0 MiB"));
    hs_spill_close(&spill);
}

static void a_full_disk_ends_it(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill = {0};

    if (mount("none", directory, "tmpfs", 0, "size=4m") != 0) {
        (void)fprintf(stderr, "skipped: cannot mount a small file system: %s\n", strerror(errno));
        skip();
    }
    spill_open(&spill);
    uint64_t n_bytes = write_until_full(&spill, &err);
    assert_true(n_bytes >= 4 << 20);
    assert_int_equal(err.sys_errno, ENOSPC);
    assert_non_null(strstr(err.message, directory));
    assert_non_null(strstr(err.hint, "--spill-dir"));
    hs_spill_close(&spill);
    assert_int_equal(umount(directory), 0);
}

static void a_directory_that_does_not_take_files(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill = {0};
    struct hs_budget nowhere;

    hs_budget_init(UINT64_MAX, "/there/is/none", 1, &nowhere);
    assert_int_equal(hs_spill_open(&nowhere, "the numbers", &spill, &err), HS_IO);
    assert_false(spill.is_open);
    assert_int_equal(err.sys_errno, ENOENT);
    assert_non_null(strstr(err.message, "the numbers in '/there/is/none'"));
    hs_budget_init(UINT64_MAX, "/proc", 1, &nowhere); /* knows no O_TMPFILE, takes no files */
    assert_int_equal(hs_spill_open(&nowhere, "the numbers", &spill, &err), HS_IO);
    assert_false(spill.is_open);
}

static void every_allocation_can_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill = {0};
    struct hs_spill_reader reader = {0};

    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_spill_open(&budget, "the numbers", &spill, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_false(spill.is_open);
    spill_open(&spill);
    assert_int_equal(hs_spill_put_varint(&spill, 1, &err), HS_OK);
    assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_spill_read(&spill, 0, 1, &reader, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_null(reader.buffer);
    hs_spill_close(&spill);
}

static void knows_where_files_go(void **state)
{
    struct hs_budget here;

    assert_string_equal(hs_spill_directory(&budget), directory);
    hs_budget_init(UINT64_MAX, NULL, 1, &here);
    assert_int_equal(setenv("TMPDIR", "/", 1), 0);
    assert_string_equal(hs_spill_directory(&here), "/");
    assert_string_equal(hs_spill_directory(NULL), "/");
    assert_int_equal(setenv("TMPDIR", "/dev/shm", 1), 0); /* memory, or not there: both are well */
    struct hs_error err = HS_ERROR_INIT;
    if (hs_disk_need("/dev/shm", 0, &err) == HS_OK)
        assert_string_equal(hs_spill_directory(&here), "/var/tmp");
    assert_int_equal(setenv("TMPDIR", "", 1), 0);
    assert_string_equal(hs_spill_directory(&here), "/var/tmp");
    assert_int_equal(unsetenv("TMPDIR"), 0);
    assert_string_equal(hs_spill_directory(&here), "/var/tmp");
}

static bool directory_is_empty(void)
{
    DIR *dir = opendir(directory);
    assert_non_null(dir);
    int n = 0;
    while (readdir(dir) != NULL)
        n++;
    assert_int_equal(closedir(dir), 0);
    return n == 2;
}

static void has_no_name(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill spill = {0};

    spill_open(&spill);
    assert_int_equal(hs_spill_write(&spill, "text", 4, &err), HS_OK);
    assert_true(directory_is_empty());
    assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);
    assert_true(directory_is_empty());
    hs_spill_close(&spill);
}

/* The most that is in files at a time. */
static void counts_what_is_there(void **state)
{
    static const uint8_t bytes[HS_SPILL_BUFFER_BYTES];
    struct hs_error err = HS_ERROR_INIT;
    struct hs_spill first = {0}, second = {0};

    hs_spill_most_again();
    uint64_t before = hs_spill_most_bytes();
    spill_open(&first);
    for (int i = 0; i < 4; i++)
        assert_int_equal(hs_spill_write(&first, bytes, sizeof bytes, &err), HS_OK);
    assert_int_equal(hs_spill_skip(&first, 1 << 20, &err), HS_OK);
    assert_int_equal(hs_spill_seal(&first, &err), HS_OK);
    spill_open(&second);
    assert_int_equal(hs_spill_write(&second, bytes, 1000, &err), HS_OK);
    assert_true(hs_spill_most_bytes() - before == 4 * sizeof bytes); /* the rest is in a buffer */
    assert_int_equal(hs_spill_seal(&second, &err), HS_OK);
    hs_spill_close(&first);
    hs_spill_stored(&second, 500);
    hs_spill_stored(&second, 5000);
    assert_true(hs_spill_most_bytes() - before == 4 * sizeof bytes + 1000);
    hs_spill_most_again();
    assert_true(hs_spill_most_bytes() - before == 5000);
    hs_spill_close(&second);
    hs_spill_most_again();
    assert_true(hs_spill_most_bytes() == before);
}

#define SPILL_TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        SPILL_TEST(reads_varints_back),
        SPILL_TEST(reads_fixed_numbers_both_ways),
        SPILL_TEST(skipped_bytes_are_zeros_that_take_no_disk),
        SPILL_TEST(writes_and_reads_runs_of_bytes),
        SPILL_TEST(an_empty_spill_is_at_its_end),
        SPILL_TEST(offsets_go_beyond_4_gib),
        SPILL_TEST(a_limit_of_the_file_size_ends_it),
        SPILL_TEST(a_full_disk_ends_it),
        SPILL_TEST(a_directory_that_does_not_take_files),
        SPILL_TEST(every_allocation_can_fail),
        SPILL_TEST(knows_where_files_go),
        SPILL_TEST(has_no_name),
        SPILL_TEST(counts_what_is_there),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
