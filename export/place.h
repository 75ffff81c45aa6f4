/* The place of a snapshot's tables: directories NAME=VALUE, one in the other. */
#ifndef HS_EXPORT_PLACE_H
#define HS_EXPORT_PLACE_H

#include <limits.h>

#include "base/out_path.h"

enum { PLACE_LEVELS = 3 };

struct place {
    char path[PATH_MAX];
    size_t n_bytes[PLACE_LEVELS]; /* of the path down to each level */
    bool is_new[PLACE_LEVELS];    /* levels that were made */
};

/* Appends NAME=VALUE as the next level; nothing is made yet. HS_USAGE for an empty value and one
 * that is too long. */
hs_status place_add(struct place *place, unsigned level, const char *name, const char *value,
                    struct hs_error *err);
/* Makes what is missing, for whom `access` (may be NULL) says. HS_IO. */
hs_status place_make(struct place *place, const struct hs_out_access *access, struct hs_error *err);
/* Removes the levels that were made, if they are empty. */
void place_undo(const struct place *place);

#endif
