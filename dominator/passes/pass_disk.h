/* Counting for hs_passes_disk_bytes. */
#ifndef HS_PASS_DISK_H
#define HS_PASS_DISK_H

#include "passes/passes.h"

/* Fills core_gap_bytes and row_gap_bytes of *ret, of which n_nodes, n_tree, n_single and n_core are
 * known. `degrees`, if any: about how many edges lead into each HS_SWEEP_RUN blocks. */
void pass_disk_count(const struct hs_bitmap *is_single, const struct hs_bitmap *is_multi,
                     const struct hs_passes_degrees *degrees, struct hs_passes_counts *ret);

#endif
