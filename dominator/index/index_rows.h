/* The sections of an index that are rows, of a graph in memory: predecessors, and children in the
 * dominator tree. Turned round range by range, so that the rows are never in memory all at once;
 * their begins are. */
#ifndef HS_INDEX_ROWS_H
#define HS_INDEX_ROWS_H

#include "index_write.h"

/* Writes the rows of predecessors, without self loops. 8 bytes per node. */
hs_status index_rows_put_predecessors(struct index_writer *writer, const struct hs_graph *graph,
                                      const struct hs_progress *progress, struct hs_error *err);

/* Writes the children in the dominator tree. `parent`: of each node its immediate dominator, or
 * HS_NONE. 6 bytes per node, 8 where one node has most of them for children. */
hs_status index_rows_put_dominated(struct index_writer *writer, const uint32_t *parent,
                                   const struct hs_progress *progress, struct hs_error *err);

#endif
