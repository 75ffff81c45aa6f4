/* The structure behind `struct heapsnap`, for the sources of the library. */
#ifndef HS_LIBRARY_HANDLE_H
#define HS_LIBRARY_HANDLE_H

#include <heapsnap/heapsnap.h>

#include "analysis/view.h"

struct heapsnap {
    char *path, *spill_dir; /* owned */
    struct heapsnap_options options;
    struct hs_budget budget;
    struct hs_progress progress;
    struct hs_view view;
    struct hs_chunk chunk;     /* owned: of heapsnap_get_blocks */
    uint64_t *numbers;         /* owned: its columns that the snapshot has not as arrays */
    uint8_t *marks;            /* owned: likewise */
    struct heapsnap_key *keys; /* owned: once somebody has asked for them */
    char *key_texts;           /* owned: what they are called */
    size_t n_keys;
};

/* Fills in the library's error from a call's status and error, damage that the index met meanwhile
 * included. Returns the status for the caller of the library. */
int heapsnap_finish_(const struct heapsnap *snap, hs_status status, const struct hs_error *error,
                     struct heapsnap_error *err);

#endif
