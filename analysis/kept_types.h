/* The table of types of a large snapshot, kept beside it (`heap.snap.types`) once it was counted.
 *
 *   | checksum | bytes of the snapshot | policy | level | types | rows | rows |
 *   row:  type - the one before | types of its family | words | objects | static words
 *         | static objects | retained words
 *
 * All are varints, packed as kept_file.h says. */
#ifndef HS_ANALYSIS_KEPT_TYPES_H
#define HS_ANALYSIS_KEPT_TYPES_H

#include "analysis/type_rows.h"

/* A smaller heap is counted as fast as a file is read. */
#define HS_KEPT_TYPES_LEAST_BLOCKS ((uint64_t)1 << 18)

/* Fills the rows, one for each type of the snapshot and zeroed, from the file that is kept for a
 * level: *ret_found is false where there is none, or none of use. HS_LIMIT. */
hs_status hs_kept_types_find(const struct hs_view *view, enum hs_type_level level,
                             struct hs_type_rows *rows, bool *ret_found, struct hs_error *err);
/* Keeps them. That no place takes the file is no failure. HS_LIMIT. */
hs_status hs_kept_types_keep(const struct hs_view *view, enum hs_type_level level,
                             const struct hs_type_rows *rows, struct hs_error *err);

#endif
