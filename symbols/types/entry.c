#include "entry.h"

#include <dwarf.h>
#include <string.h>

#include "base/bisect.h"
#include "form.h"

/* Brought in at a time. A larger entry is read again, with all that follows it in the unit. */
enum { ENTRY_CODE_BYTES = 16, ENTRY_BYTES = 2048 };

/* Reads the entry at `die` of a unit that was loaded; *ret_end is where its values begin. A null
 * entry has tag 0. */
static bool entry_read_in(struct debug_info *info, const struct debug_unit *unit, hs_die die,
                          struct debug_entry *ret)
{
    struct hs_cursor c = hs_form_window_(info, unit, die, ENTRY_CODE_BYTES);
    size_t begin = c.at;
    uint64_t code = hs_cursor_varint(&c);
    *ret = (struct debug_entry){.die = die, .unit = unit, .values_at = die + (c.at - begin)};
    if (c.failed || unit->table == 0)
        return false;
    if (code == 0)
        return true;
    const struct debug_table *table = &info->tables[unit->table - 1];
    if (code >= table->n_codes || table->codes[code] == 0)
        return false;
    struct hs_cursor abbreviation = hs_form_abbreviation_(info, table->codes[code]);
    ret->tag = (uint16_t)hs_cursor_varint(&abbreviation); /* checked when the table was read */
    ret->has_children = hs_cursor_u8(&abbreviation) != 0;
    ret->attributes_at = (uint32_t)abbreviation.at;
    return ret->tag != 0;
}

bool hs_entry_read_(struct debug_info *info, hs_die die, struct debug_entry *ret)
{
    struct debug_entry entry;
    const struct debug_unit *unit = hs_debug_is_spent_(info) ? NULL : hs_debug_unit_of_(info, die);
    if (unit == NULL || !entry_read_in(info, unit, die, &entry) || entry.tag == 0)
        return false;
    *ret = entry;
    return true;
}

/* Reads the values up to that of `attribute` (0: there is none such). False when damaged, with
 * `*ret_is_cut` when there was only not enough of the entry. */
static bool values_pass(struct debug_info *info, const struct debug_entry *entry, uint64_t n_window,
                        uint16_t attribute, struct debug_value *ret, size_t *ret_n_bytes,
                        bool *ret_is_cut)
{
    struct hs_cursor list = hs_form_abbreviation_(info, entry->attributes_at);
    struct hs_cursor values = hs_form_window_(info, entry->unit, entry->values_at, n_window);
    size_t begin = values.at;
    struct debug_value value;
    ret->form = 0;
    while (hs_form_next_(&list, &value)) {
        if (!hs_form_read_(&values, entry->unit, &value)) {
            *ret_is_cut = hs_form_is_cut_(info, entry->unit, &values);
            return false;
        }
        if (value.attribute == attribute) {
            *ret = value;
            break;
        }
    }
    *ret_n_bytes = values.at - begin;
    return true;
}

static bool values_read(struct debug_info *info, const struct debug_entry *entry,
                        uint16_t attribute, struct debug_value *ret, size_t *ret_n_bytes)
{
    bool is_cut = false;
    return values_pass(info, entry, ENTRY_BYTES, attribute, ret, ret_n_bytes, &is_cut) ||
           (is_cut && values_pass(info, entry, UINT64_MAX, attribute, ret, ret_n_bytes, &is_cut));
}

bool hs_entry_value_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute,
                     struct debug_value *ret)
{
    struct debug_value value;
    size_t n_bytes;
    if (!values_read(info, entry, attribute, &value, &n_bytes)) {
        info->n_damaged++;
        return false;
    }
    if (value.form == 0)
        return false;
    *ret = value;
    return true;
}

/* Returns the begin of the entry after this one (a child, when it has some); 0 when damaged. */
static hs_die entry_end(struct debug_info *info, const struct debug_entry *entry)
{
    struct debug_value ignored;
    size_t n_bytes;
    return values_read(info, entry, 0, &ignored, &n_bytes) ? entry->values_at + n_bytes : 0;
}

bool hs_entry_has_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute)
{
    struct debug_value value;
    return hs_entry_value_(info, entry, attribute, &value);
}

static bool form_is_number(uint16_t form)
{
    switch (form) {
    case DW_FORM_data1:
    case DW_FORM_data2:
    case DW_FORM_data4:
    case DW_FORM_data8:
    case DW_FORM_sdata:
    case DW_FORM_udata:
    case DW_FORM_implicit_const:
    case DW_FORM_sec_offset:
    case DW_FORM_flag:
    case DW_FORM_flag_present:
        return true;
    default:
        return false;
    }
}

bool hs_entry_number_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute,
                      uint64_t *ret)
{
    struct debug_value value;
    if (!hs_entry_value_(info, entry, attribute, &value) || !form_is_number(value.form))
        return false;
    *ret = value.number;
    return true;
}

bool hs_entry_flag_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute)
{
    uint64_t number;
    return hs_entry_number_(info, entry, attribute, &number) && number != 0;
}

/* Reads entry `index` of a table of offsets. */
static bool indexed_offset(struct elf_view *section, const struct debug_unit *unit, uint64_t base,
                           uint64_t index, uint64_t *ret)
{
    struct hs_cursor c = hs_cursor_make(section->bytes, section->n_bytes);
    if (base > section->n_bytes || index > section->n_bytes / unit->n_offset_bytes)
        return false;
    uint64_t at = base + index * unit->n_offset_bytes;
    if (at >= section->n_bytes)
        return false;
    hs_elf_view_need_(section, at, unit->n_offset_bytes);
    hs_cursor_seek(&c, (size_t)at);
    *ret = unit->n_offset_bytes == 8 ? hs_cursor_u64(&c) : hs_cursor_u32(&c);
    return !c.failed;
}

const char *hs_entry_value_text_(struct debug_info *info, const struct debug_entry *entry,
                                 const struct debug_value *value)
{
    uint64_t offset = 0;
    switch (value->form) {
    case DW_FORM_strx:
    case DW_FORM_strx1:
    case DW_FORM_strx2:
    case DW_FORM_strx3:
    case DW_FORM_strx4:
    case DW_FORM_GNU_str_index:
        if (entry->unit->is_supplement ||
            !indexed_offset(&info->sections[DEBUG_STR_OFFSETS], entry->unit,
                            entry->unit->str_offsets_base, value->number, &offset))
            return NULL;
        return hs_debug_text_at_(&info->sections[DEBUG_STR], offset);
    default:
        return hs_form_text_(info, entry->unit, value);
    }
}

const char *hs_entry_text_(struct debug_info *info, const struct debug_entry *entry,
                           uint16_t attribute)
{
    struct debug_value value;
    return hs_entry_value_(info, entry, attribute, &value)
               ? hs_entry_value_text_(info, entry, &value)
               : NULL;
}

static hs_die signature_find(const struct debug_info *info, uint64_t signature)
{
    size_t low =
        HS_FIRST_NOT(at, 0, info->n_signatures, info->signatures[at].signature < signature);
    return low < info->n_signatures && info->signatures[low].signature == signature
               ? info->signatures[low].type
               : 0;
}

/* Finds an offset into .debug_info of the file whose part begins at `base`. */
static hs_die reference_from(const struct debug_info *info, uint64_t base, uint64_t offset)
{
    return offset < info->sections[DEBUG_INFO].n_bytes - base ? base + offset : 0;
}

hs_die hs_entry_reference_(struct debug_info *info, const struct debug_entry *entry,
                           uint16_t attribute)
{
    struct debug_value value;
    if (!hs_entry_value_(info, entry, attribute, &value))
        return 0;
    const struct debug_unit *unit = entry->unit;
    switch (value.form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        return value.number < unit->end - unit->begin ? unit->begin + value.number : 0;
    case DW_FORM_ref_addr:
        return reference_from(info, unit->is_supplement ? info->supplement.info : 0, value.number);
    case DW_FORM_GNU_ref_alt:
    case DW_FORM_ref_sup4:
    case DW_FORM_ref_sup8:
        return info->supplement.is_there && !unit->is_supplement
                   ? reference_from(info, info->supplement.info, value.number)
                   : 0;
    case DW_FORM_ref_sig8:
        return signature_find(info, value.number);
    default:
        return 0;
    }
}

bool hs_debug_indexed_address_(struct debug_info *info, const struct debug_unit *unit,
                               uint64_t index, hs_addr *ret)
{
    struct elf_view *section = &info->sections[DEBUG_ADDR];
    struct hs_cursor c = hs_cursor_make(section->bytes, section->n_bytes);
    if (unit->addr_base > section->n_bytes || index > section->n_bytes / 8)
        return false;
    uint64_t at = unit->addr_base + index * 8;
    if (at >= section->n_bytes)
        return false;
    hs_elf_view_need_(section, at, 8);
    hs_cursor_seek(&c, (size_t)at);
    hs_addr address = hs_cursor_u64(&c);
    if (c.failed)
        return false;
    *ret = address;
    return true;
}

bool hs_entry_address_(struct debug_info *info, const struct debug_entry *entry, uint16_t attribute,
                       hs_addr *ret)
{
    struct debug_value value;
    if (!hs_entry_value_(info, entry, attribute, &value))
        return false;
    switch (value.form) {
    case DW_FORM_addr:
    case DW_FORM_implicit_const: /* merge.c writes it */
        *ret = value.number;
        return true;
    case DW_FORM_addrx:
    case DW_FORM_addrx1:
    case DW_FORM_addrx2:
    case DW_FORM_addrx3:
    case DW_FORM_addrx4:
    case DW_FORM_GNU_addr_index:
        return hs_debug_indexed_address_(info, entry->unit, value.number, ret);
    default:
        return false;
    }
}

bool hs_entry_origin_(struct debug_info *info, const struct debug_entry *entry,
                      struct debug_entry *ret)
{
    hs_die origin = hs_entry_reference_(info, entry, DW_AT_specification);
    if (origin == 0)
        origin = hs_entry_reference_(info, entry, DW_AT_abstract_origin);
    return origin != 0 && hs_entry_read_(info, origin, ret);
}

bool hs_entry_inherited_(struct debug_info *info, const struct debug_entry *entry,
                         uint16_t attribute, struct debug_value *ret,
                         struct debug_entry *ret_holder)
{
    struct debug_entry at = *entry;
    for (int hop = 0; hop < DEBUG_MAX_HOPS; hop++) {
        if (hs_entry_value_(info, &at, attribute, ret)) {
            if (ret_holder != NULL)
                *ret_holder = at;
            return true;
        }
        if (!hs_entry_origin_(info, &at, &at))
            return false;
    }
    return false;
}

struct debug_walk hs_walk_begin_(struct debug_info *info, const struct debug_entry *top)
{
    struct debug_walk walk = {
        .info = info, .unit = top->unit, .level = 1, .limit = DEBUG_MAX_DEPTH};
    walk.at = top->has_children ? entry_end(info, top) : 0;
    walk.is_over = walk.at == 0;
    return walk;
}

bool hs_walk_next_(struct debug_walk *walk, struct debug_entry *ret)
{
    while (!walk->is_over) {
        struct debug_entry entry;
        if (walk->at >= walk->unit->end || hs_debug_is_spent_(walk->info))
            break;
        if (!entry_read_in(walk->info, walk->unit, walk->at, &entry)) {
            walk->info->n_damaged++;
            break;
        }
        if (entry.tag == 0) {
            walk->at = entry.values_at;
            if (--walk->level == 0)
                break;
            continue;
        }
        walk->at = entry_end(walk->info, &entry);
        if (walk->at == 0) {
            walk->info->n_damaged++;
            break;
        }
        unsigned level = walk->level;
        walk->level += entry.has_children;
        if (level > walk->limit)
            continue;
        walk->limit = DEBUG_MAX_DEPTH;
        walk->depth = level;
        *ret = entry;
        return true;
    }
    walk->is_over = true;
    return false;
}

void hs_walk_skip_(struct debug_walk *walk, const struct debug_entry *last)
{
    if (!last->has_children)
        return;
    walk->limit = walk->depth;
    hs_die sibling = hs_entry_reference_(walk->info, last, DW_AT_sibling);
    if (sibling >= walk->at && sibling < walk->unit->end) {
        walk->at = sibling;
        walk->level = walk->depth;
    }
}
