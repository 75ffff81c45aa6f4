/* Code: the parts an entry covers, location lists. */
#include <dwarf.h>

#include "form.h"

/* A list of .debug_ranges, .debug_loc (before DWARF 5), .debug_rnglists or .debug_loclists. In
 * split units before DWARF 5 ranges are in .debug_ranges, from a base in their root on; locations
 * have kinds of their own, which became those of DWARF 5, with numbers of 4 bytes and expressions
 * counted in 2 (DW_LLEX_... of libdwarf). */
struct code_list {
    struct debug_info *info;
    struct elf_view *section;
    const struct debug_unit *unit;
    struct hs_cursor c;
    hs_addr base;
    bool has_expressions, is_new;
    bool is_split; /* in the form of split units before DWARF 5 */
};

struct code_part {
    hs_addr begin, end;
    struct debug_bytes expression; /* of location lists */
};

/* Locations have one kind more, at 5 (DWARF 5, 7.7.3 and 7.25), and gcc's views. */
enum { CODE_DEFAULT = DW_LLE_default_location, CODE_VIEWS = 9 };

enum { CODE_PART_BYTES = 64 }; /* more than one part has without its expression */

static bool list_open(struct debug_info *info, const struct debug_entry *entry,
                      const struct debug_value *value, bool has_expressions, struct code_list *ret)
{
    const struct debug_unit *unit = entry->unit;
    bool is_new = unit->version >= 5;
    enum debug_section_number number = has_expressions ? (is_new ? DEBUG_LOCLISTS : DEBUG_LOC)
                                                       : (is_new ? DEBUG_RNGLISTS : DEBUG_RANGES);
    struct elf_view *section = &info->sections[number];
    uint64_t at = value->number;
    bool is_split = !is_new && unit->type == DW_UT_split_compile;
    if (is_split && at < section->n_bytes)
        at += has_expressions ? unit->loclists_base : unit->rnglists_base;
    if (value->form == DW_FORM_rnglistx || value->form == DW_FORM_loclistx) {
        uint64_t base = has_expressions ? unit->loclists_base : unit->rnglists_base;
        uint64_t place = base + at * unit->n_offset_bytes;
        struct hs_cursor c = hs_cursor_make(section->bytes, section->n_bytes);
        if (base > section->n_bytes || at > section->n_bytes || place >= section->n_bytes)
            return false;
        hs_elf_view_need_(section, place, unit->n_offset_bytes);
        hs_cursor_seek(&c, (size_t)place);
        at = base + (unit->n_offset_bytes == 8 ? hs_cursor_u64(&c) : hs_cursor_u32(&c));
        if (c.failed || at < base)
            return false;
    }
    if (at >= section->n_bytes)
        return false;
    *ret = (struct code_list){.info = info,
                              .section = section,
                              .unit = unit,
                              .c = hs_cursor_make(section->bytes, section->n_bytes),
                              .base = unit->low,
                              .has_expressions = has_expressions,
                              .is_new = is_new,
                              .is_split = is_split && has_expressions};
    hs_cursor_seek(&ret->c, (size_t)at);
    return true;
}

static bool list_expression(struct code_list *list, uint64_t n_bytes, struct code_part *part)
{
    if (n_bytes > hs_cursor_left(&list->c))
        return false;
    hs_elf_view_need_(list->section, list->c.at, n_bytes);
    part->expression.n_bytes = (size_t)n_bytes;
    part->expression.bytes = hs_cursor_bytes(&list->c, (size_t)n_bytes);
    return part->expression.bytes != NULL;
}

/* Reads a list from before DWARF 5: pairs; two zeros end the list, a first of all ones sets the
 * base. */
static bool list_next_old(struct code_list *list, struct code_part *ret)
{
    while (hs_effort_take(list->info->effort, 1)) {
        hs_elf_view_need_(list->section, list->c.at, CODE_PART_BYTES);
        uint64_t begin = hs_cursor_u64(&list->c), end = hs_cursor_u64(&list->c);
        if (list->c.failed || (begin == 0 && end == 0))
            return false;
        if (begin == UINT64_MAX) {
            list->base = end;
            continue;
        }
        *ret = (struct code_part){.begin = list->base + begin, .end = list->base + end};
        return !list->has_expressions || list_expression(list, hs_cursor_u16(&list->c), ret);
    }
    return false;
}

static hs_addr list_indexed(struct code_list *list)
{
    hs_addr address = 0;
    uint64_t index = hs_cursor_varint(&list->c);
    if (!hs_debug_indexed_address_(list->info, list->unit, index, &address))
        list->c.failed = true;
    return address;
}

static uint64_t list_number(struct code_list *list)
{
    return list->is_split ? hs_cursor_u32(&list->c) : hs_cursor_varint(&list->c);
}

/* Reads one part whose kind is that of a range list. */
static bool list_part(struct code_list *list, uint8_t kind, struct code_part *ret)
{
    switch (kind) {
    case DW_RLE_startx_endx:
        ret->begin = list_indexed(list);
        ret->end = list_indexed(list);
        return true;
    case DW_RLE_startx_length:
        ret->begin = list_indexed(list);
        ret->end = ret->begin + list_number(list);
        return true;
    case DW_RLE_offset_pair:
        ret->begin = list->base + list_number(list);
        ret->end = list->base + list_number(list);
        return true;
    case DW_RLE_start_end:
        ret->begin = hs_cursor_u64(&list->c);
        ret->end = hs_cursor_u64(&list->c);
        return true;
    case DW_RLE_start_length:
        ret->begin = hs_cursor_u64(&list->c);
        ret->end = ret->begin + hs_cursor_varint(&list->c);
        return true;
    default:
        list->c.failed = true;
        return false;
    }
}

/* Reads the length of an expression. */
static uint64_t list_length(struct code_list *list)
{
    return list->is_split ? hs_cursor_u16(&list->c) : hs_cursor_varint(&list->c);
}

static bool list_next_new(struct code_list *list, struct code_part *ret)
{
    while (!list->c.failed && hs_effort_take(list->info->effort, 1)) {
        hs_elf_view_need_(list->section, list->c.at, CODE_PART_BYTES);
        uint8_t kind = hs_cursor_u8(&list->c);
        struct code_part part = {.begin = 0, .end = UINT64_MAX};
        bool is_default = list->has_expressions && kind == CODE_DEFAULT;
        if (list->is_split && kind >= CODE_DEFAULT)
            return false;
        if (list->has_expressions && kind == CODE_VIEWS) {
            hs_cursor_varint(&list->c);
            hs_cursor_varint(&list->c);
            continue;
        }
        if (list->has_expressions && kind > CODE_DEFAULT)
            kind--;
        if (kind == DW_RLE_end_of_list)
            return false;
        if (!is_default && kind == DW_RLE_base_address)
            list->base = hs_cursor_u64(&list->c);
        else if (kind == DW_RLE_base_addressx)
            list->base = list_indexed(list);
        else if (is_default || list_part(list, kind, &part)) {
            if (list->has_expressions && !list_expression(list, list_length(list), &part))
                return false;
            *ret = part;
            return !list->c.failed;
        }
    }
    return false;
}

static bool list_next(struct code_list *list, struct code_part *ret)
{
    return list->is_new || list->is_split ? list_next_new(list, ret) : list_next_old(list, ret);
}

static bool form_is_block(uint16_t form)
{
    return form == DW_FORM_exprloc || form == DW_FORM_block || form == DW_FORM_block1 ||
           form == DW_FORM_block2 || form == DW_FORM_block4;
}

bool hs_entry_expression_(struct debug_info *info, const struct debug_entry *entry,
                          uint16_t attribute, hs_addr vaddr, struct debug_bytes *ret)
{
    struct debug_value value;
    struct code_list list;
    struct code_part part;
    if (!hs_entry_value_(info, entry, attribute, &value))
        return false;
    if (form_is_block(value.form)) {
        *ret = (struct debug_bytes){value.bytes, value.n_bytes};
        return true;
    }
    bool is_list =
        value.form == DW_FORM_sec_offset || value.form == DW_FORM_loclistx ||
        (entry->unit->version < 4 && (value.form == DW_FORM_data4 || value.form == DW_FORM_data8));
    if (!is_list || !list_open(info, entry, &value, true, &list))
        return false;
    for (int n = 0; n < DEBUG_MAX_RANGES && list_next(&list, &part); n++)
        if (part.begin <= vaddr && vaddr < part.end) {
            *ret = part.expression;
            return true;
        }
    return false;
}

void hs_entry_ranges_(struct debug_info *info, const struct debug_entry *entry,
                      debug_range_visit *visit, void *context)
{
    struct debug_value value;
    struct code_list list;
    struct code_part part;
    if (hs_entry_value_(info, entry, DW_AT_ranges, &value)) {
        if (!list_open(info, entry, &value, false, &list))
            return;
        for (int n = 0; n < DEBUG_MAX_RANGES && list_next(&list, &part); n++)
            if (part.begin < part.end && part.begin != 0 && !visit(context, part.begin, part.end))
                return;
        return;
    }
    hs_addr low, high;
    uint64_t n_bytes;
    if (!hs_entry_address_(info, entry, DW_AT_low_pc, &low) || low == 0)
        return; /* 0: a section that the linker left out */
    if (hs_entry_address_(info, entry, DW_AT_high_pc, &high)) {
        if (low < high)
            visit(context, low, high);
    } else if (hs_entry_number_(info, entry, DW_AT_high_pc, &n_bytes) && n_bytes != 0 &&
               n_bytes <= UINT64_MAX - low) {
        visit(context, low, low + n_bytes);
    }
}

struct code_covers {
    hs_addr vaddr;
    bool found;
};

static bool covers_visit(void *context, hs_addr begin, hs_addr end)
{
    struct code_covers *covers = context;
    covers->found = begin <= covers->vaddr && covers->vaddr < end;
    return !covers->found;
}

bool hs_entry_covers_(struct debug_info *info, const struct debug_entry *entry, hs_addr vaddr)
{
    struct code_covers covers = {vaddr, false};
    hs_entry_ranges_(info, entry, covers_visit, &covers);
    return covers.found;
}

static bool low_visit(void *context, hs_addr begin, hs_addr end)
{
    (void)end;
    *(hs_addr *)context = begin;
    return false;
}

bool hs_entry_low_(struct debug_info *info, const struct debug_entry *entry, hs_addr *ret)
{
    hs_addr low = 0;
    if (hs_entry_address_(info, entry, DW_AT_low_pc, ret) ||
        hs_entry_address_(info, entry, DW_AT_entry_pc, ret))
        return true;
    hs_entry_ranges_(info, entry, low_visit, &low);
    if (low == 0)
        return false;
    *ret = low;
    return true;
}
