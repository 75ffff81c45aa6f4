/* Types that changed their names alone. */
#include "series_renamed.h"

#include <string.h>

#include "base/alloc.h"

enum {
    SIBLINGS_MOST = 512, /* of a key with more rows below it none is looked for */
    SAME_PARTS = 8,      /* sizes that differ by less than this part of them are alike */
};

struct renaming {
    struct hs_series *series;
    uint32_t *first, *next; /* owned: rows below each row, the whole list of types below `n_keys` */
    uint32_t *before;       /* owned: by key, the one that it was called; HS_NO_KEY */
    uint32_t n_keys;        /* rows of the first list */
};

/* "block", "block of 48 bytes": what is not known. */
static bool is_unknown(const struct renaming *r, uint32_t row)
{
    static const char block[] = "block";
    const char *name = hs_strtab_get(&r->series->names, r->series->rows[row].name);
    size_t n = strlen(block);
    return strncmp(name, block, n) == 0 && (name[n] == '\0' || strncmp(name + n, " of ", 4) == 0);
}

/* The snapshot that a row is in for the first time. */
static size_t came_at(const struct hs_series *series, uint32_t row)
{
    const uint64_t *words = hs_series_words(series, row);
    size_t t = 0;
    while (t < series->n && words[t] == 0)
        t++;
    return t;
}

static bool is_alike(uint64_t a, uint64_t b)
{
    uint64_t least = a < b ? a : b, most = a < b ? b : a;
    return most - least <= most / SAME_PARTS;
}

/* Returns the words that a row lost from one snapshot to the next; 0: it did not. */
static uint64_t lost_at(const uint64_t *values, size_t t)
{
    return values[t - 1] > values[t] ? values[t - 1] - values[t] : 0;
}

/* Tells whether both have blocks of one size each, known by it: of a list of types nothing else
 * tells them apart. */
static bool has_size_of(const struct hs_series *series, uint32_t row, uint32_t other, size_t t)
{
    uint64_t words = hs_series_words(series, row)[t], objects = hs_series_objects(series, row)[t];
    uint64_t w = hs_series_words(series, other)[t - 1], o = hs_series_objects(series, other)[t - 1];
    return words / (objects + (objects == 0)) == w / (o + (o == 0));
}

/* Tells whether what came at t can have been called `other` before. Known types are no others
 * because one goes and one comes, unless all of their sizes are alike. */
static bool was_called(const struct renaming *r, uint32_t row, uint32_t other, size_t t)
{
    const struct hs_series *series = r->series;
    const struct hs_series_row *of = &series->rows[row];
    size_t a = row * series->n + t, b = other * series->n + t;
    uint64_t lost = lost_at(series->own_words + b - t, t);
    bool is_gone = series->words[b] == 0 && series->objects[b] == 0;
    bool is_key = of->list == HS_KEY_LIST_KEYS;
    if (other == row || series->rows[other].form != of->form || lost == 0 ||
        lost < series->own_words[a] / 2)
        return false;
    if (!is_key && !has_size_of(series, row, other, t))
        return false;
    if (is_unknown(r, other) || (is_key && series->rows[other].name == of->name))
        return true;
    if (!is_gone)
        return false;
    return is_unknown(r, row) || (is_alike(series->words[a], series->words[b - 1]) &&
                                  is_alike(series->own_words[a], series->own_words[b - 1]) &&
                                  is_alike(series->objects[a], series->objects[b - 1]));
}

/* The best of the rows below `parent`: one of the same name, else the one that lost most. */
static uint32_t find_below(const struct renaming *r, uint32_t parent, uint32_t row, size_t t)
{
    const struct hs_series *series = r->series;
    uint32_t best = HS_NO_KEY;
    uint64_t most = 0;
    size_t n = 0;
    for (uint32_t i = r->first[parent]; i != HS_NO_KEY && n < SIBLINGS_MOST; i = r->next[i], n++) {
        uint64_t lost = lost_at(series->own_words + i * series->n, t);
        if (series->rows[i].name == series->rows[row].name)
            lost = UINT64_MAX;
        if (was_called(r, row, i, t) && lost > most) {
            best = i;
            most = lost;
        }
    }
    return n < SIBLINGS_MOST ? best : HS_NO_KEY;
}

static void move_values(uint64_t *to, uint64_t *from, size_t t, bool all)
{
    uint64_t lost = lost_at(from, t), most = lost < to[t] ? lost : to[t];
    for (size_t i = 0; i < t; i++) {
        uint64_t moved = all || from[i] < most ? from[i] : most;
        to[i] += moved;
        from[i] -= moved;
    }
}

static void join(struct hs_series *series, uint32_t row, uint32_t other, size_t t)
{
    size_t a = row * series->n, b = other * series->n;
    bool all = series->words[b + t] == 0;
    move_values(series->words + a, series->words + b, t, all);
    move_values(series->own_words + a, series->own_words + b, t, all);
    move_values(series->objects + a, series->objects + b, t, all);
}

static uint32_t find_name_before(const struct renaming *r, uint32_t row, size_t t)
{
    const struct hs_series_row *of = &r->series->rows[row];
    if (of->list != HS_KEY_LIST_KEYS)
        return find_below(r, r->n_keys, row, t);
    uint32_t found = find_below(r, of->parent, row, t);
    uint32_t other = r->before[of->parent];
    return found != HS_NO_KEY || other == HS_NO_KEY ? found : find_below(r, other, row, t);
}

static bool is_of_type(const struct hs_series_row *row)
{
    return row->list == HS_KEY_LIST_TYPES ||
           (row->list == HS_KEY_LIST_KEYS && row->form == HS_KEY_TYPE && row->parent != HS_NO_KEY);
}

static void join_all(struct renaming *r)
{
    struct hs_series *series = r->series;
    for (uint32_t i = (uint32_t)series->n_rows; i-- > 0;) {
        const struct hs_series_row *row = &series->rows[i];
        if (!is_of_type(row))
            continue;
        uint32_t above = row->list == HS_KEY_LIST_KEYS ? row->parent : r->n_keys;
        r->next[i] = r->first[above];
        r->first[above] = i;
    }
    for (uint32_t i = 0; i < series->n_rows; i++) {
        size_t t = came_at(series, i);
        if (!is_of_type(&series->rows[i]) || t == 0 || t >= series->n)
            continue;
        uint32_t other = find_name_before(r, i, t);
        if (other == HS_NO_KEY)
            continue;
        join(series, i, other, t);
        if (i < r->n_keys)
            r->before[i] = other;
    }
}

hs_status series_renamed_join(struct hs_series *series, struct hs_error *err)
{
    struct renaming r = {.series = series};
    while (r.n_keys < series->n_rows && series->rows[r.n_keys].list == HS_KEY_LIST_KEYS)
        r.n_keys++;
    hs_status status = HS_ALLOC(&r.first, (size_t)r.n_keys + 1, err);
    if (status == HS_OK)
        status = HS_ALLOC(&r.next, series->n_rows, err);
    if (status == HS_OK)
        status = HS_ALLOC(&r.before, (size_t)r.n_keys + 1, err);
    if (status == HS_OK) {
        memset(r.first, 0xff, ((size_t)r.n_keys + 1) * sizeof *r.first);
        memset(r.before, 0xff, ((size_t)r.n_keys + 1) * sizeof *r.before);
        join_all(&r);
    }
    hs_free(r.first);
    hs_free(r.next);
    hs_free(r.before);
    return status;
}
