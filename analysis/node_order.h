/* The answers that a walk of the dominator tree asks for at each node, read once in the order of
 * nodes where there is room: a walk comes to nodes in no order of the index, where finding one
 * means stepping over others, and most of a walk's time.
 *
 * Resident: two bits a node, and 8 bytes, where there is room. Where there is none, each answer
 * comes from the index: the same, later. */
#ifndef HS_ANALYSIS_NODE_ORDER_H
#define HS_ANALYSIS_NODE_ORDER_H

#include "analysis/view.h"

/* Marks the place of a row; others are an only child. */
#define HS_NODE_ORDER_PLACE (UINT32_C(1) << 31)

struct hs_node_order {
    const struct hs_view *view; /* borrowed */
    /* Owned pages, NULL where there is no room: a bit by node that dominates others; one by node of
     * HS_TIER_DOUBTFUL, if asked for; the only child of a node, or where its row begins in the
     * index, UINT32_MAX: ask there; and the words that it retains, UINT32_MAX: ask the index. */
    uint64_t *dominates, *doubtful;
    uint32_t *rows;
    uint32_t *retained;
};

/* Reads what there is room for; `with_tiers`: which nodes are doubtful, too. */
hs_status hs_node_order_init(const struct hs_view *view, bool with_tiers, struct hs_node_order *ret,
                             struct hs_error *err);
void hs_node_order_fini(struct hs_node_order *order);

/* Returns the words that a node retains. */
uint64_t hs_node_order_words(const struct hs_node_order *order, hs_node node);
/* Returns the child of a node that has one, if it is known; else HS_NO_NODE: ask for the row. */
static inline hs_node hs_node_order_only_child(const struct hs_node_order *order, hs_node node)
{
    uint32_t row = order->rows != NULL ? order->rows[node] : UINT32_MAX;
    return row < HS_NODE_ORDER_PLACE && row != 0 ? row : HS_NO_NODE;
}
/* Returns the children in the dominator tree. */
struct hs_row hs_node_order_row(const struct hs_node_order *order, hs_node node);

/* The same, an only child without the row. */
struct hs_node_children {
    struct hs_row row; /* unless there is an only child */
    hs_node only;      /* still to come; HS_NO_NODE: none */
    uint64_t n;
};
static inline struct hs_node_children hs_node_order_children(const struct hs_node_order *order,
                                                             hs_node node)
{
    struct hs_node_children ret = {.only = hs_node_order_only_child(order, node), .n = 1};
    if (ret.only == HS_NO_NODE) {
        ret.row = hs_node_order_row(order, node);
        ret.n = ret.row.n;
    }
    return ret;
}
static inline bool hs_node_children_next(struct hs_node_children *children, hs_node *ret)
{
    if (children->only == HS_NO_NODE)
        return hs_row_next(&children->row, ret);
    *ret = children->only;
    children->only = HS_NO_NODE;
    return true;
}
bool hs_node_order_is_doubtful(const struct hs_node_order *order, hs_node node);

#endif
