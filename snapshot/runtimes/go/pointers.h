/* The words of an object that are pointers, exactly, as the collector knows them (private to
 * snapshot/runtimes/go): mbitmap.go of each version. */
#ifndef HS_GO_POINTERS_H
#define HS_GO_POINTERS_H

#include "masks.h"

/* Goes over the pointer words of one object: `begin`, then `next` until it is false. */
struct hs_go_pointers {
    const struct hs_go_heap *heap;
    hs_addr address;
    uint64_t n_words;
    const struct hs_go_mask *mask_of_type; /* where a type says which words are; else NULL */
    uint64_t header_words;                 /* before the values of that type */
    const uint8_t *bits; /* where the span has them: from bit first_bit on; else NULL */
    uint64_t first_bit;
    const uint8_t *bytes; /* the object, borrowed; NULL: not in one piece of the copy */
    uint64_t at;          /* the first word of the group of 64 that is looked at */
    uint64_t mask;        /* of that group: those that are still to be told */
    bool ends;            /* no pointer is behind this group */
};

/* Counts the bytes before the value of a block, where it begins with its type: 0 or a word. */
uint64_t hs_go_header_bytes(const struct hs_go_heap *heap, const struct hs_go_span *span);
struct hs_go_pointers hs_go_pointers_begin(const struct hs_go_heap *heap,
                                           const struct hs_go_block *block);
/* Passes over words that are 0. */
bool hs_go_pointers_next(struct hs_go_pointers *it, uint64_t *ret_word, uint64_t *ret_offset_words);

#endif
