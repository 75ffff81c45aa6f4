/* links: hs_symbols hs_base */
#include "unit.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "elf_writer.h"
#include "fail_each.h"
#include "symbols/elf.h"

static struct elf_writer w;

static struct hs_elf *open_sample(void)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    if (hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err) != HS_OK)
        fail_msg("%s", err.message);
    return elf;
}

static void assert_refused(hs_status status, const char *part)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err), status);
    assert_null(elf);
    assert_non_null(strstr(err.message, part));
    assert_non_null(strstr(err.message, "'sample'"));
}

static void reads_headers(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    hs_auto(hs_elf) *elf = open_sample();
    size_t n;
    const struct hs_elf_segment *s = hs_elf_segments(elf, &n);
    assert_int_equal(n, 2);
    assert_true(s[0].vaddr == 0x1000 && s[0].n_memory_bytes == 64 && s[0].n_file_bytes == 64);
    assert_true(s[0].executable && s[0].readable && !s[0].writable);
    assert_true(s[1].vaddr == 0x3000 && s[1].n_memory_bytes == 0x80 && s[1].n_file_bytes == 32);
    assert_true(s[1].writable && !s[1].executable);
    assert_ptr_equal(hs_elf_segment_at(elf, 0x307f), &s[1]);
    assert_null(hs_elf_segment_at(elf, 0x3080));
    assert_null(hs_elf_segment_at(elf, 0xfff));
    hs_addr lowest, end;
    assert_true(hs_elf_extent(elf, &lowest, &end));
    assert_true(lowest == 0x1000 && end == 0x3080);
    struct hs_elf_tls tls;
    assert_true(hs_elf_tls(elf, &tls));
    assert_true(tls.n_memory_bytes == 0x28 && tls.align == 16 && tls.vaddr == 0x3000);
    assert_true(hs_elf_is_dyn(elf));
    assert_false(hs_elf_has_interpreter(elf));
    assert_true(hs_elf_entry(elf) == 0x1000);
    assert_string_equal(hs_elf_build_id(elf), "deadbeef01234567");
    assert_string_equal(hs_elf_name(elf), "sample");
}

static void finds_the_build_id_without_sections(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    elf_writer_header(&w)->e_shoff = 0;
    elf_writer_header(&w)->e_shnum = 0;
    elf_writer_header(&w)->e_shstrndx = 0;
    hs_auto(hs_elf) *elf = open_sample();
    assert_int_equal(hs_elf_n_sections(elf), 0);
    assert_string_equal(hs_elf_build_id(elf), "deadbeef01234567");
    size_t n;
    hs_elf_symbols(elf, &n);
    assert_int_equal(n, 0);
    assert_null(hs_elf_find(elf, "main"));
}

static void ignores_a_damaged_build_id(void **state)
{
    static const uint8_t notes[][20] = {
        {4, 0, 0, 0, 8, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4},    /* cut */
        {4, 0, 0, 0, 0xff, 0xff, 0xff, 0xff, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1}, /* huge */
        {0xff, 0xff, 0xff, 0xff, 4, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1},
        {4, 0, 0, 0, 0, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0, 1},          /* empty */
        {4, 0, 0, 0, 4, 0, 0, 0, 1, 0, 0, 0, 'G', 'N', 'U', 0, 1, 2, 3, 4}, /* another type */
    };
    for (size_t i = 0; i < sizeof(notes) / sizeof(notes[0]); i++) {
        elf_writer_init(&w);
        elf_writer_section(&w, ".note", SHT_NOTE, 0, notes[i], sizeof(notes[i]));
        elf_writer_finish(&w);
        hs_auto(hs_elf) *elf = open_sample();
        assert_string_equal(hs_elf_build_id(elf), "");
    }
}

static void says_what_it_refuses(void **state)
{
    struct hs_elf_identity id;
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    elf_writer_header(&w)->e_ident[EI_CLASS] = ELFCLASS32;
    assert_refused(HS_FORMAT, "32-bit");
    assert_true(hs_elf_identify(w.bytes, w.n_bytes, &id));
    assert_int_equal(id.address_bits, 32);
    elf_writer_header(&w)->e_ident[EI_CLASS] = 9;
    assert_refused(HS_FORMAT, "not an ELF file");
    elf_writer_header(&w)->e_ident[EI_CLASS] = ELFCLASS64;
    elf_writer_header(&w)->e_machine = EM_AARCH64;
    assert_refused(HS_FORMAT, "another machine (number 183)");
    elf_writer_header(&w)->e_machine = EM_X86_64;
    elf_writer_header(&w)->e_type = ET_CORE;
    assert_refused(HS_FORMAT, "core file");
    elf_writer_header(&w)->e_type = ET_REL;
    assert_refused(HS_FORMAT, "not a linked program");
    elf_writer_header(&w)->e_type = ET_DYN;
    elf_writer_header(&w)->e_ident[EI_DATA] = ELFDATA2MSB;
    assert_refused(HS_FORMAT, "another machine");
    assert_true(hs_elf_identify(w.bytes, w.n_bytes, &id));
    assert_int_equal(id.machine, EM_X86_64 << 8);
    elf_writer_header(&w)->e_ident[0] = 'x';
    assert_refused(HS_FORMAT, "not an ELF file");
    assert_false(hs_elf_identify(w.bytes, 19, &id));
}

/* A file cut anywhere is refused or opened with what is whole; asan watches the reads. */
static void survives_every_cut(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    size_t n_opened = 0;
    for (size_t n = 0; n < w.n_bytes; n++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_elf *elf = NULL;
        void *cut = NULL;
        assert_int_equal(hs_alloc(n, 1, &cut, &err), HS_OK);
        memcpy(cut, w.bytes, n);
        if (hs_elf_open_memory(cut, n, "cut", &elf, &err) == HS_OK) {
            const uint8_t *bytes;
            size_t n_section;
            n_opened++;
            for (size_t i = 0; i < hs_elf_n_sections(elf); i++)
                if (hs_elf_section_bytes(elf, i, &bytes, &n_section, &err) == HS_OK &&
                    n_section > 0)
                    assert_true(bytes + n_section <= (const uint8_t *)cut + n);
            (void)hs_elf_bytes_at(elf, 0x3000, 32);
        }
        hs_elf_close(elf);
        hs_free(cut);
    }
    assert_true(n_opened > 0);
}

static void drops_segments_that_wrap(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    elf_writer_program_header(&w, 0)->p_memsz = UINT64_MAX;
    elf_writer_program_header(&w, 1)->p_filesz = UINT64_MAX - 8;
    elf_writer_program_header(&w, 3)->p_align = 48;
    hs_auto(hs_elf) *elf = open_sample();
    size_t n;
    struct hs_elf_tls tls;
    hs_addr lowest, end;
    hs_elf_segments(elf, &n);
    assert_int_equal(n, 0);
    assert_false(hs_elf_extent(elf, &lowest, &end));
    assert_false(hs_elf_tls(elf, &tls));
    uint64_t bias;
    assert_false(hs_elf_bias(elf, 0x555555554000, 0, &bias));
}

static void computes_the_bias(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    Elf64_Phdr *text = elf_writer_program_header(&w, 0), *data = elf_writer_program_header(&w, 1);
    text->p_offset = 0;
    text->p_filesz = text->p_memsz = 0x1800;
    data->p_offset = 0x1800;
    data->p_vaddr = 0x3800;
    data->p_filesz = data->p_memsz = 0x2000;
    hs_auto(hs_elf) *elf = open_sample();
    uint64_t bias;
    assert_true(hs_elf_bias(elf, 0x700000001000, 0, &bias));
    assert_true(bias == 0x700000000000);
    assert_true(hs_elf_bias(elf, 0x700000002000, 0x1000, &bias)); /* later in the first segment */
    assert_true(bias == 0x700000000000);
    assert_true(hs_elf_bias(elf, 0x700000005000, 0x3000, &bias));
    assert_true(bias == 0x700000000000);
    assert_false(hs_elf_bias(elf, 0x700000005000, 0x4000, &bias));
}

static void opens_itself_by_path_and_descriptor(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *by_path = NULL;
    hs_auto(hs_elf) *by_fd = NULL;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &by_path, &err), HS_OK);
    int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC);
    assert_true(fd >= 0);
    struct hs_elf_identity id;
    assert_true(hs_elf_identify_fd(fd, &id));
    assert_true(id.is_our_machine && id.address_bits == 64 && id.little_endian);
    assert_int_equal(hs_elf_open_fd(fd, "me", &by_fd, &err), HS_OK);
    assert_int_equal(lseek(fd, 0, SEEK_CUR), 0);
    close(fd); /* the elf has its own */
    assert_string_equal(hs_elf_name(by_fd), "me");
    assert_string_equal(hs_elf_build_id(by_fd), hs_elf_build_id(by_path));
    size_t n;
    assert_non_null(hs_elf_bytes_at(by_fd, hs_elf_segments(by_fd, &n)[0].vaddr, 16));
    assert_true(hs_elf_has_interpreter(by_fd));
}

static void refuses_what_is_no_file(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf *elf = NULL;
    assert_int_equal(hs_elf_open_path("/nonexistent/x", &elf, &err), HS_IO);
    assert_non_null(strstr(err.message, "'/nonexistent/x'"));
    assert_int_equal(hs_elf_open_path("/", &elf, &err), HS_FORMAT);
    assert_int_equal(hs_elf_open_path("/dev/zero", &elf, &err), HS_FORMAT);
    assert_int_equal(hs_elf_open_fd(-1, "none", &elf, &err), HS_IO);
    char name[] = "/tmp/hs_elf_test.XXXXXX", pipe_name[64];
    assert_non_null(mkdtemp(name));
    snprintf(pipe_name, sizeof(pipe_name), "%s/pipe", name);
    assert_int_equal(mkfifo(pipe_name, 0600), 0);
    assert_int_equal(hs_elf_open_path(pipe_name, &elf, &err), HS_FORMAT); /* and does not hang */
    unlink(pipe_name);
    rmdir(name);
    assert_null(elf);
    hs_elf_close(NULL);
}

/* Each allocation of ours fails once: HS_LIMIT, nothing leaked (asan), nothing returned. */
static void reports_running_out_of_memory(void **state)
{
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    FAIL_EACH (each, .at_least = 5) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_elf *elf = NULL;
        hs_status status =
            FAIL_EACH_TRY(each, hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err));
        if (status == HS_OK)
            hs_elf_close(elf);
        else
            assert_null(elf);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_headers),
        cmocka_unit_test(finds_the_build_id_without_sections),
        cmocka_unit_test(ignores_a_damaged_build_id),
        cmocka_unit_test(says_what_it_refuses),
        cmocka_unit_test(survives_every_cut),
        cmocka_unit_test(drops_segments_that_wrap),
        cmocka_unit_test(computes_the_bias),
        cmocka_unit_test(opens_itself_by_path_and_descriptor),
        cmocka_unit_test(refuses_what_is_no_file),
        cmocka_unit_test(reports_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
