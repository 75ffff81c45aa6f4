/* links: hs_symbols hs_dep_dwarf hs_base */
#include "unit.h"

#include <dwarf.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "symbols/dwarf/locals_line.h"

/* A table of version 4: lines -3 to +8 by special operations 10 to 255, no files. */
static uint8_t table[70000];
static size_t n_table;
static struct line_marks marks;

static void put(const void *bytes, size_t n_bytes)
{
    assert_true(n_table + n_bytes <= sizeof(table));
    memcpy(table + n_table, bytes, n_bytes);
    n_table += n_bytes;
}
#define PUT(...) put((uint8_t[]){__VA_ARGS__}, sizeof((uint8_t[]){__VA_ARGS__}))

static void begin(void)
{
    n_table = 0;
    PUT(0, 0, 0, 0, 4, 0, 17, 0, 0, 0, 1, 1, 1, 0xfd, 12, 10, 0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0);
}

static void put_address(uint64_t vaddr)
{
    PUT(0, 9, DW_LNE_set_address);
    put(&vaddr, 8);
}

/* A row `n_bytes` behind the last, `lines` on. */
static void put_row(unsigned n_bytes, int lines)
{
    PUT((uint8_t)(10 + (lines + 3) + 12 * (int)n_bytes));
}

static void put_end(uint8_t n_bytes)
{
    PUT(DW_LNS_advance_pc, n_bytes, 0, 1, DW_LNE_end_sequence);
}

static bool ask_bytes(hs_addr vaddr, uint64_t *ret_file, uint32_t *ret_line, size_t n_bytes)
{
    struct debug_info info = {.n_units = 0};
    struct debug_unit unit = {.has_lines = true};
    info.sections[DEBUG_LINE] = (struct elf_view){.bytes = table, .n_bytes = n_bytes};
    *ret_line = 99;
    *ret_file = 99;
    return hs_locals_line_at_(&info, &unit, &marks, vaddr, ret_file, ret_line);
}

/* The line at `vaddr`, -1 for none. */
static int64_t ask(hs_addr vaddr)
{
    uint64_t file;
    uint32_t line;
    uint32_t n = (uint32_t)n_table - 4;
    memcpy(table, &n, 4);
    if (ask_bytes(vaddr, &file, &line, n_table))
        return line;
    assert_true(file == 99 && line == 99);
    return -1;
}

static int forget(void **state)
{
    hs_free(marks.items);
    marks = (struct line_marks){0};
    return 0;
}

static void runs_the_operations(void **state)
{
    begin();
    put_address(0x1000);
    PUT(DW_LNS_advance_line, 9, DW_LNS_copy); /* 0x1000: 10 */
    put_row(4, 2);                            /* 0x1004: 12 */
    put_row(0, 1);                            /* the same: 13 */
    PUT(DW_LNS_const_add_pc);                 /* (255 - 10) / 12 = 20 */
    put_row(2, -3);                           /* 0x101a: 10 */
    PUT(DW_LNS_fixed_advance_pc, 0x10, 0x10, DW_LNS_set_file, 7, DW_LNS_negate_stmt,
        DW_LNS_set_column, 3, DW_LNS_advance_line, 0x7f, DW_LNS_copy); /* 0x202a: 9 */
    put_end(6);
    static const struct {
        hs_addr vaddr;
        int line;
    } expected[] = {{0xfff, -1},  {0x1000, 10}, {0x1003, 10},    {0x1004, 13},
                    {0x1019, 13}, {0x101a, 10}, {0x2029, 10},    {0x202a, 9},
                    {0x202f, 9},  {0x2030, -1}, {UINT64_MAX, -1}};
    for (size_t i = 0; i < sizeof(expected) / sizeof(expected[0]); i++)
        assert_int_equal(ask(expected[i].vaddr), expected[i].line);
    uint64_t file;
    uint32_t line;
    assert_true(ask_bytes(0x202c, &file, &line, n_table) && file == 7);
}

/* Sequences in any order, one that was left out by the linker, one without any address. */
static void keeps_sequences_apart(void **state)
{
    static const uint64_t places[] = {0x5000, 0, 0x3000, 0x4000};
    begin();
    put_row(10, 1);
    put_end(100);
    for (size_t i = 0; i < 4; i++) {
        put_address(places[i]);
        put_row(0, (int)i + 1);
        put_row(4, 1);
        put_end(4);
    }
    assert_int_equal(ask(0x5000), 2);
    assert_int_equal(ask(0x5005), 3);
    assert_int_equal(ask(0x5008), -1);
    assert_int_equal(ask(0x3000), 4);
    assert_int_equal(ask(0x4007), 6);
    assert_int_equal(ask(0x3800), -1);
    assert_int_equal(ask(2), -1);
    assert_int_equal(ask(5), -1);
    assert_int_equal(ask(50), -1);
    assert_int_equal(marks.n, 3);
}

/* A program of many marks: each row is found from each side. */
static void goes_on_from_marks(void **state)
{
    enum { ROWS = 20000 };
    begin();
    put_address(0x1000);
    PUT(DW_LNS_advance_line, 9);
    for (int i = 0; i < ROWS; i++) {
        put_row(2, i % 2 == 0 ? 1 : -1);
        if (i % 1000 == 0)
            PUT(DW_LNS_advance_line, 4);
    }
    put_end(2);
    int64_t line = 10;
    for (int i = 0; i < ROWS; i++) {
        line += i % 2 == 0 ? 1 : -1;
        assert_int_equal(ask(0x1002 + 2 * (hs_addr)i), line);
        assert_int_equal(ask(0x1003 + 2 * (hs_addr)i), line);
        line += i % 1000 == 0 ? 4 : 0;
    }
    assert_true(marks.n > 5 && marks.n < 20);
}

static void refuses_damage(void **state)
{
    static const struct {
        size_t at;
        uint8_t value;
    } bad[] = {{4, 1}, {4, 6}, {6, 0xff}, {14, 0}, {15, 0}};
    for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
        begin();
        put_address(0x1000);
        put_row(0, 1);
        put_end(4);
        assert_int_equal(ask(0x1000), 2);
        table[bad[i].at] = bad[i].value;
        if (bad[i].at == 6)
            table[7] = 0xff;
        forget(state);
        assert_int_equal(ask(0x1000), -1);
        forget(state);
    }
    /* Cut anywhere it ends, with what was whole. */
    uint64_t file;
    uint32_t line;
    begin();
    put_address(0x1000);
    put_row(0, 1);
    put_end(4);
    assert_int_equal(ask(0x1000), 2);
    for (size_t n = 0; n < n_table; n++) {
        forget(state);
        assert_false(ask_bytes(0x1000, &file, &line, n));
        uint32_t claimed = n < 4 ? 0 : (uint32_t)n - 4;
        uint8_t kept[4];
        memcpy(kept, table, 4);
        memcpy(table, &claimed, 4);
        assert_false(ask_bytes(0x1000, &file, &line, n));
        memcpy(table, kept, 4);
    }
}

static void does_without_memory(void **state)
{
    begin();
    for (uint64_t i = 1; i < 200; i++) {
        put_address(0x1000 * i);
        put_row(0, (int)(i % 8));
        put_end(4);
    }
    FAIL_EACH (each, .mode = FAIL_REST) {
        fail_each_begin(&each);
        assert_int_equal(ask(0x1000 * 100), 5);
        assert_int_equal(ask(4), -1);
        (void)fail_each_end(&each, marks.is_listed ? HS_OK : HS_LIMIT);
        assert_int_equal(ask(0x1000 * 101), 6);
        assert_true(marks.is_listed);
        assert_int_equal(marks.n, 199);
        forget(state);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_teardown(runs_the_operations, forget),
        cmocka_unit_test_teardown(keeps_sequences_apart, forget),
        cmocka_unit_test_teardown(goes_on_from_marks, forget),
        cmocka_unit_test_teardown(refuses_damage, forget),
        cmocka_unit_test_teardown(does_without_memory, forget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
