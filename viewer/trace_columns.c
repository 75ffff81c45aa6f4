#include "viewer/trace_columns.h"

#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "stats/lifetimes.h"
#include "trace_cells.h"

/* The columns' part that does not depend on how much room there is. */
struct hs_trace_columns {
    struct hs_trace_columns_of of;
    struct hs_stats_memory memory;
    struct hs_key_table calls;   /* parent << 32 | frame; call n + 1, 0 is outside of all */
    struct hs_key_table sizes;   /* words << 2 | source */
    uint32_t *call_of, *site_of; /* owned: by node of the stacks */
    uint32_t *size_of;           /* owned: by shape */
    uint64_t *call_samples, *site_samples, *size_samples; /* owned; sites by frame */
};

/* Zeroed; what it pays for is given back with `memory`. Freed by hs_free. */
#define TAKE(memory, p, n, err)                                              \
    ({                                                                       \
        void *taken_ = NULL;                                                 \
        hs_status took_ = take((memory), (n), sizeof **(p), &taken_, (err)); \
        if (took_ == HS_OK)                                                  \
            *(p) = taken_;                                                   \
        took_;                                                               \
    })

static hs_status take(struct hs_stats_memory *memory, size_t n, size_t size, void **ret,
                      struct hs_error *err)
{
    size_t capacity = 0;
    HS_TRY(hs_stats_grow(memory, ret, &capacity, n + 1, size, err));
    memset(*ret, 0, capacity * size);
    return HS_OK;
}

static size_t n_frames(const struct hs_trace_columns_of *of)
{
    return of->places->frame_keys.n;
}

/* ---- all that there is */

/* The calls of all backtraces, with a node for each function that was inlined, too. */
static hs_status find_calls(struct hs_trace_columns *c, struct hs_error *err)
{
    const struct hs_stacks *stacks = &c->of.objects->stacks;
    const struct hs_places *places = c->of.places;
    for (uint32_t node = 1; node < hs_stacks_n(stacks); node++) {
        uint32_t call = c->call_of[hs_stacks_parent(stacks, node)];
        uint32_t code = hs_stacks_code(stacks, node);
        for (uint32_t i = places->begin[code]; i < places->begin[code + 1]; i++) {
            uint64_t key = (uint64_t)call << 32 | places->frames[i];
            HS_TRY(hs_key_table_add(&c->calls, key, &c->memory, &call, err));
            call++;
        }
        c->call_of[node] = call;
    }
    return HS_OK;
}

static hs_status find_sizes(struct hs_trace_columns *c, struct hs_error *err)
{
    const struct hs_trace_objects *objects = c->of.objects;
    for (size_t i = 0; i < objects->n_shapes; i++) {
        const struct hs_trace_shape *shape = &objects->shapes[i];
        uint64_t words = shape->words >> 62 != 0 ? UINT64_MAX >> 2 : shape->words;
        HS_TRY(hs_key_table_add(&c->sizes, words << 2 | shape->source, &c->memory, &c->size_of[i],
                                err));
    }
    return HS_OK;
}

static void count(struct hs_trace_columns *c)
{
    const struct hs_trace_objects *objects = c->of.objects;
    for (uint64_t i = 0; i < objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(objects, i);
        uint64_t n_samples = objects->shapes[object->shape].n_samples;
        uint32_t site = c->site_of[object->stack];
        c->call_samples[c->call_of[object->stack]] += n_samples;
        c->size_samples[c->size_of[object->shape]] += n_samples;
        if (site != HS_NO_KEY)
            c->site_samples[site] += n_samples;
    }
    for (size_t i = c->calls.n; i > 0; i--)
        c->call_samples[c->calls.keys[i - 1] >> 32] += c->call_samples[i];
}

static hs_status fill(struct hs_trace_columns *c, struct hs_error *err)
{
    size_t n_nodes = hs_stacks_n(&c->of.objects->stacks);
    HS_TRY(TAKE(&c->memory, &c->call_of, n_nodes, err));
    HS_TRY(TAKE(&c->memory, &c->site_of, n_nodes, err));
    HS_TRY(TAKE(&c->memory, &c->size_of, c->of.objects->n_shapes, err));
    HS_TRY(find_calls(c, err));
    HS_TRY(find_sizes(c, err));
    HS_TRY(TAKE(&c->memory, &c->call_samples, c->calls.n + 1, err));
    HS_TRY(TAKE(&c->memory, &c->site_samples, n_frames(&c->of), err));
    HS_TRY(TAKE(&c->memory, &c->size_samples, c->sizes.n, err));
    hs_places_sites(c->of.places, &c->of.objects->stacks, c->site_of, NULL);
    count(c);
    return HS_OK;
}

hs_status hs_trace_columns_new(const struct hs_trace_columns_of *of, struct hs_budget *budget,
                               struct hs_trace_columns **ret, struct hs_error *err)
{
    struct hs_trace_columns *columns = NULL;
    HS_TRY(HS_ALLOC(&columns, 1, err));
    *columns = (struct hs_trace_columns){.of = *of, .memory = {.budget = budget}};
    hs_status status = fill(columns, err);
    if (status == HS_OK)
        *ret = columns;
    else
        hs_trace_columns_free(columns);
    return status;
}

void hs_trace_columns_free(struct hs_trace_columns *c)
{
    if (c == NULL)
        return;
    hs_key_table_fini(&c->calls);
    hs_key_table_fini(&c->sizes);
    hs_free(c->call_of);
    hs_free(c->site_of);
    hs_free(c->size_of);
    hs_free(c->call_samples);
    hs_free(c->site_samples);
    hs_free(c->size_samples);
    hs_stats_memory_fini(&c->memory);
    hs_free(c);
}

/* ---- what there is room for */

static int descending(const void *left, const void *right)
{
    uint64_t a = *(const uint64_t *)left, b = *(const uint64_t *)right;
    return (a < b) - (a > b);
}

/* Marks the `most` largest values; of equal ones the first. */
static hs_status mark_largest(const uint64_t *values, size_t n, size_t most, bool *marks,
                              struct hs_error *err)
{
    hs_auto_free uint64_t *sorted = NULL;
    memset(marks, most >= n, n);
    if (most >= n)
        return HS_OK;
    HS_TRY(HS_ALLOC(&sorted, n, err));
    memcpy(sorted, values, n * sizeof *sorted);
    qsort(sorted, n, sizeof *sorted, descending);
    uint64_t least = most == 0 ? UINT64_MAX : sorted[most - 1];
    size_t n_least = 0;
    for (size_t i = 0; i < most; i++)
        n_least += sorted[i] == least;
    for (size_t i = 0; i < n; i++) {
        marks[i] = values[i] > least || (values[i] == least && n_least > 0);
        n_least -= marks[i] && values[i] == least;
    }
    return HS_OK;
}

/* A call has at least what the ones below it have, and comes before them: of a call that is kept so
 * are the callers. `nearest`: by call, the row of the nearest that is kept, from 1 on. */
static hs_status keep_calls(struct cells *cells, const struct hs_trace_columns *c, const bool *kept,
                            uint32_t *nearest, struct hs_error *err)
{
    for (size_t i = 0; i < c->calls.n; i++) {
        uint64_t key = c->calls.keys[i];
        uint32_t row = nearest[key >> 32];
        if (kept[i]) {
            HS_TRY(hs_key_table_add(&cells->calls, (uint64_t)row << 33 | (uint32_t)key,
                                    &cells->memory, &row, err));
            row++;
        }
        nearest[i + 1] = row;
    }
    return HS_OK;
}

/* The call of each backtrace; of one that is left out its site, below the nearest that is kept. */
static hs_status place_stacks(struct cells *cells, const struct hs_trace_columns *c,
                              const bool *kept, const bool *kept_sites, const uint32_t *nearest,
                              struct hs_error *err)
{
    size_t n = hs_stacks_n(&c->of.objects->stacks);
    for (uint32_t node = 0; node < n; node++) {
        uint32_t call = c->call_of[node], site = c->site_of[node], row = nearest[call];
        if (call != 0 && !kept[call - 1]) {
            if (site == HS_NO_KEY || !kept_sites[site])
                site = HS_NO_KEY;
            uint64_t key = (uint64_t)row << 33 | (uint64_t)1 << 32 | site;
            HS_TRY(hs_key_table_add(&cells->calls, key, &cells->memory, &row, err));
            row++;
        }
        cells->call_of[node] = row;
    }
    return HS_OK;
}

static hs_status choose_calls(struct cells *cells, const struct hs_trace_columns *c,
                              const struct hs_trace_columns_room *room, struct hs_error *err)
{
    hs_auto_free bool *kept = NULL;
    hs_auto_free bool *kept_sites = NULL;
    hs_auto_free uint32_t *nearest = NULL;
    HS_TRY(HS_ALLOC(&kept, c->calls.n + 1, err));
    HS_TRY(HS_ALLOC(&kept_sites, n_frames(&c->of) + 1, err));
    HS_TRY(HS_ALLOC(&nearest, c->calls.n + 1, err));
    HS_TRY(TAKE(&cells->memory, &cells->call_of, hs_stacks_n(&c->of.objects->stacks), err));
    HS_TRY(mark_largest(c->call_samples + 1, c->calls.n, room->n_calls, kept, err));
    HS_TRY(mark_largest(c->site_samples, n_frames(&c->of), room->n_sites, kept_sites, err));
    HS_TRY(keep_calls(cells, c, kept, nearest, err));
    return place_stacks(cells, c, kept, kept_sites, nearest, err);
}

/* Returns the class of a size, for sizes that are not told apart: those of one source up to twice
 * the least. */
static size_t class_of(uint64_t words, unsigned source)
{
    return (size_t)hs_lifetime_bucket(words) * HS_N_TRACE_SOURCES + source;
}

enum { N_CLASSES = 64 * HS_N_TRACE_SOURCES };

static void add_to_class(struct cell_size *size, uint64_t words, uint64_t n_samples)
{
    double inverse = 1 / (double)hs_trace_shape_sampled_words(words, size->source);
    size->words = size->n_samples == 0 || words < size->words ? words : size->words;
    size->most = words > size->most ? words : size->most;
    size->inverse += (double)n_samples * inverse;
    size->inverse_sq += (double)n_samples * inverse * inverse;
    size->n_samples += n_samples;
}

static hs_status choose_sizes(struct cells *cells, const struct hs_trace_columns *c,
                              const struct hs_trace_columns_room *room, struct hs_error *err)
{
    hs_auto_free bool *kept = NULL;
    uint32_t classes[N_CLASSES] = {0}; /* the size + 1 */
    HS_TRY(HS_ALLOC(&kept, c->sizes.n + 1, err));
    HS_TRY(TAKE(&cells->memory, &cells->size_of, c->sizes.n, err));
    HS_TRY(TAKE(&cells->memory, &cells->sizes, room->n_sizes + N_CLASSES, err));
    HS_TRY(mark_largest(c->size_samples, c->sizes.n, room->n_sizes, kept, err));
    for (size_t i = 0; i < c->sizes.n; i++) {
        uint64_t words = c->sizes.keys[i] >> 2;
        unsigned source = c->sizes.keys[i] & 3;
        uint32_t *known = kept[i] ? NULL : &classes[class_of(words, source)];
        uint32_t at = known == NULL || *known == 0 ? (uint32_t)cells->n_sizes++ : *known - 1;
        struct cell_size *size = &cells->sizes[at];
        cells->size_of[i] = at;
        size->source = (uint8_t)source;
        if (known == NULL) {
            size->words = size->most = words;
            size->n_samples = c->size_samples[i];
            continue;
        }
        *known = at + 1;
        add_to_class(size, words, c->size_samples[i]);
        cells->class_samples += c->size_samples[i];
    }
    return HS_OK;
}

static uint32_t point_at(const struct cells *cells, uint64_t at_us)
{
    return (uint32_t)HS_FIRST_NOT(at, 0, cells->n_points, cells->points[at].at_us < at_us);
}

static struct cell cell_of_object(const struct cells *cells, const struct hs_trace_columns *c,
                                  const struct hs_trace_object *object)
{
    bool is_freed = object->died_us != HS_OBJECT_NEVER;
    uint64_t until = is_freed ? object->died_us : c->of.objects->counts.end_us;
    return (struct cell){
        .call = cells->call_of[object->stack],
        .size = cells->size_of[c->size_of[object->shape]],
        .born = point_at(cells, object->born_us),
        .died = is_freed ? point_at(cells, object->died_us) : (uint32_t)cells->n_points,
        .life = hs_lifetime_bucket(until - object->born_us),
    };
}

static void count_left_out(struct cells *cells, uint32_t call, uint64_t n_samples)
{
    if (call == 0 || !cell_call_is_cut(cells, call - 1))
        return;
    cells->cut_samples += n_samples;
    if ((uint32_t)cells->calls.keys[call - 1] == HS_NO_KEY)
        cells->no_site_samples += n_samples;
}

static hs_status add_cell(struct cells *cells, const struct cell *cell, uint64_t n_samples,
                          struct hs_error *err)
{
    struct hs_stats_memory *memory = &cells->memory;
    uint32_t at;
    size_t n = cells->keys.n;
    HS_TRY(hs_key_table_add(&cells->keys, cell_key(cell), memory, &at, err));
    HS_TRY(hs_stats_grow(memory, (void **)&cells->samples, &cells->samples_capacity, cells->keys.n,
                         sizeof *cells->samples, err));
    HS_TRY(hs_stats_grow(memory, (void **)&cells->objects, &cells->objects_capacity, cells->keys.n,
                         sizeof *cells->objects, err));
    if (cells->keys.n > n)
        cells->samples[at] = cells->objects[at] = 0;
    cells->samples[at] += n_samples;
    cells->objects[at]++;
    count_left_out(cells, cell->call, n_samples);
    return HS_OK;
}

static hs_status fill_cells(struct cells *cells, const struct hs_trace_columns *c, size_t most,
                            bool *ret_fits, struct hs_error *err)
{
    const struct hs_trace_objects *objects = c->of.objects;
    *ret_fits = cells->calls.n < (size_t)1 << CELL_CALL_BITS && cells->calls.n <= most;
    for (uint64_t i = 0; *ret_fits && i < objects->n; i++) {
        const struct hs_trace_object *object = hs_trace_object(objects, i);
        struct cell cell = cell_of_object(cells, c, object);
        HS_TRY(add_cell(cells, &cell, objects->shapes[object->shape].n_samples, err));
        *ret_fits = cells->keys.n <= most;
    }
    return HS_OK;
}

struct ordered {
    uint64_t key;
    uint32_t cell;
};

static int by_key(const void *left, const void *right)
{
    uint64_t a = ((const struct ordered *)left)->key, b = ((const struct ordered *)right)->key;
    return (a > b) - (a < b);
}

static hs_status sort_cells(struct cells *cells, struct hs_error *err)
{
    hs_auto_free struct ordered *ordered = NULL;
    size_t n = cells->keys.n;
    HS_TRY(HS_ALLOC(&ordered, n + 1, err));
    HS_TRY(TAKE(&cells->memory, &cells->order, n, err));
    for (size_t i = 0; i < n; i++)
        ordered[i] = (struct ordered){cells->keys.keys[i], (uint32_t)i};
    qsort(ordered, n, sizeof *ordered, by_key);
    for (size_t i = 0; i < n; i++)
        cells->order[i] = ordered[i].cell;
    return HS_OK;
}

static hs_status choose(struct cells *cells, const struct hs_trace_columns *c,
                        const struct hs_trace_columns_room *room, bool *ret_fits,
                        struct hs_error *err)
{
    HS_TRY(TAKE(&cells->memory, &cells->points, room->n_points + 1, err));
    cells->n_points = hs_timeline_place(&c->of.objects->counts, room->n_points, cells->points);
    HS_TRY(choose_calls(cells, c, room, err));
    HS_TRY(choose_sizes(cells, c, room, err));
    HS_TRY(fill_cells(cells, c, room->n_cells, ret_fits, err));
    return *ret_fits ? sort_cells(cells, err) : HS_OK;
}

static void cells_fini(struct cells *cells)
{
    hs_free(cells->points);
    hs_key_table_fini(&cells->calls);
    hs_free(cells->call_of);
    hs_free(cells->sizes);
    hs_free(cells->size_of);
    hs_key_table_fini(&cells->keys);
    hs_free(cells->samples);
    hs_free(cells->objects);
    hs_free(cells->order);
    hs_stats_memory_fini(&cells->memory);
}

hs_status hs_trace_columns_write(struct hs_trace_columns *columns,
                                 const struct hs_trace_columns_room *room, struct hs_buffer *buffer,
                                 bool *ret_fits, struct hs_error *err)
{
    struct cells cells = {.memory = {.budget = columns->memory.budget}, .n_asked = room->n_points};
    hs_status status = choose(&cells, columns, room, ret_fits, err);
    if (status == HS_OK && *ret_fits)
        status = hs_cells_write(&cells, &columns->of, buffer, err);
    cells_fini(&cells);
    return status;
}
