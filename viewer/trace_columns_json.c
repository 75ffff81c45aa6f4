#include "base/alloc.h"
#include "report/json.h"
#include "trace_cells.h"

/* Frames, functions and names that are used, each numbered when it first is. */
struct used {
    uint32_t *number; /* owned: by what it is, plus 1; 0: not yet */
    uint32_t *items;  /* owned */
    size_t n;
};

struct write {
    const struct cells *cells;
    const struct hs_trace_columns_of *of;
    struct used frames, functions, names;
    struct hs_json json;
};

static hs_status used_init(struct used *used, size_t n, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&used->number, n + 1, err));
    return HS_ALLOC(&used->items, n + 1, err);
}

static void used_fini(struct used *used)
{
    hs_free(used->number);
    hs_free(used->items);
}

static bool use(struct used *used, uint32_t item)
{
    if (used->number[item] != 0)
        return false;
    used->items[used->n++] = item;
    used->number[item] = (uint32_t)used->n;
    return true;
}

static void use_frame(struct write *w, uint32_t frame)
{
    if (!use(&w->frames, frame))
        return;
    uint32_t function = hs_places_frame(w->of->places, frame).function;
    if (!use(&w->functions, function))
        return;
    (void)use(&w->names, w->of->places->functions[function].name);
    (void)use(&w->names, w->of->places->functions[function].file);
}

/* ---- columns */

typedef uint64_t value_of(const struct write *w, size_t at);

static void put_column(struct write *w, const char *name, value_of *value, size_t n)
{
    hs_json_begin_array(&w->json, name, HS_JSON_LINE);
    for (size_t i = 0; i < n; i++)
        hs_json_u64(&w->json, NULL, value(w, i));
    hs_json_end_array(&w->json);
}

static uint64_t point_of(const struct write *w, size_t at)
{
    return w->cells->points[at].at_us;
}

static const struct hs_place_function *function_at(const struct write *w, size_t at)
{
    return &w->of->places->functions[w->functions.items[at]];
}

static uint64_t function_name_of(const struct write *w, size_t at)
{
    return w->names.number[function_at(w, at)->name] - 1;
}

static uint64_t function_file_of(const struct write *w, size_t at)
{
    return w->names.number[function_at(w, at)->file] - 1;
}

static uint64_t function_rank_of(const struct write *w, size_t at)
{
    return function_at(w, at)->rank;
}

static uint64_t frame_function_of(const struct write *w, size_t at)
{
    uint32_t function = hs_places_frame(w->of->places, w->frames.items[at]).function;
    return w->functions.number[function] - 1;
}

static uint64_t frame_line_of(const struct write *w, size_t at)
{
    return hs_places_frame(w->of->places, w->frames.items[at]).line;
}

static uint64_t call_parent_of(const struct write *w, size_t at)
{
    return w->cells->calls.keys[at] >> 33;
}

static uint64_t call_frame_of(const struct write *w, size_t at)
{
    uint32_t frame = (uint32_t)w->cells->calls.keys[at];
    return frame == HS_NO_KEY ? 0 : w->frames.number[frame];
}

static uint64_t call_is_cut_of(const struct write *w, size_t at)
{
    return cell_call_is_cut(w->cells, at);
}

static uint64_t size_words_of(const struct write *w, size_t at)
{
    return w->cells->sizes[at].words;
}

static uint64_t size_most_of(const struct write *w, size_t at)
{
    return w->cells->sizes[at].most;
}

static uint64_t size_source_of(const struct write *w, size_t at)
{
    return w->cells->sizes[at].source;
}

static struct cell cell_at(const struct write *w, size_t at)
{
    return cell_of(w->cells->keys.keys[w->cells->order[at]]);
}

static uint64_t cell_call_of(const struct write *w, size_t at)
{
    return cell_at(w, at).call - (at == 0 ? 0 : cell_at(w, at - 1).call);
}

static uint64_t cell_size_of(const struct write *w, size_t at)
{
    return cell_at(w, at).size;
}

static uint64_t cell_born_of(const struct write *w, size_t at)
{
    return cell_at(w, at).born;
}

static uint64_t cell_died_of(const struct write *w, size_t at)
{
    return cell_at(w, at).died;
}

static uint64_t cell_life_of(const struct write *w, size_t at)
{
    return cell_at(w, at).life;
}

static uint64_t cell_objects_of(const struct write *w, size_t at)
{
    return w->cells->objects[w->cells->order[at]];
}

static uint64_t cell_samples_of(const struct write *w, size_t at)
{
    return w->cells->samples[w->cells->order[at]];
}

/* ---- the document */

static void put_facts(struct write *w)
{
    const struct hs_trace_scale *scale = w->of->scale;
    const struct hs_trace_counts *counts = &w->of->objects->counts;
    hs_json_u64(&w->json, "word_bytes", w->of->word_bytes);
    hs_json_real(&w->json, "rate", scale->rate);
    hs_json_real(&w->json, "spread", scale->spread);
    hs_json_bool(&w->json, "is_exact", scale->is_exact);
    hs_json_u64(&w->json, "end_us", counts->end_us);
    hs_json_u64(&w->json, "peak_us", counts->peak_us);
    hs_json_u64(&w->json, "n_points", w->cells->n_asked);
    hs_json_begin_object(&w->json, "left_out", HS_JSON_LINE);
    hs_json_u64(&w->json, "call_samples", w->cells->cut_samples);
    hs_json_u64(&w->json, "site_samples", w->cells->no_site_samples);
    hs_json_u64(&w->json, "size_samples", w->cells->class_samples);
    hs_json_end_object(&w->json);
}

static void put_names(struct write *w)
{
    hs_json_begin_array(&w->json, "names", HS_JSON_LINE);
    for (size_t i = 0; i < w->names.n; i++)
        hs_json_string(&w->json, NULL, hs_strtab_get(&w->of->places->strings, w->names.items[i]));
    hs_json_end_array(&w->json);
}

/* Sums over samples become means. */
static void put_inverses(struct write *w, const char *name, bool is_squared)
{
    hs_json_begin_array(&w->json, name, HS_JSON_LINE);
    for (size_t i = 0; i < w->cells->n_sizes; i++) {
        const struct cell_size *size = &w->cells->sizes[i];
        double sum = is_squared ? size->inverse_sq : size->inverse;
        hs_json_real(&w->json, NULL, size->n_samples == 0 ? 0 : sum / (double)size->n_samples);
    }
    hs_json_end_array(&w->json);
}

static void put_calls(struct write *w)
{
    size_t n = w->cells->calls.n;
    put_names(w);
    put_column(w, "function_name", function_name_of, w->functions.n);
    put_column(w, "function_file", function_file_of, w->functions.n);
    put_column(w, "function_rank", function_rank_of, w->functions.n);
    put_column(w, "frame_function", frame_function_of, w->frames.n);
    put_column(w, "frame_line", frame_line_of, w->frames.n);
    put_column(w, "call_parent", call_parent_of, n);
    put_column(w, "call_frame", call_frame_of, n);
    put_column(w, "call_is_cut", call_is_cut_of, n);
}

static hs_status put_all(struct write *w, struct hs_error *err)
{
    size_t n = w->cells->keys.n, n_sizes = w->cells->n_sizes;
    hs_json_begin_object(&w->json, NULL, HS_JSON_LINE);
    put_facts(w);
    put_column(w, "points", point_of, w->cells->n_points);
    put_calls(w);
    put_column(w, "size_words", size_words_of, n_sizes);
    put_column(w, "size_most", size_most_of, n_sizes);
    put_column(w, "size_source", size_source_of, n_sizes);
    put_inverses(w, "size_inverse", false);
    put_inverses(w, "size_inverse_sq", true);
    put_column(w, "cell_call", cell_call_of, n);
    put_column(w, "cell_size", cell_size_of, n);
    put_column(w, "cell_born", cell_born_of, n);
    put_column(w, "cell_died", cell_died_of, n);
    put_column(w, "cell_life", cell_life_of, n);
    put_column(w, "cell_objects", cell_objects_of, n);
    put_column(w, "cell_samples", cell_samples_of, n);
    hs_json_end_object(&w->json);
    return hs_json_finish(&w->json, err);
}

static hs_status write_all(struct write *w, struct hs_error *err)
{
    const struct hs_places *places = w->of->places;
    HS_TRY(used_init(&w->frames, places->frame_keys.n, err));
    HS_TRY(used_init(&w->functions, hs_places_n_functions(places), err));
    HS_TRY(used_init(&w->names, places->strings.n_strings + 1, err));
    for (size_t i = 0; i < w->cells->calls.n; i++)
        if ((uint32_t)w->cells->calls.keys[i] != HS_NO_KEY)
            use_frame(w, (uint32_t)w->cells->calls.keys[i]);
    return put_all(w, err);
}

hs_status hs_cells_write(const struct cells *cells, const struct hs_trace_columns_of *of,
                         struct hs_buffer *buffer, struct hs_error *err)
{
    struct write w = {.cells = cells, .of = of};
    hs_json_init_buffer(&w.json, buffer, HS_JSON_COMPACT);
    hs_status status = write_all(&w, err);
    used_fini(&w.frames);
    used_fini(&w.functions);
    used_fini(&w.names);
    return status;
}
