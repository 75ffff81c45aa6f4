/* The list of compilation units and the addresses that each covers. */
#include <stdlib.h>

#include "lines_private.h"

struct unit_adding {
    struct hs_dwarf *dwarf;
    uint32_t unit;
};

static hs_status unit_add_range(void *context, hs_addr begin, hs_addr end, struct hs_error *err)
{
    const struct unit_adding *adding = context;
    struct hs_dwarf *dwarf = adding->dwarf;
    HS_TRY(HS_GROW(&dwarf->ranges, &dwarf->ranges_capacity, dwarf->n_ranges + 1, err));
    dwarf->ranges[dwarf->n_ranges++] = (struct dwarf_range){begin, end, adding->unit};
    return HS_OK;
}

static hs_status unit_add(struct hs_dwarf *dwarf, Dwarf_Die root, uint16_t version,
                          struct hs_error *err)
{
    Dwarf_Error error = NULL;
    Dwarf_Off entry = 0;
    Dwarf_Half tag = 0;
    int res = dwarf_dieoffset(root, &entry, &error);
    if (res == DW_DLV_OK)
        res = dwarf_tag(root, &tag, &error);
    hs_dwarf_damage_(dwarf, &error);
    if (res != DW_DLV_OK || tag != DW_TAG_compile_unit)
        return HS_OK;
    HS_TRY(HS_GROW(&dwarf->units, &dwarf->units_capacity, dwarf->n_units + 1, err));
    struct unit_adding adding = {dwarf, (uint32_t)dwarf->n_units};
    struct dwarf_unit unit = {.entry = entry, .version = version};
    if (!hs_dwarf_entry_low_(dwarf, root, &unit.low))
        unit.low = 0;
    dwarf->units[dwarf->n_units++] = unit;
    return hs_dwarf_entry_ranges_(dwarf, &unit, root, unit_add_range, &adding, err);
}

static int range_order(const void *a, const void *b)
{
    const struct dwarf_range *r = a, *s = b;
    if (r->begin != s->begin)
        return r->begin < s->begin ? -1 : 1;
    return (r->unit > s->unit) - (r->unit < s->unit);
}

hs_status hs_dwarf_load_units_(struct hs_dwarf *dwarf, struct hs_error *err)
{
    if (dwarf->has_units)
        return HS_OK;
    dwarf->has_units = true;
    Dwarf_Debug dbg = dwarf->object.dbg;
    Dwarf_Unsigned next = 0, last = 0;
    for (size_t n = 0; n < HS_DWARF_MAX_UNITS; n++) {
        Dwarf_Error error = NULL;
        Dwarf_Unsigned length, type_offset;
        Dwarf_Half version, address_size, length_size, extension_size, type;
        Dwarf_Off abbreviations;
        Dwarf_Sig8 signature;
        Dwarf_Die root = NULL;
        int res = dwarf_next_cu_header_d(dbg, 1, &length, &version, &abbreviations, &address_size,
                                         &length_size, &extension_size, &signature, &type_offset,
                                         &next, &type, &error);
        if (res == DW_DLV_OK && next > last)
            res = dwarf_siblingof_b(dbg, NULL, 1, &root, &error);
        else if (res == DW_DLV_OK)
            res = DW_DLV_NO_ENTRY;
        hs_dwarf_damage_(dwarf, &error);
        if (res != DW_DLV_OK)
            break; /* the end, or a header that leaves us not knowing where the next one is */
        last = next;
        hs_status status = address_size == 8 ? unit_add(dwarf, root, version, err) : HS_OK;
        dwarf_dealloc_die(root);
        HS_TRY(status);
    }
    if (dwarf->n_ranges > 0)
        qsort(dwarf->ranges, dwarf->n_ranges, sizeof(*dwarf->ranges), range_order);
    return HS_OK;
}
