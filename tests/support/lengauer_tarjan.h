/* The simple Lengauer-Tarjan algorithm as published (1979, figure "simple LINK and EVAL"), with
 * path compression made iterative: the oracle that tests and benchmarks hold hs_domtree_build
 * against. Shares nothing with it. O(m log n); about 40 bytes per node and 4 per edge. */
#ifndef HS_TESTS_LENGAUER_TARJAN_H
#define HS_TESTS_LENGAUER_TARJAN_H

#include "dominator/dominators.h"

/* Finds the same result as hs_domtree_build up to the choice of depth-first order. */
hs_status hs_lengauer_tarjan(const struct hs_graph *graph, struct hs_domtree *ret,
                             struct hs_error *err);

#endif
