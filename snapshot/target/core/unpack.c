/* A core that comes through a pipe or in a zstd or lz4 frame goes to a temporary file, page by
 * page, pages of zeros as holes. Bounded memory: one block in, one block out, and the packer's
 * window. Bounded disk: there must be room before each part is written, so that a few bytes that
 * unpack to terabytes end with a message. */
#include <errno.h>
#include <lz4frame.h>
#include <string.h>
#include <unistd.h>
#include <zstd.h>

#include "base/alloc.h"
#include "core_private.h"

#define UNPACK_IN_BYTES ((size_t)128 << 10)
#define UNPACK_OUT_BYTES ((size_t)256 << 10) /* whole pages */
#define UNPACK_ASK_BYTES ((uint64_t)64 << 20)
/* The addresses a process can have, so that no core is larger. */
#define UNPACK_MAX_BYTES ((uint64_t)1 << 47)

struct unpack {
    int fd;
    struct hs_core_file *file;
    const uint8_t *first; /* what is to be read before fd */
    size_t n_first;
    uint8_t *in, *out; /* owned */
    size_t in_at, n_in, n_out;
    uint64_t asked_bytes; /* the disk has room for so many of the spill */
    uint64_t n_stored;
};

static bool unpack_is_zero(const uint8_t *page, size_t n)
{
    return page[0] == 0 && memcmp(page, page + 1, n - 1) == 0;
}

static hs_status unpack_store(struct unpack *u, const uint8_t *bytes, size_t n,
                              struct hs_error *err)
{
    if (u->n_stored + n > u->asked_bytes) {
        HS_TRY(hs_disk_need(u->file->spill.directory, UNPACK_ASK_BYTES, err));
        u->asked_bytes = u->n_stored + UNPACK_ASK_BYTES;
    }
    u->n_stored += n;
    return hs_spill_write(&u->file->spill, bytes, n, err);
}

/* Empties the block that was unpacked: runs of pages with bytes in them, runs without. */
static hs_status unpack_flush(struct unpack *u, struct hs_error *err)
{
    size_t at = 0;

    if (u->file->spill.n_bytes > UNPACK_MAX_BYTES)
        return hs_fail(err, HS_FORMAT, "cannot unpack '%s': it is larger than any process",
                       u->file->name);
    while (at < u->n_out) {
        size_t begin = at, n = 0;
        bool is_hole = false;
        for (; at < u->n_out; at += n) {
            n = u->n_out - at < HS_CORE_PAGE ? u->n_out - at : HS_CORE_PAGE;
            bool is_zero = unpack_is_zero(u->out + at, n);
            if (at != begin && is_zero != is_hole)
                break;
            is_hole = is_zero;
        }
        HS_TRY(is_hole ? hs_spill_skip(&u->file->spill, at - begin, err)
                       : unpack_store(u, u->out + begin, at - begin, err));
    }
    u->n_out = 0;
    return HS_OK;
}

/* Fills the block of input when it is used up; *ret_at_end when there is no more. */
static hs_status unpack_more(struct unpack *u, bool *ret_at_end, struct hs_error *err)
{
    *ret_at_end = false;
    if (u->in_at < u->n_in)
        return HS_OK;
    u->in_at = 0;
    u->n_in = u->n_first;
    if (u->n_first != 0) {
        memcpy(u->in, u->first, u->n_first);
        u->n_first = 0;
        return HS_OK;
    }
    for (;;) {
        ssize_t got = read(u->fd, u->in, UNPACK_IN_BYTES);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hs_fail_errno(err, HS_IO, "cannot read '%s'", u->file->name);
        u->n_in = (size_t)got;
        *ret_at_end = got == 0;
        return HS_OK;
    }
}

static hs_status unpack_plain(struct unpack *u, struct hs_error *err)
{
    for (;;) {
        bool at_end;
        HS_TRY(unpack_more(u, &at_end, err));
        if (at_end)
            return HS_OK;
        size_t n = u->n_in - u->in_at, room = UNPACK_OUT_BYTES - u->n_out;
        n = n < room ? n : room;
        memcpy(u->out + u->n_out, u->in + u->in_at, n);
        u->in_at += n;
        u->n_out += n;
        if (u->n_out == UNPACK_OUT_BYTES)
            HS_TRY(unpack_flush(u, err));
    }
}

/* Steps of a packer: uses up input, makes output. *ret_is_whole after the last byte of a frame.
 * False when the bytes are damaged. */
typedef bool unpack_step(void *packer, struct unpack *u, bool *ret_is_whole);

static bool unpack_step_zstd(void *packer, struct unpack *u, bool *ret_is_whole)
{
    ZSTD_inBuffer in = {u->in, u->n_in, u->in_at};
    ZSTD_outBuffer out = {u->out, UNPACK_OUT_BYTES, u->n_out};

    size_t left = ZSTD_decompressStream(packer, &out, &in);
    u->in_at = in.pos;
    u->n_out = out.pos;
    *ret_is_whole = left == 0;
    return ZSTD_isError(left) == 0;
}

static bool unpack_step_lz4(void *packer, struct unpack *u, bool *ret_is_whole)
{
    size_t n_in = u->n_in - u->in_at, n_out = UNPACK_OUT_BYTES - u->n_out;

    size_t left = LZ4F_decompress(packer, u->out + u->n_out, &n_out, u->in + u->in_at, &n_in, NULL);
    u->in_at += n_in;
    u->n_out += n_out;
    *ret_is_whole = left == 0;
    return LZ4F_isError(left) == 0;
}

/* Damaged or cut: what came before is kept, as of any core that is cut. */
static hs_status unpack_frames(struct unpack *u, unpack_step *step, void *packer,
                               struct hs_error *err)
{
    bool is_whole = true;

    for (;;) {
        bool at_end, was_full = u->n_out == UNPACK_OUT_BYTES;
        if (was_full)
            HS_TRY(unpack_flush(u, err));
        HS_TRY(unpack_more(u, &at_end, err));
        if (at_end && (is_whole || !was_full)) {
            u->file->is_cut |= !is_whole;
            return HS_OK;
        }
        if (!step(packer, u, &is_whole)) {
            u->file->is_cut = true;
            return HS_OK;
        }
    }
}

static hs_status unpack_zstd(struct unpack *u, struct hs_error *err)
{
    ZSTD_DStream *stream = ZSTD_createDStream();

    if (stream == NULL)
        return hs_fail(err, HS_LIMIT, "out of memory");
    hs_status status = unpack_frames(u, unpack_step_zstd, stream, err);
    ZSTD_freeDStream(stream);
    return status;
}

static hs_status unpack_lz4(struct unpack *u, struct hs_error *err)
{
    LZ4F_dctx *context;

    if (LZ4F_isError(LZ4F_createDecompressionContext(&context, LZ4F_VERSION)))
        return hs_fail(err, HS_LIMIT, "out of memory");
    hs_status status = unpack_frames(u, unpack_step_lz4, context, err);
    LZ4F_freeDecompressionContext(context);
    return status;
}

hs_status hs_core_unpack(int fd, enum hs_core_form form, const uint8_t *first, size_t n_first,
                         struct hs_core_file *file, struct hs_error *err)
{
    hs_auto_free void *in = NULL, *out = NULL;

    HS_TRY(hs_alloc(UNPACK_IN_BYTES, 1, &in, err));
    HS_TRY(hs_alloc(UNPACK_OUT_BYTES, 1, &out, err));
    struct unpack u = {
        .fd = fd, .file = file, .first = first, .n_first = n_first, .in = in, .out = out};
    hs_status status = form == HS_CORE_ZSTD  ? unpack_zstd(&u, err)
                       : form == HS_CORE_LZ4 ? unpack_lz4(&u, err)
                                             : unpack_plain(&u, err);
    return status == HS_OK ? unpack_flush(&u, err) : status;
}
