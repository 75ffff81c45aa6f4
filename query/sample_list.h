/* The samples of a snapshot with what is known of their sites, for the tables of both. */
#ifndef HS_QUERY_SAMPLE_LIST_H
#define HS_QUERY_SAMPLE_LIST_H

#include "analysis/sample_join.h"
#include "analysis/sample_rows.h"
#include "hub.h"

struct hs_sql_samples {
    struct hs_sample_join join;
    struct hs_sample_rows rows;
    struct hs_estimate *of_site; /* owned: by site; samples of samplers without a period count */
    uint64_t n_sites;
};

/* Made when it is first asked for. O(samples * log samples). */
hs_status hs_sql_samples_of(struct hs_sql_source *source, struct hs_sql_samples **ret,
                            struct hs_error *err);

#endif
