/* The view of a process that every allocator's code has: the copy of a process made during one
 * stop, and what is learnt of it on the way. The process runs again: nothing here reads it.
 *
 * All of it is hostile input. An allocator's code reads memory through the image's bounds-checked
 * accessors alone, bounds every loop by what the copy can hold, and turns damage into notes, never
 * into a failed dump. */
#ifndef HS_HEAPS_PROCESS_COPY_H
#define HS_HEAPS_PROCESS_COPY_H

#include "process/findings.h"
#include "process/image.h"
#include "process/objects.h"

#define HS_WORD_BYTES 8

struct hs_rules; /* rules/rules.h */

struct hs_process_copy {
    const struct hs_target *target; /* borrowed: mappings, threads, registers as at the stop */
    const struct hs_image *image;   /* borrowed: all private writable memory that is present */
    struct hs_objects *objects;     /* borrowed: executable and libraries with symbols */
    struct hs_findings *findings;   /* borrowed */
    struct hs_dump_plan *plan;      /* borrowed; NULL: what is kept of it is not counted */
    const struct hs_rules *rules;   /* borrowed; NULL: none are known */
};

#endif
