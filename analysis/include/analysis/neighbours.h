/* The neighbours of one node: where it points, who points to it. */
#ifndef HS_ANALYSIS_NEIGHBOURS_H
#define HS_ANALYSIS_NEIGHBOURS_H

#include "analysis/view.h"

/* One pointer between this node and another. */
struct hs_link {
    hs_node other;
    uint64_t offset_words; /* in the source; HS_NO_OFFSET when it has none (a root) */
    uint8_t edge_class;
    uint8_t reason; /* enum hs_reason */
};

#define HS_NO_OFFSET UINT64_MAX

struct hs_links {
    struct hs_link *links; /* owned */
    size_t n, capacity;
};

void hs_links_fini(struct hs_links *links);

/* Reads the edges out of the node, weak and ephemeron edges included, by offset. */
hs_status hs_links_out(struct hs_view *view, hs_node node, struct hs_links *ret,
                       struct hs_error *err);

/* The same: the first `limit` of them, and in *ret_n how many there are. O(pointers * log limit):
 * of a block with millions only what is shown is kept. */
hs_status hs_links_out_first(struct hs_view *view, hs_node node, uint64_t limit,
                             struct hs_links *ret, uint64_t *ret_n, struct hs_error *err);

/* Appends the fields of `source` that hold `target`, weak ones not, by offset. O(log pointers). */
hs_status hs_links_between(struct hs_view *view, hs_node source, hs_node target,
                           struct hs_links *links, struct hs_error *err);

/* The referrers of a node, strong ones first, some sources at a time: a hub has millions. Weak ones
 * need a pass over the (small) weak columns of all chunks. At most `limit` strong sources are
 * looked into; n_more tells how many are not. */
struct hs_referrers {
    struct hs_view *view;
    hs_node node;
    struct hs_row row;
    uint64_t left, n_more; /* sources still to be looked into; beyond the limit */
    bool has_weak;         /* weak ones are still to come */
};
struct hs_referrers hs_referrers_of(struct hs_view *view, hs_node node, uint64_t limit);
/* The links of the next `most` sources in place of those that `links` holds; none at the end. */
hs_status hs_referrers_next(struct hs_referrers *referrers, uint64_t most, struct hs_links *links,
                            struct hs_error *err);

/* The edge by which `source` points to `target`, strong or an active ephemeron's: one of the least
 * tier, of these that of the smallest offset. HS_NO_OFFSET from a root, or when there is none. */
hs_status hs_link_find(struct hs_view *view, hs_node source, hs_node target, struct hs_link *ret,
                       struct hs_error *err);
hs_status hs_link_offset(struct hs_view *view, hs_node source, hs_node target,
                         uint64_t *ret_offset_words, struct hs_error *err);

/* Returns the tier of an edge of `source` as a reason for memory to be alive, enum hs_tier: no more
 * than its source is. HS_TIER_NONE when no root reaches the source, or the edge is weak. */
hs_status hs_link_tier(struct hs_view *view, hs_node source, unsigned edge_class, unsigned *ret,
                       struct hs_error *err);

#endif
