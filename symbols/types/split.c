/* Split units (-gsplit-dwarf): what describes types and variables is in files of their own (.dwo),
 * and a skeleton alone in the program: DWARF 5, 3.1.2; before it as GNU's DebugFission has it.
 * merge.c brings them in; which are missing is told here. */
#include <dwarf.h>

#include "pool.h"

static const char *split_name(struct debug_info *info, const struct debug_unit *unit)
{
    struct debug_entry root;
    if (!hs_entry_read_(info, unit->root, &root))
        return NULL;
    const char *name = hs_entry_text_(info, &root, DW_AT_dwo_name);
    return name != NULL ? name : hs_entry_text_(info, &root, DW_AT_GNU_dwo_name);
}

size_t hs_ctypes_split(struct hs_ctypes *types, hs_type_file number, const char **ret_name)
{
    struct debug_info *info = hs_ctypes_info_(types, number);
    size_t n = 0;
    *ret_name = NULL;
    for (size_t i = 0; info != NULL && i < info->n_units; i++) {
        const struct debug_unit *unit = &info->units[i];
        if (unit->type != DW_UT_skeleton || unit->split != 0)
            continue; /* it is whole, or here */
        n++;
        const char *name = *ret_name == NULL ? split_name(info, unit) : NULL;
        if (name != NULL)
            *ret_name = hs_ctypes_keep_(types, name, CTYPES_MAX_NAME);
    }
    hs_ctypes_trim_(types);
    return n;
}
