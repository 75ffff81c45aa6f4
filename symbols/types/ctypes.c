/* Files, and variables by address. */
#include "symbols/ctypes.h"

#include <dwarf.h>
#include <stdlib.h>
#include <string.h>

#include "base/bisect.h"
#include "pool.h"

enum { CTYPES_WALK_BACK = 32 };

hs_status hs_ctypes_new(struct hs_ctypes **ret, struct hs_error *err)
{
    hs_auto(hs_ctypes) *types = NULL;
    HS_TRY(HS_ALLOC(&types, 1, err));
    HS_TRY(HS_GROW(&types->items, &types->types_capacity, 64, err));
    types->items[0] = (struct ctypes_type){.flags = TYPE_BUILT | TYPE_FLATTENED};
    types->n_types = 1;
    *ret = HS_STEAL(types);
    return HS_OK;
}

void hs_ctypes_use_rules(struct hs_ctypes *types, const struct hs_rules *rules)
{
    types->rules = rules;
}

void hs_ctypes_bound(struct hs_ctypes *types, size_t piece_bytes, size_t list_bytes)
{
    types->views.most = piece_bytes;
    types->most_list_bytes = list_bytes;
}

bool hs_ctypes_was_full(const struct hs_ctypes *types)
{
    return types->was_full;
}

void hs_ctypes_unpack_to(struct hs_ctypes *types, const struct hs_budget *budget)
{
    types->views.unpack = budget;
}

hs_status hs_ctypes_check(const struct hs_ctypes *types, struct hs_error *err)
{
    return types->views.has_lost
               ? hs_fail(err, HS_IO, "a temporary file of debug information cannot be read back")
               : HS_OK;
}

/* Lists were measured at 0.1 (C++) and 0.6 (C) of what there is to list. */
void hs_ctypes_foresee(struct hs_elf *elf, struct hs_ctypes_needs *ret)
{
    hs_debug_foresee_(elf, &ret->whole_bytes, &ret->piece_bytes);
    ret->list_bytes = (ret->whole_bytes + ret->piece_bytes) / 2;
}

static void file_free(struct ctypes_file *file)
{
    if (file == NULL)
        return;
    for (size_t i = 0; file->units != NULL && i < file->info.n_units; i++) {
        hs_free(file->units[i].scopes);
        hs_free(file->units[i].functions);
        hs_free(file->units[i].lines.items);
    }
    hs_free(file->units);
    hs_free(file->variables.items);
    hs_free(file->tls.items);
    hs_free(file->details);
    hs_dict_fini(&file->names);
    hs_dict_fini(&file->types);
    hs_free(file->late);
    hs_free(file->enclosing);
    hs_free(file->sized);
    hs_dict_fini(&file->sizes);
    hs_directory_close_(&file->directory);
    hs_debug_close_(&file->info);
    hs_free(file);
}

void hs_ctypes_free(struct hs_ctypes *types)
{
    if (types == NULL)
        return;
    for (size_t i = 0; i < types->n_files; i++)
        file_free(types->files[i]);
    for (size_t i = 0; i < types->n_types; i++)
        if (types->items[i].definition == 0)
            hs_free(types->items[i].slots);
    for (size_t i = 0; i < types->n_kept; i++)
        hs_free(types->kept[i].text);
    hs_free(types->files);
    hs_free(types->items);
    hs_free(types->members);
    hs_free(types->kept);
    hs_free(types->texts);
    hs_table_fini(&types->by_text);
    hs_free(types->scratch);
    hs_free(types->choices);
    hs_free(types->untold);
    hs_free(types->whens);
    hs_free(types);
}

hs_status hs_ctypes_add(struct hs_ctypes *types, struct hs_elf *elf, hs_type_file *ret,
                        struct hs_error *err)
{
    struct ctypes_file *file = NULL;
    if (types->n_files >= CTYPES_MAX_FILES)
        return hs_fail(err, HS_LIMIT, "too many files with debug information");
    HS_TRY(HS_GROW(&types->files, &types->files_capacity, types->n_files + 1, err));
    HS_TRY(HS_ALLOC(&file, 1, err));
    file->elf = elf;
    hs_status status = hs_debug_open_(elf, &types->views, &file->info, err);
    if (status != HS_OK || file->info.n_units == 0) {
        types->n_damaged += file->info.n_damaged;
        file_free(file);
        if (status == HS_OK)
            *ret = 0;
        return status;
    }
    types->files[types->n_files++] = file;
    *ret = (hs_type_file)types->n_files;
    return HS_OK;
}

uint64_t hs_ctypes_n_damaged(const struct hs_ctypes *types)
{
    uint64_t n = types->n_damaged + types->views.n_failed;
    for (size_t i = 0; i < types->n_files; i++)
        n += types->files[i]->info.n_damaged;
    return n;
}

/* Returns a variable's size; the symbol beyond the type counts: an array at its end that the type
 * does not count, or no size at all. */
static uint64_t variable_size(struct hs_ctypes *types, struct ctypes_file *file,
                              const struct ctypes_variable *variable, hs_ctype type)
{
    uint64_t n_bytes = hs_ctypes_size_(types, type), offset = 0;
    bool is_open = n_bytes == 0;
    const struct ctypes_type *t = hs_ctypes_get_(types, type);
    if (t->n_members > 0) {
        hs_ctype last = types->members[t->first_member + t->n_members - 1].type;
        const struct ctypes_type *l = hs_ctypes_get_(types, last);
        is_open |= l->kind == HS_CTYPE_ARRAY && l->n_elements == 0;
    }
    const struct hs_elf_symbol *symbol =
        is_open ? hs_elf_symbol_at(file->elf, variable->vaddr, &offset) : NULL;
    return symbol != NULL && offset == 0 && symbol->n_bytes > n_bytes ? symbol->n_bytes : n_bytes;
}

static void variable_describe(struct hs_ctypes *types, hs_type_file number,
                              const struct ctypes_variable *variable, struct hs_cvariable *ret)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    struct debug_info *info = &file->info;
    struct debug_entry entry, holder;
    struct debug_value value;
    *ret = (struct hs_cvariable){.name = "", .file = "", .vaddr = variable->vaddr};
    if (!hs_entry_read_(info, variable->die, &entry))
        return;
    ret->type = hs_ctypes_type_of_(types, number, &entry);
    ret->n_bytes = variable_size(types, file, variable, ret->type);
    const char *name = hs_ctypes_name_of_(types, number, &entry);
    ret->name = name == NULL ? "" : name;
    if (hs_entry_inherited_(info, &entry, DW_AT_decl_line, &value, NULL) &&
        value.number <= UINT32_MAX)
        ret->line = (uint32_t)value.number;
    if (hs_entry_inherited_(info, &entry, DW_AT_decl_file, &value, &holder))
        ret->file = hs_ctypes_file_name_(types, number, holder.unit, value.number);
}

/* The description of a variable, kept; NULL out of memory. */
static const struct hs_cvariable *variable_detail(struct hs_ctypes *types, hs_type_file number,
                                                  struct ctypes_variable *variable)
{
    struct ctypes_file *file = hs_ctypes_file_(types, number);
    struct hs_error err = HS_ERROR_INIT;
    if (variable->detail == 0) {
        struct hs_cvariable detail;
        variable_describe(types, number, variable, &detail);
        if (HS_GROW(&file->details, &file->details_capacity, file->n_details + 1, &err) != HS_OK) {
            hs_ctypes_out_(types);
            return NULL;
        }
        file->details[file->n_details++] = detail;
        variable->detail = (uint32_t)file->n_details;
    }
    return &file->details[variable->detail - 1];
}

static bool variable_find(struct hs_ctypes *types, hs_type_file number,
                          struct ctypes_variables *variables, uint64_t vaddr,
                          struct hs_cvariable *ret)
{
    size_t low = HS_FIRST_NOT(at, 0, variables->n, variables->items[at].vaddr <= vaddr);
    /* Several entries at one address: the same variable told by several units. */
    for (size_t back = 0; back < CTYPES_WALK_BACK && back < low; back++) {
        const struct hs_cvariable *detail =
            variable_detail(types, number, &variables->items[low - 1 - back]);
        if (detail != NULL && vaddr - detail->vaddr < detail->n_bytes) {
            *ret = *detail;
            return true;
        }
    }
    return false;
}

/* Looks in what is indexed, then in what may tell of `symbol`, then in all. */
static bool variable_at(struct hs_ctypes *types, hs_type_file number,
                        struct ctypes_variables *variables, uint64_t at,
                        const struct hs_elf_symbol *symbol, struct hs_cvariable *ret)
{
    hs_ctypes_trim_(types);
    do {
        hs_ctypes_sort_(variables);
        if (variable_find(types, number, variables, at, ret))
            return true;
    } while (hs_ctypes_index_for_(types, number, symbol));
    return false;
}

bool hs_ctypes_variable_at(struct hs_ctypes *types, hs_type_file file, hs_addr vaddr,
                           struct hs_cvariable *ret)
{
    struct ctypes_file *found = hs_ctypes_file_(types, file);
    return found != NULL && variable_at(types, file, &found->variables, vaddr,
                                        hs_elf_symbol_at(found->elf, vaddr, NULL), ret);
}

bool hs_ctypes_tls_variable_at(struct hs_ctypes *types, hs_type_file file, uint64_t offset,
                               struct hs_cvariable *ret)
{
    struct ctypes_file *found = hs_ctypes_file_(types, file);
    size_t n = 0, i = 0;
    if (found == NULL)
        return false;
    const struct hs_elf_symbol *symbols = hs_elf_tls_symbols(found->elf, &n);
    while (i < n && (offset < symbols[i].vaddr || offset - symbols[i].vaddr >= symbols[i].n_bytes))
        i++;
    return variable_at(types, file, &found->tls, offset, i < n ? &symbols[i] : NULL, ret);
}
