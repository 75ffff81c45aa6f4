/* links: hs_boxed hs_symbols hs_base */
#include "unit.h"

#include "boxed/line_reader.h"
#include "elf_writer.h"
#include "fail_each.h"
#include "symbols/lines.h"

extern const char __ehdr_start[];
static struct elf_writer w;

int lines_test_global = 3;
enum { GLOBAL_LINE = __LINE__ - 1 };
static int lines_test_static[4] = {1, 2, 3, 4};
enum { STATIC_LINE = __LINE__ - 1 };

/* Returns the address of its own static variable. */
static int *inner_static(void)
{
    static int hidden_inside = 7;
    return &hidden_inside;
}
enum { INSIDE_LINE = __LINE__ - 3 };

__attribute__((noinline)) static const void *here(void)
{
    return __builtin_return_address(0);
}

static struct hs_dwarf *open_self(struct hs_elf **elf, uint64_t *bias)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf *dwarf = NULL;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", elf, &err), HS_OK);
    assert_true(hs_dwarf_present(*elf));
    if (hs_dwarf_open(*elf, &dwarf, &err) != HS_OK)
        fail_msg("%s", err.message);
    *bias = hs_elf_is_dyn(*elf) ? (uint64_t)(uintptr_t)__ehdr_start : 0;
    return dwarf;
}

static bool ends_with(const char *text, const char *end)
{
    size_t n = strlen(text), n_end = strlen(end);
    return n >= n_end && strcmp(text + n - n_end, end) == 0;
}

static void finds_this_line(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    uint64_t bias;
    hs_auto(hs_dwarf) *dwarf = open_self(&elf, &bias);
    struct hs_dwarf_source source;
    const void *address = here();
    unsigned line = __LINE__ - 1;
    hs_addr vaddr = (uint64_t)(uintptr_t)address - 1 - bias;
    for (int i = 0; i < 2; i++) { /* the second time from what is kept */
        assert_int_equal(hs_dwarf_find_code(dwarf, vaddr, &source, &err), HS_OK);
        assert_int_equal(source.line, line);
        assert_true(ends_with(hs_dwarf_text(dwarf, source.file), "unit/lines_test.c"));
        assert_string_equal(hs_dwarf_text(dwarf, source.name), "finds_this_line");
    }
    assert_int_equal(hs_dwarf_n_damaged(dwarf), 0);
}

static void finds_the_line_of_another_unit(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    uint64_t bias;
    hs_auto(hs_dwarf) *dwarf = open_self(&elf, &bias);
    struct hs_dwarf_source source;
    const struct hs_elf_symbol *f = hs_elf_find(elf, "hs_dwarf_find_code");
    assert_non_null(f);
    assert_int_equal(hs_dwarf_find_code(dwarf, f->vaddr, &source, &err), HS_OK);
    assert_true(ends_with(hs_dwarf_text(dwarf, source.file), "boxed/lines.c"));
    assert_string_equal(hs_dwarf_text(dwarf, source.name), "hs_dwarf_find_code");
    assert_true(source.line > 1 && source.bytes_before == 0);
    assert_int_equal(hs_dwarf_find_code(dwarf, f->vaddr + 1, &source, &err), HS_OK);
    assert_int_equal(source.bytes_before, 1);
}

static void check_variable(struct hs_dwarf *dwarf, uint64_t vaddr, const char *name, unsigned line)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf_source source;
    assert_int_equal(hs_dwarf_find_variable(dwarf, vaddr, &source, &err), HS_OK);
    assert_string_equal(hs_dwarf_text(dwarf, source.name), name);
    assert_true(ends_with(hs_dwarf_text(dwarf, source.file), "unit/lines_test.c"));
    assert_int_equal(source.line, line);
}

static void finds_variables(void **state)
{
    hs_auto(hs_elf) *elf = NULL;
    uint64_t bias;
    hs_auto(hs_dwarf) *dwarf = open_self(&elf, &bias);
    uint64_t outer = (uint64_t)(uintptr_t)&lines_test_global - bias;
    uint64_t file_static = (uint64_t)(uintptr_t)lines_test_static - bias;
    check_variable(dwarf, outer, "lines_test_global", GLOBAL_LINE);
    check_variable(dwarf, file_static, "lines_test_static", STATIC_LINE);
    check_variable(dwarf, (uint64_t)(uintptr_t)inner_static() - bias, "hidden_inside", INSIDE_LINE);
}

static void says_nothing_of_what_it_does_not_know(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    uint64_t bias;
    hs_auto(hs_dwarf) *dwarf = open_self(&elf, &bias);
    static const hs_addr nowhere[] = {0, 1, UINT64_C(0x7fffffff0000), UINT64_MAX};
    for (size_t i = 0; i < sizeof(nowhere) / sizeof(nowhere[0]); i++) {
        struct hs_dwarf_source source = {1, 1, 1, 1};
        assert_int_equal(hs_dwarf_find_code(dwarf, nowhere[i], &source, &err), HS_OK);
        assert_true(source.line == 0 && source.file == 0 && source.name == 0);
        source = (struct hs_dwarf_source){1, 1, 1, 1};
        assert_int_equal(hs_dwarf_find_variable(dwarf, nowhere[i], &source, &err), HS_OK);
        assert_true(source.line == 0 && source.file == 0 && source.name == 0);
    }
    struct hs_dwarf_source source;
    hs_addr middle = (uint64_t)(uintptr_t)&lines_test_static[1] - bias;
    assert_int_equal(hs_dwarf_find_variable(dwarf, middle, &source, &err), HS_OK);
    assert_int_equal(source.line, 0); /* only where it starts */
    assert_string_equal(hs_dwarf_text(dwarf, 0), "");
}

static void refuses_files_without_debug_information(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dwarf *dwarf = NULL;
    static const uint8_t garbage[64] = {0xff, 0xff, 0xff, 0xff, 1, 2, 3};
    elf_writer_sample(&w);
    elf_writer_finish(&w);
    hs_auto(hs_elf) *elf = NULL;
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err), HS_OK);
    assert_false(hs_dwarf_present(elf));
    assert_int_equal(hs_dwarf_open(elf, &dwarf, &err), HS_FORMAT);
    assert_non_null(strstr(err.message, "'.debug_info'"));
    hs_dwarf_close(NULL);

    /* Garbage opens, for libdwarf looks later, and then says nothing and counts the damage. */
    elf_writer_init(&w);
    elf_writer_section(&w, ".debug_info", SHT_PROGBITS, 0, garbage, sizeof(garbage));
    elf_writer_section(&w, ".debug_abbrev", SHT_PROGBITS, 0, garbage, sizeof(garbage));
    elf_writer_finish(&w);
    hs_auto(hs_elf) *other = NULL;
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "garbage", &other, &err), HS_OK);
    hs_auto(hs_dwarf) *opened = NULL;
    struct hs_dwarf_source source;
    if (hs_dwarf_open(other, &opened, &err) != HS_OK)
        return;
    assert_int_equal(hs_dwarf_find_code(opened, 0x1000, &source, &err), HS_OK);
    assert_int_equal(source.line, 0);
    assert_true(hs_dwarf_n_damaged(opened) > 0);
}

/* Each allocation of ours fails once; what was found afterwards is still right. */
static void reports_running_out_of_memory(void **state)
{
    hs_auto(hs_elf) *elf = NULL;
    uint64_t bias;
    hs_dwarf_close(open_self(&elf, &bias));
    hs_addr vaddr = (uint64_t)(uintptr_t)here() - 1 - bias;
    FAIL_EACH (each, .at_least = 5) {
        struct hs_error err = HS_ERROR_INIT;
        hs_auto(hs_dwarf) *dwarf = NULL;
        struct hs_dwarf_source source = {0};
        fail_each_begin(&each);
        hs_status status = hs_dwarf_open(elf, &dwarf, &err);
        if (status == HS_OK)
            status = hs_dwarf_find_code(dwarf, vaddr, &source, &err);
        (void)fail_each_end(&each, status);
        if (status == HS_LIMIT)
            assert_int_equal(source.line, 0);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(finds_this_line),
        cmocka_unit_test(finds_the_line_of_another_unit),
        cmocka_unit_test(finds_variables),
        cmocka_unit_test(says_nothing_of_what_it_does_not_know),
        cmocka_unit_test(refuses_files_without_debug_information),
        cmocka_unit_test(reports_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
