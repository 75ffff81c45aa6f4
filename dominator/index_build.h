/* Computes everything an index holds and hands it to a sink, section by section, in an order that
 * keeps few arrays alive at a time. */
#ifndef HS_INDEX_BUILD_H
#define HS_INDEX_BUILD_H

#include "index_sink.h"

hs_status index_build_run(const struct hs_snap *snap, const struct hs_progress *progress,
                          struct index_sink *sink, struct hs_error *err);

#endif
