/* links: hs_target hs_symbols */
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "core_writer.h"
#include "page_kinds.h"
#include "target/core/core_private.h"

#define PRESENT HS_PAGES_PRESENT
#define SWAPPED HS_PAGES_SWAPPED

static struct core_writer w;

static struct hs_target opened(void)
{
    struct hs_core_options options = {.path = core_writer_save(w.bytes, w.n_bytes)};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_target target;
    if (hs_core_open(&options, &target, &err) != HS_OK)
        fail_msg("%s", err.message);
    return target;
}

static struct hs_target opened_sample(void)
{
    core_writer_sample(&w, "/nowhere/program", NULL);
    core_writer_finish(&w);
    return opened();
}

static int done(void **state)
{
    core_writer_fini(&w);
    core_writer_clean();
    return 0;
}

static size_t read_some(struct hs_target *target, hs_addr at, size_t n_most)
{
    static uint8_t bytes[1 << 20];
    struct hs_error err = HS_ERROR_INIT;
    size_t n = 0;
    assert_true(n_most <= sizeof bytes);
    assert_int_equal(hs_target_read_some(target, at, bytes, n_most, &n, &err), HS_OK);
    return n;
}

static const char *path_at(const struct hs_target *target, hs_addr at)
{
    const struct hs_mapping *m = hs_target_mapping_at(target, at);
    assert_non_null(m);
    return hs_mapping_path(target, m);
}

static void mappings_are_as_those_of_the_process(void **state)
{
    struct hs_target target = opened_sample();
    const uint64_t p = CORE_SAMPLE_PROGRAM;
    assert_int_equal(target.n_mappings, 9);
    const struct hs_mapping *m = target.mappings;
    assert_true(m[0].begin == p && m[0].end == p + 0x1000 && m[0].file_offset == 0);
    assert_true(m[0].readable && !m[0].writable && !m[0].executable && !m[0].shared);
    assert_true(m[1].executable && m[1].file_offset == 0x1000);
    assert_true(m[2].writable && !m[2].shared);
    assert_true(m[0].inode != 0 && m[0].inode == m[2].inode);
    assert_true(target.identity.exe_inode == m[0].inode);
    assert_string_equal(hs_mapping_path(&target, m), "/nowhere/program");
    assert_string_equal(path_at(&target, CORE_SAMPLE_HEAP), "[heap]");
    assert_string_equal(path_at(&target, CORE_SAMPLE_UNTOUCHED), "");
    assert_string_equal(path_at(&target, CORE_SAMPLE_VVAR), "[vvar]");
    assert_string_equal(path_at(&target, CORE_SAMPLE_VVAR + 8192), "[vdso]");
    assert_string_equal(path_at(&target, CORE_SAMPLE_STACK), "[stack]");
    const struct hs_mapping *guard = hs_target_mapping_at(&target, CORE_SAMPLE_GUARD);
    assert_true(!guard->readable && !guard->writable && !guard->executable);
    hs_target_close(&target);
}

static void shared_memory_is_told_by_its_name(void **state)
{
    static const uint8_t page[4096] = "shared";
    core_writer_sample(&w, "/nowhere/program", NULL);
    core_writer_file(&w, 0x7f1000000000, 0x7f1000001000, 0, "/dev/zero (deleted)");
    core_writer_segment(&w, 0x7f1000000000, 0x7f1000001000, PF_R | PF_W, page, 4096);
    core_writer_file(&w, 0x7f1000002000, 0x7f1000003000, 0, "/nowhere/data");
    core_writer_segment(&w, 0x7f1000002000, 0x7f1000003000, PF_R | PF_W, NULL, 0);
    core_writer_file(&w, 0x7f1000004000, 0x7f1000005000, 0, "/nowhere/written");
    core_writer_segment(&w, 0x7f1000004000, 0x7f1000005000, PF_R | PF_W, page, 4096);
    core_writer_finish(&w);
    struct hs_target target = opened();
    assert_true(hs_target_mapping_at(&target, 0x7f1000000000)->shared);
    assert_true(hs_target_mapping_at(&target, 0x7f1000002000)->shared);
    assert_true(!hs_target_mapping_at(&target, 0x7f1000004000)->shared);
    hs_target_close(&target);
}

/* A segment over several files, and files of which there is no segment, as gcore writes them. */
static void segments_and_rows_are_laid_over_each_other(void **state)
{
    core_writer_sample(&w, "/nowhere/program", NULL);
    const uint64_t a = 0x7f1000000000;
    core_writer_segment(&w, a, a + 0x5000, PF_R | PF_X, NULL, 0);
    core_writer_file(&w, a + 0x1000, a + 0x2000, 3, "/a");
    core_writer_file(&w, a + 0x3000, a + 0x8000, 1, "/b");
    core_writer_finish(&w);
    struct hs_target target = opened();
    static const struct {
        uint64_t begin, end, offset;
        const char *path;
        bool executable;
    } wanted[] = {
        {0, 0x1000, 0, "", true},
        {0x1000, 0x2000, 0x3000, "/a", true},
        {0x2000, 0x3000, 0, "", true},
        {0x3000, 0x5000, 0x1000, "/b", true},
        {0x5000, 0x8000, 0x3000, "/b", false},
    };
    for (size_t i = 0; i < 5; i++) {
        const struct hs_mapping *m = hs_target_mapping_at(&target, a + wanted[i].begin);
        assert_non_null(m);
        assert_true(m->begin == a + wanted[i].begin && m->end == a + wanted[i].end);
        assert_true(m->file_offset == wanted[i].offset && m->executable == wanted[i].executable);
        assert_string_equal(hs_mapping_path(&target, m), wanted[i].path);
        assert_true((m->inode != 0) == (wanted[i].path[0] != '\0'));
        assert_true(m->readable && !m->writable);
    }
    hs_target_close(&target);
}

static void what_the_core_has_is_read(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    uint8_t bytes[16];
    struct hs_target target = opened_sample();
    assert_int_equal(read_some(&target, CORE_SAMPLE_HEAP, 100000), 16384);
    assert_int_equal(read_some(&target, CORE_SAMPLE_HEAP + 5, 16384), 16379);
    assert_int_equal(hs_target_read(&target, CORE_SAMPLE_HEAP + 4092, bytes, 8, &err), HS_OK);
    assert_memory_equal(bytes, "hhhh\0\0\0\0", 8);
    assert_int_equal(hs_target_read(&target, CORE_SAMPLE_PROGRAM + 0x2ffc, bytes, 4, &err), HS_OK);
    assert_memory_equal(bytes, "dddd", 4);
    /* never written to: zeros */
    assert_int_equal(read_some(&target, CORE_SAMPLE_UNTOUCHED, 100000), 8192);
    assert_int_equal(hs_target_read(&target, CORE_SAMPLE_UNTOUCHED, bytes, 8, &err), HS_OK);
    assert_memory_equal(bytes, "\0\0\0\0\0\0\0\0", 8);
    /* nothing: a guard, the kernel's pages, a file that is not to be had, no mapping */
    assert_int_equal(read_some(&target, CORE_SAMPLE_GUARD, 16), 0);
    assert_int_equal(read_some(&target, CORE_SAMPLE_VVAR, 16), 0);
    assert_int_equal(read_some(&target, CORE_SAMPLE_PROGRAM + 0x1000, 16), 0);
    assert_int_equal(read_some(&target, 0x1000, 16), 0);
    assert_int_equal(read_some(&target, UINT64_MAX - 8, 16), 0);
    assert_int_equal(hs_target_read(&target, CORE_SAMPLE_HEAP + 16380, bytes, 8, &err), HS_TARGET);
    hs_target_close(&target);
}

static void pages_with_bytes_are_present(void **state)
{
    uint64_t entries[10];
    struct hs_target target = opened_sample();
    memset(entries, 0xff, sizeof entries);
    assert_int_equal(page_kinds(&target, CORE_SAMPLE_HEAP, entries, 5), 5);
    assert_true(entries[0] == PRESENT && entries[1] == 0 && entries[2] == PRESENT);
    assert_true(entries[3] == 0 && entries[4] == 0); /* no mapping */
    assert_int_equal(page_kinds(&target, CORE_SAMPLE_HEAP + 2 * 4096 + 7, entries, 1), 1);
    assert_true(entries[0] == PRESENT);
    assert_int_equal(page_kinds(&target, CORE_SAMPLE_UNTOUCHED, entries, 2), 2);
    assert_true(entries[0] == 0 && entries[1] == 0);
    assert_int_equal(page_kinds(&target, CORE_SAMPLE_GUARD, entries, 1), 1);
    assert_true(entries[0] == SWAPPED);
    hs_target_close(&target);
}

/* The same from a file with holes and without. */
static void holes_are_pages_without_bytes(void **state)
{
    enum { N = 512 };
    static uint8_t pages[N * 4096];
    static uint64_t with_holes[N], without[N];
    const uint64_t a = 0x7f1000000000;
    for (size_t i = 0; i < N; i++)
        if (i % 7 == 3 || (i > 100 && i < 180))
            pages[i * 4096 + i * 8] = 1;
    core_writer_sample(&w, "/nowhere/program", NULL);
    core_writer_segment(&w, a, a + sizeof pages, PF_R | PF_W, pages, sizeof pages);
    core_writer_finish(&w);
    struct hs_target target = opened();
    assert_int_equal(page_kinds(&target, a, without, N), N);
    assert_int_equal(hs_core_data_bytes(&target, a, a + sizeof pages), sizeof pages);
    assert_int_equal(hs_core_data_bytes(&target, a + 4096, a + 8192), 4096);
    hs_target_close(&target);

    char path[128];
    snprintf(path, sizeof path, "%s/holes", core_writer_directory());
    int fd = open(path, O_RDWR | O_CREAT | O_CLOEXEC, 0600);
    static const uint8_t zeros[4096];
    for (size_t at = 0; at < w.n_bytes; at += 4096) {
        size_t n = w.n_bytes - at < 4096 ? w.n_bytes - at : 4096;
        if (memcmp(w.bytes + at, zeros, n) != 0)
            assert_int_equal(pwrite(fd, w.bytes + at, n, (off_t)at), n);
    }
    assert_int_equal(ftruncate(fd, (off_t)w.n_bytes), 0);
    close(fd);
    struct hs_core_options options = {.path = path};
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_core_open(&options, &target, &err), HS_OK);
    assert_int_equal(page_kinds(&target, a, with_holes, N), N);
    assert_memory_equal(with_holes, without, sizeof without);
    assert_int_equal(read_some(&target, a, 1 << 20), 1 << 20);
    uint64_t n_data = 0;
    for (size_t i = 0; i < N; i++)
        n_data += without[i] != 0 ? 4096 : 0;
    /* where the file system keeps holes, and keeps them by page */
    assert_true(hs_core_data_bytes(&target, a, a + sizeof pages) >= n_data);
    for (size_t i = N; i-- > 0;) { /* in any order */
        uint64_t entry;
        assert_int_equal(page_kinds(&target, a + i * 4096, &entry, 1), 1);
        assert_true(entry == without[i]);
    }
    hs_target_close(&target);
}

/* coredump_filter without bit 0: nothing private is there, the stack neither. */
static void memory_that_was_left_out_is_not_taken_for_zeros(void **state)
{
    uint64_t entry;
    core_writer_sample(&w, "/nowhere/program", NULL);
    for (size_t i = 0; i < w.n_segments; i++)
        if ((w.segments[i].flags & PF_W) != 0)
            w.segments[i].n_bytes = 0;
    core_writer_finish(&w);
    struct hs_target target = opened();
    assert_int_equal(read_some(&target, CORE_SAMPLE_HEAP, 16), 0);
    assert_int_equal(read_some(&target, CORE_SAMPLE_UNTOUCHED, 16), 0);
    assert_int_equal(page_kinds(&target, CORE_SAMPLE_HEAP, &entry, 1), 1);
    assert_true(entry == SWAPPED);
    assert_non_null(strstr(hs_core_note(&target), "coredump_filter"));
    hs_target_close(&target);
}

/* Nobody is behind it. */
static void stopping_and_letting_go_is_nothing(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    char *text;
    size_t n;
    struct hs_target target = opened_sample();
    for (int i = 0; i < 2; i++) {
        assert_int_equal(hs_target_stop(&target, &err), HS_OK);
        assert_int_equal(target.n_threads, 2);
        assert_int_equal(hs_target_freeze(&target, &err), HS_OK);
        assert_int_equal(read_some(&target, CORE_SAMPLE_HEAP, 16), 16);
        hs_target_resume(&target);
    }
    assert_int_equal(target.pause_ns, 0);
    assert_int_equal(target.report.way, HS_WAY_CORE);
    assert_true(target.was_stopped_already);
    assert_int_equal(hs_target_proc(&target, "maps", &text, &n, &err), HS_TARGET);
    hs_target_close(&target);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(mappings_are_as_those_of_the_process, done),
        cmocka_unit_test_teardown(shared_memory_is_told_by_its_name, done),
        cmocka_unit_test_teardown(segments_and_rows_are_laid_over_each_other, done),
        cmocka_unit_test_teardown(what_the_core_has_is_read, done),
        cmocka_unit_test_teardown(pages_with_bytes_are_present, done),
        cmocka_unit_test_teardown(holes_are_pages_without_bytes, done),
        cmocka_unit_test_teardown(memory_that_was_left_out_is_not_taken_for_zeros, done),
        cmocka_unit_test_teardown(stopping_and_letting_go_is_nothing, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
