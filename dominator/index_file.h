/* Opens an index file. It may be damaged, cut, of another snapshot, or made to mislead: whatever is
 * wrong gives HS_FORMAT, and what opens has only numbers in range. */
#ifndef HS_INDEX_FILE_H
#define HS_INDEX_FILE_H

#include "base/file.h"
#include "index_format.h"

struct index_file {
    struct hs_map map;
    const struct index_footer *footer; /* in the map */
};

/* Checks the footer against the snapshot; with `deeply` every checksum and every number, too. Pages
 * that were only checked do not stay resident. */
hs_status index_file_open(const char *path, const struct hs_snap *snap, bool deeply,
                          struct index_file *ret, struct hs_error *err);
void index_file_close(struct index_file *file);

static inline const void *index_file_section(const struct index_file *file, enum index_section at)
{
    return file->map.bytes + file->footer->sections[at].offset;
}

#endif
