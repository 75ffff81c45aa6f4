#include "boxed/line_reader.h"

#include <string.h>

#include "base/bisect.h"
#include "lines_private.h"

enum { LINES_WALK_BACK = 32 }; /* ranges or functions nested in the one looked for */

hs_status hs_dwarf_open(struct hs_elf *elf, struct hs_dwarf **ret, struct hs_error *err)
{
    hs_auto(hs_dwarf) *dwarf = NULL;
    HS_TRY(HS_ALLOC(&dwarf, 1, err));
    HS_TRY(hs_dwarf_object_open_(elf, DWARF_DEBUG_INFO, &dwarf->object, err));
    *ret = HS_STEAL(dwarf);
    return HS_OK;
}

void hs_dwarf_close(struct hs_dwarf *dwarf)
{
    if (dwarf == NULL)
        return;
    for (size_t i = 0; i < dwarf->n_units; i++) {
        hs_free(dwarf->units[i].rows);
        hs_free(dwarf->units[i].functions);
    }
    hs_free(dwarf->units);
    hs_free(dwarf->ranges);
    hs_free(dwarf->variables);
    hs_strtab_fini(&dwarf->strings);
    hs_dwarf_object_close_(&dwarf->object);
    hs_free(dwarf);
}

const char *hs_dwarf_text(const struct hs_dwarf *dwarf, hs_str id)
{
    return hs_strtab_get(&dwarf->strings, id);
}

uint64_t hs_dwarf_n_damaged(const struct hs_dwarf *dwarf)
{
    return dwarf->n_damaged;
}

/* The row that holds `vaddr`: the last at or below it, unless a sequence ended there. */
static void find_row(const struct dwarf_unit *unit, hs_addr vaddr, struct hs_dwarf_source *ret)
{
    size_t low = HS_FIRST_ABOVE(unit->rows, unit->n_rows, vaddr, vaddr);
    if (low == 0)
        return;
    ret->file = unit->rows[low - 1].file;
    ret->line = unit->rows[low - 1].line;
    uint64_t before = vaddr - unit->rows[low - 1].vaddr;
    ret->bytes_before = before < UINT32_MAX ? (uint32_t)before : UINT32_MAX;
}

/* The innermost function that holds `vaddr`, NULL when none does. */
static const struct dwarf_function *find_function(const struct dwarf_unit *unit, hs_addr vaddr)
{
    size_t low = HS_FIRST_ABOVE(unit->functions, unit->n_functions, begin, vaddr);
    for (size_t back = 0; back < LINES_WALK_BACK && back < low; back++)
        if (vaddr < unit->functions[low - 1 - back].end)
            return &unit->functions[low - 1 - back];
    return NULL;
}

static hs_status find_in_unit(struct hs_dwarf *dwarf, struct dwarf_unit *unit, hs_addr vaddr,
                              struct hs_dwarf_source *ret, struct hs_error *err)
{
    struct hs_dwarf_source source = {0};
    HS_TRY(hs_dwarf_load_unit_(dwarf, unit, err));
    find_row(unit, vaddr, &source);
    const struct dwarf_function *function = find_function(unit, vaddr);
    if (function != NULL) {
        struct dwarf_facts facts = {0};
        HS_TRY(hs_dwarf_entry_facts_(dwarf, function->entry, &facts, err));
        source.name = facts.name;
    }
    *ret = source;
    return HS_OK;
}

hs_status hs_dwarf_find_code(struct hs_dwarf *dwarf, hs_addr vaddr, struct hs_dwarf_source *ret,
                             struct hs_error *err)
{
    struct hs_dwarf_source found = {0};
    HS_TRY(hs_dwarf_load_units_(dwarf, err));
    size_t low = HS_FIRST_ABOVE(dwarf->ranges, dwarf->n_ranges, begin, vaddr);
    for (size_t back = 0; back < LINES_WALK_BACK && back < low; back++) {
        const struct dwarf_range *range = &dwarf->ranges[low - 1 - back];
        if (vaddr >= range->end)
            continue;
        HS_TRY(find_in_unit(dwarf, &dwarf->units[range->unit], vaddr, &found, err));
        if (found.line != 0 || found.name != 0)
            break;
    }
    *ret = found;
    return HS_OK;
}

/* The root of the unit that holds an entry, NULL when damaged, and the unit's version. */
static Dwarf_Die unit_root_of(struct hs_dwarf *dwarf, Dwarf_Off entry, Dwarf_Half *ret_version)
{
    Dwarf_Die die = hs_dwarf_entry_open_(dwarf, entry);
    Dwarf_Error error = NULL;
    Dwarf_Off root = 0;
    Dwarf_Half offset_size;
    if (die == NULL)
        return NULL;
    int res = dwarf_CU_dieoffset_given_die(die, &root, &error);
    if (res == DW_DLV_OK)
        res = dwarf_get_version_of_die(die, ret_version, &offset_size);
    hs_dwarf_damage_(dwarf, &error);
    dwarf_dealloc_die(die);
    return res == DW_DLV_OK ? hs_dwarf_entry_open_(dwarf, root) : NULL;
}

/* The name of the file where an entry is declared: counted from 0 in DWARF 5, from 1 before. */
static hs_status find_file(struct hs_dwarf *dwarf, const struct dwarf_facts *facts, hs_str *ret,
                           struct hs_error *err)
{
    Dwarf_Half version = 0;
    Dwarf_Die root = unit_root_of(dwarf, facts->file_entry, &version);
    Dwarf_Error error = NULL;
    char **names = NULL;
    Dwarf_Signed n = 0;
    hs_status status = HS_OK;
    if (root == NULL)
        return HS_OK;
    uint64_t at = facts->file - (version >= 5 ? 0 : 1);
    if (hs_dwarf_entry_has_lines_(dwarf, root) &&
        dwarf_srcfiles(root, &names, &n, &error) == DW_DLV_OK) {
        if (at < (uint64_t)n && names[at] != NULL)
            status = hs_strtab_add(&dwarf->strings, names[at], ret, err);
        for (Dwarf_Signed i = 0; i < n; i++)
            dwarf_dealloc(dwarf->object.dbg, names[i], DW_DLA_STRING);
        dwarf_dealloc(dwarf->object.dbg, names, DW_DLA_LIST);
    }
    hs_dwarf_damage_(dwarf, &error);
    dwarf_dealloc_die(root);
    return status;
}

hs_status hs_dwarf_find_variable(struct hs_dwarf *dwarf, hs_addr vaddr, struct hs_dwarf_source *ret,
                                 struct hs_error *err)
{
    HS_TRY(hs_dwarf_load_units_(dwarf, err));
    HS_TRY(hs_dwarf_load_variables_(dwarf, err));
    struct hs_dwarf_source found = {0};
    size_t low = HS_FIRST_FROM(dwarf->variables, dwarf->n_variables, vaddr, vaddr);
    if (low < dwarf->n_variables && dwarf->variables[low].vaddr == vaddr) {
        const struct dwarf_variable *variable = &dwarf->variables[low];
        struct dwarf_facts facts = {0};
        HS_TRY(hs_dwarf_entry_facts_(dwarf, variable->entry, &facts, err));
        if (facts.has_file)
            HS_TRY(find_file(dwarf, &facts, &found.file, err));
        found.name = facts.name;
        found.line = facts.line;
    }
    *ret = found;
    return HS_OK;
}
