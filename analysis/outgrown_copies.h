/* Arrays that were copied whenever they grew and never freed: blocks without a type among what is
 * lost, each a step larger than the one before. */
#ifndef HS_ANALYSIS_OUTGROWN_COPIES_H
#define HS_ANALYSIS_OUTGROWN_COPIES_H

#include "analysis/leak_report.h"
#include "analysis/suspects.h"

/* Counts them where they have most of the `all_words` that are lost: suspect->n_copies, each_words
 * and held_words of the smallest and of the largest; 0: it is not so. holder and holder_root name
 * the array that is in use now, which is found by the pointers that both hold at the same places.
 * Reads 16 pointers of the largest copy, and 64 referrers of each target. */
hs_status hs_outgrown_copies_find(const struct hs_leak_report *report, uint64_t all_words,
                                  struct hs_suspect *suspect, struct hs_error *err);

#endif
