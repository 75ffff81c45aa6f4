/* links: hs_symbols hs_dep_dwarf hs_base */
/* Three small units under .gdb_index, .debug_names and .debug_aranges that are true, that lie and
 * that are damaged. */
#include "unit.h"

#include <dwarf.h>

#include "elf_writer.h"
#include "fail_each.h"
#include "symbols/types/pool.h"

enum { N_UNITS = 3, UNIT_BYTES = 11 + 13 + 6 + 18 + 17 + 1 };

static const uint8_t abbreviations[] = {
    1,
    DW_TAG_compile_unit,
    1,
    DW_AT_low_pc,
    DW_FORM_addr,
    DW_AT_high_pc,
    DW_FORM_data4,
    0,
    0,
    2,
    DW_TAG_structure_type,
    0,
    DW_AT_name,
    DW_FORM_string,
    DW_AT_byte_size,
    DW_FORM_data1,
    0,
    0,
    3,
    DW_TAG_variable,
    0,
    DW_AT_name,
    DW_FORM_string,
    DW_AT_type,
    DW_FORM_ref1,
    DW_AT_location,
    DW_FORM_exprloc,
    0,
    0,
    4,
    DW_TAG_subprogram,
    0,
    DW_AT_name,
    DW_FORM_string,
    DW_AT_low_pc,
    DW_FORM_addr,
    DW_AT_high_pc,
    DW_FORM_data1,
    0,
    0,
    0,
};

static struct elf_writer w;

struct bytes {
    uint8_t bytes[1024];
    size_t n;
};

static struct bytes info, aranges, gdb_index, names, strings;

static void put(struct bytes *b, uint64_t number, size_t n_bytes)
{
    assert_true(b->n + n_bytes <= sizeof(b->bytes));
    memcpy(b->bytes + b->n, &number, n_bytes);
    b->n += n_bytes;
}

static uint64_t put_text(struct bytes *b, const char *text)
{
    size_t at = b->n, n = strlen(text) + 1;
    assert_true(b->n + n <= sizeof(b->bytes));
    memcpy(b->bytes + b->n, text, n);
    b->n += n;
    return at;
}

/* struct r0 { 8 bytes }; struct r0 v0 at 0x3000; f0 at 0x1000: so on for each unit. */
static void make_info(void)
{
    info.n = 0;
    for (unsigned i = 0; i < N_UNITS; i++) {
        char text[3] = {'r', (char)('0' + i), '\0'};
        size_t begin = info.n;
        put(&info, 0, 4);
        put(&info, 4, 2);
        put(&info, 0, 4);
        put(&info, 8, 1);
        put(&info, 1, 1);
        put(&info, 0x1000 * (i + 1), 8);
        put(&info, 0x100, 4);
        uint64_t record = info.n - begin;
        put(&info, 2, 1);
        put_text(&info, text);
        put(&info, 8, 1);
        put(&info, 3, 1);
        text[0] = 'v';
        put_text(&info, text);
        put(&info, record, 1);
        put(&info, 9, 1);
        put(&info, DW_OP_addr, 1);
        put(&info, 0x8000 + 8 * i, 8);
        put(&info, 4, 1);
        text[0] = 'f';
        put_text(&info, text);
        put(&info, 0x1000 * (i + 1), 8);
        put(&info, 0x80, 1);
        put(&info, 0, 1);
        uint32_t n = (uint32_t)(info.n - begin) - 4;
        memcpy(info.bytes + begin, &n, 4);
    }
}

static uint64_t unit_begin(unsigned i)
{
    return info.n / N_UNITS * i;
}

static void make_aranges(void)
{
    aranges.n = 0;
    for (unsigned i = 0; i < N_UNITS; i++) {
        put(&aranges, 12 + 32, 4);
        put(&aranges, 2, 2);
        put(&aranges, unit_begin(i), 4);
        put(&aranges, 8, 2);
        put(&aranges, 0, 4);
        put(&aranges, 0x1000 * (i + 1), 8);
        put(&aranges, 0x100, 8);
        put(&aranges, 0, 8);
        put(&aranges, 0, 8);
    }
}

/* Names r0, v0...; `turn`: unit i's names are said to be in unit i + turn. */
static void make_gdb_index(unsigned version, unsigned turn)
{
    uint32_t head = version < 9 ? 24 : 28, units = 16 * N_UNITS, symbols = 16 * 2 * N_UNITS;
    gdb_index.n = 0;
    put(&gdb_index, version, 4);
    put(&gdb_index, head, 4);
    put(&gdb_index, head + units, 4);
    put(&gdb_index, head + units, 4);
    put(&gdb_index, head + units, 4);
    if (version >= 9)
        put(&gdb_index, head + units + symbols, 4);
    put(&gdb_index, head + units + symbols, 4);
    for (unsigned i = 0; i < N_UNITS; i++) {
        put(&gdb_index, unit_begin(i), 8);
        put(&gdb_index, unit_begin(1), 8);
    }
    for (unsigned i = 0; i < 2 * N_UNITS; i++) { /* every other slot is empty */
        put(&gdb_index, 8 * N_UNITS + 3 * i, 4);
        put(&gdb_index, 8 * (i % N_UNITS), 4);
        put(&gdb_index, 0, 8);
    }
    for (unsigned i = 0; i < N_UNITS; i++) {
        put(&gdb_index, 1, 4);
        put(&gdb_index, 1u << 28 | ((i + turn) % N_UNITS), 4);
    }
    for (unsigned i = 0; i < 2 * N_UNITS; i++) {
        char text[3] = {i < N_UNITS ? 'r' : 'v', (char)('0' + i % N_UNITS), '\0'};
        put_text(&gdb_index, text);
    }
}

/* Two tables: one with the first two units, one with the third. */
static void make_names(void)
{
    static const uint8_t codes[] = {
        1, DW_TAG_structure_type, 1, DW_FORM_data1, 3, DW_FORM_data4, 0, 0, 0};
    names.n = strings.n = 0;
    for (unsigned table = 0; table < 2; table++) {
        unsigned n_units = table == 0 ? 2 : 1, first = 2 * table, n = 2 * n_units;
        size_t begin = names.n;
        put(&names, 0, 4);
        put(&names, 5, 4);
        put(&names, n_units, 4);
        put(&names, 0, 8); /* no type units */
        put(&names, 0, 4); /* no buckets */
        put(&names, n, 4);
        put(&names, sizeof(codes), 4);
        put(&names, 0, 4);
        for (unsigned i = 0; i < n_units; i++)
            put(&names, unit_begin(first + i), 4);
        for (unsigned i = 0; i < n; i++) {
            char text[3] = {i % 2 == 0 ? 'r' : 'v', (char)('0' + first + i / 2), '\0'};
            put(&names, put_text(&strings, text), 4);
        }
        for (unsigned i = 0; i < n; i++)
            put(&names, 7 * i, 4);
        for (size_t i = 0; i < sizeof(codes); i++)
            put(&names, codes[i], 1);
        for (unsigned i = 0; i < n; i++) {
            put(&names, 1, 1);
            put(&names, i / 2, 1);
            put(&names, 11, 4);
            put(&names, 0, 1);
        }
        uint32_t size = (uint32_t)(names.n - begin) - 4;
        memcpy(names.bytes + begin, &size, 4);
    }
}

static void write_file(bool with_gdb_index, bool with_names)
{
    elf_writer_init(&w);
    elf_writer_section(&w, ".debug_info", SHT_PROGBITS, 0, info.bytes, info.n);
    elf_writer_section(&w, ".debug_abbrev", SHT_PROGBITS, 0, abbreviations, sizeof(abbreviations));
    elf_writer_section(&w, ".debug_aranges", SHT_PROGBITS, 0, aranges.bytes, aranges.n);
    if (with_gdb_index)
        elf_writer_section(&w, ".gdb_index", SHT_PROGBITS, 0, gdb_index.bytes, gdb_index.n);
    if (with_names) {
        elf_writer_section(&w, ".debug_names", SHT_PROGBITS, 0, names.bytes, names.n);
        elf_writer_section(&w, ".debug_str", SHT_PROGBITS, 0, strings.bytes, strings.n);
    }
    size_t data = elf_writer_section(&w, ".data", SHT_PROGBITS, 0x8000, strings.bytes, 64);
    elf_writer_segment(&w, PT_LOAD, PF_R | PF_W, 0x8000, 64, data);
    for (unsigned i = 0; i < N_UNITS; i++) {
        char text[3] = {'v', (char)('0' + i), '\0'};
        elf_writer_symbol(&w, text, STT_OBJECT, STB_GLOBAL, 0x8000 + 8 * i, 8, (uint16_t)data);
    }
    elf_writer_symbol(&w, "_ZTV1x", STT_OBJECT, STB_GLOBAL, 0x8020, 8, (uint16_t)data);
    elf_writer_finish(&w);
}

struct opened {
    struct hs_elf *elf;
    struct hs_ctypes *types;
    hs_type_file file;
};

static struct opened open_file(void)
{
    struct opened o = {.file = 0};
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_elf_open_memory(w.bytes, w.n_bytes, "forged", &o.elf, &err), HS_OK);
    assert_int_equal(hs_ctypes_new(&o.types, &err), HS_OK);
    assert_int_equal(hs_ctypes_add(o.types, o.elf, &o.file, &err), HS_OK);
    return o;
}

static void close_file(struct opened *o)
{
    hs_ctypes_free(o->types);
    hs_elf_close(o->elf);
}

/* Bit i: unit i was indexed. */
static unsigned indexed(const struct opened *o)
{
    struct ctypes_file *file = hs_ctypes_file_(o->types, o->file);
    unsigned bits = 0;
    for (unsigned i = 0; file->units != NULL && i < N_UNITS; i++)
        bits |= (unsigned)file->units[i].is_indexed << i;
    return bits;
}

static void touches_one_unit(void)
{
    struct hs_cvariable v;
    struct opened o = open_file();
    assert_int_equal(o.file, 1);
    assert_int_equal(hs_ctypes_find(o.types, o.file, "none"), 0);
    assert_false(hs_ctypes_variable_at(o.types, o.file, 0x8020, &v)); /* a class's table */
    assert_int_equal(indexed(&o), 0);
    assert_int_not_equal(hs_ctypes_find(o.types, o.file, "struct r1"), 0);
    assert_int_equal(indexed(&o), 1 << 1);
    assert_true(hs_ctypes_variable_at(o.types, o.file, 0x8010, &v));
    assert_string_equal(v.name, "v2");
    assert_int_equal(v.n_bytes, 8);
    assert_int_equal(indexed(&o), 1 << 1 | 1 << 2);
    assert_false(hs_ctypes_variable_at(o.types, o.file, 0x8030, &v)); /* no symbol: all is read */
    assert_int_equal(indexed(&o), 7);
    assert_int_equal(hs_ctypes_n_damaged(o.types), 0);
    close_file(&o);
}

static void make_all(void)
{
    make_info();
    make_aranges();
    make_gdb_index(8, 0);
    make_names();
}

static void reads_what_a_directory_names(void **state)
{
    make_all();
    write_file(true, false);
    touches_one_unit();
    make_gdb_index(9, 0);
    write_file(true, true);
    touches_one_unit();
    write_file(false, true);
    touches_one_unit();
}

static void reads_units_that_it_does_not_tell_of(void **state)
{
    make_all();
    uint64_t other = unit_begin(2) + 1; /* no unit begins there */
    memcpy(gdb_index.bytes + 24 + 32, &other, 8);
    write_file(true, false);
    struct opened o = open_file();
    assert_int_not_equal(hs_ctypes_find(o.types, o.file, "r2"), 0);
    assert_int_equal(indexed(&o), 1 << 2);
    close_file(&o);
}

static void lies_cost_names_only(void **state)
{
    struct hs_cvariable v;
    make_all();
    make_gdb_index(7, 1);
    write_file(true, false);
    struct opened o = open_file();
    assert_int_equal(hs_ctypes_find(o.types, o.file, "r0"), 0); /* said to be where r1 is */
    assert_int_equal(indexed(&o), 1 << 1);
    assert_true(hs_ctypes_variable_at(o.types, o.file, 0x8000, &v));
    assert_string_equal(v.name, "v0");
    assert_int_not_equal(hs_ctypes_find(o.types, o.file, "r0"), 0);
    close_file(&o);
}

static bool finds_function(struct opened *o, hs_addr vaddr)
{
    struct debug_entry entry;
    return hs_ctypes_function_at_(o->types, o->file, vaddr, &entry);
}

static void finds_code_by_aranges(void **state)
{
    make_all();
    write_file(false, false);
    struct opened o = open_file();
    struct debug_info *opened = hs_ctypes_info_(o.types, o.file);
    assert_true(finds_function(&o, 0x2010));
    assert_int_equal(opened->ranges_from, RANGES_OF_TABLES);
    assert_false(opened->units[0].has_root);
    assert_false(finds_function(&o, 0x2090)); /* in the unit, in no function */
    assert_int_equal(opened->ranges_from, RANGES_OF_ROOTS);
    assert_true(finds_function(&o, 0x3010));
    close_file(&o);

    uint32_t other = (uint32_t)unit_begin(1); /* the first unit's code is said to be the second's */
    memcpy(aranges.bytes + 6, &other, 4);
    write_file(false, false);
    o = open_file();
    assert_true(finds_function(&o, 0x1010));
    assert_int_equal(hs_ctypes_n_damaged(o.types), 0);
    close_file(&o);
}

/* Whatever it says, a question ends, and what is found is what is there. */
static void ask_all(void)
{
    struct hs_cvariable v;
    struct opened o = open_file();
    for (unsigned i = 0; i < N_UNITS; i++) {
        char text[3] = {'r', (char)('0' + i), '\0'};
        struct hs_ctype_facts facts;
        hs_ctype type = hs_ctypes_find(o.types, o.file, text);
        hs_ctype_facts(o.types, type, &facts);
        if (type != 0)
            assert_int_equal(facts.n_bytes, 8);
        assert_true(finds_function(&o, 0x1000 * (i + 1) + 16));
        assert_true(hs_ctypes_variable_at(o.types, o.file, 0x8000 + 8 * i, &v));
        text[0] = 'v';
        assert_string_equal(v.name, text);
    }
    close_file(&o);
}

static void survives_damage(void **state)
{
    static struct bytes *const all[] = {&gdb_index, &names, &aranges};
    static const uint8_t values[] = {0, 1, 0x7f, 0xff};
    for (size_t which = 0; which < 3; which++) {
        make_all();
        for (size_t at = 0; at < all[which]->n; at++) {
            uint8_t good = all[which]->bytes[at];
            for (size_t i = 0; i < sizeof(values); i++) {
                all[which]->bytes[at] = values[i];
                write_file(which != 1, which == 1);
                ask_all();
            }
            all[which]->bytes[at] = good;
        }
        size_t n = all[which]->n;
        for (all[which]->n = 1; all[which]->n < n; all[which]->n++) {
            write_file(which != 1, which == 1);
            ask_all();
        }
    }
}

static void runs_out_of_memory(void **state)
{
    make_all();
    for (int with_names = 0; with_names < 2; with_names++) {
        write_file(with_names == 0, with_names != 0);
        FAIL_EACH (each, .may_do_without = true) {
            struct hs_cvariable v;
            struct opened o = open_file();
            fail_each_begin(&each);
            bool found = hs_ctypes_find(o.types, o.file, "r1") != 0;
            found &= hs_ctypes_variable_at(o.types, o.file, 0x8000, &v);
            found &= finds_function(&o, 0x1010);
            (void)fail_each_end(&each, found ? HS_OK : HS_LIMIT);
            assert_true(found || hs_ctypes_ran_out_(o.types)); /* found in another way, or told */
            close_file(&o);
        }
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_what_a_directory_names),
        cmocka_unit_test(reads_units_that_it_does_not_tell_of),
        cmocka_unit_test(lies_cost_names_only),
        cmocka_unit_test(finds_code_by_aranges),
        cmocka_unit_test(survives_damage),
        cmocka_unit_test(runs_out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
