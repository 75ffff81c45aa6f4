/* The writer's lists of names, most recent first: 31 file names, each with 31 names of definitions
 * of its own. A location names them by their place, or brings a new one. */
#ifndef HS_TRACE_TRACE_NAMES_H
#define HS_TRACE_TRACE_NAMES_H

#include "base/types.h"

#define TRACE_N_NAMES 31
#define TRACE_NEW_NAME TRACE_N_NAMES /* this code: a string follows */

struct trace_file {
    hs_str name;
    hs_str functions[TRACE_N_NAMES]; /* the most recent first; 0: not there yet */
};

struct trace_names {
    struct trace_file files[TRACE_N_NAMES];
    uint8_t order[TRACE_N_NAMES]; /* indices in files, the most recent first */
};

void hs_trace_names_init(struct trace_names *names);

/* The file at a place, which becomes the most recent one. NULL: nothing is there yet. */
struct trace_file *hs_trace_names_file(struct trace_names *names, unsigned place);
/* A new one; the oldest falls out. Before version 2 it inherits that one's functions. */
struct trace_file *hs_trace_names_new_file(struct trace_names *names, hs_str name,
                                           unsigned version);
/* 0: nothing is there yet. */
hs_str hs_trace_names_function(struct trace_file *file, unsigned place);
void hs_trace_names_new_function(struct trace_file *file, hs_str name);

#endif
