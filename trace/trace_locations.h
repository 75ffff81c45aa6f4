/* Location records as they stand in the file, read with one state of the name lists. */
#ifndef HS_TRACE_TRACE_LOCATIONS_H
#define HS_TRACE_TRACE_LOCATIONS_H

#include "trace_bytes.h"
#include "trace_names.h"
#include "trace_sites.h"

/* One record, as it was read. */
struct trace_record {
    uint32_t line;
    uint16_t char_begin, char_end;
    uint8_t file_code;              /* as it stands there */
    hs_str file, function;          /* in the lists' form; 0: nothing is at their place */
    uint32_t function_line;         /* where the function was seen before; 0: it is new */
    bool is_new_function, is_twice; /* a new name that was in the list already */
    bool is_text_odd;               /* it brings a string with control characters */
};

/* Reads a record, taking the file code with the bits of `clear` cleared. bytes->failed where it
 * ends early. HS_LIMIT. */
hs_status hs_trace_read_record(struct trace_sites *sites, unsigned version,
                               struct trace_names *names, struct trace_bytes *bytes, unsigned clear,
                               struct trace_record *ret, struct hs_error *err);

/* Tells whether OCaml would define that function in that file: `Typecore.f` in typecore.ml. */
bool hs_trace_is_named_after(const struct trace_sites *sites, hs_str function, hs_str file);

#endif
