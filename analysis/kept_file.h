/* Files of answers that are kept for a snapshot, beside it or in the cache directory: where one
 * lies, who may have made it, and how its bytes are packed.
 *
 *   | magic | version | raw bytes | XXH3 of the raw bytes | zstd of the raw bytes |
 *
 * Such a file is a cache: of another version, of another snapshot or damaged it is made anew.
 * Whoever reads the raw bytes takes them for hostile. */
#ifndef HS_ANALYSIS_KEPT_FILE_H
#define HS_ANALYSIS_KEPT_FILE_H

#include "analysis/view.h"
#include "base/buffer.h"

#define HS_KEPT_FILE_RAW_MOST ((uint64_t)64 << 20)
/* Sizes and counts are below it, so that sums and differences of a few fit. */
#define HS_KEPT_FILE_VALUE_MOST ((uint64_t)1 << 56)

struct hs_kept_file_kind {
    const char *what; /* in messages: "the key file" */
    const char *end;  /* of its name */
    uint64_t magic;
    uint32_t version;
    bool is_own; /* one that the snapshot's maker wrote is not believed */
};

/* Appends the bytes of a file to `out`. HS_LIMIT. */
hs_status hs_kept_file_pack(const struct hs_kept_file_kind *kind, const struct hs_buffer *raw,
                            struct hs_buffer *out, struct hs_error *err);
/* Unpacks bytes of anybody: *ret (hs_free) has *ret_n. HS_FORMAT. */
hs_status hs_kept_file_unpack(const struct hs_kept_file_kind *kind, const uint8_t *bytes,
                              size_t n_bytes, uint8_t **ret, size_t *ret_n, struct hs_error *err);

/* Reads a number below `end`; else the cursor has failed. */
uint64_t hs_kept_file_below(struct hs_cursor *c, uint64_t end);

/* The identity that a kept file must have to be believed: that of the snapshot and of the
 * policy. */
struct hs_kept_file_key {
    uint64_t snap_checksum, snap_bytes;
    uint64_t policy; /* hs_index_policy_key */
};

/* Takes the bytes of a whole file. HS_FORMAT: it is of no use; nothing has been taken. */
typedef hs_status hs_kept_file_take(void *context, const struct hs_kept_file_key *key,
                                    const uint8_t *bytes, size_t n_bytes, struct hs_error *err);

/* Reads the file that is kept for the view's snapshot and policy and is ours, root's or the
 * snapshot maker's. *ret_path (hs_free) is NULL where there is none; one that is of no use is
 * told. */
hs_status hs_kept_file_find(const struct hs_view *view, const struct hs_kept_file_kind *kind,
                            hs_kept_file_take *take, void *context, char **ret_path,
                            struct hs_error *err);
/* Writes a file at the first place that takes it; *ret_path (hs_free) is NULL where none does,
 * which is no failure. */
hs_status hs_kept_file_keep(const struct hs_view *view, const struct hs_kept_file_kind *kind,
                            const struct hs_buffer *bytes, char **ret_path, struct hs_error *err);

#endif
