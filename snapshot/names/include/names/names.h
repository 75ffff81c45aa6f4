/* Adds names and types to a snapshot of stripped programs, on any machine: a snapshot has the
 * build-id and the place of each binary, and the address of each root.
 *
 *   files.c    debug files by build-id: of directories, of this machine, of symbol servers
 *   tree.c     the tree of roots anew: variables, thread-local ones, functions of calls
 *   flow.c     types of blocks, along pointers whose types say what they lead to
 *   copy.c     the new snapshot: the same blocks and edges, in the same order
 *
 * Leaves as it is what needs the process's memory: local variables of calls, which alternative of a
 * union is there, how much of an array is in use, how many elements a container has.
 *
 * The snapshot and the debug files are hostile. A file counts when its build-id and, where roots
 * are called by their sections, its layout are those of the binary. */
#ifndef HS_NAMES_NAMES_H
#define HS_NAMES_NAMES_H

#include "base/file.h"
#include "base/progress.h"
#include "snapshot/model.h"

struct hs_budget; /* base/budget.h */
struct hs_rules;  /* rules/rules.h */

struct hs_names_options {
    const char *snapshot;          /* path; "-": standard input */
    const char *const *debug_dirs; /* before /usr/lib/debug */
    size_t n_debug_dirs;
    const char *debug_server;     /* path of heapsnap-debuginfod, or NULL: no server is asked */
    uint64_t debug_server_ns;     /* of each round of questions to it; 0: 60 s */
    bool is_always;               /* write a snapshot where nothing is found, too */
    const struct hs_rules *rules; /* borrowed; NULL: none are known */
    const struct hs_progress *progress;
    struct hs_budget *budget; /* NULL: no limit */
};

struct hs_names_report {
    uint64_t n_wanted; /* binaries whose names or types are not in the snapshot */
    uint64_t n_found;  /* of these: whose debug files were found */
    uint64_t n_served, served_bytes;
    uint64_t n_slots, n_functions, n_sites; /* that have a name now, or another */
    uint64_t n_typed;                       /* blocks that have a type now */
    char missing[256];                      /* one of the binaries that has none yet; "" */
    char note[512];                         /* of the servers, and of what was left out; "" */
    struct hs_snap_totals totals;           /* of the new snapshot */
};

/* Writes the snapshot with what is to be had to `out`, which the caller commits; nothing where
 * n_found is 0, unless is_always. Fails with HS_FORMAT for what is no snapshot, a cut one, or one
 * of version 1, HS_LIMIT, HS_IO. Resident: the tree of roots, 8 bytes a block where types are told
 * (without the room for them they are left out), and one chunk. */
hs_status hs_names_add(const struct hs_names_options *options, struct hs_out *out,
                       struct hs_names_report *ret, struct hs_error *err);

#endif
