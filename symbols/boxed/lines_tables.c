/* The contents of units: line rows, functions, variables. */
#include <stdlib.h>

#include "lines_private.h"

enum { TABLE_MAX_FILES = 1 << 16 };

/* --- line rows --- */

struct row_loader {
    struct hs_dwarf *dwarf;
    struct dwarf_unit *unit;
    hs_str *files; /* owned: file number -> name + 1, 0 when not yet read */
    size_t n_files, files_capacity;
};

/* Finds the file of a row. libdwarf builds a path per row; we ask once per file. */
static hs_status row_file(struct row_loader *loader, Dwarf_Line line, hs_str *ret,
                          struct hs_error *err)
{
    struct hs_dwarf *dwarf = loader->dwarf;
    Dwarf_Error error = NULL;
    Dwarf_Unsigned number = 0;
    char *name = NULL;
    if (dwarf_line_srcfileno(line, &number, &error) != DW_DLV_OK || number >= TABLE_MAX_FILES) {
        hs_dwarf_damage_(dwarf, &error);
        return HS_OK;
    }
    HS_TRY(HS_GROW(&loader->files, &loader->files_capacity, (size_t)number + 1, err));
    hs_str *known = &loader->files[number];
    if (*known == 0) {
        hs_str file = 0;
        hs_status status = HS_OK;
        if (dwarf_linesrc(line, &name, &error) == DW_DLV_OK && name != NULL) {
            status = hs_strtab_add(&dwarf->strings, name, &file, err);
            dwarf_dealloc(dwarf->object.dbg, name, DW_DLA_STRING);
        }
        hs_dwarf_damage_(dwarf, &error);
        HS_TRY(status);
        *known = file + 1;
    }
    *ret = *known - 1;
    return HS_OK;
}

static hs_status row_add(struct row_loader *loader, Dwarf_Line line, struct hs_error *err)
{
    struct dwarf_unit *unit = loader->unit;
    Dwarf_Error error = NULL;
    Dwarf_Addr vaddr = 0;
    Dwarf_Unsigned number = 0;
    Dwarf_Bool is_end = 0;
    int res = dwarf_lineaddr(line, &vaddr, &error);
    if (res == DW_DLV_OK)
        res = dwarf_lineno(line, &number, &error);
    if (res == DW_DLV_OK)
        res = dwarf_lineendsequence(line, &is_end, &error);
    hs_dwarf_damage_(loader->dwarf, &error);
    if (res != DW_DLV_OK)
        return HS_OK;
    struct dwarf_row row = {.vaddr = vaddr};
    if (!is_end) {
        HS_TRY(row_file(loader, line, &row.file, err));
        row.line = number <= UINT32_MAX ? (uint32_t)number : 0;
    }
    /* The last of several rows for one address is the only one that describes bytes. */
    struct dwarf_row *before = unit->n_rows > 0 ? &unit->rows[unit->n_rows - 1] : NULL;
    if (before != NULL && before->vaddr == vaddr && before->line != 0) {
        *before = row;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&unit->rows, &unit->rows_capacity, unit->n_rows + 1, err));
    unit->rows[unit->n_rows++] = row;
    return HS_OK;
}

/* Orders rows; where one sequence ends and another begins, the end comes first. */
static int row_order(const void *a, const void *b)
{
    const struct dwarf_row *r = a, *s = b;
    if (r->vaddr != s->vaddr)
        return r->vaddr < s->vaddr ? -1 : 1;
    if ((r->line == 0) != (s->line == 0))
        return r->line == 0 ? -1 : 1;
    return (r->line > s->line) - (r->line < s->line);
}

static hs_status unit_load_rows(struct hs_dwarf *dwarf, struct dwarf_unit *unit, Dwarf_Die root,
                                struct hs_error *err)
{
    Dwarf_Error error = NULL;
    Dwarf_Unsigned version = 0;
    Dwarf_Small n_tables = 0;
    Dwarf_Line_Context context = NULL;
    Dwarf_Line *lines = NULL;
    Dwarf_Signed n = 0;
    struct row_loader loader = {.dwarf = dwarf, .unit = unit};
    hs_status status = HS_OK;
    if (!hs_dwarf_entry_has_lines_(dwarf, root))
        return HS_OK;
    int res = dwarf_srclines_b(root, &version, &n_tables, &context, &error);
    if (res == DW_DLV_OK)
        res = dwarf_srclines_from_linecontext(context, &lines, &n, &error);
    for (Dwarf_Signed i = 0; res == DW_DLV_OK && i < n && status == HS_OK; i++) {
        if (dwarf->n_rows == HS_DWARF_MAX_ROWS) {
            dwarf->n_damaged++;
            break;
        }
        dwarf->n_rows++;
        status = row_add(&loader, lines[i], err);
    }
    hs_dwarf_damage_(dwarf, &error);
    if (context != NULL)
        dwarf_srclines_dealloc_b(context);
    hs_free(loader.files);
    if (unit->n_rows > 0)
        qsort(unit->rows, unit->n_rows, sizeof(*unit->rows), row_order);
    return status;
}

/* --- walking entries --- */

struct entry_walk {
    struct hs_dwarf *dwarf;
    struct dwarf_unit *unit;
    bool for_variables; /* else for functions */
};

static hs_status walk_add_function(struct entry_walk *walk, Dwarf_Die die, Dwarf_Off entry,
                                   struct hs_error *err);

static hs_status walk_add_variable(struct entry_walk *walk, Dwarf_Die die, Dwarf_Off entry,
                                   struct hs_error *err)
{
    struct hs_dwarf *dwarf = walk->dwarf;
    hs_addr vaddr;
    if (!hs_dwarf_entry_address_(dwarf, die, &vaddr))
        return HS_OK;
    HS_TRY(HS_GROW(&dwarf->variables, &dwarf->variables_capacity, dwarf->n_variables + 1, err));
    dwarf->variables[dwarf->n_variables++] = (struct dwarf_variable){vaddr, entry};
    return HS_OK;
}

/* Takes what is wanted from the entry and says whether to look inside. */
static hs_status walk_visit(struct entry_walk *walk, Dwarf_Die die, Dwarf_Off entry,
                            bool *ret_descend, struct hs_error *err)
{
    Dwarf_Error error = NULL;
    Dwarf_Half tag = 0;
    *ret_descend = false;
    if (dwarf_tag(die, &tag, &error) != DW_DLV_OK) {
        hs_dwarf_damage_(walk->dwarf, &error);
        return HS_OK;
    }
    switch (tag) {
    case DW_TAG_namespace:
    case DW_TAG_module:
    case DW_TAG_structure_type:
    case DW_TAG_class_type:
        *ret_descend = true;
        return HS_OK;
    case DW_TAG_lexical_block:
        *ret_descend = walk->for_variables;
        return HS_OK;
    case DW_TAG_subprogram:
        *ret_descend = walk->for_variables; /* its static variables */
        return walk->for_variables ? HS_OK : walk_add_function(walk, die, entry, err);
    case DW_TAG_variable:
        return walk->for_variables ? walk_add_variable(walk, die, entry, err) : HS_OK;
    default:
        return HS_OK;
    }
}

/* The next entry in the order of the file, or NULL: first child of `die` or its sibling. Entries
 * only ever go forward, whatever a sibling attribute claims, so that the walk ends. */
static Dwarf_Die walk_next(struct hs_dwarf *dwarf, Dwarf_Die die, bool child, Dwarf_Off after,
                           Dwarf_Off *ret_entry)
{
    Dwarf_Error error = NULL;
    Dwarf_Die next = NULL;
    int res = child ? dwarf_child(die, &next, &error)
                    : dwarf_siblingof_b(dwarf->object.dbg, die, 1, &next, &error);
    if (res == DW_DLV_OK)
        res = dwarf_dieoffset(next, ret_entry, &error);
    hs_dwarf_damage_(dwarf, &error);
    if (res == DW_DLV_OK && *ret_entry > after)
        return next;
    if (next != NULL) {
        dwarf->n_damaged++;
        dwarf_dealloc_die(next);
    }
    return NULL;
}

static hs_status walk_entries(struct entry_walk *walk, Dwarf_Die root, struct hs_error *err)
{
    struct hs_dwarf *dwarf = walk->dwarf;
    Dwarf_Die path[HS_DWARF_MAX_DEPTH] = {root}; /* root is the caller's */
    Dwarf_Off entry = walk->unit->entry, next_entry;
    size_t depth = 0;
    bool descend = true;
    hs_status status = HS_OK;
    while (status == HS_OK && dwarf->n_entries < HS_DWARF_MAX_ENTRIES) {
        dwarf->n_entries++;
        Dwarf_Die next = NULL;
        if (descend && depth + 1 < HS_DWARF_MAX_DEPTH)
            next = walk_next(dwarf, path[depth], true, entry, &next_entry);
        if (next != NULL)
            depth++;
        while (next == NULL && depth > 0) {
            next = walk_next(dwarf, path[depth], false, entry, &next_entry);
            dwarf_dealloc_die(path[depth]);
            if (next == NULL)
                depth--;
        }
        if (next == NULL)
            return HS_OK;
        path[depth] = next;
        entry = next_entry;
        status = walk_visit(walk, next, entry, &descend, err);
    }
    for (; depth > 0; depth--)
        dwarf_dealloc_die(path[depth]);
    return status;
}

/* --- functions --- */

struct function_adding {
    struct dwarf_unit *unit;
    Dwarf_Off entry;
};

static hs_status function_add_range(void *context, hs_addr begin, hs_addr end, struct hs_error *err)
{
    const struct function_adding *adding = context;
    struct dwarf_unit *unit = adding->unit;
    HS_TRY(HS_GROW(&unit->functions, &unit->functions_capacity, unit->n_functions + 1, err));
    unit->functions[unit->n_functions++] = (struct dwarf_function){begin, end, adding->entry};
    return HS_OK;
}

static hs_status walk_add_function(struct entry_walk *walk, Dwarf_Die die, Dwarf_Off entry,
                                   struct hs_error *err)
{
    struct function_adding adding = {walk->unit, entry};
    return hs_dwarf_entry_ranges_(walk->dwarf, walk->unit, die, function_add_range, &adding, err);
}

static int function_order(const void *a, const void *b)
{
    const struct dwarf_function *f = a, *g = b;
    if (f->begin != g->begin)
        return f->begin < g->begin ? -1 : 1;
    return (f->entry > g->entry) - (f->entry < g->entry);
}

static int variable_order(const void *a, const void *b)
{
    const struct dwarf_variable *v = a, *w = b;
    if (v->vaddr != w->vaddr)
        return v->vaddr < w->vaddr ? -1 : 1;
    return (v->entry > w->entry) - (v->entry < w->entry);
}

hs_status hs_dwarf_load_unit_(struct hs_dwarf *dwarf, struct dwarf_unit *unit, struct hs_error *err)
{
    if (unit->loaded)
        return HS_OK;
    unit->loaded = true;
    Dwarf_Die root = hs_dwarf_entry_open_(dwarf, unit->entry);
    if (root == NULL)
        return HS_OK;
    struct entry_walk walk = {dwarf, unit, false};
    hs_status status = unit_load_rows(dwarf, unit, root, err);
    if (status == HS_OK)
        status = walk_entries(&walk, root, err);
    if (unit->n_functions > 0)
        qsort(unit->functions, unit->n_functions, sizeof(*unit->functions), function_order);
    dwarf_dealloc_die(root);
    return status;
}

hs_status hs_dwarf_load_variables_(struct hs_dwarf *dwarf, struct hs_error *err)
{
    if (dwarf->has_variables)
        return HS_OK;
    dwarf->has_variables = true;
    hs_status status = HS_OK;
    for (size_t i = 0; i < dwarf->n_units && status == HS_OK; i++) {
        struct entry_walk walk = {dwarf, &dwarf->units[i], true};
        Dwarf_Die root = hs_dwarf_entry_open_(dwarf, dwarf->units[i].entry);
        if (root == NULL)
            continue;
        status = walk_entries(&walk, root, err);
        dwarf_dealloc_die(root);
    }
    if (dwarf->n_variables > 0)
        qsort(dwarf->variables, dwarf->n_variables, sizeof(*dwarf->variables), variable_order);
    return status;
}
