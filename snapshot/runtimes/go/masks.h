/* The words of a type that are pointers, where objects say by their type which they are: Go 1.22
 * and later (private to snapshot/runtimes/go): internal/abi/type.go, mbitmap.go, type.go. */
#ifndef HS_GO_MASKS_H
#define HS_GO_MASKS_H

#include "base/table.h"
#include "heap.h"

struct hs_go_mask {
    uint64_t n_words;        /* of a value */
    uint64_t n_masked_words; /* no pointer stands behind these; 0: none is in it */
    const uint8_t *bits;     /* borrowed from the program's data, or `made` */
    uint8_t *made;           /* owned pages: put together of the fields */
    size_t n_made_bytes;
};

struct hs_go_masks {
    struct hs_dict by_type;   /* address of a type -> number */
    struct hs_go_mask *masks; /* owned */
    size_t n, capacity;
};

void hs_go_masks_fini(struct hs_go_masks *masks);
/* Finds the mask of a type for an object of n_bytes; NULL: it is no type, or memory is short. Valid
 * until the next call. */
const struct hs_go_mask *hs_go_mask_of(const struct hs_go_heap *heap, struct hs_go_masks *masks,
                                       hs_addr type, uint64_t n_bytes);

#endif
