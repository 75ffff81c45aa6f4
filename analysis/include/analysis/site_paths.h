/* All samples of a site, by the ways in which they are kept.
 *
 * Samples whose chains of keepers are alike (keeper_chains.h) are one way, called by its largest
 * sample: a path needs to be searched for that one alone, so the work does not grow with the number
 * of samples but for a climb of the dominator tree. */
#ifndef HS_ANALYSIS_SITE_PATHS_H
#define HS_ANALYSIS_SITE_PATHS_H

#include "analysis/keeper_chains.h"
#include "analysis/sample_join.h"

/* One way in which samples are kept. */
struct hs_site_path {
    uint32_t chain; /* HS_NO_CHAIN: the blocks are not in the heap */
    uint32_t sampler;
    const struct hs_sample *largest; /* borrowed from the snapshot */
    struct hs_estimate estimate;
};

struct hs_site_paths {
    struct hs_sample_join *join; /* borrowed */
    const char *name;            /* borrowed */
    struct hs_chains chains;
    const struct hs_sample **samples; /* owned: all of the site, borrowed from the snapshot */
    size_t n_samples;
    struct hs_site_path *paths; /* owned: those that stand for most first */
    size_t n, capacity;
    size_t n_shown; /* the first; the rest are others */
    struct hs_estimate total, others;
    uint64_t total_words, others_words; /* rounded way by way */
};

/* Finds the ways. `name`: contained in the function or the file:line of a sample's place; with
 * three dots before it in any frame of its backtrace. At most `limit` ways are shown (0: all).
 * HS_USAGE when no sample has it. */
hs_status hs_site_paths_find(struct hs_sample_join *join, const char *name, uint64_t limit,
                             struct hs_site_paths *ret, struct hs_error *err);
void hs_site_paths_fini(struct hs_site_paths *paths);

/* Tells whether a root, or several together, keep what goes this way. */
bool hs_site_path_is_reached(const struct hs_site_paths *paths, const struct hs_site_path *path);
/* Returns the name of the keeper: a root's name, or in brackets why there is none. Borrowed. */
const char *hs_site_path_keeper(const struct hs_site_paths *paths, const struct hs_site_path *path);
/* The type of one chain that hs_chain_runs named. Borrowed. */
const char *hs_site_path_type(const struct hs_site_paths *paths, uint32_t chain);
/* Writes the keeper and the types from it on, as in "cache > Hashtbl.t > string". `text` has
 * n_bytes. */
void hs_site_path_text(const struct hs_site_paths *paths, const struct hs_site_path *path,
                       char *text, size_t n_bytes);

#endif
