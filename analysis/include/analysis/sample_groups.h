/* The cross table: samples summed by where they were allocated, by which root retains them and by
 * type, in any combination. Samplers are kept apart.
 *
 *   site  x  root  ->  estimated words +- standard error, samples
 *
 * Cost: one climb of the dominator tree for all samples (view.h), one sort; 56 bytes a sample. */
#ifndef HS_ANALYSIS_SAMPLE_GROUPS_H
#define HS_ANALYSIS_SAMPLE_GROUPS_H

#include "analysis/sample_join.h"

enum hs_sample_key { HS_KEY_SITE, HS_KEY_ROOT, HS_KEY_TYPE, HS_N_SAMPLE_KEYS }; /* the choices */

/* The kinds of keeper of a sample's block: one root, several together, none; or the block is not in
 * the heap. */
enum hs_keeper { HS_KEEPER_ROOT, HS_KEEPER_SHARED, HS_KEEPER_UNREACHED, HS_KEEPER_NOT_IN_HEAP };
const char *hs_keeper_name(enum hs_keeper keeper); /* "root", "shared", ... */

struct hs_sample_group {
    hs_str place; /* of the join; 0: unknown, or not grouped by it */
    enum hs_keeper keeper;
    hs_node root;     /* HS_KEEPER_ROOT */
    uint32_t type;    /* UINT32_MAX: none, or not grouped by it */
    uint32_t sampler; /* index */
    uint32_t site;    /* the backtrace that stands for most of it; HS_NO_SITE */
    uint32_t n_sites; /* different backtraces */
    struct hs_estimate estimate;
};

struct hs_sample_groups {
    struct hs_sample_group *groups; /* owned: those that stand for most words first */
    size_t n, capacity;
    uint64_t n_others; /* beyond the limit */
    struct hs_estimate others, total;
    uint64_t others_words, total_words; /* rounded group by group, as they are printed */
};

struct hs_sample_query {
    unsigned keys;      /* bit set of enum hs_sample_key */
    uint64_t min_words; /* estimated; the rest are others */
    uint64_t max_rows;
};
hs_status hs_sample_groups_find(struct hs_sample_join *join, const struct hs_sample_query *query,
                                struct hs_sample_groups *ret, struct hs_error *err);
void hs_sample_groups_fini(struct hs_sample_groups *groups);

/* Returns "Stm.VCS", "[shared]", "[unreached]" or "[not in the heap]". Borrowed from the view. */
const char *hs_keeper_text(const struct hs_view *view, enum hs_keeper keeper, hs_node root);
/* The keeper of a sample whose retaining root was looked up. */
enum hs_keeper hs_keeper_of(const struct hs_view *view, const struct hs_sample *sample,
                            hs_node root);

#endif
