/* The names of source files in a unit's line table (DWARF 5, 6.2.4). */
#include <dwarf.h>
#include <stdio.h>
#include <string.h>

#include "form.h"

enum { FILES_MAX_FORMATS = 8 };

struct files_entry {
    const char *name;
    uint64_t directory;
};

/* The two lists of a header. `unit` has the header's own offset size. */
struct files_header {
    struct debug_info *info;
    struct debug_unit unit;
    struct hs_cursor c; /* at the list of directories */
    uint16_t version;
};

static bool header_open(struct debug_info *info, const struct debug_unit *unit,
                        struct files_header *ret)
{
    struct elf_view *section = &info->sections[DEBUG_LINE];
    struct hs_cursor c = hs_cursor_make(section->bytes, section->n_bytes);
    if (!unit->has_lines || unit->line_at >= section->n_bytes)
        return false;
    hs_elf_view_need_(section, unit->line_at, 12);
    hs_cursor_seek(&c, (size_t)unit->line_at);
    *ret = (struct files_header){.info = info, .unit = *unit};
    uint64_t n = hs_cursor_u32(&c);
    ret->unit.n_offset_bytes = n == UINT32_MAX ? 8 : 4;
    if (n == UINT32_MAX)
        n = hs_cursor_u64(&c);
    if (c.failed || n > hs_cursor_left(&c))
        return false;
    c.n_bytes = c.at + (size_t)n;
    hs_elf_view_need_(section, c.at, n);
    ret->version = hs_cursor_u16(&c);
    if (ret->version >= 5)
        hs_cursor_skip(&c, 2); /* sizes of addresses and segments */
    hs_cursor_skip(&c, ret->unit.n_offset_bytes);
    hs_cursor_skip(&c, ret->version >= 4 ? 5 : 4);
    uint8_t opcode_base = hs_cursor_u8(&c);
    hs_cursor_skip(&c, opcode_base == 0 ? 0 : opcode_base - 1u);
    ret->c = c;
    return !c.failed && ret->version >= 2 && ret->version <= 5;
}

/* Reads one list and takes its entry `wanted` out of it; the cursor is then behind the list. */
static bool list_new(struct files_header *header, uint64_t wanted, struct files_entry *ret)
{
    struct debug_value formats[FILES_MAX_FORMATS], value;
    bool found = false;
    uint8_t n_formats = hs_cursor_u8(&header->c);
    if (n_formats > FILES_MAX_FORMATS)
        return false;
    for (uint8_t i = 0; i < n_formats; i++)
        if (!hs_form_next_(&header->c, &formats[i]))
            return false;
    uint64_t n = hs_cursor_varint(&header->c);
    /* An entry has a byte at least, or is of no use; all lists together are bounded. */
    if (n > hs_cursor_left(&header->c) || !hs_effort_take(header->info->effort, n))
        return false;
    for (uint64_t i = 0; i < n; i++)
        for (uint8_t j = 0; j < n_formats; j++) {
            value = formats[j];
            if (!hs_form_read_(&header->c, &header->unit, &value))
                return false;
            if (i == wanted && value.attribute == DW_LNCT_path)
                ret->name = hs_form_text_(header->info, &header->unit, &value);
            else if (i == wanted && value.attribute == DW_LNCT_directory_index)
                ret->directory = value.number;
            found |= i == wanted;
        }
    return found;
}

/* Lists files from before DWARF 5: strings up to an empty one, counted from 1. */
static bool list_old(struct files_header *header, uint64_t wanted, bool has_numbers,
                     struct files_entry *ret)
{
    bool found = false;
    for (uint64_t i = 1;; i++) {
        const char *name = hs_cursor_string(&header->c);
        if (name == NULL || *name == '\0' || !hs_effort_take(header->info->effort, 1))
            return found && name != NULL;
        uint64_t directory = 0;
        if (has_numbers) {
            directory = hs_cursor_varint(&header->c);
            hs_cursor_varint(&header->c);
            hs_cursor_varint(&header->c);
        }
        if (i == wanted) {
            *ret = (struct files_entry){name, directory};
            found = true;
        }
    }
}

/* Finds entry `directory` of the first list of a header that was opened anew. */
static const char *files_directory(struct debug_info *info, const struct debug_unit *unit,
                                   uint64_t directory)
{
    struct files_header header;
    struct files_entry entry = {0};
    if (!header_open(info, unit, &header))
        return NULL;
    if (header.version >= 5)
        list_new(&header, directory, &entry);
    else if (directory != 0)
        list_old(&header, directory, false, &entry);
    return entry.name;
}

static bool files_find(struct debug_info *info, const struct debug_unit *unit, uint64_t number,
                       struct files_entry *ret)
{
    struct files_header header;
    struct files_entry ignored = {0};
    if (!header_open(info, unit, &header))
        return false;
    if (header.version >= 5) {
        list_new(&header, UINT64_MAX, &ignored);
        return !header.c.failed && list_new(&header, number, ret) && ret->name != NULL;
    }
    list_old(&header, 0, false, &ignored);
    return !header.c.failed && list_old(&header, number, true, ret);
}

size_t hs_debug_file_name_(struct debug_info *info, const struct debug_unit *unit, uint64_t number,
                           char *text, size_t n_text)
{
    struct files_entry file = {0};
    struct debug_entry root;
    if (!files_find(info, unit, number, &file))
        return 0;
    const char *directory = "", *top = NULL;
    if (file.name[0] != '/') {
        const char *found = files_directory(info, unit, file.directory);
        directory = found == NULL ? "" : found;
        if (directory[0] != '/' && hs_entry_read_(info, unit->root, &root))
            top = hs_entry_text_(info, &root, DW_AT_comp_dir);
    }
    top = top == NULL ? "" : top;
    int n = snprintf(text, n_text, "%s%s%s%s%s", top, *top != '\0' ? "/" : "", directory,
                     *directory != '\0' ? "/" : "", file.name);
    return n < 0 ? 0 : ((size_t)n < n_text ? (size_t)n : n_text - 1);
}
