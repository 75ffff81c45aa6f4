/* All blocks in the order of their types' names: a counting sort. */
#include "by_type.h"

#include <stdlib.h>
#include <string.h>

#include "analysis/chunk_pass.h"
#include "base/alloc.h"

#define MOST_BYTES ((uint64_t)1 << 30)

static uint64_t bytes_of(const struct hs_sql_source *source, struct hs_sql_by_type_wants wants)
{
    uint64_t each = sizeof(uint32_t) + (wants.words ? sizeof(uint64_t) : 0) + wants.state;
    const struct hs_snap_totals *totals = source->view.totals;
    return totals->n_blocks * each + totals->n_types * 32 + HS_VIEW_CHUNK_BYTES;
}

bool hs_sql_by_type_fits(const struct hs_sql_source *source, struct hs_sql_by_type_wants wants)
{
    uint64_t left = hs_budget_left_bytes(source->view.session.budget) / 4;
    uint64_t n_blocks = source->view.totals->n_blocks;
    return n_blocks < UINT32_MAX / 16 && source->view.totals->n_types < UINT32_MAX &&
           bytes_of(source, wants) <= (left < MOST_BYTES ? left : MOST_BYTES);
}

static int by_name(const void *left, const void *right, void *context)
{
    const struct hs_view *view = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    int order = strcmp(hs_view_string(view, hs_snap_type(view->snap, a)->name),
                       hs_view_string(view, hs_snap_type(view->snap, b)->name));
    return order != 0 ? order : a < b ? -1 : a > b;
}

/* Counts by type: first how many blocks it has, then where its next one goes. */
static hs_status count(struct hs_view *view, uint64_t *places, struct hs_error *err)
{
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_TYPES, "counting types");
    while (hs_chunk_pass_next(&pass, err))
        for (uint32_t i = 0; i < pass.chunk.n_blocks; i++)
            places[pass.chunk.type[i]]++;
    return hs_chunk_pass_end(&pass);
}

static void place(struct hs_sql_by_type *all, uint64_t *places)
{
    uint64_t at = 0;
    for (uint32_t i = 0; i < all->n_types; i++) {
        uint64_t n = places[all->types[i]];
        all->begin[i] = places[all->types[i]] = at;
        at += n;
    }
    all->begin[all->n_types] = at;
}

static hs_status fill(struct hs_view *view, struct hs_sql_by_type *all, uint64_t *places,
                      struct hs_error *err)
{
    unsigned columns = HS_COL_TYPES;
    if (all->words != NULL || all->state != NULL)
        columns |= HS_COL_SIZES;
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, columns, "sorting by type");
    while (hs_chunk_pass_next(&pass, err)) {
        uint32_t first = (uint32_t)(pass.chunk.first - view->n_tree);
        for (uint32_t i = 0; i < pass.chunk.n_blocks; i++) {
            uint64_t at = places[pass.chunk.type[i]]++;
            all->block[at] = first + i;
            if (all->words != NULL)
                all->words[at] = pass.chunk.words[i];
            if (all->state != NULL)
                all->state[at] = pass.chunk.state[i];
        }
    }
    return hs_chunk_pass_end(&pass);
}

static hs_status allocate(struct hs_sql_by_type *all, struct hs_sql_by_type_wants wants,
                          struct hs_error *err)
{
    HS_TRY(HS_PAGES_ALLOC(&all->block, all->n, err));
    if (wants.words)
        HS_TRY(HS_PAGES_ALLOC(&all->words, all->n, err));
    if (wants.state)
        HS_TRY(HS_PAGES_ALLOC(&all->state, all->n, err));
    HS_TRY(HS_ALLOC(&all->begin, (size_t)all->n_types + 1, err));
    return HS_ALLOC(&all->types, all->n_types, err);
}

static hs_status make(struct hs_view *view, struct hs_sql_by_type_wants wants,
                      struct hs_sql_by_type *all, struct hs_error *err)
{
    hs_auto_free uint64_t *places = NULL;
    HS_TRY(allocate(all, wants, err));
    HS_TRY(HS_ALLOC(&places, all->n_types, err));
    for (uint32_t i = 0; i < all->n_types; i++)
        all->types[i] = i;
    qsort_r(all->types, all->n_types, sizeof *all->types, by_name, view);
    HS_TRY(count(view, places, err));
    place(all, places);
    return fill(view, all, places, err);
}

hs_status hs_sql_by_type_make(struct hs_sql_source *source, struct hs_sql_by_type_wants wants,
                              struct hs_sql_by_type *ret, struct hs_error *err)
{
    struct hs_view *view = &source->view;
    struct hs_sql_by_type all = {.n = view->totals->n_blocks,
                                 .n_types = (uint32_t)view->totals->n_types,
                                 .budget = view->session.budget};
    uint64_t n_bytes = bytes_of(source, wants);
    HS_TRY(hs_budget_reserve(all.budget, n_bytes, "blocks by type", err));
    all.reserved_bytes = n_bytes;
    hs_status status = make(view, wants, &all, err);
    if (status == HS_OK)
        *ret = all;
    else
        hs_sql_by_type_fini(&all);
    return status;
}

void hs_sql_by_type_fini(struct hs_sql_by_type *all)
{
    hs_pages_free(all->block, all->n, sizeof *all->block);
    hs_pages_free(all->words, all->n, sizeof *all->words);
    hs_pages_free(all->state, all->n, sizeof *all->state);
    hs_free(all->types);
    hs_free(all->begin);
    hs_budget_release(all->budget, all->reserved_bytes);
    *all = (struct hs_sql_by_type){0};
}
