/* The memory of hs_condensed_reach beside searches: by node of the root tree and of the graph. */
#ifndef HS_CONDENSED_REACH_H
#define HS_CONDENSED_REACH_H

#include <stdint.h>

uint64_t condensed_reach_bytes(uint64_t n_nodes, uint64_t n_tree);

#endif
