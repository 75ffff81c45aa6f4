/* The key file, `heap.snap.keys`: all of a snapshot that a comparison with others needs, some
 * kilobytes, in a file of its own beside the index. A series of snapshots is compared by these
 * alone; whoever deletes a snapshot may keep its key file, and compare it still.
 *
 *   | magic | version | raw bytes | XXH3 of the raw bytes | zstd of: strings, facts, builds, lists
 * |
 *
 * It holds names, counts and sizes, and no address. It is a cache: of another version or of another
 * snapshot it is made anew where the snapshot is there. Whoever reads it takes it for hostile: each
 * number is checked when it is opened, and what does not hold together is HS_FORMAT. */
#ifndef HS_ANALYSIS_KEY_FILE_H
#define HS_ANALYSIS_KEY_FILE_H

#include "analysis/keys.h"
#include "base/buffer.h"

#define HS_KEY_FILE_END ".keys"
#define HS_KEY_FILE_VERSION 3

/* Lists of rows that are compared. A list has its largest HS_KEY_ROWS_MOST rows; keys all that
 * there are. */
enum hs_key_list {
    HS_KEY_LIST_KEYS,
    HS_KEY_LIST_ROOTS, /* by the names of their keys: those of one name are one row */
    HS_KEY_LIST_SETS,  /* by the names of their roots: eight, and how many more */
    HS_KEY_LIST_TYPES,
    HS_KEY_LIST_LEAKS,
    HS_KEY_LIST_SITES, /* where samples below a key were allocated: estimates */
    HS_N_KEY_LISTS
};
enum { HS_KEY_ROWS_MOST = 4096, HS_KEY_BUILDS_MOST = 64, HS_KEY_SET_NAMES = 8 };

/* Returns "keys", "roots", ...; NULL out of range. */
const char *hs_key_list_name(unsigned list);

struct hs_key_row {
    uint32_t parent; /* of keys a smaller row, of sites the key; else HS_NO_KEY */
    hs_str name;
    uint8_t form;     /* of keys enum hs_key_form, of leaks enum hs_leak_certainty */
    uint64_t objects; /* of sites: samples */
    uint64_t words;   /* of keys with those below, of roots and sets retained, else shallow */
    uint64_t detail;  /* words: of keys its own, of roots reachable, of types retained, of leaks of
                         one block */
    uint32_t set;     /* of keys: struct hs_key; else 0 */
    /* The rank of a key's type by what its name tells (analysis/type_rank.h); of leaks the words of
     * all lost blocks that hang on these; else 0, as in files that do not say. */
    uint64_t tells;
};

struct hs_key_rows {
    struct hs_key_row *rows; /* owned */
    size_t n, capacity;
};

struct hs_key_build {
    hs_str path, build_id;
};

struct hs_key_facts {
    uint64_t snap_checksum, snap_bytes; /* of the snapshot */
    uint64_t policy;                    /* hs_index_policy_key */
    uint64_t taken_ns, started_ns;      /* since 1970; 0: unknown */
    uint64_t resident_bytes;            /* 0: unknown */
    uint64_t available_bytes; /* what the machine and its groups had left then; 0: unknown */
    uint64_t heap_words;
    uint64_t sets_hash; /* of the index whose owner sets the keys' sets are numbers of */
    uint32_t pid, word_bytes;
    hs_str command, tool_version;
    bool moves;  /* a collector moves its blocks: no address lasts */
    bool is_cut; /* there were more keys than there can be */
};

struct hs_snap_keys {
    struct hs_key_facts facts;
    struct hs_key_build *builds; /* owned: the program and its libraries, by address */
    size_t n_builds, builds_capacity;
    struct hs_key_rows lists[HS_N_KEY_LISTS];
    struct hs_strtab names;
};

/* Frees a table. A zeroed one is valid and empty. */
void hs_snap_keys_fini(struct hs_snap_keys *table);
/* Appends a row of this name. HS_LIMIT. */
hs_status hs_snap_keys_add(struct hs_snap_keys *table, enum hs_key_list list, const char *name,
                           const struct hs_key_row *row, struct hs_error *err);

/* Appends the bytes of a file to `out`. HS_LIMIT. */
hs_status hs_snap_keys_encode(const struct hs_snap_keys *table, struct hs_buffer *out,
                              struct hs_error *err);
/* Decodes bytes of anybody. *ret: hs_snap_keys_fini. HS_FORMAT. */
hs_status hs_snap_keys_decode(const uint8_t *bytes, size_t n_bytes, struct hs_snap_keys *ret,
                              struct hs_error *err);

/* Reads a key file, of a snapshot that may be gone. HS_FORMAT, HS_IO. */
hs_status hs_key_file_read(const char *path, struct hs_snap_keys *ret, struct hs_error *err);
/* Tells whether the first bytes are a key file's. */
bool hs_key_file_is(const uint8_t *bytes, size_t n_bytes);
/* Tells whether the file there is one; false also when it cannot be read. */
bool hs_key_file_is_at(const char *path);

/* Counts keys and all else anew. O(n + m); what hs_keys_find takes, and what leaks, types and
 * samples do. */
hs_status hs_snap_keys_collect(struct hs_view *view, struct hs_snap_keys *ret,
                               struct hs_error *err);

struct hs_key_file_options {
    const struct hs_session *session;
    uint64_t available_bytes; /* for the facts of a table that is counted anew */
    bool rebuild;
};

/* The table of a snapshot: the one that is kept, which must be ours, root's or the snapshot
 * maker's, or one that is counted (the index is computed when it is missing) and kept where the
 * index is: beside the snapshot, or in the cache directory. That it cannot be kept is no failure.
 * *ret_path, which may be NULL, is where it is kept, owned by the caller (hs_free); NULL: nowhere.
 */
hs_status hs_key_file_of(const char *snap_path, const struct hs_key_file_options *options,
                         struct hs_snap_keys *ret, char **ret_path, struct hs_error *err);

/* The keys of an open view from the file that is kept for it, as hs_keys_find has them but for what
 * no file holds: kinds, tiers, steps, roots and types. *ret_found: false, and HS_OK, when there is
 * none, or when its owner sets are those of another index. O(keys + sets). HS_LIMIT. */
hs_status hs_key_file_keys(struct hs_view *view, struct hs_keys *ret, bool *ret_found,
                           struct hs_error *err);

#endif
