/* links: hs_symbols hs_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <elf.h>
#include <string.h>

#include "elf_writer.h"
#include "symbols/elf.h"

/* This program calls cmocka's functions through such words. */
static void names_what_calls_go_to(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_elf_section s;
    hs_auto(hs_elf) *elf = NULL;
    size_t n_found = 0, n_ours = 0;

    assert_int_equal(hs_elf_open_path("/proc/self/exe", &elf, &err), HS_OK);
    if (!hs_elf_section_named(elf, ".rela.plt", &s))
        skip(); /* calls go through words of .got */
    const uint8_t *bytes = hs_elf_bytes_at(elf, s.vaddr, s.n_bytes);
    assert_non_null(bytes);
    for (size_t i = 0; i < s.n_bytes / sizeof(Elf64_Rela); i++) {
        Elf64_Rela entry;
        memcpy(&entry, bytes + i * sizeof entry, sizeof entry);
        const char *name = hs_elf_imported_at(elf, entry.r_offset);
        n_found += name != NULL && name[0] != '\0';
        n_ours += name != NULL && strcmp(name, "_cmocka_run_group_tests") == 0;
        assert_null(hs_elf_imported_at(elf, entry.r_offset + 1));
    }
    assert_true(n_found != 0);
    assert_int_equal(n_ours, 1);
    assert_null(hs_elf_imported_at(elf, 0));
    assert_null(hs_elf_imported_at(elf, UINT64_MAX));
}

static void says_nothing_without_relocations(void **state)
{
    (void)state;
    static struct elf_writer w;
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;

    elf_writer_sample(&w);
    elf_writer_finish(&w);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "sample", &elf, &err), HS_OK);
    assert_null(hs_elf_imported_at(elf, 0x3000));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(names_what_calls_go_to),
        cmocka_unit_test(says_nothing_without_relocations),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
