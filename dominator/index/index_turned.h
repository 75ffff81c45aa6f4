/* The edges of a sweep reversed, each time they are asked for: nothing is kept on disk for it. */
#ifndef HS_INDEX_TURNED_H
#define HS_INDEX_TURNED_H

#include "graph/reverse.h"

struct index_turned {
    struct hs_sweep forward;
    struct hs_reverse_options options;
};

/* Returns such a sweep; `turned` is borrowed by it. */
struct hs_sweep index_turned_sweep(const struct index_turned *turned);

#endif
