/* Counts the elements of containers, and how many they have room for, as these say themselves: of
 * C, C++ and Rust programs with debug information, by the members of hs_ctypes_counts. A count
 * belongs to the body of the container, the block that it leads to. What contradicts the body, its
 * size or the number of blocks is not believed; of two that lead to one body, as a vector that was
 * moved from and the one that has its array now, the one that counts more is.
 *
 * Nothing but numbers of elements is read. Texts of less than HS_COUNTS_TEXT_BYTES are left out.
 *
 * Resident: 24 bytes for each count, as many as there are blocks by eight and 1,048,576 at the most
 * (of more those at the lowest addresses); 16 for each variable that has a container. */
#ifndef HS_NATIVE_COUNTS_H
#define HS_NATIVE_COUNTS_H

#include "base/table.h"
#include "symbols/ctypes.h"

struct hs_native;
struct hs_flow;

enum { HS_COUNTS_TEXT_BYTES = 256 };

struct hs_native_count {
    uint64_t rank, entries, room; /* of the body; room as HS_NO_ROOM */
};

struct hs_native_counts {
    struct hs_native_count *rows; /* owned; ascending once all are found */
    size_t n, capacity, cursor;
    size_t n_most;                      /* as the plan of memory has it */
    uint64_t n_left_out, left_out_size; /* the others: how many, and the elements that the largest
                                           of them has, or has room for */
    struct hs_native_holder {
        hs_addr at;
        hs_ctype type;
    } * holders; /* owned: variables */
    size_t n_holders, holders_capacity;
    struct hs_dict of_type; /* by ctype: first among `said` << 8 | how many */
    struct hs_ccount *said; /* owned */
    size_t n_said, said_capacity;
};

/* Returns the most bytes that the counts of a heap of n_blocks take. */
uint64_t hs_native_counts_bytes(uint64_t n_blocks);
void hs_native_counts_fini(struct hs_native_counts *counts);

/* Notes a variable of this type that stands at an address. Fails with HS_LIMIT, as the next. */
hs_status hs_native_counts_hold(struct hs_native *native, hs_addr at, hs_ctype type,
                                struct hs_error *err);
/* Asks the containers of all variables and blocks, when types have flowed. O(blocks), and the words
 * of those that have containers. */
hs_status hs_native_counts_find(struct hs_native *native, const struct hs_flow *flow,
                                struct hs_error *err);
/* Adds a count that no member tells, of a block that has room for more; then
 * hs_native_counts_settle sorts all, and leaves one for each body: that of the most elements. */
hs_status hs_native_counts_put(struct hs_native_counts *counts, uint64_t rank, uint64_t entries,
                               struct hs_error *err);
void hs_native_counts_settle(struct hs_native_counts *counts);
/* Returns the count of a block; NULL when it has none. O(1) for blocks in ascending order. */
const struct hs_native_count *hs_native_counts_of(struct hs_native_counts *counts, uint64_t rank);

#endif
