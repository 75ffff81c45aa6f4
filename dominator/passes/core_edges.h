/* The edges into core nodes, in a spill: what the core, the attach and the reachable passes read,
 * each from front to end.
 *
 *   record:  core node | n sources | positions of the sources, ascending
 *            varint      varint n    varint first, then varint gaps - 1
 *
 * Records stand in ascending order of core nodes (which is that of their nodes' numbers). A core
 * node with many in-edges has several records in a row, at most CORE_EDGES_MAX sources each, which
 * ascend within a record only. Sources that have no position are garbage and left out; a core node
 * without sources has no record, and node 0 has none. The edge of a core node from
 * its own region (head of the source == the core node) is there too: readers skip it. */
#ifndef HS_CORE_EDGES_H
#define HS_CORE_EDGES_H

#include "base/spill.h"

#define CORE_EDGES_MAX 4096

struct core_edges {
    uint32_t core;
    uint32_t n;
    uint64_t source[CORE_EDGES_MAX]; /* positions */
};

hs_status core_edges_put(struct hs_spill *spill, const struct core_edges *edges,
                         struct hs_error *err);
/* The next record; *ret_more false at the end. */
hs_status core_edges_get(struct hs_spill_reader *reader, struct core_edges *ret, bool *ret_more,
                         struct hs_error *err);

#endif
