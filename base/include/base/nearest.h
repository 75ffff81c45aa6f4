/* The name that a misspelt word was meant to be. */
#ifndef HS_BASE_NEAREST_H
#define HS_BASE_NEAREST_H

#include "base/types.h"

/* Returns the Levenshtein distance. Words of more than HS_EDIT_LONGEST bytes are that far from
 * everything. */
#define HS_EDIT_LONGEST 63
unsigned hs_edit_distance(const char *a, const char *b);

/* Finds the candidate nearest to `word` by edits; NULL when none is near. `name_of` is called for 0
 * <= i < n and may return NULL. */
const char *hs_nearest(const char *word, const char *(*name_of)(const void *, size_t),
                       const void *context, size_t n);

#endif
