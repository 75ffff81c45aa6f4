/* The functions and lines that codes stand for, each once: asked of whoever knows them (the reader
 * of the trace), kept by number.
 *
 * A code stands for one frame or more (inlined ones follow, the outermost first); one that nobody
 * knows for one frame that is called "$CODE". Names that are lost are called "?". */
#ifndef HS_STATS_PLACES_H
#define HS_STATS_PLACES_H

#include "base/buffer.h"
#include "base/strtab.h"
#include "stats/pattern.h"
#include "stats/stacks.h"
#include "trace/trace.h"

struct hs_place_source {
    const struct hs_trace_location *(*locations)(void *context, uint64_t code, size_t *ret_n);
    const char *(*string)(void *context, hs_str id);
    void *context;
};

struct hs_place_function {
    hs_str name, file; /* of hs_places.strings; file 0: unknown */
    bool is_hidden;
    uint8_t rank; /* see hs_places_rank */
};

struct hs_place_frame {
    uint32_t function; /* index */
    uint32_t line;
};

struct hs_places {
    struct hs_stats_memory memory;
    struct hs_strtab strings;
    struct hs_key_table function_keys, frame_keys; /* name << 32 | file; function << 32 | line */
    struct hs_place_function *functions;           /* owned */
    size_t functions_capacity;
    /* The entry of code number c: frames[begin[c]] to frames[begin[c + 1]]. */
    uint32_t *begin;  /* owned */
    uint32_t *frames; /* owned: indexes of frame_keys */
    size_t n_codes, n_frames, begin_capacity, frames_capacity;
};

/* Finds the frames of all codes of `stacks`. HS_LIMIT; `ret` can be freed on failure, too. */
hs_status hs_places_init(struct hs_places *ret, const struct hs_stacks *stacks,
                         const struct hs_place_source *source, struct hs_budget *budget,
                         struct hs_error *err);
void hs_places_fini(struct hs_places *places);

/* Hides the functions that one of the patterns matches (name or file), and no others. */
void hs_places_hide(struct hs_places *places, const struct hs_name_pattern *patterns, size_t n);

/* Ranks functions by their names and files: a site is the innermost of the frames of the highest
 * rank. All have rank 0 before: the innermost frame is the site. */
void hs_places_rank(struct hs_places *places,
                    uint8_t (*rank)(const char *function, const char *file));

static inline size_t hs_places_n_functions(const struct hs_places *places)
{
    return places->function_keys.n;
}

static inline struct hs_place_frame hs_places_frame(const struct hs_places *places, uint32_t frame)
{
    uint64_t key = places->frame_keys.keys[frame];
    return (struct hs_place_frame){(uint32_t)(key >> 32), (uint32_t)key};
}

bool hs_places_matches(const struct hs_places *places, uint32_t function,
                       const struct hs_name_pattern *pattern);

/* Finds, per node of the stacks, its site among the frames that are not hidden, and what would be
 * the site without it and all inside of it (HS_NO_KEY: none). Each array has hs_stacks_n; may be
 * NULL. */
void hs_places_sites(const struct hs_places *places, const struct hs_stacks *stacks,
                     uint32_t *sites, uint32_t *callers);

/* Appends "function file:line" of a frame, "function file" of a function; not NUL-terminated. */
hs_status hs_places_print_frame(const struct hs_places *places, uint32_t frame, struct hs_buffer *b,
                                struct hs_error *err);
hs_status hs_places_print_function(const struct hs_places *places, uint32_t function,
                                   struct hs_buffer *b, struct hs_error *err);

#endif
