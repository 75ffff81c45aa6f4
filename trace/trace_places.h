/* The source file of the code at an address, found by its neighbours: what a linker laid side by
 * side comes from one file. In the sound traces at hand a code between two of one file is of that
 * file in 99 of 100 cases. Kept for no more than TRACE_MAX_PLACES codes. */
#ifndef HS_TRACE_TRACE_PLACES_H
#define HS_TRACE_TRACE_PLACES_H

#include "base/error.h"

#define TRACE_MAX_PLACES 32768

struct trace_place {
    uint64_t code;
    hs_str file;
};

struct trace_places {
    struct trace_place *places; /* owned: by code */
    size_t n, capacity;
};

void hs_trace_places_fini(struct trace_places *places);
hs_status hs_trace_places_add(struct trace_places *places, uint64_t code, hs_str file,
                              struct hs_error *err);

enum trace_neighbours {
    TRACE_NEIGHBOURS_AGREE,  /* or say nothing */
    TRACE_NEIGHBOURS_DOUBT,  /* they are of two other files */
    TRACE_NEIGHBOURS_OPPOSE, /* both are of one other file */
};

/* Judges by the known codes on both sides whether a code is of that file. */
enum trace_neighbours hs_trace_places_judge(const struct trace_places *places, uint64_t code,
                                            hs_str file);

#endif
