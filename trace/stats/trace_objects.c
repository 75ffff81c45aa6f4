#include <stdlib.h>

#include "base/alloc.h"
#include "stats/trace_objects.h"

enum {
    CHUNK = 1 << HS_OBJECT_CHUNK_BITS,
    ID_PAGE = 64,     /* identifiers in a page */
    ID_RUN = 1 << 10, /* pages that are allocated together */
    PIECE_MOMENTS = 1 << 20,
    PIECE_SLOTS = 1 << 16, /* of time, by which pieces are made */
};

void hs_trace_objects_init(struct hs_trace_objects *objects, struct hs_budget *budget)
{
    *objects = (struct hs_trace_objects){.memory = {.budget = budget}};
}

static void free_ids(struct hs_trace_objects *objects)
{
    for (size_t i = 0; i < objects->n_ids; i++)
        hs_stats_free(&objects->memory, objects->ids[i], (size_t)ID_RUN * ID_PAGE,
                      sizeof **objects->ids);
    objects->n_ids = 0;
    hs_free(objects->ids);
    objects->ids = NULL;
    hs_key_table_fini(&objects->id_pages);
}

void hs_trace_objects_fini(struct hs_trace_objects *objects)
{
    free_ids(objects);
    for (size_t i = 0; i < objects->n_chunks; i++)
        hs_stats_free(&objects->memory, objects->chunks[i], CHUNK, sizeof **objects->chunks);
    hs_free(objects->chunks);
    hs_free(objects->shapes);
    hs_stacks_fini(&objects->stacks);
    hs_key_table_fini(&objects->sizes);
    hs_key_table_fini(&objects->samples);
    hs_key_table_fini(&objects->shape_keys);
    hs_stats_memory_fini(&objects->memory);
    *objects = (struct hs_trace_objects){0};
}

/* The place of an identifier's object; NULL when it has no page and is not to get one. */
static hs_status find_id(struct hs_trace_objects *objects, uint64_t id, bool is_new, uint32_t **ret,
                         struct hs_error *err)
{
    uint32_t page = hs_key_table_find(&objects->id_pages, id / ID_PAGE);
    *ret = NULL;
    if (page == HS_NO_KEY && !is_new)
        return HS_OK;
    if (page == HS_NO_KEY) {
        if (objects->id_pages.n == objects->n_ids * ID_RUN) {
            HS_TRY(hs_stats_grow(&objects->memory, (void **)&objects->ids, &objects->ids_capacity,
                                 objects->n_ids + 1, sizeof *objects->ids, err));
            void *run;
            HS_TRY(hs_stats_alloc(&objects->memory, (size_t)ID_RUN * ID_PAGE, sizeof **ret, &run,
                                  err));
            objects->ids[objects->n_ids++] = run;
        }
        HS_TRY(hs_key_table_add(&objects->id_pages, id / ID_PAGE, &objects->memory, &page, err));
    }
    *ret = &objects->ids[page / ID_RUN][(size_t)(page % ID_RUN) * ID_PAGE + id % ID_PAGE];
    return HS_OK;
}

static hs_status find_shape(struct hs_trace_objects *objects, const struct hs_trace_event *event,
                            uint32_t *ret, struct hs_error *err)
{
    struct hs_stats_memory *memory = &objects->memory;
    uint64_t n_samples =
        event->n_samples < HS_OBJECT_MAX_SAMPLES ? event->n_samples : HS_OBJECT_MAX_SAMPLES;
    uint64_t words = event->words < UINT64_MAX ? event->words : UINT64_MAX - 1;
    uint32_t size, area;
    HS_TRY(hs_key_table_add(&objects->sizes, words, memory, &size, err));
    HS_TRY(hs_key_table_add(&objects->samples, n_samples << 8 | event->source, memory, &area, err));
    HS_TRY(hs_stats_grow(memory, (void **)&objects->shapes, &objects->shapes_capacity,
                         objects->n_shapes + 1, sizeof *objects->shapes, err));
    HS_TRY(hs_key_table_add(&objects->shape_keys, (uint64_t)size << 32 | area, memory, ret, err));
    if (*ret < objects->n_shapes)
        return HS_OK;
    double s = (double)hs_trace_shape_sampled_words(words, event->source), n = (double)n_samples;
    objects->shapes[objects->n_shapes++] =
        (struct hs_trace_shape){words, (uint32_t)n_samples, event->source, n / s, n / s / s};
    return HS_OK;
}

static hs_status reserve_object(struct hs_trace_objects *objects, struct hs_error *err)
{
    if (objects->n < (uint64_t)objects->n_chunks * CHUNK)
        return HS_OK;
    if (objects->n >= UINT32_MAX - 1)
        return hs_fail(err, HS_LIMIT, "the trace has more than 2^32 allocations");
    void *chunk;
    HS_TRY(hs_stats_grow(&objects->memory, (void **)&objects->chunks, &objects->chunks_capacity,
                         objects->n_chunks + 1, sizeof *objects->chunks, err));
    HS_TRY(hs_stats_alloc(&objects->memory, CHUNK, sizeof **objects->chunks, &chunk, err));
    objects->chunks[objects->n_chunks++] = chunk;
    return HS_OK;
}

static hs_status add_allocation(struct hs_trace_objects *objects,
                                const struct hs_trace_event *event, uint64_t time_us,
                                struct hs_error *err)
{
    uint32_t stack, shape, *place;
    HS_TRY(reserve_object(objects, err));
    HS_TRY(hs_stacks_add(&objects->stacks, event->frames, event->n_frames, &objects->memory, &stack,
                         err));
    HS_TRY(find_shape(objects, event, &shape, err));
    HS_TRY(find_id(objects, event->id, true, &place, err));
    struct hs_trace_object *object = hs_trace_object(objects, objects->n);
    *object = (struct hs_trace_object){
        .born_us = time_us & HS_OBJECT_NEVER,
        .domain = event->domain & UINT16_MAX,
        .died_us = HS_OBJECT_NEVER,
        .is_selected = true,
        .stack = stack,
        .shape = shape,
    };
    *place = (uint32_t)++objects->n;
    uint32_t n_samples = objects->shapes[shape].n_samples;
    objects->counts.n_allocations++;
    objects->counts.n_samples += n_samples;
    objects->counts.n_live_samples += n_samples;
    return HS_OK;
}

static hs_status add_end(struct hs_trace_objects *objects, const struct hs_trace_event *event,
                         uint64_t time_us, struct hs_error *err)
{
    bool is_promotion = event->kind == HS_TRACE_PROMOTE;
    uint32_t *place;
    HS_TRY(find_id(objects, event->id, false, &place, err));
    struct hs_trace_object *object =
        place == NULL || *place == 0 ? NULL : hs_trace_object(objects, *place - 1);
    objects->counts.n_promotions += is_promotion;
    objects->counts.n_collections += !is_promotion;
    if (object == NULL || object->died_us != HS_OBJECT_NEVER) {
        objects->counts.n_unmatched++;
    } else if (is_promotion) {
        object->is_promoted = true;
    } else {
        uint64_t died_us = time_us < object->born_us ? object->born_us : time_us;
        object->died_us = died_us & HS_OBJECT_NEVER;
        objects->counts.n_live_samples -= objects->shapes[object->shape].n_samples;
    }
    return HS_OK;
}

/* Notes the peak; what is alive at a time is known when the time is over. */
static void see_peak(struct hs_trace_counts *counts, uint64_t now_us, uint64_t n_live_samples)
{
    if (n_live_samples > counts->n_peak_samples) {
        counts->n_peak_samples = n_live_samples;
        counts->peak_us = now_us;
    }
}

hs_status hs_trace_objects_add(struct hs_trace_objects *objects, const struct hs_trace_event *event,
                               struct hs_error *err)
{
    uint64_t time_us = event->time_us < HS_OBJECT_NEVER ? event->time_us : HS_OBJECT_NEVER - 1;
    objects->is_disordered |= time_us < objects->now_us;
    if (time_us > objects->now_us) {
        see_peak(&objects->counts, objects->now_us, objects->counts.n_live_samples);
        objects->now_us = time_us;
    }
    if (time_us > objects->counts.end_us)
        objects->counts.end_us = time_us;
    if (event->kind == HS_TRACE_ALLOC)
        return add_allocation(objects, event, time_us, err);
    return add_end(objects, event, time_us, err);
}

/* ---- the peak when events are not in order of time ---- */

struct moment {
    uint64_t at_us;
    int64_t n_samples; /* born, or freed when below 0 */
};

static int by_time(const void *left, const void *right)
{
    const struct moment *a = left, *b = right;
    return a->at_us < b->at_us ? -1 : a->at_us > b->at_us;
}

struct peak_search {
    const struct hs_trace_objects *objects;
    uint32_t *n_in_slot; /* moments in each slot of time */
    unsigned shift;      /* time >> shift is the slot */
    struct moment *moments;
    uint64_t n_live_samples;
    struct hs_trace_counts *counts;
};

static void count_slots(struct peak_search *search)
{
    for (uint64_t i = 0; i < search->objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(search->objects, i);
        search->n_in_slot[object->born_us >> search->shift]++;
        if (object->died_us != HS_OBJECT_NEVER)
            search->n_in_slot[object->died_us >> search->shift]++;
    }
}

/* The moments of the slots [begin, end). */
static size_t gather(struct peak_search *search, size_t begin, size_t end)
{
    size_t n = 0;
    for (uint64_t i = 0; i < search->objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(search->objects, i);
        int64_t n_samples = search->objects->shapes[object->shape].n_samples;
        uint64_t born = object->born_us >> search->shift, died = object->died_us >> search->shift;
        if (born >= begin && born < end)
            search->moments[n++] = (struct moment){object->born_us, n_samples};
        if (object->died_us != HS_OBJECT_NEVER && died >= begin && died < end)
            search->moments[n++] = (struct moment){object->died_us, -n_samples};
    }
    return n;
}

static void search_piece(struct peak_search *search, size_t n)
{
    qsort(search->moments, n, sizeof *search->moments, by_time);
    for (size_t i = 0; i < n; i++) {
        search->n_live_samples += (uint64_t)search->moments[i].n_samples;
        if (i + 1 == n || search->moments[i + 1].at_us != search->moments[i].at_us)
            see_peak(search->counts, search->moments[i].at_us, search->n_live_samples);
    }
}

/* Pieces of whole slots with some PIECE_MOMENTS each, more only where one slot has more. */
static hs_status search_pieces(struct peak_search *search, struct hs_stats_memory *memory,
                               struct hs_error *err)
{
    for (size_t begin = 0; begin < PIECE_SLOTS;) {
        size_t end = begin, n = 0;
        while (end < PIECE_SLOTS && (end == begin || n + search->n_in_slot[end] <= PIECE_MOMENTS))
            n += search->n_in_slot[end++];
        if (n != 0) {
            void *moments;
            HS_TRY(hs_stats_alloc(memory, n, sizeof *search->moments, &moments, err));
            search->moments = moments;
            search_piece(search, gather(search, begin, end));
            hs_stats_free(memory, moments, n, sizeof *search->moments);
        }
        begin = end;
    }
    return HS_OK;
}

static hs_status find_peak(struct hs_trace_objects *objects, struct hs_error *err)
{
    struct peak_search search = {.objects = objects, .counts = &objects->counts};
    void *slots;
    while (objects->counts.end_us >> search.shift >= PIECE_SLOTS)
        search.shift++;
    HS_TRY(hs_stats_alloc(&objects->memory, PIECE_SLOTS, sizeof *search.n_in_slot, &slots, err));
    search.n_in_slot = slots;
    objects->counts.peak_us = objects->counts.n_peak_samples = 0;
    count_slots(&search);
    hs_status status = search_pieces(&search, &objects->memory, err);
    hs_stats_free(&objects->memory, slots, PIECE_SLOTS, sizeof *search.n_in_slot);
    return status;
}

hs_status hs_trace_objects_finish(struct hs_trace_objects *objects, struct hs_error *err)
{
    see_peak(&objects->counts, objects->now_us, objects->counts.n_live_samples);
    free_ids(objects);
    return objects->is_disordered ? find_peak(objects, err) : HS_OK;
}
