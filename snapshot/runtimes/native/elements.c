#include "elements.h"

#include "base/load.h"
#include "flow.h"
#include "rule_lines.h"

enum {
    ELEMENTS_WORD = 8,
    ELEMENTS_TEXT_AT = 16,    /* of the array in a std::string */
    ELEMENTS_TEXT_BYTES = 16, /* of that array */
};

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

/* Tells whether an address is that of the text in a std::string of libstdc++ which has room for it
 * in itself, inside the block: { text, n, char[16] } whose pointer leads to its own array. */
static bool elements_is_short_text(const struct hs_image *image, const struct hs_heap_block *block,
                                   hs_addr at)
{
    uint64_t pointer, n;
    bool has_head = at >= block->begin && at - block->begin >= ELEMENTS_TEXT_AT &&
                    at - block->begin <= block->n_bytes &&
                    block->n_bytes - (at - block->begin) >= ELEMENTS_TEXT_BYTES &&
                    hs_image_u64(image, at - ELEMENTS_TEXT_AT, &pointer) && pointer == at &&
                    hs_image_u64(image, at - ELEMENTS_WORD, &n) && n != 0 &&
                    n < ELEMENTS_TEXT_BYTES;
    const uint8_t *text = has_head ? hs_image_bytes(image, at, ELEMENTS_TEXT_BYTES) : NULL;

    if (text == NULL || text[n] != '\0')
        return false;
    for (uint64_t i = 0; i < n; i++)
        if (text[i] < ' ' && text[i] != '\t' && text[i] != '\n' && text[i] != '\r')
            return false;
    return true;
}

/* Lowers a variable that leads to such a text to what is borrowed; to doubtful where nothing says
 * that it is a pointer: what frees the block is of that tier, too, when a stripped program has it
 * in a call's slot. */
static bool elements_lower_text(const struct hs_native *native, struct hs_root_leaf *leaf,
                                const struct hs_heap_block *block)
{
    uint64_t word;

    if (leaf->root.address == 0 || !hs_image_u64(&native->dump->image, leaf->root.address, &word) ||
        leaf->root.address == word - ELEMENTS_TEXT_AT || /* the string's own */
        !elements_is_short_text(&native->dump->image, block, word))
        return false;
    hs_root_lower(&leaf->root,
                  leaf->root.certainty == HS_EXACT ? HS_TIER_RUNTIME : HS_TIER_DOUBTFUL,
                  HS_REASON_CONTAINER_ELEMENT);
    return true;
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
            !elements_is_shared(roots, i) && !elements_lower_text(native, leaf, &block) &&
            elements_are_freed_together(flow, &block))
            hs_root_lower(&leaf->root, HS_TIER_RUNTIME, HS_REASON_CONTAINER_ELEMENT);
    }
}
