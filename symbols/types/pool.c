/* The common ground of all parts of a hs_ctypes: its files, notes on units, kept text. */
#include "pool.h"

#include <string.h>

enum { POOL_BLOCK_BYTES = 1 << 16 };

void hs_ctypes_trim_(struct hs_ctypes *types)
{
    size_t most = hs_elf_view_most_(&types->views);
    for (size_t i = 0; i < types->n_files && types->views.n_resident > most; i++)
        hs_debug_drop_(&types->files[i]->info);
}

static size_t file_list_bytes(const struct ctypes_file *file)
{
    return file->enclosing_capacity * sizeof *file->enclosing +
           file->sized_capacity * sizeof *file->sized +
           file->variables.capacity * sizeof *file->variables.items +
           file->details_capacity * sizeof *file->details +
           (file->names.n + file->types.n) * 2 * sizeof *file->names.entries;
}

bool hs_ctypes_is_full_(struct hs_ctypes *types)
{
    size_t n_bytes = types->types_capacity * sizeof *types->items +
                     types->members_capacity * sizeof *types->members +
                     types->choices_capacity * sizeof *types->choices +
                     types->n_all_slots * sizeof(struct hs_cslot) +
                     types->texts_capacity * sizeof *types->texts +
                     types->n_kept * POOL_BLOCK_BYTES;

    for (size_t i = 0; i < types->n_files; i++)
        n_bytes += file_list_bytes(types->files[i]);
    types->was_full |= types->most_list_bytes != 0 && n_bytes > types->most_list_bytes;
    return types->was_full;
}

void hs_ctypes_out_(struct hs_ctypes *types)
{
    types->n_damaged++;
    types->ran_out = true;
}

bool hs_ctypes_ran_out_(struct hs_ctypes *types)
{
    bool ran_out = types->ran_out;
    types->ran_out = false;
    for (size_t i = 0; i < types->n_files; i++) {
        ran_out |= types->files[i]->info.is_out_of_memory;
        types->files[i]->info.is_out_of_memory = false;
    }
    return ran_out;
}

struct ctypes_file *hs_ctypes_file_(struct hs_ctypes *types, hs_type_file file)
{
    return file == 0 || file > types->n_files ? NULL : types->files[file - 1];
}

struct debug_info *hs_ctypes_info_(struct hs_ctypes *types, hs_type_file file)
{
    struct ctypes_file *found = hs_ctypes_file_(types, file);
    return found == NULL ? NULL : &found->info;
}

struct ctypes_unit *hs_ctypes_unit_(struct hs_ctypes *types, struct ctypes_file *file,
                                    const struct debug_unit *unit)
{
    struct hs_error err = HS_ERROR_INIT;
    if (file->units == NULL && HS_ALLOC(&file->units, file->info.n_units, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return NULL;
    }
    return &file->units[unit - file->info.units];
}

static bool text_is(const char *known, const char *text, size_t n_bytes)
{
    return strncmp(known, text, n_bytes) == 0 && known[n_bytes] == '\0';
}

/* Makes room for one more text. */
static hs_status text_make_room(struct hs_ctypes *types, size_t n_bytes, struct hs_error *err)
{
    HS_TRY(HS_GROW(&types->texts, &types->texts_capacity, types->n_texts + 1, err));
    struct ctypes_kept *last = types->n_kept == 0 ? NULL : &types->kept[types->n_kept - 1];
    if (last != NULL && last->capacity - last->n > n_bytes)
        return HS_OK;
    HS_TRY(HS_GROW(&types->kept, &types->kept_capacity, types->n_kept + 1, err));
    struct ctypes_kept block = {.capacity = POOL_BLOCK_BYTES};
    if (n_bytes >= POOL_BLOCK_BYTES)
        block.capacity = n_bytes + 1;
    HS_TRY(hs_alloc(block.capacity, 1, (void **)&block.text, err));
    types->kept[types->n_kept++] = block;
    return HS_OK;
}

const char *hs_ctypes_keep_(struct hs_ctypes *types, const char *text, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    n_bytes = strnlen(text, n_bytes);
    if (n_bytes == 0)
        return "";
    uint64_t hash = hs_hash_bytes(text, n_bytes);
    uint32_t found =
        HS_TABLE_FIND(&types->by_text, hash, i, text_is(types->texts[i], text, n_bytes));
    if (found != HS_NO_NUMBER)
        return types->texts[found];
    if (text_make_room(types, n_bytes, &err) != HS_OK ||
        hs_table_add(&types->by_text, hash, types->n_texts, &err) != HS_OK) {
        hs_ctypes_out_(types);
        return NULL;
    }
    struct ctypes_kept *block = &types->kept[types->n_kept - 1];
    char *copy = block->text + block->n;
    memcpy(copy, text, n_bytes);
    copy[n_bytes] = '\0';
    block->n += n_bytes + 1;
    types->texts[types->n_texts++] = copy;
    return copy;
}

const char *hs_ctypes_file_name_(struct hs_ctypes *types, hs_type_file file,
                                 const struct debug_unit *unit, uint64_t number)
{
    char text[CTYPES_MAX_NAME];
    struct debug_info *info = hs_ctypes_info_(types, file);
    if (info == NULL)
        return "";
    size_t n = hs_debug_file_name_(info, unit, number, text, sizeof(text));
    const char *kept = hs_ctypes_keep_(types, text, n);
    return kept == NULL ? "" : kept;
}
