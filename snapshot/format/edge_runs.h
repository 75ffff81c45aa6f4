/* The edges of one block of which there are too many for memory: each part is sorted and put into a
 * temporary file, a run; then all runs are merged.
 *
 *   runs:   level 1 | level 1 | level 0 | level 0 ...     16 runs of a level become one of the next
 *
 * A run takes 2 to 20 bytes an edge on disk, of one array mostly 3. Resident: a buffer a run
 * while runs are merged, however many there are; while they are made 16 bytes an edge of a part, if
 * the budget has room for it. */
#ifndef HS_FORMAT_EDGE_RUNS_H
#define HS_FORMAT_EDGE_RUNS_H

#include "base/spill.h"
#include "snapshot/model.h"

enum { HS_EDGE_RUNS_FAN = 16, HS_EDGE_RUNS_LEVELS = 12 };

struct hs_edge_run {
    struct hs_spill spill;
    unsigned level;
};

/* Zeroed: there are none. */
struct hs_edge_runs {
    struct hs_edge_run runs[HS_EDGE_RUNS_FAN * HS_EDGE_RUNS_LEVELS];
    unsigned n_runs;
    uint64_t *keys; /* owned pages, counted in the budget: the order of a part */
    size_t keys_capacity;
};

struct hs_edge_sink {
    hs_status (*put)(void *context, const struct hs_edge *edges, size_t n, struct hs_error *err);
    void *context;
};

/* One part, which may be reordered. The budget names the directory. HS_IO when the disk is full;
 * then the part is not among the runs, and all before it are. */
hs_status hs_edge_runs_add(struct hs_edge_runs *runs, struct hs_budget *budget,
                           struct hs_edge *edges, size_t n, struct hs_error *err);
/* Returns the bytes that all runs take on the disk. */
uint64_t hs_edge_runs_bytes(const struct hs_edge_runs *runs);
/* All edges in their order (edge_sort.h), some thousands a call; no run is left. */
hs_status hs_edge_runs_merge(struct hs_edge_runs *runs, struct hs_budget *budget,
                             const struct hs_edge_sink *sink, struct hs_error *err);
void hs_edge_runs_fini(struct hs_edge_runs *runs, struct hs_budget *budget);

#endif
