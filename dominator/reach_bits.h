/* Reachable sizes of many nodes of a condensed graph at once. A pass gives each query a bit; the
 * bits are carried along the edges in topological order, so that a node has the bits of all queries
 * that reach it, and its size is added to that set of bits. Equal sets are kept once: where roots
 * reach the same nodes, which they mostly do, a node costs a comparison of set numbers and nothing
 * more.
 *
 *   pass:    queries 0..511        one sweep over nodes and edges each
 *   set:     bits of the pass's queries that reach a node, interned; 0 = none
 *   numbers: of a set, the XOR of its queries' numbers: added to the signatures of its nodes and
 * ends tables:  per byte of a set and value of that byte, the sum of sizes; what each bit comes to
 * is read from them once, at the end of the pass */
#ifndef HS_REACH_BITS_H
#define HS_REACH_BITS_H

#include "dominator/condensed.h"

struct root_query {
    uint32_t node;         /* of the condensed graph */
    uint64_t number;       /* added to the signatures of all that it reaches, where there are any */
    struct hs_sizes sizes; /* the answer: all that the node reaches, itself included */
};

struct reach_bits_options {
    uint32_t first_bits; /* of the first pass: a multiple of 64; 0: our choice */
    uint64_t max_sets;   /* kept at most in a pass of more than 64 bits; 0: our choice */
    const struct hs_progress *progress;
};

/* Returns the memory taken beside 4 bytes per node, where there is to be progress. */
uint64_t reach_bits_bytes(void);

/* Answers the queries, of distinct nodes, descending; `condensed` is reversed
 * (hs_condensed_reverse), or stored. A pass that has too many sets (or more than the budget of the
 * condensed graph has room for) is done again with half as many bits; after one that has few, the
 * next has more. */
hs_status reach_bits_run(const struct hs_condensed *condensed, struct root_query *queries,
                         uint32_t n_queries, const struct reach_bits_options *options,
                         struct hs_error *err);

#endif
