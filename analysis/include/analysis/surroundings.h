/* One node with what stands around it: where it points, who points to it, and what it dominates. A
 * hub has millions of neighbours all over the heap, so these are looked up a piece at a time, in
 * memory's order. */
#ifndef HS_ANALYSIS_SURROUNDINGS_H
#define HS_ANALYSIS_SURROUNDINGS_H

#include "analysis/neighbours.h"

struct hs_surroundings {
    struct hs_view *view; /* borrowed */
    struct hs_node_facts facts;
    struct hs_links out;       /* the first ones, up to the limit */
    uint64_t n_out;            /* of all */
    struct hs_links in;        /* of hs_referrers_next: some of them at a time */
    uint64_t limit;            /* rows of each list */
    uint64_t piece;            /* neighbours that are looked up at once, as the budget has room */
    struct hs_child *children; /* owned: those that retain most, up to the limit */
    uint64_t n_shown, n_children;
};

/* Finds the surroundings of a node. O(fields + children). */
hs_status hs_surroundings_find(struct hs_view *view, hs_node node, uint64_t limit,
                               struct hs_surroundings *ret, struct hs_error *err);
void hs_surroundings_fini(struct hs_surroundings *around);

/* Writes the name of a link's word in the block that holds it: in this block when the link leads
 * out, else in the other. "" when the holder is a root or the relation is no edge. `text` has
 * HS_FIELD_NAME_BYTES. */
hs_status hs_surroundings_place(const struct hs_surroundings *around, const struct hs_link *link,
                                bool is_out, char *text, struct hs_error *err);

/* Looks up, before row `from` is shown and at the first of a piece, what the piece's nodes are, for
 * hs_view_facts to know. */
hs_status hs_surroundings_keep_links(const struct hs_surroundings *around,
                                     const struct hs_links *links, size_t from,
                                     struct hs_error *err);
hs_status hs_surroundings_keep_children(const struct hs_surroundings *around, uint64_t from,
                                        struct hs_error *err);

#endif
