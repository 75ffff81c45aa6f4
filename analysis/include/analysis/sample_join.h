/* The samples of a snapshot joined with what is known of their allocation: the sites that the
 * snapshot holds and, with --trace, the backtraces of the trace.
 *
 *   sample -- id -->  event of the trace   -- stack -->  site n_snap_sites + stack
 *         \- site --> site of the snapshot
 *
 * Both are numbered as one. The trace wins where both tell. */
#ifndef HS_ANALYSIS_SAMPLE_JOIN_H
#define HS_ANALYSIS_SAMPLE_JOIN_H

#include "analysis/estimate.h"
#include "analysis/site.h"
#include "analysis/trace_join.h"
#include "analysis/view.h"

/* The relations of a sample to the trace. */
enum hs_sample_join_case {
    HS_SAMPLE_JOIN_NONE,      /* no trace is given, or it is of another sampler */
    HS_SAMPLE_JOIN_BOTH,      /* in both, and they agree */
    HS_SAMPLE_JOIN_UNFLUSHED, /* in the process only: allocated after the trace's last flush */
    HS_SAMPLE_JOIN_LOST,      /* in the process only, though the trace goes on behind it */
    HS_SAMPLE_JOIN_MISMATCH,  /* in both, but they disagree */
    HS_N_SAMPLE_JOIN_CASES
};
/* Returns "in both", ... for JSON, and a sentence for a person. */
const char *hs_sample_join_case_name(unsigned join_case);
const char *hs_sample_join_case_text(unsigned join_case);

struct hs_sample_join {
    struct hs_view *view;        /* borrowed */
    struct hs_sampler *samplers; /* owned: the snapshot's, with the periods that the trace tells */
    bool is_weighted;            /* the period of every sampler that has samples is known */
    bool has_several;            /* samples are of more than one sampler */
    const char *path;            /* of the trace; NULL without */
    struct hs_trace_join trace;
    uint32_t traced_sampler; /* which one the trace is of; UINT32_MAX: none */
    uint8_t *cases;          /* owned: by sample, enum hs_sample_join_case */
    uint32_t *sites;         /* owned: by sample, or HS_NO_SITE */
    uint32_t n_snap_sites, n_sites;
    uint64_t n_in_case[HS_N_SAMPLE_JOIN_CASES];
    uint64_t n_gone; /* live in the trace, not in the process */
    struct hs_strtab place_texts;
    hs_str *places;          /* owned: by site, of hs_sample_join_find_places; 0: unknown */
    struct hs_frame *frames; /* owned: of the site asked for last */
    size_t frames_capacity;
    uint64_t reserved_bytes; /* of the budget */
};

/* Opens the join. `path` NULL: no trace. `id`: one more that the trace is asked for, NULL: none.
 * HS_USAGE when the trace is not the process's (trace_agree.h) or of another run. */
hs_status hs_sample_join_open(struct hs_view *view, const char *path, const uint64_t *id,
                              struct hs_sample_join *ret, struct hs_error *err);
void hs_sample_join_close(struct hs_sample_join *join);

static inline bool hs_sample_join_has_trace(const struct hs_sample_join *join)
{
    return join->path != NULL;
}
static inline const struct hs_sampler *hs_sample_join_sampler(const struct hs_sample_join *join,
                                                              const struct hs_sample *sample)
{
    return &join->samplers[sample->sampler];
}
/* Returns the trace's entry of the sample; NULL when there is none. */
const struct hs_traced *hs_sample_join_traced(const struct hs_sample_join *join, size_t sample_at);

/* The place of a sample that hs_snap_sample or hs_snap_find_samples gave. */
size_t hs_sample_join_at(const struct hs_sample_join *join, const struct hs_sample *sample);

/* Takes n_bytes for each sample from the budget, until the join is closed: for what is made of all
 * of them. */
hs_status hs_sample_join_reserve(struct hs_sample_join *join, uint64_t n_bytes,
                                 struct hs_error *err);

/* The frames of a site < n_sites, the innermost first; at least one. Borrowed until the next call.
 */
hs_status hs_sample_join_frames(struct hs_sample_join *join, uint32_t site,
                                const struct hs_frame **ret, size_t *ret_n, struct hs_error *err);

/* The place of a site as text ("" for HS_NO_SITE). `text` has n bytes. */
hs_status hs_sample_join_site_text(struct hs_sample_join *join, uint32_t site, char *text, size_t n,
                                   struct hs_error *err);

/* Fills `places`: sites with the same text are one place. O(frames of all sites). */
hs_status hs_sample_join_find_places(struct hs_sample_join *join, struct hs_error *err);
static inline hs_str hs_sample_join_place(const struct hs_sample_join *join, uint32_t site)
{
    return site == HS_NO_SITE ? 0 : join->places[site];
}
static inline const char *hs_sample_join_place_text(const struct hs_sample_join *join, hs_str place)
{
    return place == 0 ? "[site unknown]" : hs_strtab_get(&join->place_texts, place);
}

#endif
