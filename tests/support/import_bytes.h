/* Runs an importer over bytes, and holds it to what it owes: whatever the bytes are, it ends with a
 * snapshot that is sound, or with an error that is not our own fault. */
#ifndef HS_TESTS_IMPORT_BYTES_H
#define HS_TESTS_IMPORT_BYTES_H

#include "base/buffer.h"
#include "import/import.h"
#include "snapshot/reader.h"

/* Imports what stands under `path` into `ret` (bytes of the snapshot, owned by the caller). */
hs_status hs_import_path(const char *path, enum hs_import_from from,
                         const struct hs_import_policy *policy, uint64_t limit_bytes,
                         struct hs_buffer *ret, struct hs_error *err);
/* The same for a file of these bytes; for HS_IMPORT_GRAPH the two tables with a byte 1 between. */
hs_status hs_import_bytes(const void *bytes, size_t n_bytes, enum hs_import_from from,
                          const struct hs_import_policy *policy, uint64_t limit_bytes,
                          struct hs_buffer *ret, struct hs_error *err);

/* The whole of a file that tests keep. */
void hs_import_kept(const char *path, struct hs_buffer *ret);

/* Every prefix of the bytes, and with every allocation failing once: errors that are not ours, or a
 * sound snapshot. Answers how many prefixes were taken. */
size_t hs_import_hold_cuts(const struct hs_buffer *bytes, enum hs_import_from from);
void hs_import_hold_failures(const struct hs_buffer *bytes, enum hs_import_from from,
                             const struct hs_import_policy *policy);

/* By every policy; a snapshot that is not sound and an error of ours end the process. */
void hs_import_hold(const void *bytes, size_t n_bytes, enum hs_import_from from);

#endif
