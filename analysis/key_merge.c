/* Rows by name. */
#include "key_merge.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

hs_status key_merge_add(struct key_merge *merge, const char *name, const struct hs_key_row *row,
                        struct hs_error *err)
{
    struct hs_key_rows *rows = &merge->table->lists[merge->list];
    uint64_t each = merge->list == HS_KEY_LIST_LEAKS ? row->detail : 0;
    hs_str id;
    HS_TRY(hs_strtab_add(&merge->table->names, name[0] == '\0' ? "?" : name, &id, err));
    uint64_t hash = hs_hash_pair(hs_hash_pair(row->parent, id), each << 8 | row->form);
    uint32_t at =
        HS_TABLE_FIND(&merge->by_name, hash, i,
                      rows->rows[i].name == id && rows->rows[i].parent == row->parent &&
                          rows->rows[i].form == row->form &&
                          (merge->list != HS_KEY_LIST_LEAKS || rows->rows[i].detail == each));
    if (at == HS_NO_NUMBER) {
        HS_TRY(HS_GROW(&rows->rows, &rows->capacity, rows->n + 1, err));
        HS_TRY(hs_table_add(&merge->by_name, hash, rows->n, err));
        at = (uint32_t)rows->n++;
        rows->rows[at] = (struct hs_key_row){.parent = row->parent, .name = id, .form = row->form};
    }
    rows->rows[at].objects += row->objects;
    rows->rows[at].words += row->words;
    rows->rows[at].tells += row->tells;
    rows->rows[at].detail =
        merge->list == HS_KEY_LIST_LEAKS ? each : rows->rows[at].detail + row->detail;
    return HS_OK;
}

static int largest_first(const void *left, const void *right, void *context)
{
    const struct hs_key_row *a = left, *b = right;
    const struct hs_strtab *names = context;
    if (a->words != b->words)
        return a->words > b->words ? -1 : 1;
    int order = strcmp(hs_strtab_get(names, a->name), hs_strtab_get(names, b->name));
    if (order != 0)
        return order;
    if (a->parent != b->parent)
        return a->parent < b->parent ? -1 : 1;
    if (a->form != b->form)
        return a->form < b->form ? -1 : 1;
    return a->detail < b->detail ? -1 : a->detail > b->detail;
}

void key_merge_end(struct key_merge *merge)
{
    struct hs_key_rows *rows = &merge->table->lists[merge->list];
    hs_table_fini(&merge->by_name);
    if (rows->n > 1)
        qsort_r(rows->rows, rows->n, sizeof *rows->rows, largest_first, &merge->table->names);
    if (rows->n > HS_KEY_ROWS_MOST)
        rows->n = HS_KEY_ROWS_MOST;
}
