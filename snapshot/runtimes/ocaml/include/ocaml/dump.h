/* From a process id or a core to a written snapshot. */
#ifndef HS_OCAML_DUMP_H
#define HS_OCAML_DUMP_H

#include <sys/types.h>

#include "base/file.h"
#include "base/progress.h"
#include "base/strtab.h"
#include "process/image.h"
#include "process/objects.h"
#include "snapshot/model.h"
#include "target/core.h"

struct hs_dump_options {
    pid_t pid;                          /* of the process; not looked at with a core */
    const struct hs_core_options *core; /* NULL: the live process */
    struct hs_stop_options stop;
    unsigned max_growth_percent;   /* of the resident size, at least 64 MiB; if stop has no bytes */
    const char *names_file;        /* a ready names.tsv, or NULL */
    const char *const *names_dirs; /* further directories for .cmi/.cmt */
    size_t n_names_dirs;
    bool no_names;                 /* do not look for source names */
    const char *names_helper;      /* path of heapsnap-ocaml-names, or NULL: none is installed */
    const char *const *debug_dirs; /* native: further directories of separate debug files */
    size_t n_debug_dirs;
    bool ocaml_alone;      /* of an OCaml program: leave out the memory that its C code has */
    uint64_t pointer_mask; /* native: bits to clear in words before they are looked up; 0: none */
    const char *tool_version;
    const struct hs_progress *progress; /* may be NULL */
    struct hs_budget *budget;           /* what the dump may use; NULL: no limit */
};

struct hs_dump_report {
    struct hs_snap_totals totals;
    uint64_t pause_ns, read_bytes, n_stop_attempts;
    struct hs_stop_report stop;
    bool is_exact;  /* false: a note says what is not */
    char note[512]; /* the gaps, one line; empty when none */
};

/* Opens, stops (bounded retries when inside a collection or transition code), copies, lets go,
 * walks, writes to `out` (the caller commits). HS_TARGET for a bytecode program, OCaml 5.0, or no
 * OCaml at all, with a plain message of what it is and what is supported. */
hs_status hs_dump(const struct hs_dump_options *options, struct hs_out *out,
                  struct hs_dump_report *ret, struct hs_error *err);

/* Another walker's share in the dump of an OCaml program: it sees the process in the same stop, and
 * writes OCaml's blocks with its own. */
struct hs_ocaml_emission;
struct hs_dump_beside {
    void *context;
    /* What the dump is to use, the other walker's own, zeroed; on return as the dump left it, for
     * the caller to close. */
    struct hs_target *target;
    struct hs_objects *objects;
    struct hs_image *image;
    struct hs_dump_plan *plan;
    struct hs_strtab *strings;
    /* Stopped, or from the frozen copy, after OCaml's part; again when a stop was no good. */
    hs_status (*copy)(void *context, struct hs_error *err);
    /* Instead of hs_ocaml_emit: writes all, and fills what `ret` says of it. */
    hs_status (*write)(void *context, const struct hs_ocaml_emission *emission,
                       struct hs_dump_report *ret, struct hs_error *err);
};
hs_status hs_dump_with(const struct hs_dump_options *options, const struct hs_dump_beside *beside,
                       struct hs_out *out, struct hs_dump_report *ret, struct hs_error *err);

/* Opens what the options name. Fails like hs_target_open and hs_core_open. */
hs_status hs_dump_open(const struct hs_dump_options *options, struct hs_target *ret,
                       struct hs_error *err);

/* True for what hs_dump takes and for the OCaml programs that it refuses by name (bytecode, other
 * versions). By symbols alone. */
bool hs_is_ocaml(const struct hs_objects *objects);
/* Of an OCaml program: the minor version, 13 or 14 of OCaml 4, 0 of OCaml 5, when hs_dump takes it;
 * else HS_TARGET with what it is. By symbols alone, without a stop. */
hs_status hs_ocaml_recognise(const struct hs_objects *objects, unsigned *ret_minor,
                             struct hs_error *err);
/* "a C++ program", "a Java virtual machine": what the symbols and libraries of another program say
 * it is. */
const char *hs_program_kind(const struct hs_objects *objects);

/* Parts of every dump's facts. The caller frees *ret with hs_free. */
hs_status hs_dump_list_binaries(const struct hs_objects *objects, struct hs_strtab *strings,
                                struct hs_binary **ret, struct hs_error *err);
hs_status hs_dump_list_unreadable(const struct hs_image *image, struct hs_range **ret,
                                  struct hs_error *err);
/* How the process was kept still. */
hs_status hs_dump_stop_facts(const struct hs_target *target, struct hs_strtab *strings,
                             struct hs_snap_facts *facts, struct hs_error *err);
/* What of the facts the user is told: figures of the stop, and the gaps in one line. */
void hs_dump_summarise(const struct hs_snap_facts *facts, const struct hs_strtab *strings,
                       struct hs_dump_report *ret);

#endif
