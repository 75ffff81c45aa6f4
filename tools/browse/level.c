/* Rows of a list, their order, and the cursor. */
#include "level.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"

void hs_browse_level_unload(struct hs_browse_level *level)
{
    hs_free(level->rows);
    hs_free(level->order);
    hs_strtab_fini(&level->names);
    level->rows = NULL;
    level->order = NULL;
    level->n = level->capacity = level->n_order = level->order_capacity = 0;
    level->n_all = level->largest_words = level->whole_words = 0;
    level->is_loaded = false;
}

void hs_browse_level_fini(struct hs_browse_level *level)
{
    hs_browse_level_unload(level);
    hs_free(level->key_path);
    *level = (struct hs_browse_level){0};
}

hs_status hs_browse_level_name(struct hs_browse_level *level, size_t row, const char *name,
                               struct hs_error *err)
{
    return hs_strtab_add(&level->names, name[0] == 0 ? "?" : name, &level->rows[row].name, err);
}

hs_status hs_browse_level_add(struct hs_browse_level *level, const struct hs_browse_row *row,
                              const char *name, struct hs_error *err)
{
    HS_TRY(HS_GROW(&level->rows, &level->capacity, level->n + 1, err));
    level->rows[level->n] = *row;
    level->rows[level->n].name = 0;
    if (name != NULL)
        HS_TRY(hs_browse_level_name(level, level->n, name, err));
    if (row->words != HS_BROWSE_UNKNOWN && !row->is_more && row->words > level->largest_words)
        level->largest_words = row->words;
    level->n++;
    return HS_OK;
}

const char *hs_browse_level_text(const struct hs_browse_level *level, size_t row)
{
    return hs_strtab_get(&level->names, level->rows[row].name);
}

/* ---- order */

static int compare_numbers(uint64_t left, uint64_t right)
{
    uint64_t a = left == HS_BROWSE_UNKNOWN ? 0 : left, b = right == HS_BROWSE_UNKNOWN ? 0 : right;
    return a > b ? -1 : a < b;
}

static double growth_of(const struct hs_browse_row *row)
{
    if (row->before_words == HS_BROWSE_UNKNOWN || row->words == HS_BROWSE_UNKNOWN)
        return 0;
    return (double)row->words - (double)row->before_words;
}

static int compare_rows(const struct hs_browse_level *level, uint32_t left, uint32_t right)
{
    const struct hs_browse_row *a = &level->rows[left], *b = &level->rows[right];
    double of_a = growth_of(a), of_b = growth_of(b);
    switch (level->sort) {
    case HS_BROWSE_BY_COUNT:
        return compare_numbers(a->objects, b->objects);
    case HS_BROWSE_BY_NAME:
        return strcmp(hs_browse_level_text(level, left), hs_browse_level_text(level, right));
    case HS_BROWSE_BY_GROWTH:
        return of_a > of_b ? -1 : of_a < of_b;
    default:
        return compare_numbers(a->words, b->words);
    }
}

static int by_order(const void *left, const void *right, void *context)
{
    const struct hs_browse_level *level = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    const struct hs_browse_row *of_a = &level->rows[a], *of_b = &level->rows[b];
    if (of_a->is_more != of_b->is_more)
        return of_a->is_more ? 1 : -1;
    if (of_a->group != of_b->group)
        return of_a->group < of_b->group ? -1 : 1;
    int order = level->is_fixed ? 0 : compare_rows(level, a, b);
    if (order != 0)
        return level->is_reversed ? -order : order;
    return a < b ? -1 : a > b;
}

static bool is_shown(const struct hs_browse_level *level, size_t row)
{
    return level->filter[0] == 0 || level->rows[row].is_more ||
           strcasestr(hs_browse_level_text(level, row), level->filter) != NULL;
}

hs_status hs_browse_level_arrange(struct hs_browse_level *level, struct hs_error *err)
{
    uint32_t here = level->cursor < level->n_order ? level->order[level->cursor] : UINT32_MAX;
    HS_TRY(HS_GROW(&level->order, &level->order_capacity, level->n == 0 ? 1 : level->n, err));
    level->n_order = 0;
    for (size_t i = 0; i < level->n; i++)
        if (is_shown(level, i))
            level->order[level->n_order++] = (uint32_t)i;
    qsort_r(level->order, level->n_order, sizeof *level->order, by_order, level);
    for (size_t i = 0; i < level->n_order && here != UINT32_MAX; i++)
        if (level->order[i] == here)
            level->cursor = i;
    hs_browse_level_move(level, 0);
    return HS_OK;
}

void hs_browse_level_sort(struct hs_browse_level *level, enum hs_browse_sort sort)
{
    level->is_reversed = level->sort == sort && !level->is_reversed;
    level->sort = sort;
}

/* ---- the cursor */

void hs_browse_level_move(struct hs_browse_level *level, int64_t by)
{
    uint64_t last = level->n_order == 0 ? 0 : level->n_order - 1;
    uint64_t here = level->cursor < last ? level->cursor : last;
    if (by < 0)
        here -= here < -(uint64_t)by ? here : -(uint64_t)by;
    else
        here += last - here < (uint64_t)by ? last - here : (uint64_t)by;
    level->cursor = here;
}

void hs_browse_level_scroll(struct hs_browse_level *level, size_t n_lines)
{
    if (n_lines == 0)
        n_lines = 1;
    if (level->cursor < level->top)
        level->top = level->cursor;
    if (level->cursor - level->top >= n_lines)
        level->top = level->cursor - n_lines + 1;
    if (level->top + n_lines > level->n_order) /* no empty lines where there are rows above */
        level->top = level->n_order < n_lines ? 0 : level->n_order - n_lines;
}

const struct hs_browse_row *hs_browse_level_row(const struct hs_browse_level *level)
{
    if (level->cursor >= level->n_order)
        return NULL;
    return &level->rows[level->order[level->cursor]];
}

bool hs_browse_level_find(struct hs_browse_level *level, const char *text, bool from_here)
{
    for (size_t i = from_here ? 0 : 1; i <= level->n_order && level->n_order != 0; i++) {
        size_t place = (level->cursor + i) % level->n_order;
        if (strcasestr(hs_browse_level_text(level, level->order[place]), text) == NULL)
            continue;
        level->cursor = place;
        return true;
    }
    return false;
}
