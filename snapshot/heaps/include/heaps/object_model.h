/* Blocks that say themselves what they are: objects of an interpreter, each with a pointer to its
 * class. Blocks of any allocator may be asked about: an interpreter takes large ones from malloc.
 *
 * `state` is that of the allocator whose model it is; NULL: nothing is an object. */
#ifndef HS_HEAPS_OBJECT_MODEL_H
#define HS_HEAPS_OBJECT_MODEL_H

#include "heaps/heap_map.h"

/* What the words of an object's block are: bit i stands for word i. */
struct hs_object_words {
    uint64_t n_owning; /* words from here on are data, and what free memory held before: of text,
                          bytes and numbers; else UINT64_MAX */
    uint64_t links;    /* of the collector's list of all it tracks; of all weak references to one
                          object: they say nothing about who uses whom */
    uint64_t weak;   /* what a weak reference refers to; the first of an object's weak references */
    bool is_tracked; /* the collector frees it when it is in an unused cycle: until then nothing
                        may lead to it, though it is not lost */
};

/* A block that an object has for itself, as a type of its own. */
struct hs_object_part {
    uint64_t at;      /* where in the object's block the pointer to it stands, in bytes */
    const char *name; /* "dict keys" */
};
enum { HS_OBJECT_PARTS = 4 };

struct hs_object_model {
    /* The name of the object's class into text[n]; false when the block holds no object. */
    bool (*type_name)(const void *state, const struct hs_heap_block *block, char *text,
                      size_t n_bytes);
    /* False, and *ret without bits, when the block holds no object. */
    bool (*words)(const void *state, const struct hs_heap_block *block,
                  struct hs_object_words *ret);
    /* Is `word` at address `slot` an end of the collector's list of tracked objects? It leads to
     * the first or last of them, whose link leads back to the slot. */
    bool (*is_list_end)(const void *state, const struct hs_heap_block *block, hs_addr slot,
                        uint64_t word);
    /* How many parts the block's object may have: pointers that may be null, or lead to an object
     * (itself, another one) instead. */
    size_t (*parts)(const void *state, const struct hs_heap_block *block,
                    struct hs_object_part ret[HS_OBJECT_PARTS]);
};

#endif
