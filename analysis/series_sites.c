/* The sites of what grows. */
#include <stdlib.h>

#include "base/alloc.h"
#include "series_growth.h"

static int largest_first(const void *left, const void *right)
{
    const struct hs_series_site *a = left, *b = right;
    if (a->words != b->words)
        return a->words > b->words ? -1 : 1;
    return a->name < b->name ? -1 : a->name > b->name;
}

/* Tells whether a row is `key` or stands below it. */
static bool is_within(const struct hs_series *series, uint32_t row, uint32_t key)
{
    while (row != HS_NO_KEY && row > key)
        row = series->rows[row].parent;
    return row == key;
}

struct gather {
    struct hs_series *series;
    struct hs_series_site *sites; /* owned */
    size_t n, capacity;
    struct hs_table by_name;
};

static hs_status add_site(struct gather *g, const char *name, const struct hs_key_row *row,
                          struct hs_error *err)
{
    hs_str id;
    HS_TRY(hs_strtab_add(&g->series->names, name, &id, err));
    uint32_t at = HS_TABLE_FIND(&g->by_name, hs_hash(id), i, g->sites[i].name == id);
    if (at == HS_NO_NUMBER) {
        HS_TRY(HS_GROW(&g->sites, &g->capacity, g->n + 1, err));
        HS_TRY(hs_table_add(&g->by_name, hs_hash(id), g->n, err));
        at = (uint32_t)g->n++;
        g->sites[at].name = id;
    }
    g->sites[at].words += row->words;
    g->sites[at].samples += row->objects;
    return HS_OK;
}

static hs_status gather(struct gather *g, const struct hs_snap_keys *table, const uint32_t *rows,
                        struct hs_error *err)
{
    const struct hs_key_rows *sites = &table->lists[HS_KEY_LIST_SITES];
    for (size_t i = 0; i < sites->n; i++) {
        const struct hs_key_row *row = &sites->rows[i];
        if (is_within(g->series, rows[row->parent], g->series->found[0]))
            HS_TRY(add_site(g, hs_strtab_get(&table->names, row->name), row, err));
    }
    if (g->n > 1)
        qsort(g->sites, g->n, sizeof *g->sites, largest_first);
    return HS_OK;
}

hs_status series_sites_find(struct hs_series *series, const struct hs_snap_keys *const *tables,
                            uint32_t *const *rows, struct hs_error *err)
{
    const size_t most = sizeof series->sites / sizeof *series->sites;
    struct gather g = {.series = series};
    size_t t = series->n;
    while (t > 0 && tables[t - 1]->lists[HS_KEY_LIST_SITES].n == 0)
        t--;
    if (t == 0 || series->n_found == 0)
        return HS_OK;
    hs_status status = gather(&g, tables[t - 1], rows[t - 1], err);
    for (; series->n_sites < most && series->n_sites < g.n && status == HS_OK; series->n_sites++)
        series->sites[series->n_sites] = g.sites[series->n_sites];
    hs_free(g.sites);
    hs_table_fini(&g.by_name);
    return status;
}
