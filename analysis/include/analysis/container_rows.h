/* Rows of containers by type: how many there are, with how many elements, and how much room that is
 * not used. The bodies of containers tell it (analysis/containers.h); the words of a row are those
 * of the bodies alone, the nodes and values that hang on them have types of their own. */
#ifndef HS_ANALYSIS_CONTAINER_ROWS_H
#define HS_ANALYSIS_CONTAINER_ROWS_H

#include "analysis/containers.h"

struct hs_container_row {
    uint32_t type;
    uint64_t containers, entries;
    uint64_t n_roomy; /* that say for how many they have room */
    uint64_t room, unused;
    uint64_t words;
};

struct hs_container_rows {
    struct hs_container_row *rows; /* owned; the most elements first */
    size_t n_rows;
    uint64_t n_others;
    struct hs_container_row others; /* what is beyond the rows, together */
};

/* Sums the containers of each type, those of at least min_words. O(blocks), and a
 * row for each type of the snapshot meanwhile. */
hs_status hs_container_rows_select(struct hs_view *view, uint64_t min_words, uint64_t max_rows,
                                   struct hs_container_rows *ret, struct hs_error *err);
void hs_container_rows_fini(struct hs_container_rows *rows);

#endif
