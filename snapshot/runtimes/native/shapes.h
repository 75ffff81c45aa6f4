/* What the parts of the search for containers share: shapes.c, shapes_holders.c. */
#ifndef HS_NATIVE_SHAPES_H
#define HS_NATIVE_SHAPES_H

#include "flow.h"

enum hs_shape {
    HS_SHAPE_TREE,
    HS_SHAPE_LIST,
    HS_SHAPE_STRING,
    HS_SHAPE_VECTOR,
    HS_SHAPE_HASH_NODE,
    HS_SHAPE_HASH_BUCKETS,
    HS_SHAPE_DEQUE_BLOCK,
    HS_SHAPE_DEQUE_MAP,
    HS_N_SHAPES
};

struct hs_shapes {
    struct hs_native *native;    /* borrowed */
    struct hs_flow *flow;        /* borrowed */
    hs_ntype types[HS_N_SHAPES]; /* 0: not met yet */
    hs_addr low, high;           /* all blocks are in [low, high) */
    uint64_t budget;             /* steps that may still be spent on what turns out to be nothing */
    size_t hint;                 /* of the image */
    uint64_t most_faults;        /* of a copy in a file, until the search ends early */
};

/* Nodes are anywhere: a copy in a file could be read from there for each of them. The search ends
 * when it has read the whole copy several times over. */
bool hs_shapes_is_spent(const struct hs_shapes *s);

/* An aligned word of the copy. */
bool hs_shapes_word(struct hs_shapes *s, hs_addr address, uint64_t *ret);
/* A block without a type that begins at `word`. */
bool hs_shapes_body_at(struct hs_shapes *s, uint64_t word, struct hs_heap_block *ret);
hs_status hs_shapes_set(struct hs_shapes *s, const struct hs_heap_block *block, enum hs_shape shape,
                        struct hs_error *err);

/* Gives bodies and nodes of the container whose holder begins at `at` their types, when there is
 * one. `words`: what stands there, the first three of them at least; 0 where it is not known. */
enum { HS_HOLDER_WORDS = 10 };
hs_status hs_shapes_try_holder(struct hs_shapes *s, hs_addr at,
                               const uint64_t words[HS_HOLDER_WORDS], struct hs_error *err);

#endif
