/* Writes the snapshot: the tree of roots, every block with its edges, types and members. */
#ifndef HS_NATIVE_EMIT_H
#define HS_NATIVE_EMIT_H

#include "scan.h"
#include "sites.h"

/* After hs_native_facts. Types are added to `flow` on the way, samples get their nodes. Same copy,
 * same bytes. */
hs_status hs_native_emit(struct hs_native *native, struct hs_flow *flow, struct hs_scan *scan,
                         struct hs_native_samples *samples, struct hs_out *out,
                         struct hs_snap_totals *ret, struct hs_error *err);

#endif
