#include "lines_check.h"

#include <dwarf.h>
#include <string.h>

#include "base/cursor.h"

enum { CHECK_MAX_FORMATS = 8, CHECK_LOWEST_LONG = 0xfffffff0 };

bool hs_lines_check_ranges_(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes);
    while (hs_cursor_left(&c) > 0) {
        size_t n = hs_cursor_u32(&c);
        struct hs_cursor table = hs_cursor_make(hs_cursor_bytes(&c, n), n);
        if (c.failed || n >= CHECK_LOWEST_LONG)
            return false; /* 64-bit tables: compilers make none */
        uint16_t version = hs_cursor_u16(&table);
        uint8_t n_address = hs_cursor_u8(&table), n_segment = hs_cursor_u8(&table);
        uint64_t n_offsets = hs_cursor_u32(&table);
        if (table.failed || version != 5 || n_address != 8 || n_segment != 0 ||
            n_offsets * 4 > hs_cursor_left(&table))
            return false;
    }
    return !c.failed;
}

struct check_format {
    uint64_t content, form;
};

/* The facts on which the parts of a line table must agree. */
struct check_table {
    uint16_t version;
    uint8_t opcode_base;
    const uint8_t *n_operands; /* of operations [1, opcode_base) */
    uint64_t n_directories;
};

static bool check_string(struct hs_cursor *c, uint64_t form)
{
    if (form == DW_FORM_string)
        return hs_cursor_string(c) != NULL;
    hs_cursor_skip(c, 4);
    return (form == DW_FORM_strp || form == DW_FORM_line_strp) && !c->failed;
}

static bool check_number(struct hs_cursor *c, uint64_t form, uint64_t *ret)
{
    switch (form) {
    case DW_FORM_udata:
        *ret = hs_cursor_varint(c);
        break;
    case DW_FORM_data1:
        *ret = hs_cursor_u8(c);
        break;
    case DW_FORM_data2:
        *ret = hs_cursor_u16(c);
        break;
    case DW_FORM_data4:
        *ret = hs_cursor_u32(c);
        break;
    case DW_FORM_data8:
        *ret = hs_cursor_u64(c);
        break;
    default:
        return false;
    }
    return !c->failed;
}

static bool check_field(struct hs_cursor *c, const struct check_table *table,
                        const struct check_format *f)
{
    uint64_t number;
    switch (f->content) {
    case DW_LNCT_path:
        return check_string(c, f->form);
    case DW_LNCT_directory_index:
        return check_number(c, f->form, &number) && number < table->n_directories;
    case DW_LNCT_timestamp:
    case DW_LNCT_size:
        return check_number(c, f->form, &number);
    case DW_LNCT_MD5:
        hs_cursor_skip(c, 16);
        return f->form == DW_FORM_data16 && !c->failed;
    default:
        return false;
    }
}

/* Checks entries of DWARF 5: formats, then a count, then that many entries of those formats. */
static bool check_entries_new(struct hs_cursor *c, const struct check_table *table, uint64_t *ret_n)
{
    struct check_format formats[CHECK_MAX_FORMATS];
    uint8_t n_formats = hs_cursor_u8(c);
    if (n_formats > CHECK_MAX_FORMATS)
        return false;
    for (uint8_t i = 0; i < n_formats; i++) {
        formats[i].content = hs_cursor_varint(c);
        formats[i].form = hs_cursor_varint(c);
    }
    uint64_t n = hs_cursor_varint(c);
    if (c->failed || n > hs_cursor_left(c) || (n_formats == 0 && n != 0))
        return false;
    for (uint64_t i = 0; i < n; i++)
        for (uint8_t j = 0; j < n_formats; j++)
            if (!check_field(c, table, &formats[j]))
                return false;
    *ret_n = n;
    return true;
}

/* Checks entries from before: strings up to an empty one, each followed by `n_numbers` LEB128, the
 * first of which is the directory of a file, counted from 1. */
static bool check_entries_old(struct hs_cursor *c, const struct check_table *table, int n_numbers,
                              uint64_t *ret_n)
{
    for (uint64_t n = 0;; n++) {
        const char *name = hs_cursor_string(c);
        if (name == NULL)
            return false;
        if (*name == '\0') {
            *ret_n = n;
            return true;
        }
        for (int i = 0; i < n_numbers; i++) {
            uint64_t number = hs_cursor_varint(c);
            if (c->failed || (i == 0 && number > table->n_directories))
                return false;
        }
    }
}

static bool check_names(struct hs_cursor *head, struct check_table *table)
{
    uint64_t n_files = 0;
    if (table->version < 5)
        return check_entries_old(head, table, 0, &table->n_directories) &&
               check_entries_old(head, table, 3, &n_files);
    /* A file that does not name its directory is in the first: there must be one. */
    return check_entries_new(head, table, &table->n_directories) && table->n_directories > 0 &&
           check_entries_new(head, table, &n_files);
}

/* Reads from the instruction length to the operand counts, which must be the standard's: libdwarf
 * knows the operations by number. */
static bool check_opcodes(struct hs_cursor *head, struct check_table *table)
{
    static const uint8_t standard[] = {0, 1, 1, 1, 1, 0, 0, 0, 1, 0, 0, 1};
    hs_cursor_skip(head, 1); /* minimum instruction length */
    if (table->version >= 4 && hs_cursor_u8(head) == 0)
        return false; /* operations per instruction */
    hs_cursor_skip(head, 2);
    uint8_t line_range = hs_cursor_u8(head);
    table->opcode_base = hs_cursor_u8(head);
    if (line_range == 0 || table->opcode_base == 0)
        return false;
    size_t n = table->opcode_base - 1u;
    table->n_operands = hs_cursor_bytes(head, n);
    return table->n_operands != NULL &&
           memcmp(table->n_operands, standard, n < sizeof(standard) ? n : sizeof(standard)) == 0;
}

/* The program: known operations that end inside, no DW_LNE_define_file (it may name a directory
 * beyond the last; compilers stopped making it). */
static bool check_program(struct hs_cursor c, const struct check_table *table)
{
    while (hs_cursor_left(&c) > 0) {
        uint8_t op = hs_cursor_u8(&c);
        if (op == 0) {
            uint64_t n = hs_cursor_varint(&c);
            if (c.failed || n == 0 || n > hs_cursor_left(&c) || c.bytes[c.at] == DW_LNE_define_file)
                return false;
            hs_cursor_skip(&c, (size_t)n);
        } else if (op == DW_LNS_fixed_advance_pc && op < table->opcode_base) {
            hs_cursor_skip(&c, 2);
        } else if (op < table->opcode_base) {
            for (uint8_t i = 0; i < table->n_operands[op - 1]; i++)
                hs_cursor_varint(&c);
        }
    }
    return !c.failed;
}

bool hs_lines_check_table_(const uint8_t *bytes, size_t n_bytes, uint64_t offset)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes);
    if (offset > n_bytes)
        return false;
    hs_cursor_seek(&c, (size_t)offset);
    size_t n = hs_cursor_u32(&c);
    if (c.failed || n > LINES_MAX_TABLE_BYTES || n > hs_cursor_left(&c))
        return false;
    struct hs_cursor program = hs_cursor_make(hs_cursor_bytes(&c, n), n);
    struct check_table table = {.version = hs_cursor_u16(&program)};
    if (table.version < 2 || table.version > 5)
        return false;
    if (table.version == 5 && (hs_cursor_u8(&program) != 8 || hs_cursor_u8(&program) != 0))
        return false; /* address size, segment size */
    size_t n_head = hs_cursor_u32(&program);
    if (program.failed || n_head > hs_cursor_left(&program))
        return false;
    struct hs_cursor head = hs_cursor_make(hs_cursor_bytes(&program, n_head), n_head);
    return check_opcodes(&head, &table) && check_names(&head, &table) && !head.failed &&
           check_program(program, &table);
}
