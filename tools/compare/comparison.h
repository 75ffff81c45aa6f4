/* The snapshots that are compared: opened, checked to be of one kind, in the order of time. */
#ifndef HS_COMPARE_COMPARISON_H
#define HS_COMPARE_COMPARISON_H

#include "analysis/series.h"
#include "tool.h"

struct hs_compared {
    char *path;   /* owned: as given, or found in the folder */
    bool is_snap; /* else a key file */
    bool is_base; /* of --baseline: stands first, whatever its time */
    size_t given; /* its place on the command line */
    struct hs_snap_keys keys;
};

struct hs_comparison {
    struct hs_compared *files; /* owned: in the order of time */
    size_t n, capacity;
    bool is_folder;
    bool are_same; /* all of them are one snapshot */
    struct hs_series series;
};

/* Opens the named snapshots: two or more snapshots or key files, or one folder of a watch; with
 * `baseline` (NULL: none) one is enough. The keys of snapshots that have none are computed and
 * kept. What does not belong together is refused (HS_USAGE), and what may be misread is warned of;
 * in a folder damaged files and those of other processes are left out. *ret: hs_comparison_fini. */
hs_status hs_comparison_open(struct hs_tool *tool, const char *const *paths, size_t n,
                             const char *baseline, struct hs_comparison *ret, struct hs_error *err);
void hs_comparison_fini(struct hs_comparison *comparison);

#endif
