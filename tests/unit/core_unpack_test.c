/* links: hs_target hs_symbols hs_dep_zstd hs_dep_lz4 */
#include "unit.h"

#include <fcntl.h>
#include <lz4frame.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zstd.h>

#include "core_writer.h"
#include "target/core/core_private.h"

enum { N_BYTES = 3 << 20 };

/* Noise, runs of zeros of all lengths, and an end within a page. */
static uint8_t plain[N_BYTES + 100];
static uint8_t packed[2 * N_BYTES], unpacked[N_BYTES + 4096];

static void make_plain(void)
{
    uint32_t state = 1;
    memset(plain, 0, sizeof plain);
    memcpy(plain, "\177ELF", 4);
    for (size_t at = 4096; at < sizeof plain;) {
        state = state * 1103515245 + 12345;
        size_t n_noise = (state >> 8) % 20000, n_zero = (state >> 4) % 30000;
        for (size_t i = 0; i < n_noise && at < sizeof plain; i++, at++) {
            state = state * 1103515245 + 12345;
            plain[at] = (uint8_t)(state >> 16);
        }
        at += n_zero;
    }
}

static size_t pack_zstd(const void *bytes, size_t n)
{
    size_t n_packed = ZSTD_compress(packed, sizeof packed, bytes, n, 1);
    assert_false(ZSTD_isError(n_packed));
    return n_packed;
}

static size_t pack_lz4(const void *bytes, size_t n)
{
    size_t n_packed = LZ4F_compressFrame(packed, sizeof packed, bytes, n, NULL);
    assert_false(LZ4F_isError(n_packed));
    return n_packed;
}

static struct hs_core_file *opened(const char *path)
{
    struct hs_core_options options = {.path = path};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_core_file *file = NULL;
    if (hs_core_file_open(&options, &file, &err) != HS_OK)
        fail_msg("%s", err.message);
    return file;
}

static void assert_same(const struct hs_core_file *file, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(file->n_bytes, n_bytes);
    assert_int_equal(hs_core_file_read(file, 0, unpacked, n_bytes, &err), HS_OK);
    assert_memory_equal(unpacked, plain, n_bytes);
    assert_int_equal(hs_core_file_read(file, n_bytes, unpacked, 1, &err), HS_FORMAT);
}

static int begin(void **state)
{
    make_plain();
    return 0;
}

static int done(void **state)
{
    core_writer_clean();
    return 0;
}

static void frames_give_what_was_packed(void **state)
{
    static const size_t sizes[] = {1,           4,       4095,        4096,   4097,
                                   65536,       262143,  262144,      262145, 524288,
                                   N_BYTES / 2, N_BYTES, sizeof plain};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        struct hs_core_file *file = opened(core_writer_save(packed, pack_zstd(plain, sizes[i])));
        assert_same(file, sizes[i]);
        assert_false(file->is_cut);
        hs_core_file_close(file);
        file = opened(core_writer_save(packed, pack_lz4(plain, sizes[i])));
        assert_same(file, sizes[i]);
        assert_false(file->is_cut);
        hs_core_file_close(file);
    }
}

/* pzstd and split writers: several frames, one behind the other, some to be skipped. */
static void several_frames_are_one_file(void **state)
{
    static const uint8_t skipped[] = {0x50, 0x2a, 0x4d, 0x18, 4, 0, 0, 0, 'n', 'o', 't', 'e'};
    size_t n = pack_zstd(plain, 100000);
    memmove(packed + sizeof skipped, packed, n);
    memcpy(packed, skipped, sizeof skipped);
    n += sizeof skipped;
    n += ZSTD_compress(packed + n, sizeof packed - n, plain + 100000, sizeof plain - 100000, 1);
    struct hs_core_file *file = opened(core_writer_save(packed, n));
    assert_same(file, sizeof plain);
    hs_core_file_close(file);

    n = pack_lz4(plain, 100000);
    n += LZ4F_compressFrame(packed + n, sizeof packed - n, plain + 100000, sizeof plain - 100000,
                            NULL);
    file = opened(core_writer_save(packed, n));
    assert_same(file, sizeof plain);
    hs_core_file_close(file);
}

/* What comes before is kept, and the file known to be cut. */
static void cut_and_damaged_frames_give_what_came_before(void **state)
{
    for (int lz4 = 0; lz4 < 2; lz4++) {
        size_t n = lz4 ? pack_lz4(plain, sizeof plain) : pack_zstd(plain, sizeof plain);
        for (size_t part = 1; part < 16; part++) {
            struct hs_core_file *file = opened(core_writer_save(packed, n / 16 * part));
            assert_true(file->is_cut && file->n_bytes < sizeof plain);
            assert_same(file, file->n_bytes);
            hs_core_file_close(file);
        }
        memset(packed + n / 2, 0xa5, 64);
        struct hs_core_file *file = opened(core_writer_save(packed, n));
        assert_true(file->n_bytes <= sizeof plain); /* without checksums nobody may notice */
        hs_core_file_close(file);
    }
}

static void zero_pages_stay_holes(void **state)
{
    enum { N = 64 << 20 };
    uint8_t *bytes = calloc(1, N);
    struct stat found;
    memcpy(bytes, "\177ELF", 4);
    bytes[N / 2] = 1;
    struct hs_core_file *file = opened(core_writer_save(packed, pack_zstd(bytes, N)));
    free(bytes);
    assert_int_equal(file->n_bytes, N);
    assert_int_equal(fstat(file->fd, &found), 0);
    assert_int_equal(found.st_size, N);
    assert_true(found.st_blocks * 512 <= 1 << 20);
    hs_core_file_close(file);
}

/* A few bytes that are gigabytes: 2 GiB of one byte in 64 KiB. */
static void a_bomb_ends_with_a_message(void **state)
{
    /* A window of 128 KiB, then blocks of 128 KiB that repeat one byte (RFC 8878, 3.1.1). */
    static const uint8_t head[] = {0x28, 0xb5, 0x2f, 0xfd, 0x00, 0x38};
    static const uint8_t block[] = {0x02, 0x00, 0x10, 0x55};
    struct hs_core_options options;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_core_file *file;
    size_t n = sizeof head;
    memcpy(packed, head, sizeof head);
    for (; n + sizeof block < sizeof packed / 96; n += sizeof block)
        memcpy(packed + n, block, sizeof block);
    options = (struct hs_core_options){.path = core_writer_save(packed, n)};
    struct rlimit saved, small;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &saved), 0);
    signal(SIGXFSZ, SIG_IGN);
    small = saved;
    small.rlim_cur = 32 << 20;
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &small), 0);
    hs_status status = hs_core_file_open(&options, &file, &err);
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &saved), 0);
    assert_int_equal(status, HS_IO);
    assert_non_null(strstr(err.message, "cannot write the core to a temporary file"));
    assert_non_null(strstr(err.hint, "--spill-dir"));

    /* A directory that takes no files. */
    struct hs_budget budget = {.limit_bytes = UINT64_MAX, .spill_dir = "/proc", .n_threads = 1};
    options.budget = &budget;
    assert_int_equal(hs_core_file_open(&options, &file, &err), HS_IO);
    assert_non_null(strstr(err.message, "the core"));
}

struct feeder {
    int fd;
    const uint8_t *bytes;
    size_t n_bytes;
};

static void *feed(void *context)
{
    struct feeder *f = context;
    for (size_t at = 0; at < f->n_bytes;) {
        size_t n = f->n_bytes - at < 5000 ? f->n_bytes - at : 5000;
        ssize_t done_bytes = write(f->fd, f->bytes + at, at == 0 ? 3 : n); /* the magic in parts */
        if (done_bytes < 0)
            break;
        at += (size_t)done_bytes;
    }
    close(f->fd);
    return NULL;
}

/* Standard input, which is put back. */
static void from_pipe(const uint8_t *bytes, size_t n_bytes, size_t n_wanted)
{
    int ends[2], saved = dup(STDIN_FILENO);
    pthread_t thread;
    assert_int_equal(pipe(ends), 0);
    assert_true(dup2(ends[0], STDIN_FILENO) == STDIN_FILENO);
    close(ends[0]);
    struct feeder feeder = {ends[1], bytes, n_bytes};
    assert_int_equal(pthread_create(&thread, NULL, feed, &feeder), 0);
    struct hs_core_file *file = opened("-");
    pthread_join(thread, NULL);
    assert_same(file, n_wanted);
    assert_true(file->uid == 65534 && file->gid == 65534);
    assert_string_equal(file->name, "standard input");
    hs_core_file_close(file);
    dup2(saved, STDIN_FILENO);
    close(saved);
}

static void pipes_are_read_to_the_end(void **state)
{
    signal(SIGPIPE, SIG_IGN);
    from_pipe(plain, sizeof plain, sizeof plain);
    from_pipe(plain, 5, 5);
    from_pipe(plain, 0, 0);
    from_pipe(packed, pack_zstd(plain, sizeof plain), sizeof plain);
    from_pipe(packed, pack_lz4(plain, sizeof plain), sizeof plain);
}

static void a_plain_file_is_read_where_it_lies(void **state)
{
    const char *path = core_writer_save(plain, sizeof plain);
    struct hs_core_file *file = opened(path);
    assert_false(file->spill.is_open);
    assert_int_equal(file->uid, geteuid());
    assert_same(file, sizeof plain);
    hs_core_file_close(file);

    int saved = dup(STDIN_FILENO), fd = open(path, O_RDONLY | O_CLOEXEC);
    assert_true(dup2(fd, STDIN_FILENO) == STDIN_FILENO);
    file = opened("-");
    assert_false(file->spill.is_open);
    assert_same(file, sizeof plain);
    hs_core_file_close(file);
    dup2(saved, STDIN_FILENO);
    close(saved);
    close(fd);
}

static void assert_refused(const char *path, hs_status status, const char *part, const char *hint)
{
    struct hs_core_options options = {.path = path};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_core_file *file;
    assert_int_equal(hs_core_file_open(&options, &file, &err), status);
    if (strstr(err.message, part) == NULL || strstr(err.hint, hint) == NULL)
        fail_msg("%s; %s", err.message, err.hint);
}

static void other_packers_are_named(void **state)
{
    assert_refused(core_writer_save("\x1f\x8b\x08\0\0\0", 6), HS_FORMAT, "gzip", "gzip -dc");
    assert_refused(core_writer_save("\xfd\x37zXZ\0", 6), HS_FORMAT, "by xz", "xz -dc");
    assert_refused(core_writer_save("BZh91AY", 7), HS_FORMAT, "bzip2", "bzip2 -dc");
    assert_refused("/nowhere/core", HS_IO, "/nowhere/core", "");
    assert_refused("/", HS_IO, "'/'", "");
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(frames_give_what_was_packed, begin, done),
        cmocka_unit_test_setup_teardown(several_frames_are_one_file, begin, done),
        cmocka_unit_test_setup_teardown(cut_and_damaged_frames_give_what_came_before, begin, done),
        cmocka_unit_test_setup_teardown(zero_pages_stay_holes, begin, done),
        cmocka_unit_test_setup_teardown(a_bomb_ends_with_a_message, begin, done),
        cmocka_unit_test_setup_teardown(pipes_are_read_to_the_end, begin, done),
        cmocka_unit_test_setup_teardown(a_plain_file_is_read_where_it_lies, begin, done),
        cmocka_unit_test_setup_teardown(other_packers_are_named, begin, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
