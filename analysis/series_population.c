/* The population of what grew: the blocks by whose number and class a reader knows it. */
#include <stdlib.h>

#include "base/alloc.h"
#include "series_growth.h"
#include "type_rank.h"

enum { DEPTH = HS_KEY_STEPS + 4 };

/* The shares that say which keys belong together: a step has four times as many new blocks as the
 * one above it, a population between a third and the triple of a step's, and a quarter of the
 * words. */
enum { JUMP = 4, NEAR = 3, LEAST_PART = 4 };

struct look {
    const struct hs_series *series;
    uint32_t found;
    size_t n_keys;
    int64_t *growth;     /* owned: by key, how many blocks of its own came */
    uint8_t *is_below;   /* owned: by key, at a step of the way or below it */
    uint8_t *steps;      /* owned: by key, types on its way, HS_KEY_STEPS at most */
    uint32_t way[DEPTH]; /* the keys of types from the root's to what was found */
    size_t n_way;
};

static int64_t change_of(const struct hs_series *series, uint32_t row)
{
    const uint64_t *objects = hs_series_objects(series, row);
    return (int64_t)objects[series->n - 1] - (int64_t)objects[0];
}

uint64_t hs_series_own_objects(const struct hs_series *series, uint32_t row, size_t t)
{
    uint64_t n = hs_series_objects(series, row)[t];
    for (uint32_t i = row + 1; i < series->n_rows && series->rows[i].list == HS_KEY_LIST_KEYS; i++)
        if (series->rows[i].parent == row) {
            uint64_t below = hs_series_objects(series, i)[t];
            n -= below < n ? below : n;
        }
    return n;
}

bool hs_series_is_record(const struct hs_series *series, uint32_t row)
{
    return series->rows[row].rank >= HS_RANK_RECORD;
}

static void find_growth(struct look *look)
{
    const struct hs_series *series = look->series;
    for (uint32_t i = 0; i < look->n_keys; i++) {
        uint32_t parent = series->rows[i].parent;
        look->growth[i] += change_of(series, i);
        if (parent == HS_NO_KEY)
            continue;
        look->growth[parent] -= change_of(series, i);
        look->steps[i] = look->steps[parent];
        if (series->rows[i].form == HS_KEY_TYPE && look->steps[i] < HS_KEY_STEPS)
            look->steps[i]++;
    }
}

/* Lists the way of types; 0 steps where a made file has a deeper one than there can be. */
static void find_way(struct look *look)
{
    const struct hs_series_row *rows = look->series->rows;
    size_t n = 0;
    for (uint32_t i = look->found; i != HS_NO_KEY && rows[i].form == HS_KEY_TYPE;
         i = rows[i].parent) {
        if (n == DEPTH)
            return;
        look->way[n++] = i;
    }
    for (size_t i = 0; i < n / 2; i++) {
        uint32_t swapped = look->way[i];
        look->way[i] = look->way[n - 1 - i];
        look->way[n - 1 - i] = swapped;
    }
    look->n_way = n;
}

static void mark_below(struct look *look, uint32_t key)
{
    for (uint32_t i = 0; i < look->n_keys; i++) {
        uint32_t parent = look->series->rows[i].parent;
        look->is_below[i] = i == key || (parent != HS_NO_KEY && look->is_below[parent]);
    }
}

/* Finds, of a step and what is below it, the key whose name tells most, the nearest to the step of
 * these; among those of about as many new blocks that are a good part of the growth. The last step
 * that there can be has blocks of any type. */
static uint32_t best_at(struct look *look, uint32_t step)
{
    const struct hs_series *series = look->series;
    int64_t n = look->growth[step];
    double least = series->rows[look->found].growth_words / LEAST_PART;
    uint32_t best = HS_NO_KEY;

    mark_below(look, step);
    for (uint32_t i = step; i < look->n_keys; i++) {
        const struct hs_series_row *row = &series->rows[i];
        bool is_near = look->growth[i] >= n / NEAR && look->growth[i] / NEAR <= n;
        if (look->is_below[i] && is_near && look->steps[i] < HS_KEY_STEPS && look->growth[i] > 0 &&
            row->growth_words >= least &&
            (best == HS_NO_KEY || row->rank > series->rows[best].rank))
            best = i;
    }
    return best;
}

/* Finds the class of the way: at each step that has four times as many new blocks as the one above,
 * the best; of these the one that tells most, then the one of the steepest step. */
static uint32_t class_of_way(struct look *look)
{
    const struct hs_series_row *rows = look->series->rows;
    uint32_t best = HS_NO_KEY;
    double best_ratio = 0;
    int64_t above = 1;

    for (size_t i = 0; i < look->n_way; i++) {
        int64_t n = look->growth[look->way[i]];
        double ratio = (double)n / (double)above;
        above = n > 0 ? n : 1;
        if (ratio < JUMP)
            continue;
        uint32_t at = best_at(look, look->way[i]);
        if (at != HS_NO_KEY && (best == HS_NO_KEY || rows[at].rank > rows[best].rank ||
                                (rows[at].rank == rows[best].rank && ratio > best_ratio))) {
            best = at;
            best_ratio = ratio;
        }
    }
    return best;
}

static bool is_lost(const struct hs_series *series, uint32_t row)
{
    const struct hs_series_row *of = &series->rows[row];
    return of->form == HS_KEY_UNREACHED ||
           (of->parent != HS_NO_KEY && series->rows[of->parent].form == HS_KEY_UNREACHED);
}

/* Finds the leaks on which most hangs that came: not the parts of what is lost, but what one would
 * have had to let go of. */
static uint32_t leak_of_most(const struct hs_series *series)
{
    uint32_t best = HS_NO_KEY, found = series->found[0];
    uint32_t all =
        series->rows[found].form == HS_KEY_UNREACHED ? found : series->rows[found].parent;
    for (uint32_t i = 0; i < series->n_rows; i++)
        if (series->rows[i].list == HS_KEY_LIST_LEAKS && series->rows[i].held_growth > 0 &&
            change_of(series, i) > 0 &&
            (best == HS_NO_KEY || series->rows[i].held_growth > series->rows[best].held_growth))
            best = i;
    bool is_most =
        best != HS_NO_KEY && series->rows[best].held_growth >= series->rows[all].growth_words / 2;
    return is_most ? best : HS_NO_KEY;
}

static hs_status look_for(struct look *look, uint32_t *ret, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&look->growth, look->n_keys, err));
    HS_TRY(HS_ALLOC(&look->is_below, look->n_keys, err));
    HS_TRY(HS_ALLOC(&look->steps, look->n_keys, err));
    find_growth(look);
    find_way(look);
    uint32_t best = class_of_way(look);
    *ret = best != HS_NO_KEY && look->series->rows[best].rank != HS_RANK_NOTHING ? best : HS_NO_KEY;
    return HS_OK;
}

hs_status series_population_find(struct hs_series *series, struct hs_error *err)
{
    struct look look = {.series = series};
    series->population = HS_NO_KEY;
    if (series->n_found == 0)
        return HS_OK;
    look.found = series->found[0];
    if (is_lost(series, look.found)) {
        series->population = leak_of_most(series);
        return HS_OK;
    }
    while (look.n_keys < series->n_rows && series->rows[look.n_keys].list == HS_KEY_LIST_KEYS)
        look.n_keys++;
    hs_status status = look_for(&look, &series->population, err);
    hs_free(look.growth);
    hs_free(look.is_below);
    hs_free(look.steps);
    return status;
}
