/* The verdict of a series, in a sentence. */
#ifndef HS_COMPARE_VERDICT_H
#define HS_COMPARE_VERDICT_H

#include "analysis/series.h"

enum { HS_VERDICT_BYTES = 2048, HS_SPARK_BYTES = 128 };

/* Writes one to three sentences, safe to print; `are_same`: all of them are one snapshot. */
void hs_verdict_text(const struct hs_series *series, bool are_same, char *text, size_t n);

/* The measure of what there is to speak of: all, where the resident size is not known or growth is
 * steady. */
enum hs_much { HS_MUCH, HS_MUCH_BUT_THE_HEAP, HS_NOT_MUCH };
enum hs_much hs_verdict_much(const struct hs_series *series);

/* Returns the words that the heap grew by, without what a collector will free. */
double hs_verdict_heap_growth(const struct hs_series *series);

/* Tells whether the sentence is of the whole heap, whatever is found. */
bool hs_verdict_is_of_heap(const struct hs_series *series);

/* Tells whether a row is a key of what no root leads to: there are no paths to it. */
bool hs_verdict_is_lost(const struct hs_series *series, uint32_t row);

/* Writes "+1.2 MiB", "-312 B", "0 B" of so many words. */
void hs_verdict_change(const struct hs_series *series, double words, char *text, size_t n);

/* Draws n values as bars, at most 24 of them evenly chosen: the least is the lowest. */
void hs_spark(const uint64_t *values, size_t n, char *text);

#endif
