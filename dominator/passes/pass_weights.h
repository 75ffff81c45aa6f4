/* The weights of blocks, in little memory: most blocks are small.
 *
 *   small:  byte per node: bit 7 static | 7 bits words, 127: look among the large ones
 *   large:  u32 per large block, by rank in is_large; UINT32_MAX: look among the huge ones
 *
 * 1.15 bytes per node, and 4 per block of 127 words and more. */
#ifndef HS_PASS_WEIGHTS_H
#define HS_PASS_WEIGHTS_H

#include "base/bitmap.h"
#include "passes/passes.h"

#define WEIGHT_STATIC 0x80
#define WEIGHT_LARGE 0x7f

struct pass_huge {
    hs_node node;
    uint64_t words;
};

struct pass_weights {
    uint64_t n_nodes, n_tree, n_static;
    uint8_t *small; /* owned pages */
    struct hs_bitmap is_large;
    uint32_t
        *large; /* owned pages: room for n_nodes, reserved in the budget as far as it is used */
    uint64_t n_large, large_taken;
    struct pass_huge *huge; /* owned; ascending nodes */
    size_t n_huge, huge_capacity;
    hs_node next; /* while loading: nodes below have been given */
    struct hs_budget *budget;
};

hs_status pass_weights_load(const struct hs_passes *passes, const struct hs_weight_source *source,
                            struct pass_weights *ret, struct hs_error *err);
void pass_weights_fini(struct pass_weights *weights);
/* Returns the least memory that pass_weights_fini gives back. */
static inline uint64_t pass_weights_bytes(const struct pass_weights *weights)
{
    return weights->n_nodes + weights->n_nodes / 8 + weights->large_taken * sizeof *weights->large;
}

/* Returns the words of a block that is not small. */
uint64_t pass_weights_large(const struct pass_weights *weights, hs_node node);

/* Reads the weight of a block. False for nodes of the root tree, which weigh nothing. */
static inline bool pass_weights_get(const struct pass_weights *weights, hs_node node,
                                    uint64_t *ret_words, bool *ret_is_static)
{
    if (node < weights->n_tree)
        return false;
    uint8_t small = weights->small[node];
    *ret_is_static = (small & WEIGHT_STATIC) != 0;
    small &= WEIGHT_LARGE;
    *ret_words = small == WEIGHT_LARGE ? pass_weights_large(weights, node) : small;
    return true;
}

#endif
