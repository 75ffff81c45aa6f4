/* The sites at which the sampled blocks below each key were allocated. */
#ifndef HS_ANALYSIS_KEY_SITES_H
#define HS_ANALYSIS_KEY_SITES_H

#include "analysis/key_file.h"

/* The sites of the samples below each key. */
hs_status key_sites_add(struct hs_view *view, const struct hs_keys *keys,
                        struct hs_snap_keys *table, struct hs_error *err);

#endif
