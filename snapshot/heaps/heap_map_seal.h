/* Chooses the spans that stay. Private to the heap map. */
#ifndef HS_HEAPS_HEAP_MAP_SEAL_H
#define HS_HEAPS_HEAP_MAP_SEAL_H

#include "heaps/heap_map.h"

/* Replaces (*spans)[*n] (owned; first_bit is the order in which they were added) by ascending
 * disjoint spans: of overlapping ones the first added stays, outer ones are cut around inner ones.
 * On failure nothing is lost. */
hs_status hs_heap_spans_flatten(struct hs_heap_span **spans, size_t *n, size_t *capacity,
                                uint64_t *ret_n_refused, struct hs_error *err);

#endif
