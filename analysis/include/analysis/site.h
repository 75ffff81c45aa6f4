/* Places in code, as a backtrace names them.
 *
 * A site is a backtrace. Its place is what tables print and group by: the innermost function that
 * is neither the allocator's nor a standard library's, as far as names tell; where an interpreter
 * ran a script, the script's. */
#ifndef HS_ANALYSIS_SITE_H
#define HS_ANALYSIS_SITE_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct hs_frame {
    const char *function, *file, *module; /* borrowed; "" where unknown */
    uint32_t line;                        /* 0: unknown */
    uint64_t offset; /* of the code in the module; without a module its address */
    bool is_damaged; /* the trace lost its names */
};

enum { HS_FRAME_BYTES = 512 };

/* The ranks of a frame by how much it tells of where memory was allocated, the least first. Names
 * of OCaml's library count as a library's. */
enum hs_frame_rank {
    HS_FRAME_ALLOCATOR,
    HS_FRAME_LIBRARY,
    HS_FRAME_OWN,
    HS_FRAME_SCRIPT_LIBRARY,
    HS_FRAME_SCRIPT
};
enum hs_frame_rank hs_frame_rank(const char *function, const char *file);

/* Finds the place of a backtrace frames[n], the innermost first: index of a frame. Of the library's
 * when nothing else has a name. n >= 1. */
size_t hs_site_frame_at(const struct hs_frame *frames, size_t n);

/* Writes "Stm.observe stm/stm.ml:318", "libc.so.6+0x1f2a0" or "?". `text` has n bytes. */
void hs_frame_text(const struct hs_frame *frame, char *text, size_t n);

/* Tells whether the function's name or "file:line" contains it. */
bool hs_frame_contains(const struct hs_frame *frame, const char *name);

#endif
