/* links: hs_report */
#include "unit.h"

#include <fcntl.h>
#include <unistd.h>

#include "base/alloc.h"
#include "fail_each.h"
#include "report/sheet.h"

static const struct hs_column root_columns[] = {
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"retained_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY},
    {"objects", "OBJECTS", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    {"id", "ID", HS_COLUMN_NODE, HS_COLUMN_DATA_ONLY},
    {"name", "NAME", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};

static const struct hs_column all_columns[] = {
    {"text", "TEXT", HS_COLUMN_STRING, 0},        {"count", "COUNT", HS_COLUMN_COUNT, 0},
    {"words", "WORDS", HS_COLUMN_WORDS, 0},       {"bytes", "BYTES", HS_COLUMN_BYTES, 0},
    {"percent", "PERCENT", HS_COLUMN_PERCENT, 0}, {"address", "ADDRESS", HS_COLUMN_ADDRESS, 0},
    {"node", "NODE", HS_COLUMN_NODE, 0},          {"pause_ns", "PAUSE", HS_COLUMN_DURATION, 0},
    {"exact", "EXACT", HS_COLUMN_BOOL, 0},
};

static struct hs_sheet sheet;

static int stop(void **state)
{
    hs_sheet_fini(&sheet);
    hs_sheet_fini(&sheet);
    hs_sheet_fini(NULL);
    return 0;
}

static const enum hs_sheet_format formats[] = {HS_SHEET_TABLE, HS_SHEET_TSV};
enum { N_FORMATS = sizeof formats / sizeof *formats };

/* Writes through a pipe: all tests here stay below its 64 KiB. */
static hs_status render(char *text, size_t n_bytes, struct hs_error *err)
{
    struct hs_out out = {0};
    int ends[2];
    assert_int_equal(pipe2(ends, O_CLOEXEC), 0);
    hs_status status = hs_out_open_fd(ends[1], "pipe", &out, err);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &out, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    (void)close(ends[1]);
    ssize_t n = read(ends[0], text, n_bytes - 1);
    (void)close(ends[0]);
    text[n < 0 ? 0 : n] = '\0';
    return status;
}

static void assert_rendered(const char *expected)
{
    struct hs_error err = HS_ERROR_INIT;
    static char text[60000];
    assert_int_equal(render(text, sizeof text, &err), HS_OK);
    assert_string_equal(text, expected);
}

static void begin_roots(struct hs_sheet_options options)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_sheet_fini(&sheet);
    options.whole = 1000;
    assert_int_equal(hs_sheet_init(&sheet, root_columns, 5, &options, &err), HS_OK);
}

static void add_root(uint64_t words, uint64_t objects, uint64_t id, const char *name)
{
    hs_sheet_u64(&sheet, words);
    hs_sheet_u64(&sheet, words);
    hs_sheet_u64(&sheet, objects);
    hs_sheet_u64(&sheet, id);
    hs_sheet_string(&sheet, name);
}

/* 600 + 200 + 80 + 20 in rows, 100 shared: 1000 in all. */
static void fill_roots(void)
{
    add_root(600, 12345, 3, "Stm.VCS");
    add_root(200, 7, 4, "Global.env");
    add_root(80, 2, 5, "a");
    add_root(20, 1, 6, "b");
    hs_sheet_close_rows(&sheet);
    hs_sheet_u64(&sheet, 100);
    hs_sheet_u64(&sheet, 100);
    hs_sheet_null(&sheet);
    hs_sheet_null(&sheet);
    hs_sheet_string(&sheet, "[shared]");
}

static void a_table_closes_its_sum(void **state)
{
    begin_roots((struct hs_sheet_options){.limit = 2});
    fill_roots();
    assert_rendered("RETAINED       %  OBJECTS  NAME\n"
                    "     600   60.0%    12345  Stm.VCS\n"
                    "     200   20.0%        7  Global.env\n"
                    "     100   10.0%        3  [2 others]\n"
                    "     100   10.0%           [shared]\n"
                    "    1000  100.0%    12355  TOTAL\n");
}

static void nothing_is_folded_without_limit(void **state)
{
    begin_roots((struct hs_sheet_options){.no_total = true});
    fill_roots();
    assert_rendered("RETAINED      %  OBJECTS  NAME\n"
                    "     600  60.0%    12345  Stm.VCS\n"
                    "     200  20.0%        7  Global.env\n"
                    "      80   8.0%        2  a\n"
                    "      20   2.0%        1  b\n"
                    "     100  10.0%           [shared]\n");
}

static void people_get_units(void **state)
{
    begin_roots((struct hs_sheet_options){.human = true, .limit = 3});
    fill_roots();
    assert_rendered("RETAINED       %  OBJECTS  NAME\n"
                    " 4.7 KiB   60.0%    12345  Stm.VCS\n"
                    " 1.6 KiB   20.0%        7  Global.env\n"
                    "   640 B    8.0%        2  a\n"
                    "   160 B    2.0%        1  [1 other]\n"
                    "   800 B   10.0%           [shared]\n"
                    " 7.8 KiB  100.0%    12355  TOTAL\n");
    begin_roots((struct hs_sheet_options){.human = true, .word_bytes = 4, .no_total = true});
    add_root(600, 1, 3, "x");
    assert_rendered("RETAINED      %  OBJECTS  NAME\n"
                    " 2.3 KiB  60.0%        1  x\n");
}

static void an_empty_sheet_still_says_its_total(void **state)
{
    begin_roots((struct hs_sheet_options){0});
    assert_rendered("RETAINED     %  OBJECTS  NAME\n"
                    "       0  0.0%        0  TOTAL\n");
    begin_roots((struct hs_sheet_options){.format = HS_SHEET_TSV});
    assert_rendered("retained_words\tobjects\tid\tname\n");
}

static void rows_never_formed_are_summed_too(void **state)
{
    const uint64_t sums[] = {20, 20, 5, 99, 99};
    begin_roots((struct hs_sheet_options){.limit = 1});
    add_root(900, 1, 3, "x");
    add_root(80, 1, 4, "y");
    hs_sheet_fold(&sheet, 1000, sums);
    assert_rendered("RETAINED       %  OBJECTS  NAME\n"
                    "     900   90.0%        1  x\n"
                    "     100   10.0%        6  [1001 others]\n"
                    "    1000  100.0%        7  TOTAL\n");
}

static void every_kind_in_a_table(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sheet_options options = {.whole = 3};
    for (int human = 0; human < 2; human++) {
        hs_sheet_fini(&sheet);
        options.human = human;
        assert_int_equal(hs_sheet_init(&sheet, all_columns, 9, &options, &err), HS_OK);
        hs_sheet_string(&sheet, "t");
        for (uint64_t i = 1; i <= 7; i++)
            hs_sheet_u64(&sheet, i == 4 ? 1 : i * 1000000);
        hs_sheet_u64(&sheet, 1);
        for (int i = 0; i < 9; i++)
            hs_sheet_null(&sheet);
        hs_sheet_string(&sheet, "");
        for (int i = 1; i < 9; i++)
            hs_sheet_u64(&sheet, i == 6 ? HS_NO_NODE : 0);
        if (human)
            assert_rendered(
                "TEXT    COUNT      SIZE    BYTES  PERCENT   ADDRESS      NODE   PAUSE  EXACT\n"
                "t     1000000  15.3 MiB  2.9 MiB    33.3%  0x4c4b40  #6000000  7.0 ms    yes\n"
                "-           -         -        -        -         -         -       -      -\n"
                "            0       0 B      0 B     0.0%       0x0         -    0 ns     no\n");
        else
            assert_rendered(
                "TEXT    COUNT    WORDS    BYTES  PERCENT   ADDRESS      NODE    PAUSE  EXACT\n"
                "t     1000000  2000000  3000000    33.3%  0x4c4b40  #6000000  7000000    yes\n"
                "-           -        -        -        -         -         -        -      -\n"
                "            0        0        0     0.0%       0x0         -        0     no\n");
    }
}

static void fill_kinds(uint64_t whole)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sheet_options options = {.format = HS_SHEET_TSV, .human = true, .whole = whole};
    hs_sheet_fini(&sheet);
    assert_int_equal(hs_sheet_init(&sheet, all_columns, 9, &options, &err), HS_OK);
    hs_sheet_string(&sheet, "t\t\"\x1b");
    for (uint64_t i = 1; i <= 8; i++)
        hs_sheet_u64(&sheet, i == 4 ? 1 : i * 1000);
    for (int i = 0; i < 9; i++)
        hs_sheet_null(&sheet);
    hs_sheet_string(&sheet, "");
    for (int i = 1; i < 9; i++)
        hs_sheet_u64(&sheet, i == 6 ? HS_NO_NODE : 0);
}

static void programs_get_integers(void **state)
{
    fill_kinds(3);
    assert_rendered("text\tcount\twords\tbytes\tpercent\taddress\tnode\tpause_ns\texact\n"
                    "t\\t\"\\x1b\t1000\t2000\t3000\t33.33\t0x1388\t#6000\t7000\ttrue\n"
                    "\t\t\t\t\t\t\t\t\n"
                    "\t0\t0\t0\t0.00\t0x0\t\t0\tfalse\n");
}

static void a_share_of_nothing_is_unknown(void **state)
{
    static const struct hs_column column = {"percent", "%", HS_COLUMN_PERCENT, 0};
    static const char *const expected[] = {"%\n-\n", "percent\n\n"};
    for (int i = 0; i < N_FORMATS; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_sheet_options options = {.format = formats[i]};
        hs_sheet_fini(&sheet);
        assert_int_equal(hs_sheet_init(&sheet, &column, 1, &options, &err), HS_OK);
        hs_sheet_u64(&sheet, 5);
        assert_rendered(expected[i]);
    }
}

static void a_narrow_terminal_cuts_the_flexible_column(void **state)
{
    begin_roots((struct hs_sheet_options){.width = 36, .no_total = true});
    add_root(600, 1, 3, "coqtop/Stm.VCS.branches.table");
    add_root(200, 2, 4, "short");
    assert_rendered("RETAINED      %  OBJECTS  NAME\n"
                    "     600  60.0%        1  coqto\xe2\x80\xa6"
                    "able\n"
                    "     200  20.0%        2  short\n");
    sheet.options.width = 5; /* as narrow as it gets: eight columns for the name */
    assert_rendered("RETAINED      %  OBJECTS  NAME\n"
                    "     600  60.0%        1  coqt\xe2\x80\xa6"
                    "ble\n"
                    "     200  20.0%        2  short\n");
    sheet.options.width = 1000;
    assert_rendered("RETAINED      %  OBJECTS  NAME\n"
                    "     600  60.0%        1  coqtop/Stm.VCS.branches.table\n"
                    "     200  20.0%        2  short\n");
}

/* Parts of 40,000: the least that is not 0.0 % is 20. */
static void fill_small(unsigned n_small, uint64_t limit)
{
    static const struct hs_column columns[] = {
        {"words", "WORDS", HS_COLUMN_COUNT, HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS},
        {"reached", "REACHED", HS_COLUMN_COUNT, HS_COLUMN_WEIGHS},
        {"name", "NAME", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
    };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sheet_options options = {.folds_small = true, .whole = 40000, .limit = limit};
    hs_sheet_fini(&sheet);
    assert_int_equal(hs_sheet_init(&sheet, columns, 3, &options, &err), HS_OK);
    const struct {
        uint64_t words, reached;
        const char *name;
    } rows[] = {{500, 500, "large"}, {19, 19, "a"}, {20, 20, "large enough"},
                {3, 900, "reaches"}, {2, 2, "b"},   {0, 0, "c"}};
    for (unsigned i = 0, small = 0; i < sizeof rows / sizeof *rows; i++) {
        small += rows[i].reached < 20;
        if (rows[i].reached < 20 && small > n_small)
            continue;
        hs_sheet_u64(&sheet, rows[i].words);
        hs_sheet_u64(&sheet, rows[i].reached);
        hs_sheet_string(&sheet, rows[i].name);
    }
}

static void small_rows_are_folded_and_one_is_not(void **state)
{
    fill_small(3, 0);
    assert_rendered("WORDS  REACHED  NAME\n"
                    "  500      500  large\n"
                    "   20       20  large enough\n"
                    "    3      900  reaches\n"
                    "   21           [3 others]\n"
                    "  544           TOTAL\n");
    fill_small(1, 0);
    assert_rendered("WORDS  REACHED  NAME\n"
                    "  500      500  large\n"
                    "   19       19  a\n"
                    "   20       20  large enough\n"
                    "    3      900  reaches\n"
                    "  542           TOTAL\n");
    const uint64_t others[] = {1, 0, 0};
    hs_sheet_fold(&sheet, 7, others);
    hs_sheet_close_rows(&sheet);
    assert_rendered("WORDS  REACHED  NAME\n"
                    "  500      500  large\n"
                    "   20       20  large enough\n"
                    "    3      900  reaches\n"
                    "   20           [8 others]\n"
                    "  543           TOTAL\n");
    fill_small(3, 3); /* with a limit */
    assert_rendered("WORDS  REACHED  NAME\n"
                    "  500      500  large\n"
                    "   20       20  large enough\n"
                    "   24           [4 others]\n"
                    "  544           TOTAL\n");
    hs_sheet_fini(&sheet);
    begin_roots((struct hs_sheet_options){.folds_small = true}); /* nothing weighs there */
    fill_roots();
    assert_int_equal(sheet.n_rows, 4);
}

/* RETAINED is spared last, NOTE first; the label reaches over what stands behind it. */
static void what_can_be_spared_is_left_out_first(void **state)
{
    static const struct hs_column columns[] = {
        {"words", "WORDS", HS_COLUMN_COUNT, HS_COLUMN_SPARE(1)},
        {"note", "NOTE", HS_COLUMN_STRING, HS_COLUMN_SPARE(2)},
        {"id", "ID", HS_COLUMN_NODE, 0},
        {"name", "NAME", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
        {"file", "FILE", HS_COLUMN_STRING, HS_COLUMN_SHRINKS | HS_COLUMN_PATH},
    };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sheet_options options = {.width = 48};
    assert_int_equal(hs_sheet_init(&sheet, columns, 5, &options, &err), HS_OK);
    hs_sheet_u64(&sheet, 1234567);
    hs_sheet_string(&sheet, "a note");
    hs_sheet_u64(&sheet, 123456);
    hs_sheet_string(&sheet, "Module.with_a_long_name");
    hs_sheet_string(&sheet, "source/of/the/file.ml:12");
    hs_sheet_close_rows(&sheet);
    hs_sheet_u64(&sheet, 7);
    hs_sheet_null(&sheet);
    hs_sheet_null(&sheet);
    hs_sheet_string(&sheet, "[a long label here]");
    hs_sheet_null(&sheet);
    assert_rendered("  WORDS       ID  NAME              FILE\n"
                    "1234567  #123456  Module.w\xe2\x80\xa6ng_name  \xe2\x80\xa6/file.ml:12\n"
                    "      7           [a long label here]\n");
    sheet.options.width = 40;
    assert_rendered("     ID  NAME           FILE\n"
                    "#123456  Module\xe2\x80\xa6g_name  \xe2\x80\xa6/the/file.ml:12\n"
                    "         [a long label here]\n");
    sheet.options.width = 31; /* the least: eight columns for the name */
    assert_rendered("     ID  NAME      FILE\n"
                    "#123456  Modu\xe2\x80\xa6"
                    "ame  \xe2\x80\xa6/file.ml:12\n"
                    "         [a long label here]\n");
}

static void a_wrapped_column_is_not_cut(void **state)
{
    static const struct hs_column columns[] = {
        {"what", "WHAT", HS_COLUMN_STRING, 0},
        {"value", "VALUE", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE | HS_COLUMN_WRAPS},
    };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sheet_options options = {.width = 20};
    assert_int_equal(hs_sheet_init(&sheet, columns, 2, &options, &err), HS_OK);
    hs_sheet_string(&sheet, "note");
    hs_sheet_string(&sheet, "one two three, four five");
    hs_sheet_string(&sheet, "id");
    hs_sheet_string(&sheet, "0123456789abcdef");
    hs_sheet_string(&sheet, "path");
    hs_sheet_string(&sheet, "/usr/lib/x86_64-linux");
    assert_rendered("WHAT  VALUE\n"
                    "note  one two three,\n"
                    "      four five\n"
                    "id    0123456789abcd\n"
                    "      ef\n"
                    "path  /usr/lib/\n"
                    "      x86_64-linux\n");
    sheet.options.width = 0;
    assert_rendered("WHAT  VALUE\n"
                    "note  one two three, four five\n"
                    "id    0123456789abcdef\n"
                    "path  /usr/lib/x86_64-linux\n");
}

static void deep_rows_of_a_tree_keep_their_names(void **state)
{
    static const struct hs_column columns[] = {
        {"name", "NAME", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE | HS_COLUMN_TREE},
    };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sheet_options options = {.width = 24};
    assert_int_equal(hs_sheet_init(&sheet, columns, 1, &options, &err), HS_OK);
    hs_sheet_string(&sheet, "  a long name that is cut");
    hs_sheet_string(&sheet, "                                    deep");
    hs_sheet_string(&sheet, "                                      [17 others]");
    assert_rendered("NAME\n"
                    "  a long name\xe2\x80\xa6hat is cut\n"
                    "        deep\n"
                    "        [17 others]\n");
}

static void counts_are_not_rounded(void **state)
{
    static const struct hs_column columns[] = {
        {"count", "COUNT", HS_COLUMN_COUNT, 0},
        {"sample", "SAMPLE", HS_COLUMN_NUMBER, 0},
    };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sheet_options options = {.human = true};
    assert_int_equal(hs_sheet_init(&sheet, columns, 2, &options, &err), HS_OK);
    hs_sheet_u64(&sheet, 123456);
    hs_sheet_u64(&sheet, 123456);
    assert_rendered(" COUNT  SAMPLE\n"
                    "123456  123456\n");
}

static void a_column_without_anything_may_be_left_out(void **state)
{
    static const struct hs_column columns[] = {
        {"rate", "RATE", HS_COLUMN_STRING, HS_COLUMN_IF_KNOWN},
        {"name", "NAME", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
    };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sheet_options options = {0};
    for (int is_known = 0; is_known < 2; is_known++) {
        hs_sheet_fini(&sheet);
        assert_int_equal(hs_sheet_init(&sheet, columns, 2, &options, &err), HS_OK);
        hs_sheet_null(&sheet);
        hs_sheet_string(&sheet, "one");
        hs_sheet_string(&sheet, is_known ? "5" : NULL);
        hs_sheet_string(&sheet, "two");
        assert_rendered(is_known ? "RATE  NAME\n-     one\n5     two\n" : "NAME\none\ntwo\n");
    }
}

static void a_flexible_column_may_stand_in_the_middle(void **state)
{
    static const struct hs_column columns[] = {
        {"name", "NAME", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
        {"file", "FILE", HS_COLUMN_STRING, 0},
        {"count", "COUNT", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
    };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_sheet_options options = {.width = 24};
    assert_int_equal(hs_sheet_init(&sheet, columns, 3, &options, &err), HS_OK);
    hs_sheet_string(&sheet,
                    "\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87");
    hs_sheet_string(&sheet, "a.ml");
    hs_sheet_u64(&sheet, 5);
    hs_sheet_string(&sheet, "e\xcc\x81");
    hs_sheet_string(&sheet, "b");
    hs_sheet_u64(&sheet, 6);
    assert_rendered(
        "NAME         FILE  COUNT\n"
        "\xe4\xb8\xad\xe6\x96\x87\xe2\x80\xa6\xe6\x96\x87\xe4\xb8\xad\xe6\x96\x87  a.ml      5\n"
        "e\xcc\x81            b         6\n"
        "TOTAL                 11\n");
}

static void hostile_names_stay_on_their_line(void **state)
{
    begin_roots((struct hs_sheet_options){.no_total = true});
    add_root(1, 1, 3, "\x1b[2J\nTOTAL\r\xe2\x80\xae\xff\tx ");
    assert_rendered("RETAINED     %  OBJECTS  NAME\n"
                    "       1  0.1%        1  \\x1b[2J\\x0aTOTAL\\x0d\\u{202e}\\xff\\x09x\n");
    begin_roots((struct hs_sheet_options){.format = HS_SHEET_TSV});
    add_root(1, 1, 3, "\x1b[2J\nTOTAL\r\xe2\x80\xae\xff\tx ");
    assert_rendered("retained_words\tobjects\tid\tname\n"
                    "1\t1\t#3\t\\x1b[2J\\nTOTAL\\r\\u{202e}\\xff\\tx \n");
}

static void colours_only_the_frame(void **state)
{
    begin_roots((struct hs_sheet_options){.colour = true, .limit = 1});
    fill_roots();
    assert_rendered("\033[1mRETAINED       %  OBJECTS  NAME\033[0m\n"
                    "     600   60.0%    12345  Stm.VCS\n"
                    "\033[2m     300   30.0%       10  [3 others]\033[0m\n"
                    "\033[2m     100   10.0%           [shared]\033[0m\n"
                    "\033[1m    1000  100.0%    12355  TOTAL\033[0m\n");
}

static void sums_stay_at_the_top(void **state)
{
    begin_roots((struct hs_sheet_options){.limit = 1, .human = true});
    for (int i = 0; i < 4; i++)
        add_root(UINT64_MAX, UINT64_MAX, 3, "x");
    assert_rendered("RETAINED                       %               OBJECTS  NAME\n"
                    "16.0 EiB  1844674407370955161.5%  18446744073709551615  x\n"
                    "16.0 EiB  1844674407370955161.5%  18446744073709551615  [3 others]\n"
                    "16.0 EiB  1844674407370955161.5%  18446744073709551615  TOTAL\n");
}

static void many_rows_need_few_allocations(void **state)
{
    uint64_t before = hs_alloc_count();
    begin_roots((struct hs_sheet_options){.limit = 100000});
    for (uint64_t i = 0; i < 200000; i++)
        add_root(i, 1, i, i % 2 != 0 ? "odd" : "even");
    assert_true(hs_alloc_count() - before < 60);
    assert_int_equal(sheet.n_cells, 500000); /* what is folded is not stored */
}

static void fill_and_render(enum hs_sheet_format format, hs_status *ret_status,
                            struct hs_error *err)
{
    static char text[60000];
    struct hs_sheet_options options = {.format = format, .whole = 1000, .limit = 3};
    *ret_status = hs_sheet_init(&sheet, root_columns, 5, &options, err);
    if (*ret_status != HS_OK)
        return;
    fill_roots();
    *ret_status = render(text, sizeof text, err);
}

static void each_allocation_can_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    hs_status status;
    for (int i = 0; i < N_FORMATS; i++) {
        FAIL_EACH (each, .at_least = 7) {
            fail_each_begin(&each);
            fill_and_render(formats[i], &status, &err);
            (void)fail_each_end(&each, status);
            hs_sheet_fini(&sheet);
        }
    }
}

static void a_full_output_is_told(void **state)
{
    for (int i = 0; i < N_FORMATS; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_out out = {0};
        int fd = open("/dev/full", O_WRONLY | O_CLOEXEC);
        begin_roots((struct hs_sheet_options){.format = formats[i]});
        for (uint64_t row = 0; row < 5000; row++)
            add_root(row, 1, row, "a name of some length");
        assert_int_equal(hs_out_open_fd(fd, "standard output", &out, &err), HS_OK);
        assert_int_equal(hs_sheet_write(&sheet, &out, &err), HS_IO);
        assert_string_equal(err.message, "cannot write 'standard output': No space left on device");
        hs_out_close(&out);
        (void)close(fd);
    }
}

/* Times count in microseconds and print as seconds; a time that never comes is no number. */
static void times_and_shares(void **state)
{
    static const struct hs_column columns[] = {
        {"born_us", "BORN", HS_COLUMN_SECONDS, 0},
        {"leaked_percent", "LEAKED", HS_COLUMN_SHARE, 0},
    };
    static const char *const expected[HS_N_SHEET_FORMATS] = {
        [HS_SHEET_TABLE] = "     BORN  LEAKED\n"
                           " 0.000000    0.0%\n"
                           "12.345678   12.4%\n"
                           "    never  100.0%\n",
        [HS_SHEET_TSV] = "born_us\tleaked_percent\n0\t0.00\n12345678\t12.35\n\t100.00\n",
    };
    for (int i = 0; i < N_FORMATS; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_sheet_options options = {.format = formats[i]};
        hs_sheet_fini(&sheet);
        assert_int_equal(hs_sheet_init(&sheet, columns, 2, &options, &err), HS_OK);
        static const uint64_t cells[] = {0, 0, 12345678, 1235, UINT64_MAX, 10000};
        for (size_t k = 0; k < sizeof cells / sizeof *cells; k++)
            hs_sheet_u64(&sheet, cells[k]);
        assert_rendered(expected[formats[i]]);
    }
}

#define FILLED(test) cmocka_unit_test_teardown(test, stop)

int main(void)
{
    const struct CMUnitTest tests[] = {
        FILLED(times_and_shares),
        FILLED(a_table_closes_its_sum),
        FILLED(nothing_is_folded_without_limit),
        FILLED(people_get_units),
        FILLED(an_empty_sheet_still_says_its_total),
        FILLED(rows_never_formed_are_summed_too),
        FILLED(every_kind_in_a_table),
        FILLED(programs_get_integers),
        FILLED(a_share_of_nothing_is_unknown),
        FILLED(a_narrow_terminal_cuts_the_flexible_column),
        FILLED(small_rows_are_folded_and_one_is_not),
        FILLED(what_can_be_spared_is_left_out_first),
        FILLED(a_wrapped_column_is_not_cut),
        FILLED(deep_rows_of_a_tree_keep_their_names),
        FILLED(counts_are_not_rounded),
        FILLED(a_column_without_anything_may_be_left_out),
        FILLED(a_flexible_column_may_stand_in_the_middle),
        FILLED(hostile_names_stay_on_their_line),
        FILLED(colours_only_the_frame),
        FILLED(sums_stay_at_the_top),
        FILLED(many_rows_need_few_allocations),
        FILLED(each_allocation_can_fail),
        FILLED(a_full_output_is_told),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
