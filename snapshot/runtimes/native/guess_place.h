/* The name of blocks without a type by the binary whose places their words lead to: "block of 5960
 * bytes, perhaps of libz.so.1.2.13", where nothing says which record they are.
 *
 * A word is evidence of a library when it leads to what no other binary can name: code or a table
 * (a word of which leads into the same library) that is in no exported symbol. Exported functions
 * are everybody's: g_free in a record says nothing of GLib. It is evidence of the program when it
 * is the address of one of its functions. libc, runtimes, allocators and interpreters are none.
 *
 *   sample 1   | heap  | table of libz | heap  | ...      all samples of a size are asked for the
 *   sample 2   | heap  | table of libz | 0     | ...      same offset; nine of ten at least must
 *   sample 3   | 0     | table of libz | heap  | ...      lead to one binary, and no offset to
 *                                                         another
 *
 * Lost and held blocks of one size are asked apart, of each 64 blocks, spread over all of them, and
 * of these the first 8 KiB. A block has the name when its own word leads there, too. It is a name
 * alone: words count as before. */
#ifndef HS_NATIVE_GUESS_PLACE_H
#define HS_NATIVE_GUESS_PLACE_H

#include "native.h"

enum { HS_PLACE_SAMPLES = 64 };

/* The votes so far of the sizes that are asked. */
struct hs_place_votes {
    const struct hs_native *native; /* borrowed */
    struct hs_place_size {
        uint64_t n_bytes, n_seen;
        struct hs_place_vote *votes; /* owned: one for each word */
        unsigned n_samples;
        bool is_lost;
    } sizes[HS_PLACE_GUESSES];
    size_t n_sizes;
};

/* Asks one of `n_alike` blocks of its size that are lost, or are not, and have no type. Blocks of
 * more than so many sizes are passed over. Fails with HS_MEMORY. */
hs_status hs_place_votes_add(struct hs_place_votes *votes, const struct hs_heap_block *block,
                             uint64_t n_alike, bool is_lost, struct hs_error *err);
/* Notes in `flow` what was found. Fails with HS_LIMIT. */
hs_status hs_place_votes_end(const struct hs_place_votes *votes, struct hs_flow *flow,
                             struct hs_error *err);
void hs_place_votes_fini(struct hs_place_votes *votes);

/* Returns the name of a block by its size and word; 0: there is none. O(sizes). */
hs_ntype hs_place_name(const struct hs_flow *flow, const struct hs_heap_block *block);

#endif
