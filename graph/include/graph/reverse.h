/* Every edge reversed, out of core: one sweep writes (target, source) into buckets of bounded
 * size, then bucket by bucket the sources are put under their targets.
 *
 *   bucket:   a run of targets that fits into the memory left; one with more in-edges than that is
 *             gone through several times, a few targets at a time; a single target with more (a
 *             hub) is emitted in parts as it is read
 *   record:   32 bits: target within the bucket, gap to the source before (escaped when large)
 *
 * Rows come out in ascending order of target, sources ascending, every node once (a long row in
 * parts); pieces are of 2^16 targets at most. Cost: two sweeps when the counts are not known, else
 * one; 4 bytes per edge of disk, none when that much memory is left; O(n + m) time.
 *
 * Memory: all that is left in the budget but an eighth, which is for the sink and the sweep; in
 * the first half not more than a half. Less is only slower, down to HS_REVERSE_MIN_BYTES and 12
 * bytes per HS_SWEEP_RUN nodes: then HS_LIMIT. The second half goes by budget->n_threads; only the
 * calling thread calls the sink and touches the budget. Disk is checked before anything is
 * written. */
#ifndef HS_GRAPH_REVERSE_H
#define HS_GRAPH_REVERSE_H

#include "graph/sweep.h"

#define HS_REVERSE_MIN_BYTES ((uint64_t)6 << 20)

struct hs_reverse_options {
    struct hs_budget *budget; /* NULL: no limit, one thread */
    const struct hs_progress *progress;
    const char *phase; /* told with edges, over all passes */
    /* About how many in-edges each HS_SWEEP_RUN blocks (from node n_tree on) have, as
     * hs_snap_in_degrees says it: only speed depends on them. NULL: counted by a sweep. */
    const uint64_t *in_degrees;
};

hs_status hs_reverse(const struct hs_sweep *forward, const struct hs_reverse_options *options,
                     const struct hs_piece_sink *sink, struct hs_error *err);

/* Returns an upper bound on the disk it needs. */
uint64_t hs_reverse_disk_bytes(const struct hs_sweep *forward);

#endif
