/* The answers that a walk of the dominator tree asks for at each node, read once in the order of
 * nodes where there is room: a walk comes to nodes in no order of the index, where finding one
 * means stepping over others, and most of a walk's time.
 *
 * Resident: two bits a node, and 6 bytes, where there is room. Where there is none, each answer
 * comes from the index: the same, later. */
#ifndef HS_ANALYSIS_NODE_ORDER_H
#define HS_ANALYSIS_NODE_ORDER_H

#include "analysis/view.h"

#define HS_NODE_ORDER_FAR UINT16_MAX

struct hs_node_order {
    const struct hs_view *view; /* borrowed */
    /* Owned pages, NULL where there is no room: a bit by node that dominates others; one by node of
     * HS_TIER_DOUBTFUL, if asked for; where a node's row begins in the index, or HS_NODE_ORDER_FAR;
     * and the words that it retains, UINT32_MAX: ask the index. */
    uint64_t *dominates, *doubtful;
    uint16_t *places;
    uint32_t *retained;
};

/* Reads what there is room for; `with_tiers`: which nodes are doubtful, too. */
hs_status hs_node_order_init(const struct hs_view *view, bool with_tiers, struct hs_node_order *ret,
                             struct hs_error *err);
void hs_node_order_fini(struct hs_node_order *order);

/* Returns the words that a node retains. */
uint64_t hs_node_order_words(const struct hs_node_order *order, hs_node node);
/* Returns the children in the dominator tree. */
struct hs_row hs_node_order_row(const struct hs_node_order *order, hs_node node);
bool hs_node_order_is_doubtful(const struct hs_node_order *order, hs_node node);

#endif
