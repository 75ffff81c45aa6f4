/* The owner tree as the browser walks it: the keys of a snapshot with their children, and what an
 * older snapshot says of the same names. */
#ifndef HS_BROWSE_OWNERS_H
#define HS_BROWSE_OWNERS_H

#include "analysis/key_file.h"
#include "base/table.h"

struct hs_browse_owners {
    struct hs_snap_keys keys;
    uint32_t *begin; /* owned: by key, where its children begin in `child`; n + 1 */
    uint32_t *child; /* owned */
};

/* Makes the tree; takes the keys over in any case. O(keys). *ret: hs_browse_owners_fini. HS_FORMAT
 * of a table without keys. */
hs_status hs_browse_owners_make(struct hs_snap_keys *keys, struct hs_browse_owners *ret,
                                struct hs_error *err);
void hs_browse_owners_fini(struct hs_browse_owners *owners);

static inline const struct hs_key_row *hs_browse_key(const struct hs_browse_owners *owners,
                                                     uint64_t key)
{
    return &owners->keys.lists[HS_KEY_LIST_KEYS].rows[key];
}
static inline const char *hs_browse_key_name(const struct hs_browse_owners *owners, uint64_t key)
{
    return hs_strtab_get(&owners->keys.names, hs_browse_key(owners, key)->name);
}
static inline size_t hs_browse_n_children(const struct hs_browse_owners *owners, uint64_t key)
{
    return owners->begin[key + 1] - owners->begin[key];
}

/* Writes "server > struct session", cut at n bytes; `between` stands between two steps. "" of
 * all. */
void hs_browse_key_path(const struct hs_browse_owners *owners, uint64_t key, const char *between,
                        char *text, size_t n);
/* Finds the key that is called so, with a byte 1 between steps; the nearest above it that is
 * there. */
uint32_t hs_browse_key_find(const struct hs_browse_owners *owners, const char *path);
#define HS_BROWSE_STEP_END "\1"

/* Finds the first key below number 0 of this name; HS_NO_KEY: none. O(roots). */
uint32_t hs_browse_key_of_root(const struct hs_browse_owners *owners, const char *name);

/* Tells whether a key is of what no root reaches. */
bool hs_browse_key_is_lost(const struct hs_browse_owners *owners, uint64_t key);

/* The contents of an older snapshot: words by name. */
struct hs_browse_older {
    struct hs_snap_keys keys;
    struct hs_table by_name; /* of rows of all lists, one list after the other */
    size_t begin[HS_N_KEY_LISTS];
};

/* Takes the keys over in any case. O(rows). HS_LIMIT. */
hs_status hs_browse_older_make(struct hs_snap_keys *keys, struct hs_browse_older *ret,
                               struct hs_error *err);
void hs_browse_older_fini(struct hs_browse_older *older);
/* Finds a row of a list by its name and the row above it (HS_NO_KEY beside keys); HS_NO_KEY:
 * none. */
uint32_t hs_browse_older_find(const struct hs_browse_older *older, enum hs_key_list list,
                              uint32_t parent, const char *name);

#endif
