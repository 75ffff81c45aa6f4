/* The location at each code address: codes, one array of their locations, and their strings.
 * Bounded: beyond TRACE_MAX_LOCATIONS and TRACE_MAX_TEXT_BYTES nothing is kept any more. */
#ifndef HS_TRACE_TRACE_SITES_H
#define HS_TRACE_TRACE_SITES_H

#include "trace/trace.h"

#define TRACE_MAX_LOCATIONS ((size_t)1 << 22)
#define TRACE_MAX_TEXT_BYTES ((size_t)256 << 20)
#define TRACE_MAX_INLINED 255

struct trace_site {
    uint64_t code;
    uint32_t first; /* index in locations */
    uint32_t n;
};

struct trace_sites {
    struct trace_site *sites; /* owned */
    size_t n_sites, sites_capacity;
    struct hs_table by_code;             /* of sites */
    struct hs_trace_location *locations; /* owned */
    size_t n_locations, capacity;
    struct hs_strtab strings;
};

/* Frees the sites. Zeroed ones are valid and empty. */
void hs_trace_sites_fini(struct trace_sites *sites);
/* Finds or adds a string: its id; 0 when there is no room for it. */
hs_status hs_trace_sites_string(struct trace_sites *sites, const char *text, size_t n_bytes,
                                hs_str *ret, struct hs_error *err);
/* Keeps n >= 1 locations of a code. Those of a code that is known take the place of the old ones,
 * except damaged ones of sound ones. */
hs_status hs_trace_sites_put(struct trace_sites *sites, uint64_t code,
                             const struct hs_trace_location *locations, size_t n,
                             struct hs_error *err);
/* Finds the site of a code; NULL when it is unknown. */
const struct trace_site *hs_trace_sites_find(const struct trace_sites *sites, uint64_t code);

#endif
