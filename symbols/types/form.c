#include "form.h"

#include <dwarf.h>
#include <string.h>

enum {
    FORM_MAX_TEXT = 1 << 16,
    /* The longest abbreviation: a tag, then DEBUG_MAX_ATTRIBUTES of two numbers and a constant. */
    FORM_MAX_ABBREVIATION = 16 + DEBUG_MAX_ATTRIBUTES * 30,
};

/* The encodings of a value. */
enum form_shape {
    SHAPE_NONE, /* no such form */
    SHAPE_FIXED,
    SHAPE_OFFSET,    /* 4 or 8 bytes by the unit */
    SHAPE_REFERENCE, /* the same, but an address in DWARF 2 */
    SHAPE_ULEB,
    SHAPE_SLEB,
    SHAPE_TEXT,
    SHAPE_COUNTED,      /* a block: its length in n bytes before it */
    SHAPE_ULEB_COUNTED, /* its length in ULEB128 */
    SHAPE_PRESENT,
    SHAPE_IMPLICIT,
    SHAPE_INDIRECT
};

struct form_rule {
    uint8_t shape, n_bytes;
};

/* DWARF 5, 7.5.6. */
static const struct form_rule form_rules[] = {
    [DW_FORM_addr] = {SHAPE_FIXED, 8},
    [DW_FORM_block2] = {SHAPE_COUNTED, 2},
    [DW_FORM_block4] = {SHAPE_COUNTED, 4},
    [DW_FORM_data2] = {SHAPE_FIXED, 2},
    [DW_FORM_data4] = {SHAPE_FIXED, 4},
    [DW_FORM_data8] = {SHAPE_FIXED, 8},
    [DW_FORM_string] = {SHAPE_TEXT, 0},
    [DW_FORM_block] = {SHAPE_ULEB_COUNTED, 0},
    [DW_FORM_block1] = {SHAPE_COUNTED, 1},
    [DW_FORM_data1] = {SHAPE_FIXED, 1},
    [DW_FORM_flag] = {SHAPE_FIXED, 1},
    [DW_FORM_sdata] = {SHAPE_SLEB, 0},
    [DW_FORM_strp] = {SHAPE_OFFSET, 0},
    [DW_FORM_udata] = {SHAPE_ULEB, 0},
    [DW_FORM_ref_addr] = {SHAPE_REFERENCE, 0},
    [DW_FORM_ref1] = {SHAPE_FIXED, 1},
    [DW_FORM_ref2] = {SHAPE_FIXED, 2},
    [DW_FORM_ref4] = {SHAPE_FIXED, 4},
    [DW_FORM_ref8] = {SHAPE_FIXED, 8},
    [DW_FORM_ref_udata] = {SHAPE_ULEB, 0},
    [DW_FORM_indirect] = {SHAPE_INDIRECT, 0},
    [DW_FORM_sec_offset] = {SHAPE_OFFSET, 0},
    [DW_FORM_exprloc] = {SHAPE_ULEB_COUNTED, 0},
    [DW_FORM_flag_present] = {SHAPE_PRESENT, 0},
    [DW_FORM_strx] = {SHAPE_ULEB, 0},
    [DW_FORM_addrx] = {SHAPE_ULEB, 0},
    [DW_FORM_ref_sup4] = {SHAPE_FIXED, 4},
    [DW_FORM_strp_sup] = {SHAPE_OFFSET, 0},
    [DW_FORM_data16] = {SHAPE_FIXED, 16},
    [DW_FORM_line_strp] = {SHAPE_OFFSET, 0},
    [DW_FORM_ref_sig8] = {SHAPE_FIXED, 8},
    [DW_FORM_implicit_const] = {SHAPE_IMPLICIT, 0},
    [DW_FORM_loclistx] = {SHAPE_ULEB, 0},
    [DW_FORM_rnglistx] = {SHAPE_ULEB, 0},
    [DW_FORM_ref_sup8] = {SHAPE_FIXED, 8},
    [DW_FORM_strx1] = {SHAPE_FIXED, 1},
    [DW_FORM_strx2] = {SHAPE_FIXED, 2},
    [DW_FORM_strx3] = {SHAPE_FIXED, 3},
    [DW_FORM_strx4] = {SHAPE_FIXED, 4},
    [DW_FORM_addrx1] = {SHAPE_FIXED, 1},
    [DW_FORM_addrx2] = {SHAPE_FIXED, 2},
    [DW_FORM_addrx3] = {SHAPE_FIXED, 3},
    [DW_FORM_addrx4] = {SHAPE_FIXED, 4},
};

static struct form_rule form_rule_of(uint16_t form)
{
    if (form < sizeof(form_rules) / sizeof(form_rules[0]))
        return form_rules[form];
    if (form == DW_FORM_GNU_ref_alt || form == DW_FORM_GNU_strp_alt)
        return (struct form_rule){SHAPE_OFFSET, 0};
    if (form == DW_FORM_GNU_addr_index || form == DW_FORM_GNU_str_index)
        return (struct form_rule){SHAPE_ULEB, 0};
    return (struct form_rule){SHAPE_NONE, 0};
}

int64_t hs_form_signed_(struct hs_cursor *c)
{
    uint64_t value = 0;
    for (unsigned shift = 0; shift < 70; shift += 7) {
        uint8_t byte = hs_cursor_u8(c);
        if (shift < 64)
            value |= (uint64_t)(byte & 0x7f) << shift;
        if ((byte & 0x80) == 0) {
            if (shift + 7 < 64 && (byte & 0x40) != 0)
                value |= ~UINT64_C(0) << (shift + 7);
            return (int64_t)value;
        }
    }
    c->failed = true;
    return 0;
}

bool hs_form_next_(struct hs_cursor *abbreviation, struct debug_value *ret)
{
    uint64_t attribute = hs_cursor_varint(abbreviation), form = hs_cursor_varint(abbreviation);
    if (abbreviation->failed || (attribute == 0 && form == 0))
        return false;
    if (attribute > UINT16_MAX || form > UINT16_MAX) {
        abbreviation->failed = true;
        return false;
    }
    *ret = (struct debug_value){.attribute = (uint16_t)attribute, .form = (uint16_t)form};
    if (form == DW_FORM_implicit_const)
        ret->number = (uint64_t)hs_form_signed_(abbreviation);
    return !abbreviation->failed;
}

static uint64_t form_number(struct hs_cursor *c, size_t n_bytes)
{
    switch (n_bytes) {
    case 1:
        return hs_cursor_u8(c);
    case 2:
        return hs_cursor_u16(c);
    case 3: {
        uint64_t low = hs_cursor_u16(c);
        return low | (uint64_t)hs_cursor_u8(c) << 16;
    }
    case 4:
        return hs_cursor_u32(c);
    default:
        return hs_cursor_u64(c);
    }
}

static void form_block(struct hs_cursor *c, uint64_t n_bytes, struct debug_value *value)
{
    if (n_bytes > hs_cursor_left(c)) {
        c->failed = true;
        return;
    }
    value->n_bytes = (size_t)n_bytes;
    value->bytes = hs_cursor_bytes(c, value->n_bytes);
}

static void form_text(struct hs_cursor *c, struct debug_value *value)
{
    value->bytes = (const uint8_t *)hs_cursor_string(c);
    if (value->bytes != NULL)
        value->n_bytes = (size_t)(c->bytes + c->at - value->bytes) - 1;
}

static size_t form_n_bytes(const struct debug_unit *unit, struct form_rule rule)
{
    if (rule.shape == SHAPE_OFFSET)
        return unit->n_offset_bytes;
    if (rule.shape == SHAPE_REFERENCE)
        return unit->version <= 2 ? 8 : unit->n_offset_bytes;
    return rule.n_bytes;
}

bool hs_form_read_(struct hs_cursor *c, const struct debug_unit *unit, struct debug_value *value)
{
    struct form_rule rule = form_rule_of(value->form);
    if (rule.shape == SHAPE_INDIRECT) {
        uint64_t form = hs_cursor_varint(c);
        rule = form <= UINT16_MAX ? form_rule_of((uint16_t)form) : (struct form_rule){0};
        if (rule.shape == SHAPE_INDIRECT || rule.shape == SHAPE_IMPLICIT)
            return false;
        value->form = (uint16_t)form;
    }
    switch (rule.shape) {
    case SHAPE_FIXED:
    case SHAPE_OFFSET:
    case SHAPE_REFERENCE:
        if (rule.n_bytes == 16)
            form_block(c, 16, value);
        else
            value->number = form_number(c, form_n_bytes(unit, rule));
        break;
    case SHAPE_ULEB:
        value->number = hs_cursor_varint(c);
        break;
    case SHAPE_SLEB:
        value->number = (uint64_t)hs_form_signed_(c);
        break;
    case SHAPE_TEXT:
        form_text(c, value);
        break;
    case SHAPE_COUNTED:
        form_block(c, form_number(c, rule.n_bytes), value);
        break;
    case SHAPE_ULEB_COUNTED:
        form_block(c, hs_cursor_varint(c), value);
        break;
    case SHAPE_PRESENT:
        value->number = 1;
        break;
    case SHAPE_IMPLICIT:
        break;
    default:
        return false;
    }
    return !c->failed;
}

int hs_form_size_(const struct debug_unit *unit, uint16_t form)
{
    struct form_rule rule = form_rule_of(form);
    if (rule.shape == SHAPE_FIXED || rule.shape == SHAPE_OFFSET || rule.shape == SHAPE_REFERENCE)
        return (int)form_n_bytes(unit, rule);
    return rule.shape == SHAPE_PRESENT || rule.shape == SHAPE_IMPLICIT ? 0 : -1;
}

struct hs_cursor hs_form_window_(struct debug_info *info, const struct debug_unit *unit, hs_die at,
                                 uint64_t n_bytes)
{
    size_t n_info = info->sections[DEBUG_INFO].n_bytes;
    bool in_types = unit->begin >= n_info;
    struct elf_view *section = &info->sections[in_types ? DEBUG_TYPES : DEBUG_INFO];
    size_t shift = in_types ? n_info : 0, end = (size_t)unit->end - shift;
    struct hs_cursor c = hs_cursor_make(section->bytes, end);
    if (at >= unit->end || at < shift) {
        hs_cursor_seek(&c, end);
        return c;
    }
    hs_cursor_seek(&c, (size_t)at - shift);
    if (n_bytes < end - c.at)
        c.n_bytes = c.at + (size_t)n_bytes;
    hs_elf_view_need_(section, c.at, c.n_bytes - c.at);
    return c;
}

struct hs_cursor hs_form_cursor_(struct debug_info *info, const struct debug_unit *unit, hs_die at)
{
    return hs_form_window_(info, unit, at, UINT64_MAX);
}

bool hs_form_is_cut_(const struct debug_info *info, const struct debug_unit *unit,
                     const struct hs_cursor *c)
{
    size_t n_info = info->sections[DEBUG_INFO].n_bytes;
    return c->n_bytes < unit->end - (unit->begin >= n_info ? n_info : 0);
}

struct hs_cursor hs_form_abbreviation_(struct debug_info *info, uint64_t at)
{
    struct elf_view *section = &info->sections[DEBUG_ABBREV];
    struct hs_cursor c = hs_cursor_make(section->bytes, section->n_bytes);
    hs_elf_view_need_(section, at, FORM_MAX_ABBREVIATION);
    hs_cursor_seek(&c, at < c.n_bytes ? (size_t)at : c.n_bytes);
    return c;
}

const char *hs_debug_text_at_(struct elf_view *section, uint64_t offset)
{
    enum { FIRST = 256 }; /* nearly all */
    if (offset >= section->n_bytes)
        return NULL;
    size_t left = section->n_bytes - (size_t)offset;
    const char *text = (const char *)section->bytes + offset;
    left = left < FORM_MAX_TEXT ? left : FORM_MAX_TEXT;
    hs_elf_view_need_(section, offset, FIRST);
    if (memchr(text, '\0', left < FIRST ? left : FIRST) != NULL)
        return text;
    hs_elf_view_need_(section, offset, left);
    return memchr(text, '\0', left) != NULL ? text : NULL;
}

const char *hs_form_text_(struct debug_info *info, const struct debug_unit *unit,
                          const struct debug_value *value)
{
    const struct debug_supplement *other = &info->supplement;
    bool is_other = unit->is_supplement;

    switch (value->form) {
    case DW_FORM_string:
        return (const char *)value->bytes;
    case DW_FORM_strp:
        return hs_debug_text_at_(&info->sections[DEBUG_STR],
                                 value->number + (is_other ? other->str : 0));
    case DW_FORM_line_strp:
        return hs_debug_text_at_(&info->sections[DEBUG_LINE_STR],
                                 value->number + (is_other ? other->line_str : 0));
    case DW_FORM_GNU_strp_alt:
    case DW_FORM_strp_sup:
        return other->is_there && !is_other
                   ? hs_debug_text_at_(&info->sections[DEBUG_STR], value->number + other->str)
                   : NULL;
    default:
        return NULL;
    }
}
