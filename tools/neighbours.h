/* What stands around one node: where it points, who points to it. */
#ifndef HS_TOOLS_NEIGHBOURS_H
#define HS_TOOLS_NEIGHBOURS_H

#include "view.h"

/* One pointer between this node and another. */
struct hs_link {
    hs_node other;
    uint64_t offset_words; /* in the source; HS_NO_OFFSET when it has none (a root) */
    uint8_t edge_class;
};

#define HS_NO_OFFSET UINT64_MAX

struct hs_links {
    struct hs_link *links; /* owned */
    size_t n, capacity;
};

void hs_links_fini(struct hs_links *links);

/* What the node points to, weak and ephemeron edges included, by offset. */
hs_status hs_links_out(struct hs_view *view, hs_node node, struct hs_links *ret,
                       struct hs_error *err);

/* Who points to the node, strong first. Weak ones need a pass over the (small) weak columns of all
 * chunks. At most `limit` strong sources are looked into; *ret_n_more tells how many were not. */
hs_status hs_links_in(struct hs_view *view, hs_node node, uint64_t limit, struct hs_links *ret,
                      uint64_t *ret_n_more, struct hs_error *err);

/* The smallest offset at which `source` points to `target` by a strong or active ephemeron edge;
 * HS_NO_OFFSET from a root, or when there is none. */
hs_status hs_link_offset(struct hs_view *view, hs_node source, hs_node target,
                         uint64_t *ret_offset_words, struct hs_error *err);

#endif
