/* The work on a snapshot of a watch right after its dump, in the process of the dump, while the
 * process that was dumped goes on: its key file, the tables of --export, the profile of --push. All
 * of it needs an index, which goes again. None of its failures is one of the dump. */
#ifndef HS_WATCH_AFTER_H
#define HS_WATCH_AFTER_H

#include "tool.h"

enum { HS_WATCH_PARQUET, HS_WATCH_PROMETHEUS }; /* as the choices of --export stand in the table */
#define HS_WATCH_METRICS "heapsnap.prom"

/* Tells whether the command line asks for any of it. */
bool hs_watch_after_is_wanted(const struct hs_invocation *inv);

struct hs_watch_made {
    struct hs_tool *tool;
    const struct hs_invocation *inv;
    const char *directory; /* of the watch */
    const char *path;      /* of the snapshot */
    int profile_fd;        /* an empty file for the profile; -1: none is asked for */
};

/* Does it; `warning` says what failed, "" when nothing did. */
void hs_watch_after_dump(const struct hs_watch_made *made, char *warning, size_t n_warning);

#endif
