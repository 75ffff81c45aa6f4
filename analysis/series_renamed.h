/* Blocks whose type is known in one snapshot and not in another stand below two names: neither of
 * them grew from nothing, nor went. */
#ifndef HS_ANALYSIS_SERIES_RENAMED_H
#define HS_ANALYSIS_SERIES_RENAMED_H

#include "analysis/series.h"

/* Gives rows of types that came the words and objects that stood under another name before, and
 * takes them from there: sums stay what they are. Rows are filled, and not scored yet. */
hs_status series_renamed_join(struct hs_series *series, struct hs_error *err);

#endif
