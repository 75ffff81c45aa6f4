/* The choice of the keys that grew: of those that stand on each other's way the deepest that keeps
 * the growth. */
#include "series_growth.h"

#include <math.h>
#include <stdlib.h>

#include "base/alloc.h"

static double rank_of(const struct hs_series *series, uint32_t row)
{
    return series->rows[row].score.score;
}

/* ---- chance ---- */

/* Tells whether the own blocks of a key became both more and less: what such a key does at every
 * step may be nothing but chance. */
static bool only_moves(const struct hs_series *series, uint32_t row)
{
    const uint64_t *values = series->own_words + row * series->n;
    bool is_up = false, is_down = false;
    for (size_t t = 0; t + 1 < series->n; t++) {
        is_up |= values[t + 1] > values[t];
        is_down |= values[t + 1] < values[t];
    }
    return is_up && is_down;
}

static void find_chances(struct hs_series *series, size_t n_keys)
{
    double n_moving = 0;
    for (uint32_t i = 0; i < n_keys; i++)
        n_moving += only_moves(series, i);
    for (uint32_t i = 0; i < n_keys; i++) {
        struct hs_series_score *score = &series->rows[i].score;
        if (score->score > 0)
            score->chance = exp(log(n_moving) + (double)(series->n - 2) * log1p(-score->even) -
                                lgamma((double)series->n + 1));
    }
}

static bool is_no_chance(const struct hs_series *series, uint32_t row)
{
    return series->rows[row].score.chance <= HS_GROWTH_MOST_CHANCE;
}

static int best_first(const void *left, const void *right, void *context)
{
    const struct hs_series *series = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    double of_a = rank_of(series, a), of_b = rank_of(series, b);
    if (is_no_chance(series, a) != is_no_chance(series, b))
        return is_no_chance(series, a) ? -1 : 1;
    if (of_a != of_b)
        return of_a > of_b ? -1 : 1;
    return a < b ? -1 : a > b;
}

struct look {
    struct hs_series *series;
    size_t n_keys;
    uint32_t *best_child; /* owned: by key, the best child that keeps its growth; HS_NO_KEY */
    uint8_t *is_taken;    /* owned: by key, on the way to one that is found, or below it */
    uint32_t *order;      /* owned: keys with a score, best first */
    size_t n_order;
};

/* Tells whether most of what makes a key grow is below one of its children. Of the score alone a
 * child may have most by chance: what is less even may just fit the times between the snapshots. */
static bool keeps_growth(const struct hs_series *series, uint32_t parent, uint32_t child)
{
    return rank_of(series, child) > 0 &&
           rank_of(series, child) >= HS_GROWTH_FOLLOW * rank_of(series, parent) &&
           series->rows[child].growth_words >= HS_GROWTH_FOLLOW * series->rows[parent].growth_words;
}

static void find_children(struct look *look)
{
    const struct hs_series *series = look->series;
    for (uint32_t i = 0; i < look->n_keys; i++)
        look->best_child[i] = HS_NO_KEY;
    for (uint32_t i = 1; i < look->n_keys; i++) {
        uint32_t parent = series->rows[i].parent;
        uint32_t *best = &look->best_child[parent];
        if (keeps_growth(series, parent, i) &&
            (*best == HS_NO_KEY || rank_of(series, i) > rank_of(series, *best)))
            *best = i;
    }
}

/* Descends from a key while one below it keeps its growth; to the last that grows itself. */
static uint32_t descend(const struct look *look, uint32_t key)
{
    uint32_t found = key;
    for (;;) {
        uint32_t child = look->best_child[key];
        if (child == HS_NO_KEY)
            return found;
        key = child;
        if (look->series->rows[key].grows_itself || !look->series->rows[found].grows_itself)
            found = key;
    }
}

static void take_ways(struct look *look, uint32_t key)
{
    const struct hs_series_row *rows = look->series->rows;
    for (uint32_t i = key; i != HS_NO_KEY; i = rows[i].parent)
        look->is_taken[i] = 1;
    /* Below it: a key stands behind its parent. */
    enum { BELOW = 2 };
    look->is_taken[key] = BELOW;
    for (uint32_t i = key + 1; i < look->n_keys; i++)
        if (look->is_taken[rows[i].parent] == BELOW)
            look->is_taken[i] = BELOW;
}

static hs_status find_keys(struct look *look, struct hs_error *err)
{
    enum { MOST = 64 }; /* of these each costs a pass */
    struct hs_series *series = look->series;
    for (size_t i = 0; i < look->n_order && series->n_found < MOST; i++) {
        if (look->is_taken[look->order[i]])
            continue;
        uint32_t key = descend(look, look->order[i]);
        if (look->is_taken[key])
            continue;
        HS_TRY(HS_GROW(&series->found, &series->found_capacity, series->n_found + 1, err));
        series->found[series->n_found++] = key;
        take_ways(look, key);
    }
    /* The one that was descended to may have less than another's: they stand by their own. */
    if (series->n_found > 1)
        qsort_r(series->found + 1, series->n_found - 1, sizeof *series->found, best_first, series);
    return HS_OK;
}

static bool is_steady(const struct hs_series *series, uint32_t row, double least_share)
{
    const struct hs_series_score *score = &series->rows[row].score;
    double step = series->rows[row].growth_words / (double)(series->n - 1);
    return series->n > 3 && score->score > 0 && score->even >= HS_GROWTH_LEAST_EVEN &&
           score->lasting >= HS_GROWTH_LEAST_LASTING &&
           step >= least_share * (double)series->heap_words;
}

static enum hs_growth judge(const struct hs_series *series)
{
    if (series->n_found == 0)
        return HS_GROWTH_NONE;
    if (series->n == 2)
        return HS_GROWTH_TWO;
    bool is_growth = is_steady(series, series->found[0], HS_GROWTH_LEAST_SHARE) &&
                     is_no_chance(series, series->found[0]);
    return is_growth ? HS_GROWTH_STEADY : HS_GROWTH_UNSURE;
}

/* Tells whether the heap grows while its types stay: what hangs on other keys from snapshot to
 * snapshot is of the same types in all of them. Of the heap there is one series: chance among many
 * keys is not to be allowed for. */
static bool heap_grows(const struct hs_series *series)
{
    double by_keys = 0, by_types = 0;
    for (size_t i = 0; i < series->n_found; i++)
        by_keys += fmax(series->rows[series->found[i]].growth_words, 0);
    for (uint32_t i = 0; i < series->n_rows; i++)
        if (series->rows[i].list == HS_KEY_LIST_TYPES && is_steady(series, i, 0))
            by_types += series->rows[i].growth_words;
    double garbage = series->garbage == HS_NO_KEY ? 0 : series->rows[series->garbage].growth_words;
    double half = (series->rows[0].growth_words - fmax(garbage, 0)) / 2;
    return half > fmax(garbage, 0) / 2 && is_steady(series, 0, HS_GROWTH_LEAST_HEAP) &&
           by_keys < half && by_types >= half;
}

size_t hs_series_types(const struct hs_series *series, uint32_t *types, size_t most)
{
    size_t n = 0;
    for (uint32_t i = 0; i < series->n_rows; i++) {
        const struct hs_series_row *row = &series->rows[i];
        if (row->list != HS_KEY_LIST_TYPES || row->score.n_up != series->n - 1)
            continue;
        size_t at = n < most ? n++ : most;
        for (; at > 0 && series->rows[types[at - 1]].growth_words < row->growth_words; at--)
            if (at < most)
                types[at] = types[at - 1];
        if (at < most)
            types[at] = i;
    }
    return n;
}

/* The types of what no root reaches stand below it, one step. */
bool hs_series_is_garbage(const struct hs_series *series, uint32_t key)
{
    return series->garbage != HS_NO_KEY &&
           (key == series->garbage || series->rows[key].parent == series->garbage);
}

static void list_candidates(struct look *look)
{
    const struct hs_series *series = look->series;
    for (int itself = 1; itself >= 0 && look->n_order == 0; itself--)
        for (uint32_t i = 1; i < look->n_keys; i++)
            if (rank_of(series, i) > 0 && series->rows[i].grows_itself >= itself &&
                !hs_series_is_garbage(series, i))
                look->order[look->n_order++] = i;
}

static hs_status look_for(struct look *look, struct hs_error *err)
{
    struct hs_series *series = look->series;
    find_chances(series, look->n_keys);
    HS_TRY(HS_ALLOC(&look->best_child, look->n_keys, err));
    HS_TRY(HS_ALLOC(&look->is_taken, look->n_keys, err));
    HS_TRY(HS_ALLOC(&look->order, look->n_keys, err));
    list_candidates(look);
    qsort_r(look->order, look->n_order, sizeof *look->order, best_first, series);
    find_children(look);
    HS_TRY(find_keys(look, err));
    series->growth = judge(series);
    series->heap_grows = heap_grows(series);
    return HS_OK;
}

hs_status series_growth_find(struct hs_series *series, struct hs_error *err)
{
    struct look look = {.series = series};
    while (look.n_keys < series->n_rows && series->rows[look.n_keys].list == HS_KEY_LIST_KEYS)
        look.n_keys++;
    hs_status status = look_for(&look, err);
    hs_free(look.best_child);
    hs_free(look.is_taken);
    hs_free(look.order);
    return status;
}
