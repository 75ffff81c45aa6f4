/* From a process id to a written snapshot, whatever the program is written in. */
#ifndef HS_NATIVE_NATIVE_DUMP_H
#define HS_NATIVE_NATIVE_DUMP_H

#include "ocaml/dump.h"

/* A native OCaml 4 program goes to hs_dump (ocaml/dump.h), everything else to hs_native_dump. */
hs_status hs_dump_process(const struct hs_dump_options *options, struct hs_out *out,
                          struct hs_dump_report *ret, struct hs_error *err);

/* C, C++, Rust and Python programs: stops the process (again when an allocator was caught in the
 * middle of a change), copies its private memory, lets it go on, walks the heaps, collects the
 * roots, lets types flow, scans, writes. HS_TARGET when no block is found, naming the allocator
 * seen. */
hs_status hs_native_dump(const struct hs_dump_options *options, struct hs_out *out,
                         struct hs_dump_report *ret, struct hs_error *err);

#endif
