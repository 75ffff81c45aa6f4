/* links: hs_boxed hs_symbols hs_base */
#include "unit.h"

#include "boxed/lines_check.h"

static void checks_range_tables(void **state)
{
    static const uint8_t good[] = {
        17, 0, 0, 0, 5, 0, 8, 0, 1, 0, 0, 0, 4, 0, 0, 0, 0x04, 1, 2, 3, 0, /* one offset */
        8,  0, 0, 0, 5, 0, 8, 0, 0, 0, 0, 0,                               /* and an empty table */
    };
    static const struct {
        size_t at;
        uint8_t value;
    } damages[] = {{0, 18}, {3, 0xff},  {4, 4},  {6, 4}, {7, 1},
                   {8, 3},  {11, 0x80}, {21, 9}, {21, 7}};
    assert_true(hs_lines_check_ranges_(good, sizeof(good)));
    assert_true(hs_lines_check_ranges_(good, 0));
    for (size_t n = 1; n < sizeof(good); n++)
        assert_int_equal(hs_lines_check_ranges_(good, n), n == 21);
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        uint8_t bad[sizeof(good)];
        memcpy(bad, good, sizeof(good));
        bad[damages[i].at] = damages[i].value;
        if (hs_lines_check_ranges_(bad, sizeof(bad)))
            fail_msg("damage %zu accepted", i);
    }
}

/* Version 5: one directory in the header, one file with directory and MD5. */
static const uint8_t table_5[] = {
    57, 0,    0,    0,    5,    0,    8,    0, 48, 0,  0,  0,  1,
    1,  1,    0xfb, 14,   4,    0,    1,    1,                    /* to the opcodes */
    1,  0x01, 0x08, 1,    'd',  0,                                /* directories */
    3,  0x01, 0x1f, 0x02, 0x0b, 0x05, 0x1e, 1, 9,  0,  0,  0,  0, /* files */
    1,  2,    3,    4,    5,    6,    7,    8, 9,  10, 11, 12, 13,
    14, 15,   16,   0,    0,    0,    0, /* MD5, padding */
    1,                                   /* program */
};

static const uint8_t table_4[] = {
    45, 0, 0, 0, 4, 0,    28, 0, 0,   0, 1, 1,   1, 0xfb, 14, 13, 0, 1, 1, 1,
    1,  0, 0, 0, 1, 0,    0,  1, 'd', 0, 0, 'f', 0, 1,    0,  0,  0, 0, /* one directory, one file
                                                                         */
    2,  1, 9, 1, 2, 0x20, 0,  2, 4,   9, 1,                             /* program */
};

static void checks_line_tables(void **state)
{
    assert_int_equal(sizeof(table_5), 61);
    assert_true(hs_lines_check_table_(table_5, sizeof(table_5), 0));
    assert_true(hs_lines_check_table_(table_4, sizeof(table_4), 0));
    assert_false(hs_lines_check_table_(table_4, sizeof(table_4), 1));
    assert_false(hs_lines_check_table_(table_4, sizeof(table_4), sizeof(table_4)));
    assert_false(hs_lines_check_table_(table_4, sizeof(table_4), UINT64_MAX));
    for (size_t n = 0; n < sizeof(table_5); n++)
        assert_false(hs_lines_check_table_(table_5, n, 0));
    for (size_t n = 0; n < sizeof(table_4); n++)
        assert_false(hs_lines_check_table_(table_4, n, 0));
}

static void refuses_damaged_line_tables(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
        const char *what;
    } damages[] = {
        {3, 2, "longer than 16 MiB"},
        {4, 6, "version 6"},
        {4, 1, "version 1"},
        {6, 4, "32-bit addresses"},
        {7, 1, "segments"},
        {8, 50, "header beyond the table"},
        {13, 0, "no operations per instruction"},
        {16, 0, "line range 0"},
        {17, 0, "opcode base 0"},
        {17, 255, "opcode lengths beyond the header"},
        {21, 9, "nine formats"},
        {22, 0x77, "unknown content"},
        {23, 0x0b, "a path that is a number"},
        {24, 0x7f, "more directories than bytes"},
        {21, 0, "directories without a format"},
        {31, 0x08, "an index that is a string"},
        {33, 0x0b, "an MD5 that is a byte"},
        {34, 3, "more files than there are"},
        {39, 1, "a directory beyond the last"},
        {18, 1, "operands of another standard"},
        {60, 3, "an operation without its operand"},
        {60, 0, "an operation without its name"},
    };
    for (size_t i = 0; i < sizeof(damages) / sizeof(damages[0]); i++) {
        uint8_t bad[sizeof(table_5)];
        memcpy(bad, table_5, sizeof(table_5));
        bad[damages[i].at] = damages[i].value;
        if (hs_lines_check_table_(bad, sizeof(bad), 0))
            fail_msg("accepted: %s", damages[i].what);
    }
    uint8_t bad[sizeof(table_4)];
    memcpy(bad, table_4, sizeof(table_4));
    memset(bad + 28, 'x', 10); /* names that do not end */
    assert_false(hs_lines_check_table_(bad, sizeof(bad), 0));
    memcpy(bad, table_4, sizeof(table_4));
    bad[33] = 2; /* a directory beyond the last */
    assert_false(hs_lines_check_table_(bad, sizeof(bad), 0));
    memcpy(bad, table_4, sizeof(table_4));
    bad[46] = 3; /* define_file */
    assert_false(hs_lines_check_table_(bad, sizeof(bad), 0));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(checks_range_tables),
        cmocka_unit_test(checks_line_tables),
        cmocka_unit_test(refuses_damaged_line_tables),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
