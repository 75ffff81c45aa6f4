#include "analysis/container_rows.h"

#include <stdlib.h>

#include "analysis/chunk_pass.h"
#include "base/alloc.h"

/* A larger room, or a larger number of elements, is not believed. */
#define COUNT_MOST (UINT64_C(1) << 35)

static void count_chunk(const struct hs_chunk *chunk, struct hs_container_row *of_type)
{
    for (uint32_t i = 0; i < chunk->n_counts; i++) {
        const struct hs_block_count *body = &chunk->counts[i];
        struct hs_container_row *row = &of_type[chunk->type[body->at]];
        if (body->entries > COUNT_MOST)
            continue;
        row->containers++;
        row->entries += body->entries;
        row->words += chunk->words[body->at];
        if (body->room > COUNT_MOST)
            continue;
        row->n_roomy++;
        row->room += body->room;
        row->unused += body->room - body->entries;
    }
}

static int row_order(const void *left, const void *right)
{
    const struct hs_container_row *a = left, *b = right;

    if (a->entries != b->entries)
        return a->entries > b->entries ? -1 : 1;
    return a->type < b->type ? -1 : a->type > b->type;
}

static void add_to(struct hs_container_row *sum, const struct hs_container_row *row)
{
    sum->containers += row->containers;
    sum->entries += row->entries;
    sum->n_roomy += row->n_roomy;
    sum->room += row->room;
    sum->unused += row->unused;
    sum->words += row->words;
}

hs_status hs_container_rows_select(struct hs_view *view, uint64_t min_words, uint64_t max_rows,
                                   struct hs_container_rows *ret, struct hs_error *err)
{
    const unsigned columns = HS_COL_SIZES | HS_COL_TYPES | HS_COL_COUNTS;
    size_t n_types = view->totals->n_types, n = 0;

    *ret = (struct hs_container_rows){0};
    HS_TRY(HS_ALLOC(&ret->rows, n_types == 0 ? 1 : n_types, err));
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, columns, "counting elements");
    while (hs_chunk_pass_next(&pass, err))
        count_chunk(&pass.chunk, ret->rows);
    HS_TRY(hs_chunk_pass_end(&pass));
    for (size_t i = 0; i < n_types; i++) {
        struct hs_container_row row = ret->rows[i];
        row.type = (uint32_t)i;
        if (row.containers != 0 && row.words >= min_words)
            ret->rows[n++] = row;
    }
    if (n > 1)
        qsort(ret->rows, n, sizeof *ret->rows, row_order);
    ret->n_rows = n > max_rows ? (size_t)max_rows : n;
    for (size_t i = ret->n_rows; i < n; i++)
        add_to(&ret->others, &ret->rows[i]);
    ret->n_others = n - ret->n_rows;
    return HS_OK;
}

void hs_container_rows_fini(struct hs_container_rows *rows)
{
    hs_free(rows->rows);
    *rows = (struct hs_container_rows){0};
}
