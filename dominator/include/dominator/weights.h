/* The weights of blocks: words and objects, on the heap or static. Nodes of the root tree weigh
 * nothing. Resident: 4 bytes and one bit per node. */
#ifndef HS_DOMINATOR_WEIGHTS_H
#define HS_DOMINATOR_WEIGHTS_H

#include "base/bitmap.h"
#include "graph/graph.h"

/* `words` are heap words, `static_words` words of static data; objects alike. */
struct hs_sizes {
    uint64_t words, objects, static_words, static_objects;
};

static inline void hs_sizes_add(struct hs_sizes *sum, const struct hs_sizes *more)
{
    sum->words += more->words;
    sum->objects += more->objects;
    sum->static_words += more->static_words;
    sum->static_objects += more->static_objects;
}

enum hs_dimension {
    HS_DIM_WORDS,
    HS_DIM_OBJECTS,
    HS_DIM_STATIC_WORDS,
    HS_DIM_STATIC_OBJECTS,
    HS_N_DIMENSIONS
};

/* A block of 2^32 - 1 words or more. */
struct hs_huge_block {
    uint32_t node;
    uint64_t words;
};

struct hs_weights {
    uint32_t n_nodes, n_tree, n_static;
    uint32_t *words; /* owned; UINT32_MAX: look among the huge blocks */
    struct hs_bitmap is_static;
    struct hs_huge_block *huge; /* owned; ascending nodes */
    size_t n_huge, huge_capacity;
};

hs_status hs_weights_init(uint32_t n_nodes, uint32_t n_tree, struct hs_weights *ret,
                          struct hs_error *err);
/* Sets the weight of a node: nodes in ascending order, each at most once. */
hs_status hs_weights_set(struct hs_weights *weights, uint32_t node, uint64_t words, bool is_static,
                         struct hs_error *err);
/* Decodes the sizes of all chunks. HS_FORMAT when they do not add up to the trailer's totals. */
hs_status hs_weights_load(const struct hs_snap *snap, const struct hs_progress *progress,
                          struct hs_weights *ret, struct hs_error *err);
void hs_weights_fini(struct hs_weights *weights);
/* Frees what is said of single blocks; the counts stay. */
void hs_weights_drop(struct hs_weights *weights);

/* Returns the words of a huge block. */
uint64_t hs_weights_huge(const struct hs_weights *weights, uint32_t node);

static inline uint64_t hs_weights_words(const struct hs_weights *weights, uint32_t node)
{
    uint32_t words = weights->words[node];
    return words == UINT32_MAX ? hs_weights_huge(weights, node) : words;
}

struct hs_sizes hs_weights_of(const struct hs_weights *weights, uint32_t node);
uint64_t hs_weights_in(const struct hs_weights *weights, uint32_t node,
                       enum hs_dimension dimension);

#endif
