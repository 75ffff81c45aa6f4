/* links: hs_boxed hs_symbols hs_dep_dwarf hs_base */
#include "unit.h"

#include "boxed/cfi_check.h"

/* One CIE and one FDE of .eh_frame, as gcc makes them, and a place for the program. */
enum { CIE_BYTES = 24, PROGRAM_AT = CIE_BYTES + 17, PROGRAM_BYTES = 7, TABLE_BYTES = 52 };

static const uint8_t table_good[TABLE_BYTES] = {
    20,   0,    0,    0,    0,    0,    0,    0, 1,    'z', 'R', 0, 1, 0x78,
    16,   1,    0x1b, 0x0c, 7,    8,    0x90, 1, 0,    0,   20,  0, 0, 0,
    28,   0,    0,    0,    0x10, 0,    0,    0, 0x40, 0,   0,   0, 0, /* then 7 bytes of program */
    0x41, 0x0e, 16,   0x86, 2,    0x00, 0x00, 0, 0,    0,   0,         /* terminator */
};

static hs_status check(const uint8_t *bytes, size_t n, bool is_eh)
{
    struct hs_error err = HS_ERROR_INIT;
    struct dwarf_section section = {".eh_frame", 0x1000, bytes, n};
    hs_status status = hs_cfi_check_(&section, is_eh, &err);
    if (status != HS_OK)
        assert_non_null(strstr(err.message, "'.eh_frame'"));
    return status;
}

static hs_status check_program(const uint8_t *program, size_t n)
{
    uint8_t table[TABLE_BYTES];
    memcpy(table, table_good, sizeof(table));
    memset(table + PROGRAM_AT, 0, PROGRAM_BYTES);
    memcpy(table + PROGRAM_AT, program, n);
    return check(table, sizeof(table), true);
}

static void accepts_what_compilers_make(void **state)
{
    assert_int_equal(check(table_good, sizeof(table_good), true), HS_OK);
    assert_int_equal(check(table_good, sizeof(table_good) - 4, true), HS_OK); /* no terminator */
    assert_int_equal(check(table_good, 0, true), HS_OK);
    static const uint8_t good[][PROGRAM_BYTES] = {
        {0x02, 0xff, 0x03, 0xff, 0xff, 0, 0}, /* advance by 1 and 2 bytes */
        {0x04, 1, 2, 3, 4, 0, 0},
        {0x0a, 0x0b, 0x0a, 0x0b, 0, 0, 0}, /* remember, restore */
        {0x0f, 3, 0x77, 8, 6, 0, 0},       /* frame address by expression */
        {0x10, 16, 2, 0x77, 0, 0, 0},      /* register by expression */
        {0x16, 3, 2, 0x77, 0, 0, 0},
        {0x05, 66, 2, 0x06, 66, 0, 0},     /* the last column there is */
        {0x2e, 0x10, 0x11, 6, 0x7e, 0, 0}, /* GNU args size; signed offset */
        {0x07, 16, 0xc6, 0x0d, 6, 0, 0},
    };
    for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
        if (check_program(good[i], PROGRAM_BYTES) != HS_OK)
            fail_msg("program %zu refused", i);
}

static void refuses_bad_programs(void **state)
{
    static const uint8_t bad[][PROGRAM_BYTES] = {
        {0x0b},                                  /* restore without remember */
        {0x05, 67, 1},                           /* a column beyond the table */
        {0x16, 0x83, 0x80, 0x80, 0x80, 0x10, 0}, /* 2^32 + 3: libdwarf would write outside */
        {0x16, 3, 0xff, 0x7f},                   /* a block beyond the record */
        {0x0f, 4, 0, 0, 0, 0x0e, 0x80},          /* LEB128 without an end */
        {0x0e, 0xff, 0xff, 0xff, 0xff, 0xff, 0xff},
        {0, 0, 0, 0, 0x04, 1, 2}, /* cut inside an operand */
        {0x01, 1, 2, 3, 4, 5, 6}, /* set_loc */
        {0x15, 3, 0x7f},          /* val_offset_sf */
        {0x17},
        {0x2d},
        {0x2f},
        {0x3f}, /* unknown */
    };
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
        if (check_program(bad[i], PROGRAM_BYTES) != HS_FORMAT)
            fail_msg("program %zu accepted", i);
}

static void refuses_bad_records(void **state)
{
    static const struct {
        const char *what;
        size_t at;
        uint8_t value;
    } damages[] = {
        {"length beyond the section", 25, 1},
        {"64-bit records", 3, 0xff},
        {"unknown CIE version", 8, 4},
        {"unknown augmentation", 10, 'Q'},
        {"augmentation without z", 9, 'R'},
        {"augmentation data beyond the record", 15, 99},
        {"another return column", 14, 17},
        {"address encoding of 2 bytes", 16, 0x1a},
        {"address encoding of no size", 16, 0x01},
        {"FDE of no CIE", 28, 27},
        {"FDE data beyond the record", 40, 99},
    };
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        uint8_t table[TABLE_BYTES];
        memcpy(table, table_good, sizeof(table));
        table[damages[i].at] = damages[i].value;
        if (check(table, sizeof(table), true) != HS_FORMAT)
            fail_msg("accepted: %s", damages[i].what);
    }
}

static void refuses_every_cut(void **state)
{
    /* Less than a length field at the end is padding. */
    for (size_t n = 4; n < CIE_BYTES + 24; n++)
        if (n < CIE_BYTES || n >= CIE_BYTES + 4)
            assert_int_equal(check(table_good, n, true), HS_FORMAT);
}

static void reads_debug_frame(void **state)
{
    static const uint8_t table[] = {
        16,   0, 0,  0, 0xff, 0xff, 0xff, 0xff, 4,    0,    8,  0,    1, 0x78, 16, 0x0c, 7, 8,
        0x90, 1, 28, 0, 0,    0,    0,    0,    0,    0,    0,  0x10, 0, 0,    0,  0,    0, 0,
        0x40, 0, 0,  0, 0,    0,    0,    0,    0x41, 0x0e, 16, 0x86, 2, 0,    0,  0,
    };
    assert_int_equal(check(table, sizeof(table), false), HS_OK);
    uint8_t other[sizeof(table)];
    memcpy(other, table, sizeof(table));
    other[10] = 4; /* 32-bit addresses */
    assert_int_equal(check(other, sizeof(other), false), HS_FORMAT);
    memcpy(other, table, sizeof(table));
    other[24] = 4; /* points between records */
    assert_int_equal(check(other, sizeof(other), false), HS_FORMAT);
}

/* libdwarf looks for the header of each record from the first: thousands of them, taken in turn,
 * would keep it busy for ever. */
static void limits_headers_taken_in_turn(void **state)
{
    enum { N = 20000 };
    uint8_t *table = NULL;
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_alloc(N, 48, (void **)&table, &err), HS_OK);
    for (size_t i = 0; i < N; i++)
        memcpy(table + 48 * i, table_good, 48);
    assert_int_equal(check(table, N * 48, true), HS_LIMIT);
    assert_int_equal(check(table, 1000 * 48, true), HS_OK);
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_cfi_check_(&(struct dwarf_section){".eh_frame", 0, table, 480}, true, &err),
                     HS_LIMIT);
    hs_alloc_fail_at(0, false);
    hs_free(table);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(accepts_what_compilers_make),
        cmocka_unit_test(refuses_bad_programs),
        cmocka_unit_test(refuses_bad_records),
        cmocka_unit_test(refuses_every_cut),
        cmocka_unit_test(reads_debug_frame),
        cmocka_unit_test(limits_headers_taken_in_turn),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
