#include <assert.h>
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bitmap.h"
#include "stats/quantiles.h"
#include "stats/trace_rows.h"

enum { SIZE_TEXT_BYTES = 48, MOST_PRINTED_FRAMES = 64 };

void hs_trace_rows_fini(struct hs_trace_rows *rows)
{
    hs_free(rows->rows);
    hs_key_table_fini(&rows->paths);
    hs_free(rows->begin);
    hs_free(rows->rows_of);
    hs_free(rows->row_of_shape);
    hs_stats_memory_fini(&rows->memory);
    *rows = (struct hs_trace_rows){0};
}

const uint32_t *hs_trace_rows_of(const struct hs_trace_rows *rows,
                                 const struct hs_trace_object *object, size_t *ret_n)
{
    if (rows->by == HS_ROWS_BY_SIZE) {
        *ret_n = 1;
        return &rows->row_of_shape[object->shape];
    }
    *ret_n = rows->begin[object->stack + 1] - rows->begin[object->stack];
    return &rows->rows_of[rows->begin[object->stack]];
}

/* ---- which rows a stack is in ---- */

struct row_maker {
    struct hs_trace_rows *rows;
    const struct hs_trace_objects *objects;
    const struct hs_places *places;
    struct hs_bitmap used;      /* stacks, or by size shapes, of selected objects */
    struct hs_key_table labels; /* row number */
    size_t n_rows_of;
};

/* The row of a label, made when it is new. */
static hs_status row_of_label(struct row_maker *maker, uint64_t label, uint32_t *ret,
                              struct hs_error *err)
{
    struct hs_trace_rows *rows = maker->rows;
    HS_TRY(hs_stats_grow(&rows->memory, (void **)&rows->rows, &rows->capacity, rows->n + 1,
                         sizeof *rows->rows, err));
    HS_TRY(hs_key_table_add(&maker->labels, label, &rows->memory, ret, err));
    if (*ret == rows->n)
        rows->rows[rows->n++] = (struct hs_trace_row){.label = label};
    return HS_OK;
}

static hs_status put_in_row(struct row_maker *maker, uint64_t label, struct hs_error *err)
{
    struct hs_trace_rows *rows = maker->rows;
    uint32_t row;
    HS_TRY(row_of_label(maker, label, &row, err));
    HS_TRY(hs_stats_grow(&rows->memory, (void **)&rows->rows_of, &rows->rows_of_capacity,
                         maker->n_rows_of + 1, sizeof row, err));
    rows->rows_of[maker->n_rows_of++] = row;
    return HS_OK;
}

/* A row for each stack, of labels by stack: HS_NO_KEY is no label. */
static hs_status put_stacks(struct row_maker *maker, const uint32_t *labels, struct hs_error *err)
{
    size_t n_stacks = hs_stacks_n(&maker->objects->stacks);
    for (size_t stack = 0; stack < n_stacks; stack++) {
        uint64_t label = labels[stack] == HS_NO_KEY ? HS_ROWS_NO_LABEL : labels[stack];
        if (hs_bitmap_get(&maker->used, stack))
            HS_TRY(put_in_row(maker, label, err));
        maker->rows->begin[stack + 1] = (uint32_t)maker->n_rows_of;
    }
    return HS_OK;
}

static void sites_to_files(const struct hs_places *places, uint32_t *labels, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (labels[i] != HS_NO_KEY)
            labels[i] = places->functions[hs_places_frame(places, labels[i]).function].file;
}

static hs_status put_sites(struct row_maker *maker, struct hs_error *err)
{
    struct hs_trace_rows *rows = maker->rows;
    const struct hs_stacks *stacks = &maker->objects->stacks;
    size_t n = hs_stacks_n(stacks);
    void *sites, *callers = NULL;
    HS_TRY(hs_stats_alloc(&rows->memory, n, sizeof(uint32_t), &sites, err));
    hs_status status = HS_OK;
    if (rows->by == HS_ROWS_BY_CALLER)
        status = hs_stats_alloc(&rows->memory, n, sizeof(uint32_t), &callers, err);
    if (status == HS_OK) {
        hs_places_sites(maker->places, stacks, sites, callers);
        if (rows->by == HS_ROWS_BY_FILE)
            sites_to_files(maker->places, sites, n);
        status = put_stacks(maker, callers != NULL ? callers : sites, err);
    }
    hs_stats_free(&rows->memory, callers, n, sizeof(uint32_t));
    hs_stats_free(&rows->memory, sites, n, sizeof(uint32_t));
    return status;
}

/* Stacks that differ in hidden frames only are one path. */
static hs_status follow_paths(struct row_maker *maker, uint32_t *paths, struct hs_error *err)
{
    const struct hs_stacks *stacks = &maker->objects->stacks;
    const struct hs_places *places = maker->places;
    paths[0] = 0;
    for (uint32_t node = 1; node < hs_stacks_n(stacks); node++) {
        uint32_t code = hs_stacks_code(stacks, node), path = paths[hs_stacks_parent(stacks, node)];
        for (uint32_t i = places->begin[code]; i < places->begin[code + 1]; i++) {
            uint32_t frame = places->frames[i], next;
            if (places->functions[hs_places_frame(places, frame).function].is_hidden)
                continue;
            HS_TRY(hs_key_table_add(&maker->rows->paths, (uint64_t)path << 32 | frame,
                                    &maker->rows->memory, &next, err));
            path = next + 1;
        }
        paths[node] = path;
    }
    return HS_OK;
}

static hs_status put_paths(struct row_maker *maker, struct hs_error *err)
{
    struct hs_stats_memory *memory = &maker->rows->memory;
    size_t n = hs_stacks_n(&maker->objects->stacks);
    void *paths;
    HS_TRY(hs_stats_alloc(memory, n, sizeof(uint32_t), &paths, err));
    hs_status status = follow_paths(maker, paths, err);
    if (status == HS_OK)
        status = put_stacks(maker, paths, err);
    hs_stats_free(memory, paths, n, sizeof(uint32_t));
    return status;
}

/* Puts every function of a stack, each once: `seen` has the stack that saw it last, plus 1. */
static hs_status put_functions_of(struct row_maker *maker, uint32_t stack, uint32_t *seen,
                                  struct hs_error *err)
{
    const struct hs_places *places = maker->places;
    const struct hs_stacks *stacks = &maker->objects->stacks;
    size_t before = maker->n_rows_of;
    for (uint32_t node = stack; node != 0; node = hs_stacks_parent(stacks, node)) {
        uint32_t code = hs_stacks_code(stacks, node);
        for (uint32_t i = places->begin[code]; i < places->begin[code + 1]; i++) {
            uint32_t function = hs_places_frame(places, places->frames[i]).function;
            if (seen[function] == stack + 1 || places->functions[function].is_hidden)
                continue;
            seen[function] = stack + 1;
            HS_TRY(put_in_row(maker, function, err));
        }
    }
    return maker->n_rows_of != before ? HS_OK : put_in_row(maker, HS_ROWS_NO_LABEL, err);
}

static hs_status put_functions(struct row_maker *maker, struct hs_error *err)
{
    struct hs_stats_memory *memory = &maker->rows->memory;
    size_t n_functions = hs_places_n_functions(maker->places) + 1;
    size_t n_stacks = hs_stacks_n(&maker->objects->stacks);
    void *seen;
    hs_status status = HS_OK;
    HS_TRY(hs_stats_alloc(memory, n_functions, sizeof(uint32_t), &seen, err));
    for (size_t stack = 0; stack < n_stacks && status == HS_OK; stack++) {
        if (hs_bitmap_get(&maker->used, stack))
            status = put_functions_of(maker, (uint32_t)stack, seen, err);
        maker->rows->begin[stack + 1] = (uint32_t)maker->n_rows_of;
    }
    hs_stats_free(memory, seen, n_functions, sizeof(uint32_t));
    return status;
}

static hs_status put_sizes(struct row_maker *maker, struct hs_error *err)
{
    struct hs_trace_rows *rows = maker->rows;
    HS_TRY(hs_stats_grow(&rows->memory, (void **)&rows->row_of_shape, &rows->shapes_capacity,
                         maker->objects->n_shapes + 1, sizeof *rows->row_of_shape, err));
    for (size_t i = 0; i < maker->objects->n_shapes; i++)
        if (hs_bitmap_get(&maker->used, i))
            HS_TRY(
                row_of_label(maker, maker->objects->shapes[i].words, &rows->row_of_shape[i], err));
    return HS_OK;
}

static hs_status put_all(struct row_maker *maker, struct hs_error *err)
{
    struct hs_trace_rows *rows = maker->rows;
    if (rows->by == HS_ROWS_BY_SIZE)
        return put_sizes(maker, err);
    HS_TRY(hs_stats_grow(&rows->memory, (void **)&rows->begin, &rows->begin_capacity,
                         hs_stacks_n(&maker->objects->stacks) + 1, sizeof *rows->begin, err));
    if (rows->by == HS_ROWS_BY_FUNCTION)
        return put_functions(maker, err);
    return rows->by == HS_ROWS_BY_STACK ? put_paths(maker, err) : put_sites(maker, err);
}

/* ---- sums ---- */

static void add_to_row(struct hs_trace_row *row, const struct hs_trace_object *object,
                       const struct hs_trace_shape *shape)
{
    if (row->all.n_objects == 0 || object->born_us < row->first_us)
        row->first_us = object->born_us;
    if (object->born_us > row->last_us)
        row->last_us = object->born_us;
    hs_trace_sum_add(&row->all, shape);
    if (object->died_us == HS_OBJECT_NEVER)
        hs_trace_sum_add(&row->live, shape);
    else
        row->freed_us += (double)(object->died_us - object->born_us) * shape->n_samples;
}

static void sum_rows(struct hs_trace_rows *rows, const struct hs_trace_objects *objects)
{
    for (uint64_t i = 0; i < objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(objects, i);
        if (!object->is_selected)
            continue;
        const struct hs_trace_shape *shape = &objects->shapes[object->shape];
        size_t n;
        const uint32_t *in = hs_trace_rows_of(rows, object, &n);
        add_to_row(&rows->total, object, shape);
        for (size_t k = 0; k < n; k++)
            add_to_row(&rows->rows[in[k]], object, shape);
    }
}

static void weigh_lifetimes(struct hs_quantiles *q, const struct hs_trace_rows *rows,
                            const struct hs_trace_objects *objects)
{
    for (uint64_t i = 0; i < objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(objects, i);
        if (!object->is_selected || object->died_us == HS_OBJECT_NEVER)
            continue;
        uint64_t lifetime_us = object->died_us - object->born_us;
        uint64_t n_samples = objects->shapes[object->shape].n_samples;
        size_t n;
        const uint32_t *in = hs_trace_rows_of(rows, object, &n);
        for (size_t k = 0; k < n; k++)
            hs_quantiles_add(q, in[k], lifetime_us, n_samples);
        hs_quantiles_add(q, rows->n, lifetime_us, n_samples);
    }
}

static hs_status find_medians(struct hs_trace_rows *rows, const struct hs_trace_objects *objects,
                              struct hs_error *err)
{
    struct hs_quantiles q = {0};
    hs_status status =
        hs_quantiles_init(&q, rows->n + 1, objects->counts.end_us, rows->memory.budget, err);
    for (size_t i = 0; status == HS_OK && i <= rows->n; i++) {
        const struct hs_trace_row *row = i < rows->n ? &rows->rows[i] : &rows->total;
        q.groups[i].want = (row->all.n_samples + 1) / 2;
    }
    while (status == HS_OK && hs_quantiles_begin(&q)) {
        weigh_lifetimes(&q, rows, objects);
        hs_quantiles_end(&q);
    }
    for (size_t i = 0; status == HS_OK && i <= rows->n; i++)
        (i < rows->n ? &rows->rows[i] : &rows->total)->median_us = q.groups[i].answer;
    hs_quantiles_fini(&q);
    return status;
}

static void mark_used(struct row_maker *maker)
{
    const struct hs_trace_objects *objects = maker->objects;
    for (uint64_t i = 0; i < objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(objects, i);
        if (object->is_selected)
            hs_bitmap_set(&maker->used,
                          maker->rows->by == HS_ROWS_BY_SIZE ? object->shape : object->stack);
    }
}

hs_status hs_trace_rows_init(struct hs_trace_rows *ret, const struct hs_trace_objects *objects,
                             const struct hs_places *places, enum hs_rows_by by,
                             struct hs_budget *budget, struct hs_error *err)
{
    *ret = (struct hs_trace_rows){.memory = {.budget = budget}, .by = by};
    struct row_maker maker = {.rows = ret, .objects = objects, .places = places};
    HS_TRY(hs_bitmap_init(&maker.used, hs_stacks_n(&objects->stacks) + objects->n_shapes, err));
    mark_used(&maker);
    hs_status status = put_all(&maker, err);
    hs_bitmap_fini(&maker.used);
    hs_key_table_fini(&maker.labels);
    HS_TRY(status);
    sum_rows(ret, objects);
    return find_medians(ret, objects, err);
}

/* ---- words for rows ---- */

static hs_status put_text(struct hs_buffer *b, const char *text, struct hs_error *err)
{
    size_t n = strlen(text);
    HS_TRY(hs_buffer_reserve(b, n, err));
    hs_buffer_put_bytes(b, text, n);
    return HS_OK;
}

/* The innermost frame first. */
static hs_status print_path(const struct hs_trace_rows *rows, const struct hs_places *places,
                            uint64_t path, struct hs_buffer *b, struct hs_error *err)
{
    if (path == 0)
        return put_text(b, "[no backtrace]", err);
    for (unsigned n = 0; path != 0; n++) {
        uint64_t key = rows->paths.keys[path - 1];
        if (n == MOST_PRINTED_FRAMES)
            return put_text(b, " < ...", err);
        if (n != 0)
            HS_TRY(put_text(b, " < ", err));
        HS_TRY(hs_places_print_frame(places, (uint32_t)key, b, err));
        path = key >> 32;
    }
    return HS_OK;
}

hs_status hs_trace_rows_print(const struct hs_trace_rows *rows, const struct hs_places *places,
                              const struct hs_trace_row *row, uint32_t word_bytes,
                              struct hs_buffer *b, struct hs_error *err)
{
    char text[SIZE_TEXT_BYTES];
    if (row->label == HS_ROWS_NO_LABEL)
        return put_text(b, rows->by == HS_ROWS_BY_CALLER ? "[no caller]" : "[no backtrace]", err);
    switch (rows->by) {
    case HS_ROWS_BY_SITE:
    case HS_ROWS_BY_CALLER:
        return hs_places_print_frame(places, (uint32_t)row->label, b, err);
    case HS_ROWS_BY_FUNCTION:
        return hs_places_print_function(places, (uint32_t)row->label, b, err);
    case HS_ROWS_BY_FILE:
        if (row->label == 0)
            return put_text(b, "?", err);
        return put_text(b, hs_strtab_get(&places->strings, (hs_str)row->label), err);
    case HS_ROWS_BY_STACK:
        return print_path(rows, places, row->label, b, err);
    case HS_ROWS_BY_SIZE:
    default:
        (void)snprintf(text, sizeof text, "%.0f bytes", (double)row->label * word_bytes);
        return put_text(b, text, err);
    }
}

static const char *string_or_null(const struct hs_places *places, hs_str id)
{
    return id == 0 ? NULL : hs_strtab_get(&places->strings, id);
}

struct hs_trace_row_place hs_trace_rows_place(const struct hs_trace_rows *rows,
                                              const struct hs_places *places,
                                              const struct hs_trace_row *row)
{
    struct hs_trace_row_place place = {0};
    struct hs_place_frame at = {0};
    if (row->label == HS_ROWS_NO_LABEL || rows->by == HS_ROWS_BY_SIZE)
        return place;
    if (rows->by == HS_ROWS_BY_FILE) {
        place.file = string_or_null(places, (hs_str)row->label);
        return place;
    }
    if (rows->by == HS_ROWS_BY_STACK && row->label == 0)
        return place;
    if (rows->by == HS_ROWS_BY_FUNCTION)
        at.function = (uint32_t)row->label;
    else if (rows->by == HS_ROWS_BY_STACK)
        at = hs_places_frame(places, (uint32_t)rows->paths.keys[row->label - 1]);
    else
        at = hs_places_frame(places, (uint32_t)row->label);
    place.function = string_or_null(places, places->functions[at.function].name);
    place.file = string_or_null(places, places->functions[at.function].file);
    place.line = place.file == NULL ? 0 : at.line;
    return place;
}

uint64_t hs_trace_row_mean_us(const struct hs_trace_row *row)
{
    uint64_t n_samples = row->all.n_samples - row->live.n_samples;
    return n_samples == 0 ? HS_NO_QUANTILE : (uint64_t)(row->freed_us / (double)n_samples + 0.5);
}
