#include "lines_check.h"

#include <dwarf.h>

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

static bool check_string(struct hs_cursor *c, uint64_t form)
{
    if (form == DW_FORM_string)
        return hs_cursor_string(c) != NULL;
    hs_cursor_skip(c, 4);
    return (form == DW_FORM_strp || form == DW_FORM_line_strp) && !c->failed;
}

static bool check_number(struct hs_cursor *c, uint64_t form)
{
    switch (form) {
    case DW_FORM_udata:
        hs_cursor_varint(c);
        break;
    case DW_FORM_data1:
        hs_cursor_skip(c, 1);
        break;
    case DW_FORM_data2:
        hs_cursor_skip(c, 2);
        break;
    case DW_FORM_data4:
        hs_cursor_skip(c, 4);
        break;
    case DW_FORM_data8:
        hs_cursor_skip(c, 8);
        break;
    default:
        return false;
    }
    return !c->failed;
}

static bool check_field(struct hs_cursor *c, const struct check_format *f)
{
    switch (f->content) {
    case DW_LNCT_path:
        return check_string(c, f->form);
    case DW_LNCT_directory_index:
    case DW_LNCT_timestamp:
    case DW_LNCT_size:
        return check_number(c, f->form);
    case DW_LNCT_MD5:
        hs_cursor_skip(c, 16);
        return f->form == DW_FORM_data16 && !c->failed;
    default:
        return false;
    }
}

/* DWARF 5: formats, then a count, then that many entries of those formats. */
static bool check_entries_new(struct hs_cursor *c)
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
            if (!check_field(c, &formats[j]))
                return false;
    return true;
}

/* Before: strings up to an empty one, each followed by `n_numbers` LEB128. */
static bool check_entries_old(struct hs_cursor *c, int n_numbers)
{
    for (;;) {
        const char *name = hs_cursor_string(c);
        if (name == NULL)
            return false;
        if (*name == '\0')
            return true;
        for (int i = 0; i < n_numbers; i++)
            hs_cursor_varint(c);
    }
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
    struct hs_cursor table = hs_cursor_make(hs_cursor_bytes(&c, n), n);
    uint16_t version = hs_cursor_u16(&table);
    if (version < 2 || version > 5)
        return false;
    if (version == 5 && (hs_cursor_u8(&table) != 8 || hs_cursor_u8(&table) != 0))
        return false; /* address size, segment size */
    size_t n_head = hs_cursor_u32(&table);
    if (table.failed || n_head > hs_cursor_left(&table))
        return false;
    struct hs_cursor head = hs_cursor_make(hs_cursor_bytes(&table, n_head), n_head);
    hs_cursor_skip(&head, 1); /* minimum instruction length */
    if (version >= 4 && hs_cursor_u8(&head) == 0)
        return false; /* operations per instruction */
    hs_cursor_skip(&head, 2);
    uint8_t line_range = hs_cursor_u8(&head), opcode_base = hs_cursor_u8(&head);
    if (line_range == 0 || opcode_base == 0)
        return false;
    hs_cursor_skip(&head, opcode_base - 1u);
    bool is_good = version == 5 ? check_entries_new(&head) && check_entries_new(&head)
                                : check_entries_old(&head, 0) && check_entries_old(&head, 3);
    return is_good && !head.failed;
}
