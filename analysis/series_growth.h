/* The parts of which series.c makes its answer. */
#ifndef HS_ANALYSIS_SERIES_GROWTH_H
#define HS_ANALYSIS_SERIES_GROWTH_H

#include "analysis/series.h"

/* Finds, from the scores, what grew and what the series says. HS_LIMIT. */
hs_status series_growth_find(struct hs_series *series, struct hs_error *err);

/* Finds the population of the first found. After series_growth_find. O(keys * steps). */
hs_status series_population_find(struct hs_series *series, struct hs_error *err);

/* The sites of samples at and below the first found. `rows`: by table, the rows of its keys. */
hs_status series_sites_find(struct hs_series *series, const struct hs_snap_keys *const *tables,
                            uint32_t *const *rows, struct hs_error *err);

#endif
