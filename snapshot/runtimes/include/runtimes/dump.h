/* One dump from open to written: what the driver (snapshot/dump) and the runtimes share.
 *
 * The driver opens, stops, copies and closes; a runtime reads what stands here and keeps its own
 * state apart. */
#ifndef HS_RUNTIMES_DUMP_H
#define HS_RUNTIMES_DUMP_H

#include "heaps/allocator.h"
#include "process/dump_plan.h"
#include "process/findings.h"
#include "process/image.h"
#include "process/objects.h"
#include "runtimes/dump_options.h"
#include "runtimes/runtimes.h"
#include "target/residency.h"

struct hs_runtime;
struct hs_snap_writer;

/* A runtime that serves the process, with its state. */
struct hs_serving {
    const struct hs_runtime *runtime;
    void *state; /* owned: closed by the driver */
};

struct hs_dump {
    const struct hs_dump_options *options; /* borrowed */
    struct hs_target target;
    struct hs_objects objects;
    struct hs_image image;
    struct hs_dump_plan plan;      /* over the image */
    struct hs_residency residency; /* read under the stop, parsed after it */
    struct hs_strtab strings;
    struct hs_findings findings; /* of the allocators, and of the runtime that reads their blocks */
    struct hs_process_copy process; /* over the above */
    struct hs_heaps heaps;          /* listed when a runtime reads them (hs_runtime.reads_heaps) */
    hs_str *debug_notes;            /* owned: what became of debug files that could not be used */
    size_t n_debug_notes, debug_notes_capacity;
    uint64_t n_served, served_bytes; /* debug files that a symbol server had */
    uint32_t n_stops;
    struct hs_serving serving[HS_N_RUNTIMES]; /* in the order of runtimes/runtimes.h */
    size_t n_serving;
    size_t n_listing;              /* those of them that have blocks */
    uint64_t n_tree;               /* nodes of the tree of roots; known when blocks are written */
    struct hs_snap_writer *writer; /* borrowed while blocks are written: for edges in parts */
};

/* Binds what points into the dump itself. */
void hs_dump_bind(struct hs_dump *dump);
/* Frees everything but the states of runtimes; lets the target go if it is still stopped. */
void hs_dump_fini(struct hs_dump *dump);

/* ---- serving.c */
/* Returns the node of a block of the runtime whose state is `self`: `rank` of its own blocks lie
 * below. */
hs_node hs_dump_node_among(const struct hs_dump *dump, const void *self, hs_addr block,
                           uint64_t rank);
static inline hs_node hs_dump_node(const struct hs_dump *dump, const void *self, hs_addr block,
                                   uint64_t rank)
{
    return dump->n_listing <= 1 ? dump->n_tree + rank : hs_dump_node_among(dump, self, block, rank);
}

/* Returns the blocks that another runtime keeps records in: their first word keeps nothing alive.
 * Ascending, borrowed. */
const hs_addr *hs_dump_records(const struct hs_dump *dump, const void *self, size_t *ret_n);

/* Returns the interpreter whose blocks say what they are: that of a runtime, which knows better
 * than the allocator, or else the allocator's; model NULL: there is none. After the roots of the
 * runtimes before the caller. */
struct hs_interpreter hs_dump_interpreter(const struct hs_dump *dump);

/* ---- debug_files.c */
/* Asks a symbol server, where the options name one, for the programs and libraries of a core that
 * are not on this machine; before hs_objects_open. Fails with HS_LIMIT. */
hs_status hs_dump_find_programs(struct hs_dump *dump, struct hs_error *err);
/* Looks for separate debug files of all objects that need one and were not asked about yet: in the
 * directories of the options and /usr/lib/debug, as the target sees it and as we do. One that is
 * there and cannot be used is told in dump->debug_notes. What is not there is asked of a symbol
 * server, where the options name one (debug_server.h). Before the stop, and again for what was
 * loaded since. Nothing with --no-names. Fails with HS_LIMIT. */
hs_status hs_dump_find_debug(struct hs_dump *dump, struct hs_error *err);

/* ---- facts.c */
/* Fills in the dump's own part of the facts: process, stop, command, version of the tool. A runtime
 * calls it where it makes its own, which decides in what order their strings are numbered. */
hs_status hs_dump_own_facts(struct hs_dump *dump, struct hs_snap_facts *facts,
                            struct hs_error *err);
/* Lists the files of the process, and what of its memory could not be read. The caller frees *ret
 * with hs_free. */
hs_status hs_dump_list_binaries(struct hs_dump *dump, struct hs_binary **ret, struct hs_error *err);
hs_status hs_dump_list_unreadable(const struct hs_image *image, struct hs_range **ret,
                                  struct hs_error *err);
/* Notes on files that could not be read as they were loaded. */
hs_status hs_dump_note_missing(const struct hs_dump *dump, struct hs_findings *findings,
                               struct hs_error *err);

/* ---- program_kind.c */
/* Tells the kind of a program by its symbols and libraries: "a C++ program", "a Java virtual
 * machine". */
const char *hs_program_kind(const struct hs_objects *objects);

/* ---- unbuilt.c */
/* A runtime that this build was made without. */
struct hs_unbuilt_runtime {
    const char *what;        /* "an OCaml program" */
    const char *part, *with; /* "ocaml", "HS_WITH_OCAML" */
    bool has_own_heap;       /* of which nothing can be read then */
};
/* Returns the runtime that would serve the process and that this build is without; NULL: none. */
const struct hs_unbuilt_runtime *hs_unbuilt_runtime(const struct hs_objects *objects);

#endif
