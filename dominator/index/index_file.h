/* Opens an index file. It may be damaged, cut, of another snapshot, or made to mislead: what does
 * not fit the snapshot or its own places gives HS_FORMAT. Numbers are checked when they are read.
 */
#ifndef HS_INDEX_FILE_H
#define HS_INDEX_FILE_H

#include <sys/types.h>

#include "base/file.h"
#include "index_format.h"

struct index_output;

struct index_file {
    struct hs_map map; /* of a file; else zero */
    const uint8_t *bytes;
    uint64_t n_bytes;
    const struct index_header *header; /* in the bytes */
    struct hs_packed packed[INDEX_N_SECTIONS];
};

/* Checks the header against the snapshot; with `deeply` every checksum, too. Pages that were only
 * checked do not stay resident. An index can be sound and lie: HS_FORMAT also when it is neither
 * ours, nor root's, nor of `maker`, who could as well have lied in the snapshot. */
hs_status index_file_open(const char *path, const struct hs_snap *snap, uint64_t policy,
                          uid_t maker, bool deeply, struct index_file *ret, struct hs_error *err);
/* The same of an output that is whole; one in memory is borrowed. */
hs_status index_file_of_output(struct index_output *out, const struct hs_snap *snap,
                               uint64_t policy, struct index_file *ret, struct hs_error *err);
void index_file_close(struct index_file *file);

/* ---- the parts of it, for files that are not whole, too ---- */

/* Checks that it is a header of this version, as it was written, with the key of `snap` and of the
 * policy (struct index_policy). HS_FORMAT. */
hs_status index_file_check_header(const struct index_header *header, const struct hs_snap *snap,
                                  uint64_t policy, struct hs_error *err);
/* Returns the offset at which a section has to begin, given those before it. */
uint64_t index_file_section_begin(const struct index_header *header, enum index_section section);
/* Tells whether a section is where it has to be and fits into n_bytes. */
bool index_file_section_fits(const struct index_header *header, enum index_section section,
                             uint64_t n_bytes);
/* Verifies the checksums of a section that fits. */
hs_status index_file_section_verify(const struct index_file *file, enum index_section section,
                                    struct hs_error *err);
/* Finds the sizes of a page of REACHABLE: *ret, borrowed. */
hs_status index_file_sizes_page(const struct index_file *file, uint64_t page,
                                const struct hs_sizes **ret, struct hs_error *err);

#endif
