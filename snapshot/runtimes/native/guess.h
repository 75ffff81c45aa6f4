/* The type guess for lost blocks.
 *
 * Types flow from roots, and none leads to a lost block. But where all other blocks of its size
 * that have a type are of one record, and few that are reached have none, and its own words agree
 * with that record, it is perhaps one more: "block of 56 bytes, perhaps struct rec". Agreement
 * (decision 029): each pointer of the record is null or leads where it may, one at least to a block
 * of the pointed record or to a lost one that has room for it, and no other word leads to the start
 * of a block. It stays a type of which nothing is known.
 *
 * The same holds of the samples of one place of allocation (docs/recording.md), whatever else has
 * their size: when all that have a type are of one record, two at least; all were asked for with
 * its size; and of the lost ones the words of at most one disagree for eight that agree.
 *
 * A program that lost all of a kind holds none of that size. Then the records that debug
 * information has of that size are asked, where the lost blocks of a size are eight at least and a
 * thousandth of the heap: of one alone the words of most must speak; or of one alone, of no
 * standard library, hardly a block denies it, and those of a fifth fit it (guess_evidence.h). Of
 * records that are nothing but one another the outermost counts.
 *
 * Asks the same of held blocks without a type, of sizes that have 64 blocks and a hundredth of the
 * heap at least: of 64 of them four fifths must speak for one record, by two pointers that lead to
 * blocks, to code where the record has a pointer to code, or to the same place in another of that
 * size (links of a list that are in the record); one is enough where the record has 96 bytes or
 * more. A pointer to code where a record has a number speaks against it. That is a name alone:
 * their words count as before.
 *
 * Cost: a look at the types of all blocks, three at each sample, and at the words of the lost ones;
 * records of more than 256 pointers are left out. */
#ifndef HS_NATIVE_GUESS_H
#define HS_NATIVE_GUESS_H

#include "scan.h"
#include "sites.h"

/* Returns the name of what a block without a type may be; 0: nothing is known. O(guesses). */
hs_ntype hs_native_held_guess(const struct hs_flow *flow, const struct hs_heap_block *block);

/* Guesses the types of lost blocks and the names of held ones; after hs_scan_end. Fails with
 * HS_LIMIT. */
hs_status hs_native_guess(const struct hs_native *native, struct hs_flow *flow,
                          const struct hs_scan *scan, const struct hs_native_samples *samples,
                          struct hs_error *err);

#endif
