/* Made traces: random events of a few domains with backtraces over made functions, and plainly
 * beside them what each allocation was, for brute force. */
#ifndef HS_TESTS_STATS_EVENTS_H
#define HS_TESTS_STATS_EVENTS_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stats/filter.h"
#include "stats/trace_objects.h"

enum { MADE_MAX_FRAMES = 12, MADE_FUNCTIONS = 9, MADE_CODES = 14, MADE_UNKNOWN_CODE = 13 };

struct made_object {
    uint64_t born_us, died_us, id, words;
    uint64_t frames[MADE_MAX_FRAMES];
    size_t n_frames;
    uint32_t n_samples;
    uint8_t source;
};

struct made_trace {
    struct made_object *objects;
    size_t n;
    struct hs_trace_event *events;
    size_t n_events;
    uint64_t end_us;
    uint64_t random;
};

static inline uint64_t made_random(struct made_trace *made, uint64_t below)
{
    made->random = made->random * 6364136223846793005U + 1442695040888963407U;
    return (made->random >> 33) % below;
}

/* Codes 0 to 12 are one frame or, from 10 on, two (the second inlined); 13 nobody knows. */
static inline const struct hs_trace_location *made_locations(void *context, uint64_t code,
                                                             size_t *ret_n)
{
    static struct hs_trace_location locations[MADE_CODES][2];
    (void)context;
    if (code >= MADE_UNKNOWN_CODE) {
        *ret_n = 0;
        return NULL;
    }
    for (size_t i = 0; i < 2; i++) {
        uint32_t function = (uint32_t)((code + 4 * i) % MADE_FUNCTIONS) + 1;
        locations[code][i] = (struct hs_trace_location){
            .function = function, .file = 100 + function % 3, .line = (uint32_t)code + 1};
    }
    *ret_n = code < 10 ? 1 : 2;
    return locations[code];
}

static inline const char *made_string(void *context, hs_str id)
{
    static char texts[2][MADE_FUNCTIONS + 1][16];
    (void)context;
    char *text = texts[id >= 100][id >= 100 ? id - 100 : id];
    if (id == 3)
        return ""; /* its name is lost */
    (void)snprintf(text, sizeof texts[0][0], id >= 100 ? "m%u.ml" : "M.f%u",
                   (unsigned)(id >= 100 ? id - 100 : id));
    return text;
}

static inline void made_event(struct made_trace *made, const struct made_object *object,
                              unsigned kind, uint64_t time_us, uint32_t domain)
{
    struct hs_trace_event *event = &made->events[made->n_events++];
    *event = (struct hs_trace_event){
        .kind = (uint8_t)kind, .domain = domain, .time_us = time_us, .id = object->id};
    if (kind == HS_TRACE_ALLOC) {
        event->n_samples = object->n_samples;
        event->words = object->words;
        event->source = object->source;
        event->frames = object->frames;
        event->n_frames = (uint32_t)object->n_frames;
    }
    if (time_us > made->end_us)
        made->end_us = time_us;
}

/* With more than one domain, packets of 16 events are out of order with each other. */
static inline void made_trace_init(struct made_trace *made, uint64_t seed, size_t n,
                                   unsigned n_domains)
{
    *made = (struct made_trace){.random = seed * 2 + 1};
    made->objects = calloc(n, sizeof *made->objects);
    made->events = calloc(3 * n, sizeof *made->events);
    if (made->objects == NULL || made->events == NULL)
        abort();
    uint64_t now[4] = {0};
    size_t oldest = 0;
    unsigned domain = 0;
    while (made->n < n) {
        if (made->n_events % 16 == 0)
            domain = (unsigned)made_random(made, n_domains);
        now[domain] += made_random(made, 4) * made_random(made, 40);
        if (made->n != 0 &&
            made_random(made, 5) < 2) { /* one that is still alive, most often young */
            size_t at = made->n - 1 - made_random(made, made->n - oldest);
            struct made_object *object = &made->objects[at];
            if (object->died_us != HS_OBJECT_NEVER || now[domain] < object->born_us)
                continue;
            object->died_us = now[domain];
            made_event(made, object, HS_TRACE_COLLECT, now[domain], domain);
            oldest += made->n - oldest > 60;
            continue;
        }
        struct made_object *object = &made->objects[made->n];
        bool is_deep = made->n != 0 && made_random(made, 3) != 0;
        if (is_deep)
            memcpy(object->frames, object[-1].frames, sizeof object->frames);
        size_t shared = is_deep ? made_random(made, object[-1].n_frames + 1) : 0;
        object->n_frames = shared + made_random(made, MADE_MAX_FRAMES - shared + 1);
        for (size_t i = shared; i < object->n_frames; i++)
            object->frames[i] = made_random(made, MADE_CODES);
        object->born_us = now[domain];
        object->died_us = HS_OBJECT_NEVER;
        object->id = made->n * 3 + 7;
        object->words = made_random(made, 4) == 0 ? made_random(made, 300) : made_random(made, 8);
        object->n_samples = made_random(made, 10) == 0 ? 1 + (uint32_t)made_random(made, 5) : 1;
        object->source = (uint8_t)made_random(made, HS_N_TRACE_SOURCES);
        made->n++;
        made_event(made, object, HS_TRACE_ALLOC, now[domain], domain);
        if (made_random(made, 4) == 0)
            made_event(made, object, HS_TRACE_PROMOTE, now[domain], domain);
    }
}

static inline void made_trace_fini(struct made_trace *made)
{
    free(made->objects);
    free(made->events);
}

static inline hs_status made_trace_add(const struct made_trace *made,
                                       struct hs_trace_objects *objects, struct hs_error *err)
{
    for (size_t i = 0; i < made->n_events; i++)
        HS_TRY(hs_trace_objects_add(objects, &made->events[i], err));
    return hs_trace_objects_finish(objects, err);
}

static inline hs_status made_places(const struct hs_trace_objects *objects,
                                    struct hs_budget *budget, struct hs_places *ret,
                                    struct hs_error *err)
{
    struct hs_place_source source = {made_locations, made_string, NULL};
    return hs_places_init(ret, &objects->stacks, &source, budget, err);
}

/* The visible frames of an object as "function:line", the outermost first. */
struct made_frames {
    unsigned function[2 * MADE_MAX_FRAMES], line[2 * MADE_MAX_FRAMES];
    size_t n;
};

/* Function 99 is what nobody knows; `hidden` has a bit per function. */
static inline void made_frames_of(const struct made_object *object, unsigned hidden,
                                  struct made_frames *ret)
{
    ret->n = 0;
    for (size_t i = 0; i < object->n_frames; i++) {
        size_t n;
        const struct hs_trace_location *at = made_locations(NULL, object->frames[i], &n);
        for (size_t k = 0; k < n; k++)
            if ((hidden >> at[k].function & 1) == 0) {
                ret->function[ret->n] = at[k].function;
                ret->line[ret->n++] = at[k].line;
            }
        if (n == 0) {
            ret->function[ret->n] = 99;
            ret->line[ret->n++] = 0;
        }
    }
}

/* As rows print it. */
static inline void made_name(unsigned function, unsigned line, bool has_line, char text[64])
{
    const char *name = function == 3 ? "?" : made_string(NULL, function == 99 ? 1 : function);
    if (function == 99)
        (void)snprintf(text, 64, "$%d", MADE_UNKNOWN_CODE);
    else if (has_line)
        (void)snprintf(text, 64, "%s m%u.ml:%u", name, function % 3, line);
    else
        (void)snprintf(text, 64, "%s m%u.ml", name, function % 3);
}

#endif
