/* Key tables side by side. */
#include "analysis/series.h"

#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "series_growth.h"
#include "series_renamed.h"
#include "series_sets.h"

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

static uint64_t hash_of(const struct hs_series_row *row)
{
    return hs_hash_pair(hs_hash_pair((uint64_t)row->list << 32 | row->parent, row->name),
                        row->each_words << 8 | row->form);
}

/* The row of the series that is called so; HS_NO_NUMBER when there is none. */
static uint32_t find_row(const struct match *m, const struct hs_series_row *row)
{
    const struct hs_series *series = m->series;
    return HS_TABLE_FIND(&m->by_name, hash_of(row), i, is_same(&series->rows[i], row));
}

static hs_status add_row(struct match *m, const struct hs_series_row *row, uint32_t *ret,
                         struct hs_error *err)
{
    struct hs_series *series = m->series;
    HS_TRY(HS_GROW(&series->rows, &series->rows_capacity, series->n_rows + 1, err));
    HS_TRY(hs_table_add(&m->by_name, hash_of(row), series->n_rows, err));
    *ret = (uint32_t)series->n_rows;
    series->rows[series->n_rows++] = *row;
    return HS_OK;
}

/* Makes row i of a list, as the series has it. `rows`: what those before it are. */
static hs_status row_of(struct match *m, const struct hs_snap_keys *table, unsigned list, size_t i,
                        const uint32_t *rows, struct hs_series_row *ret, struct hs_error *err)
{
    const struct hs_key_row *row = &table->lists[list].rows[i];
    *ret = (struct hs_series_row){.list = (uint8_t)list, .form = row->form, .parent = HS_NO_KEY};
    if (row->parent != HS_NO_KEY)
        ret->parent = rows[row->parent];
    if (list == HS_KEY_LIST_LEAKS)
        ret->each_words = row->detail;
    const char *name = hs_strtab_get(&table->names, row->name);
    return hs_strtab_add(&m->series->names, name, &ret->name, err);
}

static hs_status match_list(struct match *m, const struct hs_snap_keys *table, unsigned list,
                            uint32_t *rows, struct hs_error *err)
{
    for (size_t i = 0; i < table->lists[list].n; i++) {
        struct hs_series_row made;
        HS_TRY(row_of(m, table, list, i, rows, &made, err));
        rows[i] = find_row(m, &made);
        if (rows[i] == HS_NO_NUMBER)
            HS_TRY(add_row(m, &made, &rows[i], err));
    }
    return HS_OK;
}

/* ---- owner sets: each root that comes or goes gives them another name */

static size_t first_of(const struct hs_snap_keys *table, unsigned list)
{
    size_t first = 0;
    for (unsigned before = 0; before < list; before++)
        first += table->lists[before].n;
    return first;
}

struct set_match {
    struct series_set *old, *new; /* owned: of both tables, those that are in one alone */
    uint8_t *is_met;              /* owned: by row of the series, whether both have it */
    size_t n_old, n_new;
};

static hs_status list_unmet(struct match *m, size_t t, const uint32_t *rows, struct set_match *s,
                            struct hs_error *err)
{
    const struct hs_snap_keys *before = m->tables[t - 1], *now = m->tables[t];
    const struct hs_key_rows *old = &before->lists[HS_KEY_LIST_SETS];
    const struct hs_key_rows *new = &now->lists[HS_KEY_LIST_SETS];
    const uint32_t *old_rows = m->rows[t - 1] + first_of(before, HS_KEY_LIST_SETS);
    HS_TRY(HS_ALLOC(&s->old, old->n, err));
    HS_TRY(HS_ALLOC(&s->new, new->n, err));
    HS_TRY(HS_ALLOC(&s->is_met, m->series->n_rows, err));
    for (size_t i = 0; i < new->n; i++)
        if (rows[i] == HS_NO_NUMBER)
            s->new[s->n_new++] = (struct series_set){hs_strtab_get(&now->names, new->rows[i].name),
                                                     new->rows[i].words, HS_NO_NUMBER};
        else
            s->is_met[rows[i]] = 1;
    for (size_t i = 0; i < old->n; i++)
        if (!s->is_met[old_rows[i]])
            s->old[s->n_old++] = (struct series_set){
                hs_strtab_get(&before->names, old->rows[i].name), old->rows[i].words, old_rows[i]};
    return series_sets_pair(s->old, s->n_old, s->new, s->n_new, err);
}

/* Gives paired sets the name of the newer one. */
static hs_status take_pairs(struct match *m, size_t t, uint32_t *rows, const struct set_match *s,
                            struct hs_error *err)
{
    struct hs_series_row made;
    for (size_t i = 0, k = 0; k < s->n_new; i++) {
        if (rows[i] != HS_NO_NUMBER)
            continue;
        rows[i] = s->new[k++].row;
        if (rows[i] == HS_NO_NUMBER)
            continue;
        HS_TRY(row_of(m, m->tables[t], HS_KEY_LIST_SETS, i, rows, &made, err));
        HS_TRY(hs_table_add(&m->by_name, hash_of(&made), rows[i], err));
        m->series->rows[rows[i]].name = made.name;
    }
    return HS_OK;
}

static hs_status match_sets(struct match *m, size_t t, uint32_t *rows, struct hs_error *err)
{
    const struct hs_snap_keys *table = m->tables[t];
    struct set_match s = {0};
    for (size_t i = 0; i < table->lists[HS_KEY_LIST_SETS].n; i++) {
        struct hs_series_row made;
        HS_TRY(row_of(m, table, HS_KEY_LIST_SETS, i, rows, &made, err));
        rows[i] = find_row(m, &made);
    }
    hs_status status = t == 0 ? HS_OK : list_unmet(m, t, rows, &s, err);
    if (status == HS_OK)
        status = take_pairs(m, t, rows, &s, err);
    hs_free(s.old);
    hs_free(s.new);
    hs_free(s.is_met);
    return status == HS_OK ? match_list(m, table, HS_KEY_LIST_SETS, rows, err) : status;
}

static hs_status match_all(struct match *m, size_t n, struct hs_error *err)
{
    for (size_t t = 0; t < n; t++)
        HS_TRY(HS_ALLOC(&m->rows[t], n_rows_of(m->tables[t]), err));
    /* List by list, that the rows stand so. */
    for (unsigned list = 0; list < HS_KEY_LIST_SITES; list++)
        for (size_t t = 0; t < n; t++) {
            uint32_t *rows = m->rows[t] + first_of(m->tables[t], list);
            HS_TRY(list == HS_KEY_LIST_SETS ? match_sets(m, t, rows, err)
                                            : match_list(m, m->tables[t], list, rows, err));
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

/* Takes what names tell: of keys the most that any table says, of leaks how the last one differs
 * from the first. */
static void take_tells(struct hs_series_row *row, const struct hs_key_row *from, size_t t,
                       size_t last)
{
    if (row->list == HS_KEY_LIST_KEYS && from->tells > row->rank)
        row->rank = from->tells < UINT8_MAX ? (unsigned)from->tells : 0;
    if (row->list == HS_KEY_LIST_LEAKS)
        row->held_growth += t == last ? (double)from->tells : t == 0 ? -(double)from->tells : 0;
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
                take_tells(&series->rows[*row], &from->rows[i], t, series->n - 1);
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

/* Finds the garbage of a collector; what is lost beside it has a key of its own. */
static uint32_t find_garbage(const struct hs_series *series)
{
    for (uint32_t i = 0; i < series->n_rows && series->rows[i].list == HS_KEY_LIST_KEYS; i++)
        if (series->rows[i].form == HS_KEY_UNREACHED &&
            strcmp(hs_strtab_get(&series->names, series->rows[i].name), HS_KEY_UNREACHED_NAME) == 0)
            return i;
    return HS_NO_KEY;
}

static hs_status build(struct match *m, struct hs_series *series, struct hs_error *err)
{
    const struct hs_key_facts *newest = &m->tables[series->n - 1]->facts;
    HS_TRY(HS_ALLOC(&series->taken_ns, series->n, err));
    for (size_t t = 0; t < series->n; t++)
        series->taken_ns[t] = m->tables[t]->facts.taken_ns;
    series->heap_words = newest->heap_words;
    series->resident_bytes = newest->resident_bytes;
    series->first_resident_bytes = m->tables[0]->facts.resident_bytes;
    series->room_bytes = newest->available_bytes;
    series->word_bytes = newest->word_bytes;
    HS_TRY(HS_ALLOC(&m->rows, series->n, err));
    HS_TRY(match_all(m, series->n, err));
    HS_TRY(make_values(series, err));
    fill_values(m, series);
    HS_TRY(series_renamed_join(series, err));
    find_scores(series);
    series->garbage = newest->moves ? find_garbage(series) : HS_NO_KEY;
    HS_TRY(series_growth_find(series, err));
    HS_TRY(series_population_find(series, err));
    return series_sites_find(series, m->tables, m->rows, err);
}

hs_status hs_series_find(const struct hs_snap_keys *const *tables, size_t n,
                         struct hs_budget *budget, struct hs_series *ret, struct hs_error *err)
{
    struct hs_series series = {.n = n, .budget = budget, .population = HS_NO_KEY};
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

double hs_series_rate(const struct hs_series *series, uint32_t row)
{
    const uint64_t *times = series->taken_ns;
    if (times == NULL || times[series->n - 1] - times[0] < HS_SERIES_LEAST_RATE_NS)
        return NAN;
    return series->rows[row].words_per_hour;
}

double hs_series_hours_left(const struct hs_series *series, double words_per_hour,
                            bool *ret_doubles)
{
    *ret_doubles = series->room_bytes == 0;
    uint64_t room = *ret_doubles ? series->resident_bytes : series->room_bytes;
    double bytes_per_hour = words_per_hour * series->word_bytes;
    if (room == 0 || !(bytes_per_hour > 0))
        return NAN;
    const uint64_t *times = series->taken_ns;
    size_t last = series->n - 1;
    if (series->first_resident_bytes != 0 && series->resident_bytes != 0 && times != NULL &&
        times[0] != 0 && times[last] > times[0])
        bytes_per_hour = ((double)series->resident_bytes - (double)series->first_resident_bytes) *
                         NS_PER_HOUR / (double)(times[last] - times[0]);
    if (!(bytes_per_hour > 0))
        return NAN;
    double hours = (double)room / bytes_per_hour;
    double span = times == NULL ? NAN : (double)(times[last] - times[0]) / NS_PER_HOUR;
    return hours > HS_SERIES_MOST_SPANS * span ? NAN : hours;
}
