/* Rows of graphs of units, while they are made. */
#ifndef HS_UNIT_ROWS_H
#define HS_UNIT_ROWS_H

#include "graph/graph.h"

/* Restores the begins after a sweep that moved each to the next one's place. */
void unit_rows_restore(uint32_t *begin, uint32_t n);
/* Turns counts in begin[1 ...] into begins. */
void unit_rows_accumulate(uint32_t *begin, uint32_t n);
/* Keeps one of equal targets per row. 4 bytes per node. */
hs_status unit_rows_unique(struct hs_graph *graph, struct hs_error *err);

#endif
