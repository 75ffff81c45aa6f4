/* The places of files of kept answers, and the checks before one is believed. */
#include "kept_file.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/alloc.h"
#include "base/cursor.h"
#include "base/file.h"

enum { KEPT_HEAD_BYTES = 28, KEPT_LEVEL = 6 };

/* ---- bytes ---- */

hs_status hs_kept_file_pack(const struct hs_kept_file_kind *kind, const struct hs_buffer *raw,
                            struct hs_buffer *out, struct hs_error *err)
{
    if (raw->n_bytes > HS_KEPT_FILE_RAW_MOST)
        return hs_fail(err, HS_LIMIT, "%s would take more than 64 MiB", kind->what);
    HS_TRY(hs_buffer_reserve(out, KEPT_HEAD_BYTES + ZSTD_compressBound(raw->n_bytes), err));
    hs_buffer_put_u64(out, kind->magic);
    hs_buffer_put_u32(out, kind->version);
    hs_buffer_put_u64(out, raw->n_bytes);
    hs_buffer_put_u64(out, XXH3_64bits(raw->bytes, raw->n_bytes));
    size_t n = ZSTD_compress(out->bytes + out->n_bytes, out->capacity - out->n_bytes, raw->bytes,
                             raw->n_bytes, KEPT_LEVEL);
    if (ZSTD_isError(n) != 0)
        return hs_fail(err, HS_LIMIT, "cannot compress: %s", ZSTD_getErrorName(n));
    out->n_bytes += n;
    return HS_OK;
}

struct head {
    uint64_t raw_bytes, checksum;
};

static hs_status damaged(const struct hs_kept_file_kind *kind, const char *what,
                         struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "%s is damaged: %s", kind->what, what);
}

static hs_status take_head(const struct hs_kept_file_kind *kind, struct hs_cursor *c,
                           struct head *ret, struct hs_error *err)
{
    uint64_t magic = hs_cursor_u64(c);
    uint32_t version = hs_cursor_u32(c);
    ret->raw_bytes = hs_cursor_u64(c);
    ret->checksum = hs_cursor_u64(c);
    if (c->failed || magic != kind->magic)
        return hs_fail(err, HS_FORMAT, "%s is something else", kind->what);
    if (version != kind->version)
        return hs_fail(err, HS_FORMAT, "%s is of another version (%u)", kind->what, version);
    return ret->raw_bytes > HS_KEPT_FILE_RAW_MOST ? damaged(kind, "its size", err) : HS_OK;
}

static hs_status unpack(const struct hs_kept_file_kind *kind, struct hs_cursor *c,
                        const struct head *head, uint8_t *raw, struct hs_error *err)
{
    size_t n = hs_cursor_left(c);
    const uint8_t *packed = hs_cursor_bytes(c, n);
    if (ZSTD_getFrameContentSize(packed, n) != head->raw_bytes ||
        ZSTD_findFrameCompressedSize(packed, n) != n)
        return damaged(kind, "its size", err);
    size_t done = ZSTD_decompress(raw, head->raw_bytes, packed, n);
    if (ZSTD_isError(done) != 0 || done != head->raw_bytes)
        return damaged(kind, "it cannot be unpacked", err);
    return XXH3_64bits(raw, done) == head->checksum
               ? HS_OK
               : damaged(kind, "it does not match its checksum", err);
}

hs_status hs_kept_file_unpack(const struct hs_kept_file_kind *kind, const uint8_t *bytes,
                              size_t n_bytes, uint8_t **ret, size_t *ret_n, struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes);
    hs_auto_free uint8_t *raw = NULL;
    struct head head;
    HS_TRY(take_head(kind, &c, &head, err));
    HS_TRY(HS_ALLOC(&raw, (size_t)head.raw_bytes, err));
    HS_TRY(unpack(kind, &c, &head, raw, err));
    *ret = HS_STEAL(raw);
    *ret_n = (size_t)head.raw_bytes;
    return HS_OK;
}

uint64_t hs_kept_file_below(struct hs_cursor *c, uint64_t end)
{
    uint64_t value = hs_cursor_varint(c);
    if (value < end)
        return value;
    c->failed = true;
    return 0;
}

/* ---- places ---- */

struct places {
    const struct hs_view *view; /* borrowed */
    const struct hs_kept_file_kind *kind;
    struct hs_index_options options;
    char cache[PATH_MAX];
};

static void places_init(struct places *places, const struct hs_view *view,
                        const struct hs_kept_file_kind *kind)
{
    *places = (struct places){.view = view, .kind = kind};
    hs_view_index_places(view, places->cache, sizeof places->cache, &places->options);
}

static hs_status place_path(const struct places *places, enum hs_index_place place, char **ret,
                            struct hs_error *err)
{
    return hs_index_place_path(places->view->snap, &places->options, place, places->kind->end, ret,
                               err);
}

static void tell_stale(const struct hs_session *session, const char *path,
                       const struct hs_error *why)
{
    char line[PATH_MAX + 512];
    if (session->say == NULL)
        return;
    (void)snprintf(line, sizeof line, "'%s' is not used: %s", path, why->message);
    session->say(session->context, line);
}

struct taker {
    hs_kept_file_take *take;
    void *context;
    struct hs_kept_file_key key;
};

static hs_status read_trusted(const struct places *places, enum hs_index_place place,
                              const char *path, const struct taker *taker, struct hs_error *err)
{
    uid_t maker = places->kind->is_own ? geteuid() : hs_index_maker(&places->options, place);
    struct hs_map map;
    HS_TRY(hs_map_open_trusted(path, maker, &map, err));
    hs_status status = taker->take(taker->context, &taker->key, map.bytes, map.n_bytes, err);
    hs_map_close(&map);
    return status;
}

static hs_status find_at(const struct places *places, const struct taker *taker, char **ret_path,
                         struct hs_error *err)
{
    for (unsigned place = 0; place < HS_N_INDEX_PLACES; place++) {
        struct hs_error why = HS_ERROR_INIT;
        char *path;
        HS_TRY(place_path(places, place, &path, err));
        if (path == NULL)
            continue;
        hs_status status = read_trusted(places, place, path, taker, &why);
        if (status == HS_OK) {
            *ret_path = path;
            return HS_OK;
        }
        if (status == HS_FORMAT)
            tell_stale(&places->view->session, path, &why);
        hs_free(path);
        if (status == HS_LIMIT) {
            *err = why;
            return status;
        }
    }
    return HS_OK;
}

hs_status hs_kept_file_find(const struct hs_view *view, const struct hs_kept_file_kind *kind,
                            hs_kept_file_take *take, void *context, char **ret_path,
                            struct hs_error *err)
{
    const struct hs_snap_totals *totals = view->totals;
    struct taker taker = {take, context, {totals->checksum, totals->file_bytes, 0}};
    struct places places;
    *ret_path = NULL;
    places_init(&places, view, kind);
    HS_TRY(hs_index_policy_key(view->snap, &places.options.policy, &taker.key.policy, err));
    return find_at(&places, &taker, ret_path, err);
}

static hs_status write_at(const char *path, const struct hs_buffer *bytes,
                          const struct hs_out_access *access, struct hs_error *err)
{
    struct hs_out out;
    HS_TRY(hs_out_open_path_as(path, access, &out, err));
    hs_status status = hs_out_write(&out, bytes->bytes, bytes->n_bytes, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    return status;
}

hs_status hs_kept_file_keep(const struct hs_view *view, const struct hs_kept_file_kind *kind,
                            const struct hs_buffer *bytes, char **ret_path, struct hs_error *err)
{
    struct places places;
    *ret_path = NULL;
    places_init(&places, view, kind);
    for (unsigned place = 0; place < HS_N_INDEX_PLACES && *ret_path == NULL; place++) {
        struct hs_error ignored = HS_ERROR_INIT;
        char *path;
        HS_TRY(place_path(&places, place, &path, err));
        if (path != NULL && write_at(path, bytes, view->session.access, &ignored) == HS_OK)
            *ret_path = HS_STEAL(path);
        hs_free(path);
    }
    return HS_OK;
}
