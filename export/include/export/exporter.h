/* A snapshot in another program's format.
 *
 * An exporter takes an open view and writes, from front to end and without seeking, to an output
 * that is its caller's: it opens, commits and closes nothing that it did not make, prints nothing
 * and asks nobody. What it holds in memory does not grow with the number of blocks, unless its
 * declaration says so. Two runs write the same bytes. A name is whatever the target has it be: each
 * exporter escapes it as its format can, and leaves nothing in it that breaks the format. */
#ifndef HS_EXPORT_EXPORTER_H
#define HS_EXPORT_EXPORTER_H

#include "base/file.h"
#include "export/stacks.h"

struct hs_fleet_options; /* export/fleet.h */

/* The destination of an exporter. */
struct hs_export_target {
    struct hs_out *out;                   /* of one that writes a file; NULL for the others */
    const char *directory;                /* of one that writes several: it is there; else NULL */
    const char *of;                       /* WHAT, of one that takes_of; NULL: all */
    const struct hs_fleet_options *fleet; /* of parquet; NULL: the defaults */
};

struct hs_exporter {
    enum hs_view_needs needs; /* of the view */
    bool makes_directory;     /* writes files into a directory, which it commits itself */
    bool is_binary;           /* not for a terminal */
    bool takes_samples;       /* has labels for parts of a trace's stacks */
    bool takes_of;            /* writes a part of the heap, which one may choose */
    /* Writes a snapshot. HS_FORMAT for damage, HS_IO, HS_LIMIT also when interrupted. The caller
     * asks hs_view_check before it commits. */
    hs_status (*write)(struct hs_view *view, const struct hs_export_target *target,
                       struct hs_error *err);
    /* Writes stacks, in place of it: for a format of stacks, which a snapshot's keys are, and a
     * trace's calls. */
    hs_status (*write_stacks)(const struct hs_stack_tree *tree,
                              const struct hs_export_target *target, struct hs_error *err);
};

/* Writes a snapshot by either; the same failures. */
hs_status hs_export_view(const struct hs_exporter *exporter, struct hs_view *view,
                         const struct hs_export_target *target, struct hs_error *err);

#endif
