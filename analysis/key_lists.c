/* Tables of keys: rows in lists. */
#include "analysis/key_file.h"
#include "base/alloc.h"

const char *hs_key_list_name(unsigned list)
{
    static const char *const names[HS_N_KEY_LISTS] = {"keys",  "roots", "sets",
                                                      "types", "leaks", "sites"};
    return list < HS_N_KEY_LISTS ? names[list] : NULL;
}

void hs_snap_keys_fini(struct hs_snap_keys *table)
{
    for (unsigned i = 0; i < HS_N_KEY_LISTS; i++)
        hs_free(table->lists[i].rows);
    hs_free(table->builds);
    hs_strtab_fini(&table->names);
    *table = (struct hs_snap_keys){0};
}

hs_status hs_snap_keys_add(struct hs_snap_keys *table, enum hs_key_list list, const char *name,
                           const struct hs_key_row *row, struct hs_error *err)
{
    struct hs_key_rows *rows = &table->lists[list];
    struct hs_key_row made = *row;
    HS_TRY(hs_strtab_add(&table->names, name, &made.name, err));
    HS_TRY(HS_GROW(&rows->rows, &rows->capacity, rows->n + 1, err));
    rows->rows[rows->n++] = made;
    return HS_OK;
}
