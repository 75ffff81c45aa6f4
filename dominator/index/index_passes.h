/* Computes an index by passes over files (passes/passes.h), for graphs that the budget has no room
 * for in memory, or that have 2^32 - 2 nodes or edges and more. */
#ifndef HS_INDEX_PASSES_H
#define HS_INDEX_PASSES_H

#include "index_work.h"
#include "index_write.h"

/* Writes every section that the writer has not yet (index_write_has), in the order of
 * index_write.h; the caller finishes and commits. Predecessors are those of HS_GRAPH_RETAINING
 * edges. Reachable sizes are of HS_GRAPH_STRONG edges: where active ephemeron edges hold anything,
 * they need passes of their own, over strong edges and edges from node 0 to each block that an
 * ephemeron holds. When predecessors are there already, index_sweep_open gives them as
 * hs_passes_input.backward (where all edges take part; else the edges that do are reversed again);
 * when idoms are, it gives what DOMINATED is the reverse of. HS_LIMIT,
 * before anything is written, when the budget is too small. */
hs_status index_passes_build(const struct index_work *work, struct index_writer *writer,
                             struct hs_error *err);

/* Returns an upper bound on the disk that its temporary files take. Of `forward` only the counts
 * are used. */
uint64_t index_passes_disk_bytes(const struct hs_sweep *forward);

/* The memory of the largest chunk's weak and ephemeron edges; and whether any ephemeron holds
 * anything, by a pass over these edges outside of the budget. */
uint64_t index_passes_extra_bytes(const struct hs_snap *snap);
bool index_passes_has_held(const struct hs_snap *snap);

#endif
