/* Reachable sizes of many nodes of a condensed graph at once: each query is one bit (a *lane*), the
 * bits travel down the graph in topological order, and what every node weighs is credited to the
 * set of lanes that arrive. Equal sets are kept once: where roots reach the same, which they mostly
 * do, a node costs a comparison of set numbers and nothing more.
 *
 *   pass:    queries 0..511        one sweep over nodes and edges each
 *   set:     bits of the pass's queries that reach a node, interned; 0 = none
 *   tables:  per byte of a set and value of that byte, the sum of sizes; bits are told apart once,
 *            at the end of the pass */
#ifndef HS_ROOT_LANES_H
#define HS_ROOT_LANES_H

#include "dominator/condensed.h"

struct root_query {
    uint32_t node;         /* of the condensed graph */
    struct hs_sizes sizes; /* the answer: all that the node reaches, itself included */
};

struct root_lanes_options {
    uint32_t first_lanes; /* of the first pass: a multiple of 64; 0: our choice */
    uint64_t max_sets;    /* kept at most in a pass of more than 64 lanes; 0: our choice */
    const struct hs_progress *progress;
};

/* Distinct nodes, descending; the graph is turned round (hs_condensed_reverse). Halves the lanes
 * when a pass has too many sets (or more than the budget of the condensed graph has room for),
 * widens them when it has few. */
hs_status root_lanes_run(const struct hs_condensed *condensed, struct root_query *queries,
                         uint32_t n_queries, const struct root_lanes_options *options,
                         struct hs_error *err);

#endif
