/* The place of what grew, as the program's source calls it, and how many elements the container at
 * it had then and has now: "app->repo.cache_", 60001 and 74400. */
#ifndef HS_ANALYSIS_GROWN_PLACE_H
#define HS_ANALYSIS_GROWN_PLACE_H

#include "analysis/view.h"

struct hs_grown_place {
    char *place;        /* owned: not cleaned for a terminal; NULL: no root reaches it */
    bool has_entries;   /* both counts are known */
    uint64_t then, now; /* elements */
};

/* Finds where a block of the newer snapshot hangs, one of n that stand for what grew (0: nothing is
 * known of their number). The container is that which has it, of several in each other the one with
 * about n elements; that of the older snapshot (NULL: none) is the member of the same name of the
 * same root, or of the block at the same address. Both need an index. A way to a root, and the
 * fields of a few blocks. */
hs_status hs_grown_place_find(struct hs_view *newer, struct hs_view *older, hs_node block,
                              uint64_t n, struct hs_grown_place *ret, struct hs_error *err);
void hs_grown_place_fini(struct hs_grown_place *place);

#endif
