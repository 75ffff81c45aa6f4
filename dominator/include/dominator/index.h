/* The results for one snapshot, computed once and kept beside it (`heap.snap.idx`, or in the cache
 * directory when that place is read-only): reverse adjacency, immediate dominators, retained and
 * reachable sizes. Mapped read-only; keyed by the snapshot's checksum; can always be thrown away.
 *
 * All node arguments must be < n_nodes (asserted). Sizes: `words` are heap words, `static_words`
 * words of static data. */
#ifndef HS_DOMINATOR_INDEX_H
#define HS_DOMINATOR_INDEX_H

#include "dominator/weights.h"

struct hs_index;

struct hs_index_options {
    const char *snap_path; /* NULL: keep nothing on disk */
    const char *cache_dir; /* second choice; NULL: none */
    bool rebuild;          /* ignore what is there */
    bool no_write;
    const struct hs_progress *progress; /* may be NULL */
};

/* Opens a valid index or computes one. A damaged or foreign index is rebuilt, never trusted.
 * Failing to *write* it is not a failure of the call (see hs_index_path). */
hs_status hs_index_open(const struct hs_snap *snap, const struct hs_index_options *options,
                        struct hs_index **ret, struct hs_error *err);
void hs_index_close(struct hs_index *index);

/* Where it is kept; NULL when it is only in memory. */
const char *hs_index_path(const struct hs_index *index);
bool hs_index_was_built(const struct hs_index *index);

uint32_t hs_index_n_nodes(const struct hs_index *index);
/* HS_NONE for node 0 and for unreached blocks. */
uint32_t hs_index_idom(const struct hs_index *index, uint32_t node);
bool hs_index_is_reached(const struct hs_index *index, uint32_t node);
/* The subtree of the dominator tree. Zero for unreached blocks. */
struct hs_sizes hs_index_retained(const struct hs_index *index, uint32_t node);
/* All that strong edges reach from a node of the root tree (any level). Exact. */
struct hs_sizes hs_index_reachable(const struct hs_index *index, uint32_t tree_node);
/* Everything reached / not reached from any root. */
struct hs_sizes hs_index_reached_total(const struct hs_index *index);
struct hs_sizes hs_index_unreached_total(const struct hs_index *index);

/* Predecessors by strong and ephemeron edges, ascending, root tree nodes included. Borrowed. */
const uint32_t *hs_index_predecessors(const struct hs_index *index, uint32_t node, uint32_t *ret_n);
/* Children in the dominator tree, by descending retained words, then node. Borrowed. */
const uint32_t *hs_index_dominated(const struct hs_index *index, uint32_t node, uint32_t *ret_n);

#endif
