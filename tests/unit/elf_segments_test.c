/* links: hs_symbols hs_base */
/* Bytes of a file by their addresses: as much is read as is asked for, of a file and of memory. */
#include "unit.h"

#include <unistd.h>

#include "base/alloc.h"
#include "elf_writer.h"
#include "symbols/elf.h"

enum { N_BYTES = 50000, PAGE = 4096, PIECE = 1000 };
#define AT UINT64_C(0x10000)

static uint8_t content[N_BYTES];
static struct elf_writer w;
static struct hs_error err;

struct file {
    char path[32];
    struct hs_elf *elf;
};

/* One segment, with memory behind what is in the file. */
static void image_make(void)
{
    for (size_t i = 0; i < N_BYTES; i++)
        content[i] = (uint8_t)(i % 251 + 1);
    elf_writer_init(&w);
    size_t data = elf_writer_section(&w, ".rodata", SHT_PROGBITS, AT, content, N_BYTES);
    elf_writer_segment(&w, PT_LOAD, PF_R, AT, N_BYTES + PAGE, data);
    elf_writer_finish(&w);
}

static void file_open(struct file *f)
{
    image_make();
    static const char pattern[] = "/tmp/hs-segment-XXXXXX";
    memcpy(f->path, pattern, sizeof pattern);
    int fd = mkstemp(f->path);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, w.bytes, w.n_bytes), w.n_bytes);
    close(fd);
    assert_int_equal(hs_elf_open_path(f->path, &f->elf, &err), HS_OK);
}

static void file_close(struct file *f)
{
    hs_elf_close(f->elf);
    unlink(f->path);
}

/* What both ways of opening give. */
static void look(struct hs_elf *elf)
{
    uint8_t copy[PIECE];
    size_t n = 0;

    assert_memory_equal(hs_elf_bytes_at(elf, AT + 5000, 8), content + 5000, 8);
    const uint8_t *early = hs_elf_bytes_at(elf, AT, PIECE);
    assert_memory_equal(hs_elf_bytes_from(elf, AT + 20000, PIECE, &n), content + 20000, PIECE);
    assert_int_equal(n, PIECE);
    assert_memory_equal(hs_elf_bytes_from(elf, AT + N_BYTES - 3, PIECE, &n), content + N_BYTES - 3,
                        3);
    assert_int_equal(n, 3);
    assert_memory_equal(early, content, PIECE); /* still there */
    assert_null(hs_elf_bytes_at(elf, AT + N_BYTES - 3, 4));
    assert_null(hs_elf_bytes_at(elf, AT + N_BYTES, 1)); /* memory alone */
    assert_null(hs_elf_bytes_at(elf, AT - 1, 2));
    assert_null(hs_elf_bytes_from(elf, AT + N_BYTES, 1, &n));
    assert_int_equal(n, 0);
    assert_int_equal(hs_elf_copy_at(elf, AT + 30001, copy, PIECE), PIECE);
    assert_memory_equal(copy, content + 30001, PIECE);
    assert_int_equal(hs_elf_copy_at(elf, AT + N_BYTES - 5, copy, PIECE), 5);
    assert_memory_equal(copy, content + N_BYTES - 5, 5);
    assert_int_equal(hs_elf_copy_at(elf, AT + N_BYTES, copy, PIECE), 0);
    assert_int_equal(hs_elf_copy_at(elf, UINT64_MAX, copy, PIECE), 0);
}

static void reads_what_is_asked_for(void **state)
{
    struct file f;
    file_open(&f);
    uint64_t kept = hs_elf_kept_bytes(f.elf);
    assert_non_null(hs_elf_bytes_at(f.elf, AT + PAGE + 10, 8));
    assert_int_equal(hs_elf_kept_bytes(f.elf), kept + PAGE);
    assert_non_null(hs_elf_bytes_at(f.elf, AT + 2 * PAGE - 4, 8));
    assert_int_equal(hs_elf_kept_bytes(f.elf), kept + 2 * PAGE);
    look(f.elf);
    assert_in_range(hs_elf_kept_bytes(f.elf), kept + 3 * PAGE, kept + 6 * PAGE);
    assert_memory_equal(hs_elf_bytes_at(f.elf, AT, N_BYTES), content, N_BYTES);
    assert_false(hs_elf_had_no_room(f.elf));
    assert_int_equal(hs_elf_data_bytes(f.elf), 0); /* it is not writable */
    file_close(&f);
}

static void lends_what_is_in_memory(void **state)
{
    struct hs_elf *elf;
    image_make();
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err), HS_OK);
    look(elf);
    hs_elf_close(elf);
}

/* What was read stays; nothing more is told of it, not even what would still be there. */
static void believes_no_file_that_is_cut(void **state)
{
    uint8_t copy[PIECE];
    struct file f;
    file_open(&f);
    const uint8_t *early = hs_elf_bytes_at(f.elf, AT, PIECE);
    assert_int_equal(truncate(f.path, 20000), 0);
    assert_int_equal(hs_elf_copy_at(f.elf, AT + 30000, copy, PIECE), 0);
    assert_memory_equal(hs_elf_bytes_at(f.elf, AT + 8000, 8), content + 8000, 8);
    assert_null(hs_elf_bytes_at(f.elf, AT + 30000, 8));
    assert_null(hs_elf_bytes_at(f.elf, AT + 30000, 8));
    assert_null(hs_elf_bytes_at(f.elf, AT, 8));
    assert_memory_equal(early, content, PIECE);
    file_close(&f);
}

static void reads_nothing_of_a_file_it_let_go(void **state)
{
    struct file f;
    file_open(&f);
    assert_non_null(hs_elf_bytes_at(f.elf, AT, PIECE));
    hs_elf_let_go(f.elf);
    assert_memory_equal(hs_elf_bytes_at(f.elf, AT, PIECE), content, PIECE);
    assert_null(hs_elf_bytes_at(f.elf, AT + 30000, 8));
    file_close(&f);
}

static void tells_that_there_was_no_room(void **state)
{
    for (uint64_t nth = 1; nth <= 2; nth++) { /* a bit for each page, and pages */
        struct file f;
        file_open(&f);
        hs_alloc_fail_at(nth, false);
        assert_null(hs_elf_bytes_at(f.elf, AT, 8));
        hs_alloc_fail_at(0, false);
        assert_true(hs_elf_had_no_room(f.elf));
        assert_null(hs_elf_bytes_at(f.elf, AT, 8));
        file_close(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_is_asked_for),
        cmocka_unit_test(lends_what_is_in_memory),
        cmocka_unit_test(believes_no_file_that_is_cut),
        cmocka_unit_test(reads_nothing_of_a_file_it_let_go),
        cmocka_unit_test(tells_that_there_was_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
