/* The functions of a unit by address. */
#include <dwarf.h>
#include <stdlib.h>

#include "base/bisect.h"
#include "pool.h"

enum { FUNCTIONS_WALK_BACK = 32 };

struct functions_adding {
    struct hs_ctypes *types;
    struct ctypes_unit *unit;
    hs_die die;
};

static bool functions_visit(void *context, hs_addr begin, hs_addr end)
{
    const struct functions_adding *adding = context;
    struct ctypes_unit *unit = adding->unit;
    struct hs_error err = HS_ERROR_INIT;
    if (HS_GROW(&unit->functions, &unit->functions_capacity, unit->n_functions + 1, &err) !=
        HS_OK) {
        hs_ctypes_out_(adding->types);
        return false;
    }
    unit->functions[unit->n_functions++] = (struct ctypes_function){begin, end, adding->die};
    return true;
}

static int function_order(const void *a, const void *b)
{
    const struct ctypes_function *f = a, *g = b;
    if (f->begin != g->begin)
        return f->begin < g->begin ? -1 : 1;
    return (f->die > g->die) - (f->die < g->die);
}

static void functions_list(struct hs_ctypes *types, struct debug_info *info,
                           const struct debug_unit *unit, struct ctypes_unit *notes)
{
    struct debug_entry root, entry;
    notes->has_functions = true;
    if (!hs_entry_read_(info, unit->root, &root))
        return;
    struct debug_walk walk = hs_walk_begin_(info, &root);
    while (hs_walk_next_(&walk, &entry)) {
        if (entry.tag != DW_TAG_subprogram)
            continue;
        struct functions_adding adding = {types, notes, entry.die};
        hs_entry_ranges_(info, &entry, functions_visit, &adding);
        hs_walk_skip_(&walk, &entry);
    }
    if (notes->n_functions > 0)
        qsort(notes->functions, notes->n_functions, sizeof(*notes->functions), function_order);
}

static bool function_at(struct hs_ctypes *types, struct ctypes_file *file, hs_addr vaddr,
                        struct debug_entry *ret)
{
    const struct debug_unit *unit = hs_debug_unit_at_(&file->info, vaddr);
    struct ctypes_unit *notes = unit == NULL ? NULL : hs_ctypes_unit_(types, file, unit);
    if (notes == NULL)
        return false;
    if (!notes->has_functions)
        functions_list(types, &file->info, unit, notes);
    size_t low = HS_FIRST_NOT(at, 0, notes->n_functions, notes->functions[at].begin <= vaddr);
    for (size_t back = 0; back < FUNCTIONS_WALK_BACK && back < low; back++)
        if (vaddr < notes->functions[low - 1 - back].end)
            return hs_entry_read_(&file->info, notes->functions[low - 1 - back].die, ret);
    return false;
}

bool hs_ctypes_function_at_(struct hs_ctypes *types, hs_type_file number, hs_addr vaddr,
                            struct debug_entry *ret)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    return file != NULL &&
           (function_at(types, file, vaddr, ret) ||
            (hs_debug_read_roots_(&file->info) && function_at(types, file, vaddr, ret)));
}
