#include "elements.h"

#include "base/load.h"
#include "flow.h"
#include "rule_lines.h"

enum { ELEMENTS_WORD = 8 };

/* Tells whether a container frees the block by the address of its first byte. The buckets of Rust's
 * hash tables are led to from behind. */
static bool elements_are_freed_together(const struct hs_flow *flow,
                                        const struct hs_heap_block *block)
{
    hs_ntype number = hs_flow_type(flow, block->rank);

    if (number == 0)
        return false;
    const struct hs_native_type *type = hs_native_type_of(&flow->types, number);
    return type->is_node || type->is_shared_box ||
           (type->is_array && type->ctype != 0 && !type->is_table &&
            hs_native_reserves_use(&flow->reserves, block->rank, block->n_bytes).is_said);
}

bool hs_elements_is(const struct hs_said *said, uint64_t at, const struct hs_cslot *slot,
                    const struct hs_heap_block *target)
{
    const struct hs_heap_block *block = said->block;
    uint64_t behind = at + ELEMENTS_WORD;

    return (slot == NULL || (!slot->is_owned && !slot->is_end)) && block->rank != target->rank &&
           elements_are_freed_together(said->flow, target) &&
           (behind + ELEMENTS_WORD > block->n_bytes ||
            hs_load_u64(block->bytes + behind) != target->begin);
}

/* Tells whether the variable's next word leads to the first byte of the same block. */
static bool elements_is_shared(const struct hs_roots *roots, size_t i)
{
    const struct hs_root_leaf *leaf = &roots->leaves[i], *next = leaf + 1;

    return i + 1 < roots->n_leaves && next->target == leaf->target &&
           next->root.address == leaf->root.address + ELEMENTS_WORD &&
           next->root.edge_class == HS_EDGE_EXACT;
}

void hs_elements_lower_roots(struct hs_native *native, const struct hs_flow *flow)
{
    struct hs_roots *roots = &native->roots;
    struct hs_heap_block block;

    if (!hs_native_asks(native, HS_REASON_CONTAINER_ELEMENT))
        return;
    for (size_t i = 0; i < roots->n_leaves; i++) {
        struct hs_root_leaf *leaf = &roots->leaves[i];
        if (leaf->root.tier == HS_TIER_FIRM && leaf->root.edge_class == HS_EDGE_INTERIOR &&
            !leaf->root.weak &&
            hs_heap_map_resolve(&native->dump->heaps.map, leaf->target, &block) ==
                HS_POINTER_START &&
            elements_are_freed_together(flow, &block) && !elements_is_shared(roots, i))
            hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_CONTAINER_ELEMENT);
    }
}
