/* The evidence of a block's own words for a record that is as large as it and that nothing else
 * says it to be: guess.h.
 *
 *   struct reply { int type; char *text; size_t n; struct reply **of; }
 *
 *   lost 56 | 2 | 0 | 3 | * |          speaks: an array of pointers to lost blocks of its size
 *                         \-> lost 24 | * | * | * |
 *   lost 56 | 1 | * | 7 | 0 |          says nothing: one text, of which anybody may have one */
#ifndef HS_NATIVE_GUESS_EVIDENCE_H
#define HS_NATIVE_GUESS_EVIDENCE_H

#include "agree.h"

/* The size from which few records share it: one pointer may tell as much as two of others. */
enum { HS_GUESS_LARGE_BYTES = 96 };

struct hs_evidence {
    /* The words disagree (hs_guess_denies), or one leads to code where the record has a number. */
    bool is_denied;
    /* Two pointers at least lead to blocks, or to code as the record says, one of them to what it
     * says. The second may stand in what the first one leads to. */
    bool speaks;
    /* Weaker: each sure pointer leads to a block, into one that another leads to (a begin and its
     * end), into its own block (the text of a short std::string) or into a binary, and two to
     * blocks or their own, or one of a large record, to what a library hands out; or one leads to a
     * block that is known to be what the record says, and another to a block or into a binary. */
    bool fits;
};

/* Asks the words of `block`, which has room for `record` and its bytes. The types that the record's
 * pointers lead to are known where they were added before. O(words of the record and of what its
 * pointers lead to). */
struct hs_evidence hs_guess_evidence(const struct hs_agree_by *by,
                                     const struct hs_heap_block *block,
                                     const struct hs_native_type *record);

/* Tells whether the words of a block speak against a record. What a constructor leaves as it was, a
 * union or the room of a callback, leads anywhere: where two pointers lead to blocks that are known
 * to be what the record says, one word in 16 pointers may disagree. */
bool hs_guess_denies(const struct hs_agreement *found, const struct hs_native_type *record);

/* Counts the words that lead to code where the record has a pointer to code. *ret_denies: one does
 * where it has a number. */
unsigned hs_guess_code(const struct hs_agree_by *by, const struct hs_heap_block *block,
                       const struct hs_native_type *record, bool *ret_denies);

/* Tells whether a type is a record whose words are all known, as large as a block of n_bytes. */
bool hs_guess_fills(const struct hs_native_type *type, uint64_t n_bytes);
/* Tells likewise whether it is one without pointers, of which no block's words can tell more than
 * their number: of a size that few records are of. */
bool hs_guess_fills_mute(const struct hs_native_type *type, uint64_t n_bytes);

#endif
