/* links: hs_boxed hs_symbols hs_dep_dwarf hs_base */
#include "unit.h"

#include <dwarf.h>

#include "boxed/info_check.h"
#include "elf_writer.h"
#include "fail_each.h"

static const uint8_t abbreviations[] = {
    1,
    DW_TAG_compile_unit,
    1,
    DW_AT_name,
    DW_FORM_strp,
    0,
    0, /* at 0 */
    2,
    DW_TAG_variable,
    0,
    DW_AT_type,
    DW_FORM_ref4,
    DW_AT_location,
    DW_FORM_exprloc,
    0,
    0, /* 7 */
    3,
    DW_TAG_structure_type,
    1,
    DW_AT_sibling,
    DW_FORM_ref1,
    0,
    0, /* 16 */
    0, /* 23 */
};

static struct elf_writer w;
static uint8_t text[4] = "\0a\0";

static bool check(const uint8_t *bytes, size_t n, const uint8_t *abbrev, size_t n_abbrev)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *elf = NULL;
    bool is_good = false;
    elf_writer_init(&w);
    elf_writer_section(&w, ".debug_info", SHT_PROGBITS, 0, bytes, n);
    elf_writer_section(&w, ".debug_abbrev", SHT_PROGBITS, 0, abbrev, n_abbrev);
    elf_writer_section(&w, ".debug_str", SHT_PROGBITS, 0, text, sizeof(text));
    elf_writer_finish(&w);
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "forged", &elf, &err), HS_OK);
    assert_int_equal(hs_info_check_(elf, &is_good, &err), HS_OK);
    return is_good;
}

/* The structure's sibling is the null that ends the root's children. */
static const uint8_t good[] = {
    25, 0,  0, 0, 4, 0, 0,    0,    0, 0, 8, /* header: 25 bytes follow the length */
    1,  1,  0, 0, 0,                         /* 11 */
    2,  24, 0, 0, 0, 2, 0x30, 0x9f,          /* 16 */
    3,  27,                                  /* 24 */
    0,                                       /* 26: ends the structure */
    0,                                       /* 27: ends the root */
    0,                                       /* 28: padding */
};

static void takes_what_is_whole(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *self = NULL;
    bool is_good = false;
    assert_int_equal(sizeof(good), 29);
    assert_true(check(good, sizeof(good), abbreviations, sizeof(abbreviations)));
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &self, &err), HS_OK);
    assert_int_equal(hs_info_check_(self, &is_good, &err), HS_OK);
    assert_true(is_good);
}

static void refuses_what_is_not(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        const char *what;
    } damages[] = {
        {0, 26, "a unit longer than the section"},
        {0, 15, "a unit that ends inside an entry"},
        {0, 0, "rubbish behind an empty unit"},
        {4, 6, "version 6"},
        {6, 24, "abbreviations beyond the section"},
        {10, 4, "32-bit addresses"},
        {12, 4, "a name beyond the strings"},
        {16, 9, "a code without abbreviation"},
        {17, 29, "a type beyond the unit"},
        {17, 3, "a type in the header"},
        {21, 9, "an expression beyond the unit"},
        {25, 24, "a sibling that is itself"},
        {25, 16, "a sibling before it"},
        {25, 26, "a sibling that is its child"},
        {17, 17, "a type that is no entry"},
    };
    static const struct {
        size_t at;
        uint8_t value;
        const char *what;
    } others[] = {
        {1, 0, "no tag"},
        {4, 0x7f, "an unknown form"},
        {11, DW_FORM_indirect, "an indirect form"},
        {23, 7, "a table without an end"},
    };
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        uint8_t bad[sizeof(good)];
        memcpy(bad, good, sizeof(good));
        bad[damages[i].at] = damages[i].value;
        if (check(bad, sizeof(bad), abbreviations, sizeof(abbreviations)))
            fail_msg("accepted: %s", damages[i].what);
    }
    for (size_t i = 0; i < sizeof(others) / sizeof(others[0]); i++) {
        uint8_t bad[sizeof(abbreviations)];
        memcpy(bad, abbreviations, sizeof(abbreviations));
        bad[others[i].at] = others[i].value;
        if (check(good, sizeof(good), bad, sizeof(bad)))
            fail_msg("accepted: %s", others[i].what);
    }
    for (size_t n = 1; n < sizeof(good); n++)
        if (check(good, n, abbreviations, sizeof(abbreviations)))
            fail_msg("accepted: %zu bytes", n);
}

static void reports_running_out_of_memory(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_auto(hs_elf) *self = NULL;
    bool is_good = false;
    assert_int_equal(hs_elf_open_path("/proc/self/exe", &self, &err), HS_OK);
    assert_int_equal(hs_info_check_(self, &is_good, &err), HS_OK);
    FAIL_EACH (each, .at_least = 3) {
        is_good = true;
        (void)FAIL_EACH_TRY(each, hs_info_check_(self, &is_good, &err));
        assert_true(is_good); /* untouched */
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(takes_what_is_whole),
        cmocka_unit_test(refuses_what_is_not),
        cmocka_unit_test(reports_running_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
