/* Owner sets that are the same one under another name. */
#ifndef HS_ANALYSIS_SERIES_SETS_H
#define HS_ANALYSIS_SERIES_SETS_H

#include "base/strtab.h"

struct series_set {
    const char *name; /* borrowed: "a, b and 3 more", as key files have them */
    uint64_t words;
    uint32_t row; /* of the series */
};

/* Sets are called by some of their roots, so that one root more or less makes another name. Gives
 * each of `new` the row of the one of `old` that shares more than half of the roots that are told:
 * of several by the share, times how near their words are. None is given twice; those without keep
 * their row. Only the first 512 of either are looked at. HS_LIMIT. */
hs_status series_sets_pair(const struct series_set *old, size_t n_old, struct series_set *new,
                           size_t n_new, struct hs_error *err);

#endif
