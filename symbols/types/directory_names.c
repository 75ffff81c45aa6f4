/* .debug_names (DWARF 5, 6.1.1): names without what is around them. */
#include "directory_names.h"

#include <string.h>

#include "base/bisect.h"
#include "form.h"

enum {
    NAMES_MAX_ENTRIES = 1 << 12, /* of one name that are looked at */
    NAMES_MAX_ABBREVIATIONS = 1 << 10,
    NAMES_IDX_COMPILE_UNIT = 1, /* DW_IDX_compile_unit */
    NAMES_IDX_TYPE_UNIT = 2,
    NAMES_HEAD_BYTES = 64,
    NAMES_ENTRY_BYTES = 256,
};

/* Counts of a table's header. */
struct names_header {
    uint32_t n_units, n_local, n_foreign, n_buckets, n_names, n_abbreviation_bytes;
    uint64_t strings, offsets; /* lists of n_names */
};

static struct hs_cursor names_cursor(struct debug_info *info, uint64_t at, uint64_t n_bytes)
{
    const struct elf_view *view = &info->sections[DEBUG_NAMES];
    struct hs_cursor c = hs_cursor_make(view->bytes, view->n_bytes);
    hs_debug_need_(info, DEBUG_NAMES, at, n_bytes);
    hs_cursor_seek(&c, at < c.n_bytes ? (size_t)at : c.n_bytes);
    if (n_bytes < hs_cursor_left(&c))
        c.n_bytes = c.at + (size_t)n_bytes;
    return c;
}

/* Lays out the lists behind the counts; false when they do not fit. 32-bit counts of at most 8
 * bytes each do not wrap. */
static bool names_lay_out(struct directory_table *table, struct names_header *head, uint64_t at)
{
    unsigned n = table->n_offset_bytes;
    table->units = at;
    at += ((uint64_t)head->n_units + head->n_local) * n + (uint64_t)head->n_foreign * 8;
    at += (uint64_t)head->n_buckets * 4;
    if (head->n_buckets > 0)
        at += (uint64_t)head->n_names * 4;
    head->strings = at;
    at += (uint64_t)head->n_names * n;
    head->offsets = at;
    at += (uint64_t)head->n_names * n;
    table->abbreviations = at;
    table->entries = at + head->n_abbreviation_bytes;
    table->n_units = head->n_units;
    return table->entries <= table->end;
}

/* Reads the header at table->begin; false when the section has no more that can be used. */
static bool names_header_read(struct debug_info *info, struct directory_table *table,
                              struct names_header *ret)
{
    struct hs_cursor c = names_cursor(info, table->begin, NAMES_HEAD_BYTES);
    uint64_t n = hs_cursor_u32(&c), n_section = info->sections[DEBUG_NAMES].n_bytes;
    table->n_offset_bytes = n == UINT32_MAX ? 8 : 4;
    if (n == UINT32_MAX)
        n = hs_cursor_u64(&c);
    if (c.failed || n > n_section - c.at)
        return false;
    table->end = c.at + n;
    uint16_t version = hs_cursor_u16(&c);
    hs_cursor_skip(&c, 2);
    ret->n_units = hs_cursor_u32(&c);
    ret->n_local = hs_cursor_u32(&c);
    ret->n_foreign = hs_cursor_u32(&c);
    ret->n_buckets = hs_cursor_u32(&c);
    ret->n_names = hs_cursor_u32(&c);
    ret->n_abbreviation_bytes = hs_cursor_u32(&c);
    uint64_t n_augmentation = ((uint64_t)hs_cursor_u32(&c) + 3) & ~UINT64_C(3);
    return !c.failed && version == 5 && names_lay_out(table, ret, c.at + n_augmentation);
}

static hs_status names_add_table(struct debug_info *info, struct debug_directory *directory,
                                 const struct directory_table *table,
                                 const struct names_header *head, struct hs_error *err)
{
    unsigned n = table->n_offset_bytes;
    size_t n_before = directory->n_names;
    for (uint32_t i = 0; i < head->n_units && !hs_debug_is_spent_(info); i++)
        hs_directory_cover_(
            info, directory,
            hs_directory_number_(info, DEBUG_NAMES, table->units + (uint64_t)i * n, n));
    for (uint32_t i = 0; i < head->n_names && !hs_debug_is_spent_(info); i++) {
        uint64_t text = hs_directory_number_(info, DEBUG_NAMES, head->strings + (uint64_t)i * n, n);
        uint64_t entry =
            hs_directory_number_(info, DEBUG_NAMES, head->offsets + (uint64_t)i * n, n);
        if (entry >= table->end - table->entries)
            info->n_damaged++;
        else
            HS_TRY(hs_directory_add_(info, directory, text, table->entries + entry, err));
    }
    hs_directory_hash_(info, directory, n_before, &info->sections[DEBUG_STR], 0);
    return HS_OK;
}

hs_status hs_directory_names_open_(struct debug_info *info, struct debug_directory *directory,
                                   struct hs_error *err)
{
    struct directory_table table = {.begin = 0};
    struct names_header head;
    while (table.begin < info->sections[DEBUG_NAMES].n_bytes && !hs_debug_is_spent_(info)) {
        if (!names_header_read(info, &table, &head)) {
            info->n_damaged++;
            return HS_OK;
        }
        HS_TRY(
            HS_GROW(&directory->tables, &directory->tables_capacity, directory->n_tables + 1, err));
        directory->tables[directory->n_tables++] = table;
        HS_TRY(names_add_table(info, directory, &table, &head, err));
        directory->kind = DIRECTORY_DEBUG_NAMES;
        table.begin = table.end;
    }
    return HS_OK;
}

/* The attributes of an entry's abbreviation; false when the table has no such code. */
static bool names_abbreviation(struct debug_info *info, const struct directory_table *table,
                               uint64_t code, struct hs_cursor *ret)
{
    struct debug_value value;
    struct hs_cursor c =
        names_cursor(info, table->abbreviations, table->entries - table->abbreviations);
    for (int i = 0; i < NAMES_MAX_ABBREVIATIONS; i++) {
        uint64_t at = hs_cursor_varint(&c);
        (void)hs_cursor_varint(&c); /* its tag */
        if (c.failed || at == 0)
            return false;
        *ret = c;
        if (at == code)
            return true;
        while (hs_form_next_(&c, &value))
            continue;
    }
    return false;
}

/* Reads one entry; false at the end of the name's list. A type unit's entry has unit UINT64_MAX. */
static bool names_entry(struct debug_info *info, const struct directory_table *table,
                        struct hs_cursor *c, uint64_t *ret_unit)
{
    struct hs_cursor list;
    struct debug_value value;
    struct debug_unit unit = {.version = 5, .n_offset_bytes = table->n_offset_bytes};
    uint64_t code = hs_cursor_varint(c);
    *ret_unit = table->n_units == 1 ? 0 : UINT64_MAX;
    if (c->failed || code == 0 || !names_abbreviation(info, table, code, &list))
        return false;
    while (hs_form_next_(&list, &value)) {
        if (!hs_form_read_(c, &unit, &value))
            return false;
        if (value.attribute == NAMES_IDX_COMPILE_UNIT)
            *ret_unit = value.number;
        else if (value.attribute == NAMES_IDX_TYPE_UNIT)
            *ret_unit = UINT64_MAX;
    }
    return true;
}

bool hs_directory_names_units_(struct debug_info *info, const struct debug_directory *directory,
                               uint64_t at, directory_visit_begin *visit, void *context)
{
    size_t low = HS_FIRST_ABOVE(directory->tables, directory->n_tables, begin, at);
    if (low == 0)
        return true;
    const struct directory_table *table = &directory->tables[low - 1];
    for (int i = 0; i < NAMES_MAX_ENTRIES && at < table->end; i++) {
        uint64_t unit = 0, left = table->end - at;
        struct hs_cursor c =
            names_cursor(info, at, left < NAMES_ENTRY_BYTES ? left : NAMES_ENTRY_BYTES);
        if (!names_entry(info, table, &c, &unit))
            return true;
        at = c.at;
        if (unit >= table->n_units)
            continue;
        unsigned n = table->n_offset_bytes;
        if (!visit(context, hs_directory_number_(info, DEBUG_NAMES, table->units + unit * n, n)))
            return false;
    }
    return true;
}
