/* Writes the snapshot of a process or a core, whatever the program is written in.
 *
 * One order for all: recognise -> prepare -> stop, until all judge the moment good -> copy -> list
 * blocks -> roots -> edges and types -> write. What is particular to a runtime or an allocator is
 * asked of it (runtimes/runtime.h, heaps/allocator.h). */
#ifndef HS_DUMP_DUMP_H
#define HS_DUMP_DUMP_H

#include "base/file.h"
#include "runtimes/dump_options.h"
#include "snapshot/model.h"

struct hs_dump_report {
    struct hs_snap_totals totals;
    uint64_t pause_ns, read_bytes, n_stop_attempts;
    struct hs_stop_report stop;
    uint64_t copy_bytes;             /* what there was to copy, before the stop */
    uint64_t foreseen_bytes;         /* resident at the most; in a file: of memory, at least */
    bool has_spilled;                /* the copy lay in a temporary file */
    uint64_t n_served, served_bytes; /* debug files that a symbol server had */
    bool is_stripped;                /* no debug file of the program was found */
    bool is_exact;                   /* false: a note says what is not */
    char note[512];                  /* the gaps, one line; empty when none */
    char remark[512];                /* what a runtime says of its names; empty when nothing */
};

/* Opens, stops (a bounded number of times, until every runtime and allocator is in a state that can
 * be read), copies, lets go, walks, writes to `out` (the caller commits). HS_TARGET when no block
 * is found, naming the allocator seen, or when a runtime is of a kind that is not read (bytecode,
 * OCaml 5.0), with a plain message of what it is and what is supported; messages are without the
 * name of the process, which the caller knows. */
hs_status hs_dump_process(const struct hs_dump_options *options, struct hs_out *out,
                          struct hs_dump_report *ret, struct hs_error *err);

#endif
