/* Finds the root that keeps the mappings which no allocator has. */
#ifndef HS_ANALYSIS_MAPPING_HOLDER_H
#define HS_ANALYSIS_MAPPING_HOLDER_H

#include "analysis/view.h"

struct hs_mapping_holder {
    uint64_t words;    /* of mappings, by their sizes, that hang on one root */
    uint64_t n_pieces; /* so many: a mapping, or 1 MiB of a larger one */
    hs_node root;      /* HS_NO_NODE: no root has HS_MAPPING_PERCENT of them */
    char *name;        /* owned (hs_free): "open_segments->next->map"; NULL without a root */
};
#define HS_MAPPING_PERCENT 30

/* Finds the root that keeps most of them; of its mappings the largest gives the name. One pass over
 * the blocks; resident: 32 bytes per node of the root tree. */
hs_status hs_mapping_holder_find(struct hs_view *view, struct hs_mapping_holder *ret,
                                 struct hs_error *err);
void hs_mapping_holder_fini(struct hs_mapping_holder *holder);

#endif
