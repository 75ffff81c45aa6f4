/* The snapshots and key files of a folder. */
#ifndef HS_COMPARE_FOLDER_H
#define HS_COMPARE_FOLDER_H

#include "base/error.h"

struct hs_folder {
    char **paths; /* owned, each, too: "DIR/NAME", by name */
    size_t n, capacity;
};

bool hs_folder_is(const char *path);
/* Lists NAME.snap, and NAME.snap.keys where the snapshot itself is gone. HS_IO. */
hs_status hs_folder_list(const char *path, struct hs_folder *ret, struct hs_error *err);
void hs_folder_fini(struct hs_folder *folder);

#endif
