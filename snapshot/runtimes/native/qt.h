/* Objects of Qt: the targets of their private parts, and which of the words there are non-owning.
 */
#ifndef HS_NATIVE_QT_H
#define HS_NATIVE_QT_H

#include "flow.h"

/* Returns the bytes that hs_native_qt takes; 0 where the process has no library of Qt's. */
uint64_t hs_native_qt_bytes(const struct hs_objects *objects, uint64_t n_blocks);

/* Gives connections of signals their types; blocks that have one keep it. After types have flowed:
 * what has the type of a private part is known by then. O(blocks). Fails with HS_LIMIT. */
hs_status hs_native_qt(struct hs_native *native, struct hs_flow *flow, struct hs_error *err);

/* Tells whether a block is the list of children of an object. */
static inline bool hs_qt_is_children(const struct hs_flow *flow, const struct hs_heap_block *block)
{
    hs_ntype type = hs_flow_type(flow, block->rank);
    return type != 0 && hs_native_type_of(&flow->types, type)->is_qt_children;
}

/* Tells whether `from` leads to `to` without owning it: an object of Qt that has a parent is
 * deleted by that alone. */
static inline bool hs_qt_finds(const struct hs_flow *flow, const struct hs_heap_block *from,
                               const struct hs_heap_block *to)
{
    return flow->qt_children.n_bits != 0 && hs_bitmap_get(&flow->qt_children, to->rank) &&
           !hs_qt_is_children(flow, from);
}

#endif
