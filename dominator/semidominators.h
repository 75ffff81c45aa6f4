/* Semidominators of the *core*: the nodes that an edge other than their tree edge enters. All
 * other nodes have their parent as semidominator and as immediate dominator, and need nothing.
 *
 * Lengauer and Tarjan, "A fast algorithm for finding dominators in a flowgraph" (1979), with these
 * savings: path compression keeps labels for core nodes alone, other nodes are only shortcuts; a
 * node is left alone once its semidominator cannot become smaller. */
#ifndef HS_SEMIDOMINATORS_H
#define HS_SEMIDOMINATORS_H

#include "base/bitmap.h"
#include "depth_first.h"

struct semidominators {
    struct hs_budget *budget;
    uint32_t n_core;
    uint32_t *semi; /* of the nodes of the core, ascending */
    uint32_t *rows; /* owned: what `semi` stands in */
    uint64_t n_evals;
};

/* Takes the log of `search` away; its parents are worked on and put back. */
hs_status semidominators_find(struct depth_first *search, struct semidominators *ret,
                              struct hs_error *err);
void semidominators_fini(struct semidominators *semis);

#endif
