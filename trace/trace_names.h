/* The writer's lists of names, most recent first: 31 file names, each with 31 names of definitions
 * of its own. A location names them by their place, or brings a new one. */
#ifndef HS_TRACE_TRACE_NAMES_H
#define HS_TRACE_TRACE_NAMES_H

#include "base/types.h"

#define TRACE_N_NAMES 31
#define TRACE_NEW_NAME TRACE_N_NAMES      /* this code: a string follows */
#define TRACE_LOST_NAME UINT32_MAX        /* there is one, and we do not know it */
#define TRACE_EMPTY_NAME (UINT32_MAX - 1) /* a string without characters */

struct trace_function {
    hs_str name;   /* 0: not there yet */
    uint32_t line; /* where it was seen last */
};

struct trace_file {
    hs_str name;
    struct trace_function functions[TRACE_N_NAMES]; /* the most recent first */
};

struct trace_names {
    struct trace_file files[TRACE_N_NAMES];
    uint8_t order[TRACE_N_NAMES]; /* indices in files, the most recent first */
};

void hs_trace_names_init(struct trace_names *names);
/* Loses the lists: part of the trace was lost, and what stands in them is unknown. */
void hs_trace_names_lose(struct trace_names *names);

/* Returns the file at a place without moving it. NULL: nothing is there yet. */
const struct trace_file *hs_trace_names_peek(const struct trace_names *names, unsigned place);
/* Returns the file at a place, which becomes the most recent one. NULL: nothing is there yet. */
struct trace_file *hs_trace_names_file(struct trace_names *names, unsigned place);
/* Adds a new file; the oldest falls out. Before version 2 it inherits that one's functions. */
struct trace_file *hs_trace_names_new_file(struct trace_names *names, hs_str name,
                                           unsigned version);
bool hs_trace_names_has_file(const struct trace_names *names, hs_str name);

/* Moves the function at a place to the front: functions[0]. False: nothing is there yet. */
bool hs_trace_names_function(struct trace_file *file, unsigned place);
/* Puts a new one there. */
void hs_trace_names_new_function(struct trace_file *file, hs_str name);
bool hs_trace_names_has_function(const struct trace_file *file, hs_str name);

#endif
