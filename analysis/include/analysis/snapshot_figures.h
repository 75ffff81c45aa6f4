/* Figures of a whole snapshot, beside its facts and totals (snapshot/model.h). */
#ifndef HS_ANALYSIS_SNAPSHOT_FIGURES_H
#define HS_ANALYSIS_SNAPSHOT_FIGURES_H

#include "analysis/view.h"

/* Counts variables, and leaves that stand below none. O(tree). */
uint64_t hs_view_n_roots(const struct hs_view *view);

/* Counts the samples of the sampler facts->samplers[sampler]. O(samples). */
uint64_t hs_sampler_n_samples(const struct hs_view *view, size_t sampler);
/* 0: unknown. */
uint64_t hs_sampler_period_bytes(const struct hs_view *view, const struct hs_sampler *sampler);

/* Finds the words that unclaimed mappings alone keep. False when there are none, or no index. */
bool hs_unclaimed_words(const struct hs_view *view, uint64_t *ret);

#endif
