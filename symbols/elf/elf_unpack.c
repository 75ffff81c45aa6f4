/* A compressed section into a temporary file: for those who have no memory for all of it. */
#include <elf.h>
#include <errno.h>
#include <unistd.h>
#include <zlib.h>
#include <zstd.h>

#include "elf_private.h"
#include "elf_view.h"

enum { UNPACK_IN_BYTES = 1 << 14, UNPACK_OUT_BYTES = 1 << 16 };

/* The largest window of zstd: that of its strongest usual level, and what is held besides. */
enum { UNPACK_WINDOW_LOG = 23 };

struct unpacking {
    z_stream stream;
    ZSTD_DStream *zstd; /* owned; NULL: `stream` decompresses */
    int fd;
    uint64_t at, end; /* of what is compressed, in the file */
    uint64_t n_left;  /* that are still to come out */
    uint8_t in[UNPACK_IN_BYTES], out[UNPACK_OUT_BYTES];
};

/* Takes some more of the file; false at its end. */
static bool unpack_take(struct unpacking *u)
{
    size_t n = u->end - u->at < sizeof u->in ? (size_t)(u->end - u->at) : sizeof u->in;
    ssize_t n_read;

    do
        n_read = pread(u->fd, u->in, n, (off_t)u->at);
    while (n_read < 0 && errno == EINTR);
    if (n_read <= 0)
        return false;
    u->at += (uint64_t)n_read;
    u->stream.next_in = u->in;
    u->stream.avail_in = (unsigned)n_read;
    return true;
}

/* Decompresses from stream.next_in to stream.next_out; false at the end, and of what is damaged. */
static bool unpack_some(struct unpacking *u)
{
    z_stream *s = &u->stream;

    if (u->zstd == NULL)
        return inflate(s, Z_NO_FLUSH) == Z_OK;
    ZSTD_inBuffer in = {s->next_in, s->avail_in, 0};
    ZSTD_outBuffer out = {s->next_out, s->avail_out, 0};
    size_t left = ZSTD_decompressStream(u->zstd, &out, &in);
    s->next_in += in.pos;
    s->avail_in -= (unsigned)in.pos;
    s->avail_out -= (unsigned)out.pos;
    return !ZSTD_isError(left) && left != 0;
}

/* Unpacks a section to exactly the length that it claims. */
static hs_status unpack_all(struct unpacking *u, struct hs_spill *spill, struct hs_error *err)
{
    bool goes_on = true;

    while (u->n_left > 0 && goes_on) {
        if (u->stream.avail_in == 0 && !unpack_take(u))
            break;
        u->stream.next_out = u->out;
        u->stream.avail_out = u->n_left < sizeof u->out ? (unsigned)u->n_left : sizeof u->out;
        unsigned room = u->stream.avail_out;
        goes_on = unpack_some(u);
        HS_TRY(hs_spill_write(spill, u->out, room - u->stream.avail_out, err));
        u->n_left -= room - u->stream.avail_out;
    }
    return u->n_left == 0 ? HS_OK : hs_fail(err, HS_FORMAT, "a compressed section is damaged");
}

static hs_status unpack_into(struct unpacking *u, bool is_zstd, struct hs_spill *spill,
                             struct hs_error *err)
{
    hs_status status = HS_OK;

    if (is_zstd ? (u->zstd = ZSTD_createDStream()) == NULL : inflateInit(&u->stream) != Z_OK)
        return hs_fail(err, HS_LIMIT, "no memory to decompress a section");
    if (is_zstd)
        (void)ZSTD_DCtx_setParameter(u->zstd, ZSTD_d_windowLogMax, UNPACK_WINDOW_LOG);
    status = unpack_all(u, spill, err);
    if (is_zstd)
        (void)ZSTD_freeDStream(u->zstd);
    else
        inflateEnd(&u->stream);
    return status == HS_OK ? hs_spill_seal(spill, err) : status;
}

hs_status hs_elf_unpack_(struct hs_elf *elf, const struct hs_elf_section *section,
                         const struct hs_budget *budget, struct hs_spill *ret, struct hs_error *err)
{
    hs_auto_free struct unpacking *u = NULL;
    struct hs_spill spill = {0};
    Elf64_Chdr head;

    if (elf->fd < 0 ||
        pread(elf->fd, &head, sizeof head, (off_t)section->file_offset) != (ssize_t)sizeof head)
        return hs_fail(err, HS_FORMAT, "cannot read section '%s' of '%s'", section->name,
                       elf->name);
    bool is_zstd = head.ch_type == ELF_COMPRESS_ZSTD;
    if ((head.ch_type != ELFCOMPRESS_ZLIB && !is_zstd) || section->n_bytes < sizeof head ||
        !hs_elf_claim_is_possible_(head.ch_size, section->n_bytes) ||
        !hs_effort_hold(&elf->effort, head.ch_size))
        return hs_fail(err, HS_FORMAT, "section '%s' of '%s' cannot be unpacked", section->name,
                       elf->name);
    HS_TRY(HS_ALLOC(&u, 1, err));
    u->fd = elf->fd;
    u->at = section->file_offset + sizeof head;
    u->end = section->file_offset + section->n_bytes;
    u->n_left = head.ch_size;
    HS_TRY(hs_spill_open(budget, "debug information", &spill, err));
    spill.is_read_often = true;
    hs_status status = unpack_into(u, is_zstd, &spill, err);
    if (status != HS_OK) {
        hs_spill_close(&spill);
        return status;
    }
    *ret = spill;
    return HS_OK;
}
