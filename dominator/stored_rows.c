#include "dominator/stored_rows.h"

#include <assert.h>

#include "engine.h"

#define SLOT_BYTES ((HS_STORED_BLOCK + 1) * sizeof(uint32_t))

void hs_stored_rows_shut(struct hs_stored_rows *rows)
{
    engine_array_fini(rows->budget, &rows->words, (size_t)rows->n_slots * HS_STORED_BLOCK);
    engine_array_fini(rows->budget, &rows->block, rows->n_slots);
}

void hs_stored_rows_fini(struct hs_stored_rows *rows)
{
    hs_stored_rows_shut(rows);
    engine_array_fini(rows->budget, &rows->begin, (size_t)rows->n_nodes + 1);
    hs_spill_close(&rows->spill);
    *rows = (struct hs_stored_rows){0};
}

/* ---- making ---- */

/* The rows of the nodes [first, end) while they are made. */
struct window {
    struct hs_stored_rows *rows;
    uint32_t first, end;
    uint32_t *words; /* NULL: one node, whose row goes straight to the file */
    uint32_t base;   /* the word of the file that words[0] is */
    hs_status status;
    struct hs_error *err;
};

static void edge_count(void *sink, uint32_t from, uint32_t to)
{
    struct hs_stored_rows *rows = sink;

    (void)to;
    rows->n_words++;
    rows->begin[from + 1]++;
}

static void edge_place(void *sink, uint32_t from, uint32_t to)
{
    struct window *window = sink;

    if (from < window->first || from >= window->end)
        return;
    uint32_t at = window->rows->begin[from]++;
    if (window->words != NULL)
        window->words[at - window->base] = to;
    else if (window->status == HS_OK)
        window->status = hs_spill_put_fixed(&window->rows->spill, to, sizeof to, window->err);
}

static hs_status rows_count(struct hs_stored_rows *rows, const struct hs_unit_edge_source *edges,
                            struct hs_error *err)
{
    HS_TRY(edges->run(edges->context, edge_count, rows, err));
    rows->n_words += rows->n_nodes;
    HS_TRY(hs_graph_fits(rows->n_nodes, rows->n_words, err));
    for (uint32_t i = 0; i < rows->n_nodes; i++)
        rows->begin[i + 1] += rows->begin[i] + 1;
    assert(rows->begin[rows->n_nodes] == rows->n_words);
    return HS_OK;
}

/* Ends the rows of the window, and puts their begins, which have moved to their ends, back. */
static hs_status window_end(struct window *window, struct hs_error *err)
{
    uint32_t *begin = window->rows->begin, n = begin[window->end - 1] + 1 - window->base;

    HS_TRY(window->status);
    if (window->words == NULL) {
        HS_TRY(hs_spill_put_fixed(&window->rows->spill, HS_NONE, sizeof(uint32_t), err));
    } else {
        for (uint32_t i = window->first; i < window->end; i++)
            window->words[begin[i] - window->base] = HS_NONE;
        HS_TRY(hs_spill_write(&window->rows->spill, window->words, n * sizeof(uint32_t), err));
    }
    for (uint32_t i = window->end - 1; i > window->first; i--)
        begin[i] = begin[i - 1] + 1;
    begin[window->first] = window->base;
    return HS_OK;
}

static hs_status windows_run(struct hs_stored_rows *rows, const struct hs_unit_edge_source *edges,
                             uint32_t *words, uint32_t n_words, struct hs_error *err)
{
    struct window window = {.rows = rows, .err = err};

    while (window.end < rows->n_nodes) {
        window.first = window.end;
        window.base = rows->begin[window.first];
        while (window.end < rows->n_nodes && rows->begin[window.end + 1] - window.base <= n_words)
            window.end++;
        window.words = window.end == window.first ? NULL : words;
        window.end += window.end == window.first;
        HS_TRY(edges->run(edges->context, edge_place, &window, err));
        HS_TRY(window_end(&window, err));
    }
    return hs_spill_seal(&rows->spill, err);
}

/* A quarter of what is left for the rows at hand, or all of them. */
static hs_status rows_fill(struct hs_stored_rows *rows, const struct hs_unit_edge_source *edges,
                           struct hs_error *err)
{
    uint64_t n_words = hs_budget_left_bytes(rows->budget) / 4 / sizeof(uint32_t);
    uint64_t least = HS_STORED_LEAST_BYTES / sizeof(uint32_t);
    uint32_t *words = NULL;

    n_words = n_words < least ? least : n_words;
    n_words = n_words < rows->n_words ? n_words : rows->n_words;
    HS_TRY(hs_spill_open(rows->budget, rows->what, &rows->spill, err));
    HS_TRY(engine_array_init(rows->budget, n_words, rows->what, &words, err));
    hs_status status = windows_run(rows, edges, words, (uint32_t)n_words, err);
    engine_array_fini(rows->budget, &words, n_words);
    return status;
}

hs_status hs_stored_rows_make(uint32_t n_nodes, const struct hs_unit_edge_source *edges,
                              struct hs_budget *budget, const char *what,
                              struct hs_stored_rows *ret, struct hs_error *err)
{
    struct hs_stored_rows rows = {.budget = budget, .what = what, .n_nodes = n_nodes};

    hs_status status = engine_array_init(budget, (size_t)n_nodes + 1, what, &rows.begin, err);
    if (status == HS_OK)
        status = rows_count(&rows, edges, err);
    if (status == HS_OK)
        status = rows_fill(&rows, edges, err);
    if (status == HS_OK)
        *ret = rows;
    else
        hs_stored_rows_fini(&rows);
    return status;
}

/* ---- reading ---- */

hs_status hs_stored_rows_open(struct hs_stored_rows *rows, uint64_t keep_bytes,
                              struct hs_error *err)
{
    uint64_t n_blocks = (rows->n_words + HS_STORED_BLOCK - 1) / HS_STORED_BLOCK;
    uint32_t n_slots = 1;

    hs_stored_rows_shut(rows);
    uint64_t left = hs_budget_left_bytes(rows->budget);
    uint64_t room = left > keep_bytes ? left - keep_bytes : 0;
    room = room < HS_STORED_LEAST_BYTES ? HS_STORED_LEAST_BYTES : room;
    while (n_slots < n_blocks && 2 * n_slots * SLOT_BYTES <= room)
        n_slots *= 2;
    rows->n_slots = n_slots;
    HS_TRY(engine_array_init(rows->budget, (size_t)n_slots * HS_STORED_BLOCK, rows->what,
                             &rows->words, err));
    HS_TRY(engine_array_init(rows->budget, n_slots, rows->what, &rows->block, err));
    hs_spill_expect(&rows->spill, 0, rows->spill.n_bytes);
    return HS_OK;
}

hs_status hs_stored_rows_load(struct hs_stored_rows *rows, uint32_t block, struct hs_error *err)
{
    uint32_t slot = block & (rows->n_slots - 1);
    uint64_t first = (uint64_t)block * HS_STORED_BLOCK;
    uint64_t n = rows->n_words - first < HS_STORED_BLOCK ? rows->n_words - first : HS_STORED_BLOCK;

    rows->block[slot] = 0;
    HS_TRY(hs_spill_read_at(&rows->spill, first * sizeof(uint32_t),
                            rows->words + (size_t)slot * HS_STORED_BLOCK, n * sizeof(uint32_t),
                            err));
    rows->block[slot] = block + 1;
    return HS_OK;
}
