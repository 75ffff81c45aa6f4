#include "info_check.h"

#include <dwarf.h>

#include "types/form.h"

/* One bit per byte of .debug_info: where entries begin, and where references lead. */
struct check_place {
    struct debug_info *info;
    const struct debug_unit *unit;
    uint64_t *begins, *wanted;
    hs_die
        siblings[DEBUG_MAX_DEPTH]; /* by depth: where the entry that is open says it ends, or 0 */
    unsigned depth;                /* open levels */
    hs_die sibling;                /* of the entry being read */
};

static void mark(uint64_t *bits, hs_die die)
{
    bits[die / 64] |= UINT64_C(1) << die % 64;
}

/* A value that leads somewhere leads inside. */
static bool check_value(struct check_place *place, const struct debug_value *value)
{
    const struct debug_unit *unit = place->unit;
    const struct elf_view *sections = place->info->sections;
    hs_die target = value->number;
    switch (value->form) {
    case DW_FORM_ref1:
    case DW_FORM_ref2:
    case DW_FORM_ref4:
    case DW_FORM_ref8:
    case DW_FORM_ref_udata:
        if (value->number >= unit->end - unit->begin)
            return false;
        target = unit->begin + value->number;
        break;
    case DW_FORM_ref_addr:
        break;
    case DW_FORM_strp:
        return value->number < sections[DEBUG_STR].n_bytes;
    case DW_FORM_line_strp:
        return value->number < sections[DEBUG_LINE_STR].n_bytes;
    default:
        return value->attribute != DW_AT_sibling;
    }
    if (target >= sections[DEBUG_INFO].n_bytes)
        return false;
    if (value->attribute == DW_AT_sibling)
        place->sibling = target;
    else
        mark(place->wanted, target);
    return true;
}

/* Tells, after an entry or the null that ends its children, whether the sibling that it named is
 * here. */
static bool check_sibling(hs_die sibling, hs_die here)
{
    return sibling == 0 || sibling == here;
}

/* Reads one entry and moves behind it; false when damaged. */
static bool check_entry(struct check_place *place, const struct debug_table *table,
                        struct hs_cursor *c)
{
    hs_die die = c->at;
    uint64_t code = hs_cursor_varint(c);
    if (c->failed || (code != 0 && (code >= table->n_codes || table->codes[code] == 0)))
        return false;
    if (code == 0)
        return place->depth > 0 && check_sibling(place->siblings[--place->depth], c->at);
    mark(place->begins, die);
    place->sibling = 0;
    struct hs_cursor list = hs_form_abbreviation_(place->info, table->codes[code]);
    if (hs_cursor_varint(&list) == 0)
        return false;
    bool has_children = hs_cursor_u8(&list) != 0;
    struct debug_value value;
    while (hs_form_next_(&list, &value))
        if (value.form == DW_FORM_indirect || /* compilers make none */
            !hs_form_read_(c, place->unit, &value) || !check_value(place, &value))
            return false;
    if (!has_children)
        return !list.failed && check_sibling(place->sibling, c->at);
    if (place->depth >= DEBUG_MAX_DEPTH)
        return false;
    place->siblings[place->depth++] = place->sibling;
    return !list.failed;
}

static bool check_unit(struct check_place *place, struct debug_unit *unit)
{
    struct debug_info *info = place->info;
    if (!hs_debug_unit_load_(info, unit) || info->n_damaged > 0)
        return false;
    const struct debug_table *table = &info->tables[unit->table - 1];
    struct hs_cursor c = hs_form_cursor_(info, unit, unit->root);
    place->unit = unit;
    place->depth = 0;
    do {
        if (!check_entry(place, table, &c))
            return false;
    } while (place->depth > 0 && hs_cursor_left(&c) > 0);
    return place->depth == 0;
}

static bool check_units(struct check_place *place)
{
    struct debug_info *info = place->info;
    size_t n_info = info->sections[DEBUG_INFO].n_bytes;
    for (size_t i = 0; i < info->n_units; i++)
        if (info->units[i].begin < n_info && !check_unit(place, &info->units[i]))
            return false;
    for (size_t i = 0; i <= n_info / 64; i++)
        if ((place->wanted[i] & ~place->begins[i]) != 0)
            return false;
    return info->n_damaged == 0;
}

/* Pages, not the heap: a quarter of .debug_info, for a moment. */
static hs_status check_all(struct debug_info *info, bool *ret, struct hs_error *err)
{
    size_t n = info->sections[DEBUG_INFO].n_bytes / 64 + 1;
    struct check_place place = {.info = info};
    HS_TRY(HS_PAGES_ALLOC(&place.begins, n, err));
    hs_status status = HS_PAGES_ALLOC(&place.wanted, n, err);
    if (status == HS_OK) {
        *ret = check_units(&place);
        hs_pages_free(place.wanted, n, sizeof(uint64_t));
    }
    hs_pages_free(place.begins, n, sizeof(uint64_t));
    return status;
}

hs_status hs_info_check_(struct hs_elf *elf, bool *ret, struct hs_error *err)
{
    struct debug_info info = {0};
    struct elf_view_total total = {0};
    bool is_good = false;
    HS_TRY(hs_debug_open_(elf, &total, &info, err));
    hs_status status = info.n_damaged == 0 ? check_all(&info, &is_good, err) : HS_OK;
    bool ran_out = info.is_out_of_memory;
    hs_debug_close_(&info);
    if (status == HS_OK && ran_out)
        return hs_fail(err, HS_LIMIT, "out of memory for the abbreviations of '%s'",
                       hs_elf_name(elf));
    if (status == HS_OK)
        *ret = is_good;
    return status;
}
