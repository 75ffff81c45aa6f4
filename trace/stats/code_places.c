#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "stats/places.h"

enum { LINE_BYTES = 32, CODE_NAME_BYTES = 32 };

void hs_places_fini(struct hs_places *places)
{
    hs_strtab_fini(&places->strings);
    hs_key_table_fini(&places->function_keys);
    hs_key_table_fini(&places->frame_keys);
    hs_free(places->functions);
    hs_free(places->begin);
    hs_free(places->frames);
    hs_stats_memory_fini(&places->memory);
    *places = (struct hs_places){0};
}

static hs_status add_function(struct hs_places *places, const char *name, const char *file,
                              uint32_t *ret, struct hs_error *err)
{
    struct hs_place_function made = {0};
    HS_TRY(hs_strtab_add(&places->strings, name, &made.name, err));
    HS_TRY(hs_strtab_add(&places->strings, file, &made.file, err));
    HS_TRY(hs_stats_grow(&places->memory, (void **)&places->functions, &places->functions_capacity,
                         places->function_keys.n + 1, sizeof made, err));
    HS_TRY(hs_key_table_add(&places->function_keys, (uint64_t)made.name << 32 | made.file,
                            &places->memory, ret, err));
    if (*ret == places->function_keys.n - 1)
        places->functions[*ret] = made;
    return HS_OK;
}

static hs_status add_frame(struct hs_places *places, const char *name, const char *file,
                           uint32_t line, struct hs_error *err)
{
    uint32_t function, frame;
    HS_TRY(add_function(places, name, file, &function, err));
    HS_TRY(hs_key_table_add(&places->frame_keys, (uint64_t)function << 32 | line, &places->memory,
                            &frame, err));
    HS_TRY(hs_stats_grow(&places->memory, (void **)&places->frames, &places->frames_capacity,
                         places->n_frames + 1, sizeof frame, err));
    places->frames[places->n_frames++] = frame;
    return HS_OK;
}

static hs_status add_code(struct hs_places *places, uint64_t code,
                          const struct hs_place_source *source, struct hs_error *err)
{
    size_t n;
    const struct hs_trace_location *locations = source->locations(source->context, code, &n);
    if (n == 0) {
        char name[CODE_NAME_BYTES];
        (void)snprintf(name, sizeof name, "$%llu", (unsigned long long)code);
        return add_frame(places, name, "", 0, err);
    }
    for (size_t i = 0; i < n; i++) {
        const struct hs_trace_location *at = &locations[i];
        const char *name = source->string(source->context, at->function);
        HS_TRY(add_frame(places, name[0] == 0 ? "?" : name,
                         source->string(source->context, at->file), at->line, err));
    }
    return HS_OK;
}

hs_status hs_places_init(struct hs_places *ret, const struct hs_stacks *stacks,
                         const struct hs_place_source *source, struct hs_budget *budget,
                         struct hs_error *err)
{
    *ret = (struct hs_places){.memory = {.budget = budget}};
    HS_TRY(hs_stats_grow(&ret->memory, (void **)&ret->begin, &ret->begin_capacity,
                         stacks->codes.n + 1, sizeof *ret->begin, err));
    for (size_t i = 0; i < stacks->codes.n; i++) {
        HS_TRY(add_code(ret, stacks->codes.keys[i], source, err));
        ret->begin[i + 1] = (uint32_t)ret->n_frames;
        ret->n_codes = i + 1;
    }
    return HS_OK;
}

bool hs_places_matches(const struct hs_places *places, uint32_t function,
                       const struct hs_name_pattern *pattern)
{
    const struct hs_place_function *at = &places->functions[function];
    return hs_name_pattern_matches(pattern, hs_strtab_get(&places->strings, at->name)) ||
           hs_name_pattern_matches(pattern, hs_strtab_get(&places->strings, at->file));
}

void hs_places_hide(struct hs_places *places, const struct hs_name_pattern *patterns, size_t n)
{
    for (size_t f = 0; f < hs_places_n_functions(places); f++) {
        bool is_hidden = false;
        for (size_t i = 0; i < n && !is_hidden; i++)
            is_hidden = hs_places_matches(places, (uint32_t)f, &patterns[i]);
        places->functions[f].is_hidden = is_hidden;
    }
}

void hs_places_rank(struct hs_places *places,
                    uint8_t (*rank)(const char *function, const char *file))
{
    for (size_t f = 0; f < hs_places_n_functions(places); f++)
        places->functions[f].rank =
            rank(hs_strtab_get(&places->strings, places->functions[f].name),
                 hs_strtab_get(&places->strings, places->functions[f].file));
}

static const struct hs_place_function *function_of(const struct hs_places *places, uint32_t frame)
{
    return &places->functions[hs_places_frame(places, frame).function];
}

void hs_places_sites(const struct hs_places *places, const struct hs_stacks *stacks,
                     uint32_t *sites, uint32_t *callers)
{
    sites[0] = HS_NO_KEY;
    if (callers != NULL)
        callers[0] = HS_NO_KEY;
    for (uint32_t node = 1; node < hs_stacks_n(stacks); node++) {
        uint32_t parent = hs_stacks_parent(stacks, node), code = hs_stacks_code(stacks, node);
        uint32_t site = sites[parent], caller = callers == NULL ? HS_NO_KEY : callers[parent];
        for (uint32_t i = places->begin[code]; i < places->begin[code + 1]; i++) {
            uint32_t frame = places->frames[i];
            const struct hs_place_function *function = function_of(places, frame);
            if (function->is_hidden ||
                (site != HS_NO_KEY && function->rank < function_of(places, site)->rank))
                continue;
            caller = site;
            site = frame;
        }
        sites[node] = site;
        if (callers != NULL)
            callers[node] = caller;
    }
}

static hs_status put_text(struct hs_buffer *b, const char *text, struct hs_error *err)
{
    size_t n = strlen(text);
    HS_TRY(hs_buffer_reserve(b, n, err));
    hs_buffer_put_bytes(b, text, n);
    return HS_OK;
}

hs_status hs_places_print_function(const struct hs_places *places, uint32_t function,
                                   struct hs_buffer *b, struct hs_error *err)
{
    const struct hs_place_function *at = &places->functions[function];
    HS_TRY(put_text(b, hs_strtab_get(&places->strings, at->name), err));
    if (at->file == 0)
        return HS_OK;
    HS_TRY(put_text(b, " ", err));
    return put_text(b, hs_strtab_get(&places->strings, at->file), err);
}

hs_status hs_places_print_frame(const struct hs_places *places, uint32_t frame, struct hs_buffer *b,
                                struct hs_error *err)
{
    struct hs_place_frame at = hs_places_frame(places, frame);
    char line[LINE_BYTES];
    HS_TRY(hs_places_print_function(places, at.function, b, err));
    if (places->functions[at.function].file == 0)
        return HS_OK;
    (void)snprintf(line, sizeof line, ":%u", at.line);
    return put_text(b, line, err);
}
