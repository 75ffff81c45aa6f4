#include "diff_rows.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

static bool changes(const uint64_t *values, size_t n)
{
    for (size_t i = 1; i < n; i++)
        if (values[i] != values[0])
            return true;
    return false;
}

static bool is_shown(const struct hs_series *series, uint32_t row)
{
    if (series->rows[row].list == HS_KEY_LIST_KEYS)
        return row != 0 && changes(series->own_words + row * series->n, series->n);
    return changes(hs_series_words(series, row), series->n);
}

struct order {
    const struct hs_series *series;
    uint32_t *place; /* owned: by row, its place among the found; UINT32_MAX */
};

static int by_rank(const void *left, const void *right, void *context)
{
    const struct order *order = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct hs_series_row *of_a = &order->series->rows[a], *of_b = &order->series->rows[b];
    bool is_garbage = hs_series_is_garbage(order->series, a);
    if (is_garbage != hs_series_is_garbage(order->series, b))
        return is_garbage ? 1 : -1;
    if (order->place[a] != order->place[b])
        return order->place[a] < order->place[b] ? -1 : 1;
    if (of_a->score.score != of_b->score.score)
        return of_a->score.score > of_b->score.score ? -1 : 1;
    if (fabs(of_a->growth_words) != fabs(of_b->growth_words))
        return fabs(of_a->growth_words) > fabs(of_b->growth_words) ? -1 : 1;
    return a < b ? -1 : a > b;
}

hs_status hs_diff_rows_of(const struct hs_series *series, enum hs_key_list list, bool all,
                          struct hs_diff_rows *ret, struct hs_error *err)
{
    struct order order = {.series = series};
    struct hs_diff_rows rows = {0};
    HS_TRY(HS_ALLOC(&order.place, series->n_rows, err));
    hs_status status = HS_ALLOC(&rows.rows, series->n_rows, err);
    if (status != HS_OK) {
        hs_free(order.place);
        return status;
    }
    memset(order.place, 0xff, series->n_rows * sizeof *order.place);
    for (uint32_t i = 0; i < series->n_found; i++)
        order.place[series->found[i]] = i;
    for (uint32_t i = 0; i < series->n_rows; i++)
        if (series->rows[i].list == list &&
            (all || order.place[i] != UINT32_MAX || is_shown(series, i)))
            rows.rows[rows.n++] = i;
    for (size_t i = 0; i < rows.n; i++)
        rows.n_garbage += hs_series_is_garbage(series, rows.rows[i]);
    qsort_r(rows.rows, rows.n, sizeof *rows.rows, by_rank, &order);
    hs_free(order.place);
    *ret = rows;
    return HS_OK;
}

void hs_diff_rows_fini(struct hs_diff_rows *rows)
{
    hs_free(rows->rows);
    *rows = (struct hs_diff_rows){0};
}

const char *hs_diff_row_state(const struct hs_series *series, uint32_t row)
{
    const uint64_t *words = hs_series_words(series, row);
    uint64_t first = words[0], last = words[series->n - 1];
    if (!changes(words, series->n))
        return "same";
    if (first == last)
        return "moved";
    if (first == 0)
        return "came";
    return last == 0 ? "went" : last > first ? "grew" : "shrank";
}
