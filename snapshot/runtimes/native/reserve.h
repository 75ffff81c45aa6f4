/* The length in use of an array, as the vectors say that have it; the rest is spare capacity: what
 * stands behind that, in its reserve, was left by elements that are gone.
 *
 * Several may say it of one array: a vector that was moved from, in memory that is still there, and
 * the one that has it now. The one that says most is right.
 *
 * A deque's blocks, and the map of these, may have had elements before the first one, too. Of a
 * span of Qt 6's hash tables a list says which entries have something.
 *
 * Resident: 24 bytes for each list, and for each array with a reserve of an element and more, as
 * many as there are blocks by eight and 1,048,576 at the most (of others all is taken to be in
 * use); two bits per block, for where vectors say that all is in use but for what an allocator
 * adds. Who plans memory asks for both; with less for the lists, fewer are kept. */
#ifndef HS_NATIVE_RESERVE_H
#define HS_NATIVE_RESERVE_H

#include "base/bitmap.h"
#include "base/table.h"
#include "process/image.h"

/* The part of a block that is in use: bytes [from, end). */
struct hs_native_use {
    uint64_t from, end;
    bool is_said; /* by a vector or a deque, not by the size of the block */
    hs_addr list; /* of the elements in use, see struct hs_cchosen; 0: all in between */
};

/* The live elements that a list names. */
struct hs_native_listed {
    bool is_any; /* else there is no list: all */
    uint64_t bits[4];
};

struct hs_native_reserves {
    uint64_t n_blocks;
    uint64_t n_without_room; /* lists fewer than there may be */
    bool was_full;           /* one was not kept */
    struct hs_dict used;     /* by rank: words, see reserve.c */
    struct hs_dict lists;    /* by rank: where the list is */
    struct hs_bitmap whole;  /* two bits by rank: all of it; empty before the first vector */
};

/* Returns the memory of the bits, and of the lists at the most. */
uint64_t hs_native_reserves_bits_bytes(uint64_t n_blocks);
uint64_t hs_native_reserves_lists_bytes(uint64_t n_blocks);
/* Returns how many lists fewer there may be where those have so many bytes. */
uint64_t hs_native_reserves_without_room(uint64_t n_blocks, uint64_t lists_bytes);
void hs_native_reserves_fini(struct hs_native_reserves *reserves);

/* Notes that `use` of a block of n_bytes is in use, rounded to words; elements have
 * `element_bytes`. What does not fit is not believed. Fails with HS_LIMIT. */
hs_status hs_native_reserves_say(struct hs_native_reserves *reserves, uint64_t rank,
                                 uint64_t n_bytes, struct hs_native_use use, uint64_t element_bytes,
                                 struct hs_error *err);
/* Notes that only those elements of a block are in use that the list at an address names. Fails
 * with HS_LIMIT. */
hs_status hs_native_reserves_say_list(struct hs_native_reserves *reserves, uint64_t rank,
                                      hs_addr list, struct hs_error *err);
/* Returns the part in use; all of it when nothing was said. */
struct hs_native_use hs_native_reserves_use(const struct hs_native_reserves *reserves,
                                            uint64_t rank, uint64_t n_bytes);

/* Reads the list, if there is one. */
struct hs_native_listed hs_native_listed_of(const struct hs_image *image,
                                            const struct hs_native_use *use);

/* Tells whether an element is in use, as far as the list says. */
static inline bool hs_native_listed_has(const struct hs_native_listed *listed, uint64_t element)
{
    return !listed->is_any || (element < 256 && (listed->bits[element / 64] >> element % 64 & 1));
}

#endif
