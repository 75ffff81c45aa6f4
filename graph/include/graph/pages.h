/* Anonymous pages for the big arrays of the graph engines: as hs_pages_alloc, in huge pages where
 * the system allows it, because these arrays are touched all over. Not for arrays of which only a
 * part may ever be used: a huge page is resident whole. */
#ifndef HS_GRAPH_PAGES_H
#define HS_GRAPH_PAGES_H

#include "base/alloc.h"

/* Requests huge pages under memory that is there already: a bitmap that is read all over. */
void hs_dense_advise(void *memory, size_t n_bytes);

/* Allocates n zeroed elements; freed with hs_pages_free(memory, n, size). */
hs_status hs_dense_pages(size_t n, size_t size, void **ret, struct hs_error *err);

#endif
