/* Key tables side by side. */
#include "analysis/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "series_growth.h"

#define NS_PER_HOUR 3.6e12

/* While rows are matched: which row each row of each table is. */
struct match {
    const struct hs_snap_keys *const *tables;
    struct hs_series *series;
    struct hs_table by_name; /* rows */
    uint32_t **rows;         /* owned: by table, list after list */
};

static size_t n_rows_of(const struct hs_snap_keys *table)
{
    size_t n = 0;
    for (unsigned list = 0; list < HS_KEY_LIST_SITES; list++)
        n += table->lists[list].n;
    return n;
}

static bool is_same(const struct hs_series_row *a, const struct hs_series_row *b)
{
    return a->list == b->list && a->form == b->form && a->parent == b->parent &&
           a->name == b->name && a->each_words == b->each_words;
}

/* The row that one of a table is: known, or a new one. */
static hs_status match_row(struct match *m, const struct hs_series_row *row, uint32_t *ret,
                           struct hs_error *err)
{
    struct hs_series *series = m->series;
    uint64_t hash = hs_hash_pair(hs_hash_pair((uint64_t)row->list << 32 | row->parent, row->name),
                                 row->each_words << 8 | row->form);
    *ret = HS_TABLE_FIND(&m->by_name, hash, i, is_same(&series->rows[i], row));
    if (*ret != HS_NO_NUMBER)
        return HS_OK;
    HS_TRY(HS_GROW(&series->rows, &series->rows_capacity, series->n_rows + 1, err));
    HS_TRY(hs_table_add(&m->by_name, hash, series->n_rows, err));
    *ret = (uint32_t)series->n_rows;
    series->rows[series->n_rows++] = *row;
    return HS_OK;
}

static hs_status match_list(struct match *m, const struct hs_snap_keys *table, unsigned list,
                            uint32_t *rows, struct hs_error *err)
{
    const struct hs_key_rows *from = &table->lists[list];
    for (size_t i = 0; i < from->n; i++) {
        const struct hs_key_row *row = &from->rows[i];
        struct hs_series_row made = {.list = (uint8_t)list, .form = row->form, .parent = HS_NO_KEY};
        if (row->parent != HS_NO_KEY)
            made.parent = rows[row->parent];
        if (list == HS_KEY_LIST_LEAKS)
            made.each_words = row->detail;
        HS_TRY(hs_strtab_add(&m->series->names, hs_strtab_get(&table->names, row->name), &made.name,
                             err));
        HS_TRY(match_row(m, &made, &rows[i], err));
    }
    return HS_OK;
}

static hs_status match_all(struct match *m, size_t n, struct hs_error *err)
{
    for (size_t t = 0; t < n; t++)
        HS_TRY(HS_ALLOC(&m->rows[t], n_rows_of(m->tables[t]), err));
    /* List by list, that the rows stand so. */
    for (unsigned list = 0; list < HS_KEY_LIST_SITES; list++)
        for (size_t t = 0; t < n; t++) {
            size_t first = 0;
            for (unsigned before = 0; before < list; before++)
                first += m->tables[t]->lists[before].n;
            HS_TRY(match_list(m, m->tables[t], list, m->rows[t] + first, err));
        }
    return HS_OK;
}

static hs_status make_values(struct hs_series *series, struct hs_error *err)
{
    uint64_t n_values = (uint64_t)series->n_rows * series->n;
    uint64_t n_bytes = 3 * sizeof(uint64_t) * n_values;
    HS_TRY(hs_budget_reserve(series->budget, n_bytes, "the series of all keys", err));
    series->reserved_bytes = n_bytes;
    HS_TRY(HS_PAGES_ALLOC(&series->words, n_values, err));
    HS_TRY(HS_PAGES_ALLOC(&series->own_words, n_values, err));
    return HS_PAGES_ALLOC(&series->objects, n_values, err);
}

static void fill_values(const struct match *m, struct hs_series *series)
{
    for (size_t t = 0; t < series->n; t++) {
        const uint32_t *row = m->rows[t];
        for (unsigned list = 0; list < HS_KEY_LIST_SITES; list++) {
            const struct hs_key_rows *from = &m->tables[t]->lists[list];
            for (size_t i = 0; i < from->n; i++, row++) {
                size_t at = *row * series->n + t;
                series->words[at] += from->rows[i].words;
                series->objects[at] += from->rows[i].objects;
                series->own_words[at] +=
                    list == HS_KEY_LIST_KEYS ? from->rows[i].detail : from->rows[i].words;
            }
        }
    }
}

static void find_scores(struct hs_series *series)
{
    size_t last = series->n - 1;
    const uint64_t *times = series->taken_ns;
    bool has_times = times[0] != 0 && times[last] > times[0];
    for (size_t i = 0; i < series->n_rows; i++) {
        struct hs_series_row *row = &series->rows[i];
        const uint64_t *words = hs_series_words(series, i);
        row->score = hs_series_score(words, times, series->n);
        row->grows_itself =
            hs_series_score(series->own_words + i * series->n, times, series->n).score > 0;
        row->growth_words = (double)words[last] - (double)words[0];
        row->words_per_hour =
            has_times ? row->growth_words * NS_PER_HOUR / (double)(times[last] - times[0]) : NAN;
    }
}

static hs_status build(struct match *m, struct hs_series *series, struct hs_error *err)
{
    const struct hs_key_facts *newest = &m->tables[series->n - 1]->facts;
    HS_TRY(HS_ALLOC(&series->taken_ns, series->n, err));
    for (size_t t = 0; t < series->n; t++)
        series->taken_ns[t] = m->tables[t]->facts.taken_ns;
    series->heap_words = newest->heap_words;
    series->resident_bytes = newest->resident_bytes;
    series->room_bytes = newest->available_bytes;
    series->word_bytes = newest->word_bytes;
    HS_TRY(HS_ALLOC(&m->rows, series->n, err));
    HS_TRY(match_all(m, series->n, err));
    HS_TRY(make_values(series, err));
    fill_values(m, series);
    find_scores(series);
    HS_TRY(series_growth_find(series, err));
    return series_sites_find(series, m->tables, m->rows, err);
}

hs_status hs_series_find(const struct hs_snap_keys *const *tables, size_t n,
                         struct hs_budget *budget, struct hs_series *ret, struct hs_error *err)
{
    struct hs_series series = {.n = n, .budget = budget};
    struct match m = {.tables = tables, .series = &series};
    hs_status status = build(&m, &series, err);
    for (size_t t = 0; t < n && m.rows != NULL; t++)
        hs_free(m.rows[t]);
    hs_free(m.rows);
    hs_table_fini(&m.by_name);
    if (status == HS_OK)
        *ret = series;
    else
        hs_series_fini(&series);
    return status;
}

void hs_series_fini(struct hs_series *series)
{
    size_t n_values = series->n_rows * series->n;
    hs_pages_free(series->words, n_values, sizeof *series->words);
    hs_pages_free(series->own_words, n_values, sizeof *series->own_words);
    hs_pages_free(series->objects, n_values, sizeof *series->objects);
    hs_budget_release(series->budget, series->reserved_bytes);
    hs_free(series->taken_ns);
    hs_free(series->rows);
    hs_free(series->found);
    hs_strtab_fini(&series->names);
    *series = (struct hs_series){0};
}

void hs_series_text(const struct hs_series *series, uint32_t row, char *text, size_t n)
{
    enum { DEPTH = HS_KEY_STEPS + 4 };
    uint32_t way[DEPTH];
    size_t depth = 0, at = 0;
    /* Rows of a key file that was made to mislead may be deeper: the nearest to the key count. */
    for (uint32_t i = row; i != HS_NO_KEY && depth < DEPTH; i = series->rows[i].parent)
        way[depth++] = i;
    text[0] = '\0';
    while (depth-- > 0 && at + 1 < n) {
        const char *name = hs_strtab_get(&series->names, series->rows[way[depth]].name);
        int wrote = snprintf(text + at, n - at, "%s%s", at == 0 ? "" : " > ", name);
        at += wrote < 0 ? 0 : (size_t)wrote;
    }
}

double hs_series_hours_left(const struct hs_series *series, double words_per_hour,
                            bool *ret_doubles)
{
    *ret_doubles = series->room_bytes == 0;
    uint64_t room = *ret_doubles ? series->resident_bytes : series->room_bytes;
    if (room == 0 || !(words_per_hour > 0))
        return NAN;
    return (double)room / (words_per_hour * series->word_bytes);
}
