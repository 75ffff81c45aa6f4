/* From a process id to a written snapshot. */
#ifndef HS_CAPTURE_DUMP_H
#define HS_CAPTURE_DUMP_H

#include <sys/types.h>

#include "base/file.h"
#include "base/progress.h"
#include "snapshot/model.h"

struct hs_dump_options {
    pid_t pid;
    const char *names_file;        /* a ready names.tsv, or NULL */
    const char *const *names_dirs; /* further directories for .cmi/.cmt */
    size_t n_names_dirs;
    bool no_names;            /* do not look for source names */
    const char *names_helper; /* path of heapsnap-ocaml-names, or NULL: none is installed */
    const char *tool_version;
    const struct hs_progress *progress; /* may be NULL */
};

struct hs_dump_report {
    struct hs_snap_totals totals;
    uint64_t pause_ns, read_bytes, n_stop_attempts;
    bool is_exact;  /* false: a note says what is not */
    char note[512]; /* the gaps, one line; empty when none */
};

/* Opens, stops (bounded retries when inside a collection or transition code), copies, lets go,
 * walks, writes to `out` (the caller commits). HS_TARGET for a bytecode program, OCaml 5, or no
 * OCaml at all, with a plain message of what it is and what is supported. */
hs_status hs_dump(const struct hs_dump_options *options, struct hs_out *out,
                  struct hs_dump_report *ret, struct hs_error *err);

#endif
