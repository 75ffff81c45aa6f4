/* links: hs_target hs_symbols */
#include "unit.h"

#include "base/alloc.h"
#include "core_writer.h"
#include "fail_each.h"
#include "page_kinds.h"
#include "target/core/core_private.h"

static struct core_writer w;

static hs_status open_bytes(size_t n_bytes, struct hs_target *ret, struct hs_error *err)
{
    struct hs_core_options options = {.path = core_writer_save(w.bytes, n_bytes)};
    return hs_core_open(&options, ret, err);
}

static void assert_opens(struct hs_target *target)
{
    struct hs_error err = HS_ERROR_INIT;
    if (open_bytes(w.n_bytes, target, &err) != HS_OK)
        fail_msg("%s", err.message);
}

static void assert_refused(const char *part)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_target target;
    assert_int_equal(open_bytes(w.n_bytes, &target, &err), HS_FORMAT);
    if (strstr(err.message, part) == NULL)
        fail_msg("'%s' is not in: %s", part, err.message);
    assert_true(err.hint[0] != '\0');
}

static void made(void)
{
    core_writer_sample(&w, "/nowhere/program", NULL);
    core_writer_finish(&w);
}

static int done(void **state)
{
    core_writer_fini(&w);
    core_writer_clean();
    return 0;
}

static void a_whole_core_opens(void **state)
{
    struct hs_target target;
    made();
    assert_opens(&target);
    assert_int_equal(target.pid, 40);
    assert_int_equal(target.n_threads, 2);
    assert_int_equal(target.threads[0].tid, 40);
    assert_int_equal(target.threads[1].tid, 42);
    assert_true(target.threads[0].regs.rip == CORE_SAMPLE_PROGRAM + 0x1000);
    assert_true(target.threads[0].regs.rsp == CORE_SAMPLE_STACK + 64);
    assert_true(target.threads[0].regs.r15 == 1000 && target.threads[0].regs.gs == 1026);
    assert_true(target.threads[0].regs.fs_base == 1021);
    assert_string_equal(target.command, "made --with some?arguments");
    assert_string_equal(hs_core_note(&target), "");
    assert_true(target.was_stopped_already && !target.is_stopped);
    assert_int_equal(target.report.way, HS_WAY_CORE);
    hs_target_close(&target);
}

static void what_is_no_core_is_said_to_be_what_it_is(void **state)
{
    made();
    core_writer_header(&w)->e_type = ET_DYN;
    assert_refused("a program or library");
    core_writer_header(&w)->e_type = ET_REL;
    assert_refused("an object file");
    core_writer_header(&w)->e_type = ET_CORE;
    core_writer_header(&w)->e_machine = EM_AARCH64;
    assert_refused("of machine 183");
    core_writer_header(&w)->e_machine = EM_X86_64;
    core_writer_header(&w)->e_ident[EI_CLASS] = ELFCLASS32;
    assert_refused("32-bit");
    core_writer_header(&w)->e_ident[EI_CLASS] = ELFCLASS64;
    core_writer_header(&w)->e_ident[EI_DATA] = ELFDATA2MSB;
    assert_refused("big-endian");
    core_writer_header(&w)->e_ident[EI_DATA] = ELFDATA2LSB;
    core_writer_header(&w)->e_ident[0] = 'E';
    assert_refused("no ELF file");
}

static void damaged_headers_are_refused(void **state)
{
    made();
    Elf64_Ehdr *h = core_writer_header(&w);
    const Elf64_Ehdr good = *h;
    h->e_phentsize = 32;
    assert_refused("no program headers");
    *h = good;
    h->e_phnum = 0;
    assert_refused("no program headers");
    *h = good;
    h->e_phoff = w.n_bytes;
    assert_refused("no program headers");
    *h = good;
    h->e_phoff = UINT64_MAX;
    assert_refused("no program headers");
    *h = good;
    h->e_phnum = PN_XNUM; /* and no section to count them */
    assert_refused("number of its segments");
    h->e_shoff = UINT64_MAX - 8;
    assert_refused("number of its segments");
    h->e_shoff = w.n_bytes - 8;
    assert_refused("number of its segments");
}

static void more_headers_than_fit_are_counted_in_a_section(void **state)
{
    struct hs_target target;
    core_writer_sample(&w, "/nowhere/program", NULL);
    w.counts_in_section = true;
    core_writer_finish(&w);
    assert_opens(&target);
    assert_int_equal(target.core->n_segments, w.n_segments);
    assert_string_equal(hs_core_note(&target), "");
    hs_target_close(&target);
    /* A count that the file has no room for: what is there is read, the rest told of. */
    ((Elf64_Shdr *)(void *)(w.bytes + core_writer_header(&w)->e_shoff))->sh_info = 1u << 20;
    assert_opens(&target);
    assert_non_null(strstr(hs_core_note(&target), "damaged"));
    assert_true(target.core->n_segments >= w.n_segments);
    hs_target_close(&target);
}

static void many_segments(void **state)
{
    enum { N = 70000 };
    struct hs_target target;
    /* One segment stated many times, by hand: the writer's capacity is small. */
    core_writer_sample(&w, "/nowhere/program", NULL);
    w.counts_in_section = true;
    core_writer_finish(&w);
    size_t headers_at = w.n_bytes, n_all = w.n_bytes + (N + 16) * sizeof(Elf64_Phdr);
    uint8_t *bytes = calloc(1, n_all);
    memcpy(bytes, w.bytes, w.n_bytes);
    Elf64_Phdr *headers = (Elf64_Phdr *)(void *)(bytes + headers_at);
    memcpy(headers, core_writer_program_header(&w, 0), (w.n_segments + 1) * sizeof *headers);
    for (size_t i = 0; i < N; i++)
        headers[w.n_segments + 1 + i] = (Elf64_Phdr){.p_type = PT_LOAD,
                                                     .p_flags = i % 2 == 0 ? PF_R : PF_R | PF_W,
                                                     .p_vaddr = 0x10000000000 + (N - i) * 4096,
                                                     .p_memsz = 4096};
    Elf64_Ehdr *h = (Elf64_Ehdr *)(void *)bytes;
    h->e_phoff = headers_at;
    ((Elf64_Shdr *)(void *)(bytes + h->e_shoff))->sh_info = (uint32_t)(w.n_segments + 1 + N);
    free(w.bytes);
    w.bytes = bytes;
    w.n_bytes = n_all;
    assert_opens(&target);
    assert_int_equal(target.core->n_segments, w.n_segments + N);
    for (size_t i = 1; i < target.n_mappings; i++)
        assert_true(target.mappings[i - 1].end <= target.mappings[i].begin);
    hs_target_close(&target);
}

/* The number of bytes of a mapping that can be read. */
static size_t readable_bytes(struct hs_target *target, hs_addr begin, size_t n_most)
{
    struct hs_error err = HS_ERROR_INIT;
    uint8_t *bytes = malloc(n_most);
    size_t n = 0;
    assert_int_equal(hs_target_read_some(target, begin, bytes, n_most, &n, &err), HS_OK);
    free(bytes);
    return n;
}

static void segments_that_make_no_sense_are_left_out(void **state)
{
    static const struct {
        uint64_t vaddr, memsz, offset, filesz;
    } bad[] = {
        {CORE_SAMPLE_UNTOUCHED + 1, 4096, 0, 0},            /* not of pages */
        {UINT64_MAX & ~UINT64_C(4095), 8192, 0, 0},         /* wraps */
        {CORE_SAMPLE_UNTOUCHED, UINT64_MAX, 0, 0},          /* the same */
        {CORE_SAMPLE_UNTOUCHED, 4096, UINT64_MAX - 2, 100}, /* wraps in the file */
        {CORE_SAMPLE_UNTOUCHED, 0xc700000000042000, 0, 0},  /* more than there are addresses */
        {UINT64_C(1) << 60, 4096, 0, 4096},                 /* where no process has memory */
    };
    for (size_t i = 0; i < sizeof bad / sizeof *bad; i++) {
        struct hs_target target;
        made();
        Elf64_Phdr *h = core_writer_program_header(&w, 5); /* the untouched one */
        assert_true(h->p_vaddr == CORE_SAMPLE_UNTOUCHED);
        h->p_vaddr = bad[i].vaddr;
        h->p_memsz = bad[i].memsz;
        h->p_offset = bad[i].offset;
        h->p_filesz = bad[i].filesz;
        assert_opens(&target);
        assert_int_equal(target.core->n_segments, w.n_segments - 1);
        assert_non_null(strstr(hs_core_note(&target), "1 of its headers and notes"));
        assert_null(hs_target_mapping_at(&target, CORE_SAMPLE_UNTOUCHED));
        hs_target_close(&target);
        core_writer_fini(&w);
    }
}

static void what_the_file_has_of_an_endless_segment_is_kept(void **state)
{
    struct hs_target target;
    made();
    uint64_t n_bytes = core_writer_program_header(&w, 4)->p_filesz; /* the heap */
    core_writer_program_header(&w, 4)->p_memsz = 0xc700000000042000;
    assert_opens(&target);
    assert_int_equal(target.core->n_segments, w.n_segments);
    assert_int_equal(readable_bytes(&target, CORE_SAMPLE_HEAP, 16384), n_bytes);
    assert_non_null(strstr(hs_core_note(&target), "1 of its headers and notes"));
    hs_target_close(&target);
}

static void more_bytes_in_the_file_than_in_memory_are_not_read(void **state)
{
    struct hs_target target;
    made();
    core_writer_program_header(&w, 4)->p_memsz = 4096; /* the heap */
    assert_opens(&target);
    assert_int_equal(readable_bytes(&target, CORE_SAMPLE_HEAP, 16384), 4096);
    hs_target_close(&target);
}

static void overlapping_segments_are_the_first_ones(void **state)
{
    struct hs_target target;
    struct hs_error err = HS_ERROR_INIT;
    uint8_t byte;
    made();
    /* The untouched one over the heap's last two pages and two more. */
    Elf64_Phdr *h = core_writer_program_header(&w, 5);
    h->p_vaddr = CORE_SAMPLE_HEAP + 2 * 4096;
    h->p_memsz = h->p_filesz = 4 * 4096;
    h->p_offset = core_writer_program_header(&w, 4)->p_offset - 2 * 4096;
    assert_opens(&target);
    assert_int_equal(target.core->n_segments, w.n_segments);
    assert_non_null(strstr(hs_core_note(&target), "damaged"));
    const struct hs_mapping *m = hs_target_mapping_at(&target, CORE_SAMPLE_HEAP + 4 * 4096);
    assert_non_null(m);
    assert_true(m->begin == CORE_SAMPLE_HEAP + 4 * 4096 && m->end == CORE_SAMPLE_HEAP + 6 * 4096);
    /* Its third page in the file is the heap's first. */
    assert_int_equal(hs_target_read(&target, m->begin, &byte, 1, &err), HS_OK);
    assert_int_equal(byte, 'h');
    assert_int_equal(hs_target_read(&target, CORE_SAMPLE_HEAP + 3 * 4096 - 1, &byte, 1, &err),
                     HS_OK);
    assert_int_equal(byte, 1);
    hs_target_close(&target);
}

/* Cut anywhere: it opens or is refused, what is whole is the same, what is not is told of. */
static void cut_cores_give_what_is_whole(void **state)
{
    struct hs_target target;
    struct hs_error err = HS_ERROR_INIT;
    size_t n_opened = 0;
    made();
    for (size_t n = 0; n < w.n_bytes; n += n < w.contents_at ? 1 : 511) {
        uint8_t page[4096];
        if (open_bytes(n, &target, &err) != HS_OK) {
            assert_int_equal(err.status, HS_FORMAT);
            assert_true(n < w.contents_at && err.hint[0] != '\0');
            continue;
        }
        n_opened++;
        const char *note = hs_core_note(&target);
        bool is_told = strstr(note, "cut") != NULL || strstr(note, "damaged") != NULL;
        assert_true(is_told || n >= w.notes_at);
        size_t heap_at = core_writer_program_header(&w, 4)->p_offset;
        bool is_there = n >= heap_at + sizeof page;
        hs_status status = hs_target_read(&target, CORE_SAMPLE_HEAP, page, sizeof page, &err);
        if (n >= w.contents_at)
            assert_int_equal(status == HS_OK, is_there);
        if (is_there)
            assert_true(page[0] == 'h' && page[4095] == 'h');
        if (n >= w.contents_at)
            assert_non_null(strstr(note, "the core is cut"));
        hs_target_close(&target);
    }
    assert_true(n_opened > 50);
}

static void lost_pages_are_not_taken_for_zeros(void **state)
{
    struct hs_target target;
    struct hs_error err = HS_ERROR_INIT;
    uint64_t entries[4];
    made();
    size_t heap_at = core_writer_program_header(&w, 4)->p_offset;
    assert_int_equal(open_bytes(heap_at + 5000, &target, &err), HS_OK);
    assert_int_equal(page_kinds(&target, CORE_SAMPLE_HEAP, entries, 4), 4);
    assert_true(entries[0] == HS_PAGES_PRESENT);
    for (size_t i = 1; i < 4; i++)
        assert_true(entries[i] == HS_PAGES_SWAPPED);
    assert_int_equal(readable_bytes(&target, CORE_SAMPLE_HEAP, 16384), 4096);
    hs_target_close(&target);
}

static hs_status open_once(void *context, struct hs_error *err)
{
    struct hs_core_options options = {.path = context};
    struct hs_target target;
    HS_TRY(hs_core_open(&options, &target, err));
    (void)hs_core_note(&target);
    hs_target_close(&target);
    return HS_OK;
}

static void every_failure_of_memory_is_a_status(void **state)
{
    made();
    char path[128];
    snprintf(path, sizeof path, "%s", core_writer_save(w.bytes, w.n_bytes));
    struct hs_error err = HS_ERROR_INIT;
    FAIL_EACH (each, .at_least = 10, .may_do_without = true) {
        (void)FAIL_EACH_TRY(each, open_once(path, &err));
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(a_whole_core_opens, done),
        cmocka_unit_test_teardown(what_is_no_core_is_said_to_be_what_it_is, done),
        cmocka_unit_test_teardown(damaged_headers_are_refused, done),
        cmocka_unit_test_teardown(more_headers_than_fit_are_counted_in_a_section, done),
        cmocka_unit_test_teardown(many_segments, done),
        cmocka_unit_test_teardown(segments_that_make_no_sense_are_left_out, done),
        cmocka_unit_test_teardown(what_the_file_has_of_an_endless_segment_is_kept, done),
        cmocka_unit_test_teardown(more_bytes_in_the_file_than_in_memory_are_not_read, done),
        cmocka_unit_test_teardown(overlapping_segments_are_the_first_ones, done),
        cmocka_unit_test_teardown(cut_cores_give_what_is_whole, done),
        cmocka_unit_test_teardown(lost_pages_are_not_taken_for_zeros, done),
        cmocka_unit_test_teardown(every_failure_of_memory_is_a_status, done),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
