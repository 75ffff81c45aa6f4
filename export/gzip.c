/* zlib between an exporter and its pen. */
#include "gzip.h"

#include "base/alloc.h"

enum { PIECE_BYTES = 16 << 10, GZIP_BITS = 15 + 16, MEMORY_LEVEL = 8 };

static voidpf gzip_alloc(voidpf opaque, uInt n, uInt size)
{
    struct hs_gzip *gzip = opaque;
    void *memory = NULL;
    hs_status status = hs_alloc(n, size, &memory, &gzip->pen->error);
    if (status != HS_OK)
        gzip->pen->status = status;
    return status == HS_OK ? memory : Z_NULL;
}

static void gzip_free(voidpf opaque, voidpf memory)
{
    (void)opaque;
    hs_free(memory);
}

void hs_gzip_open(struct hs_gzip *gzip, struct hs_pen *pen)
{
    *gzip = (struct hs_gzip){.pen = pen};
    gzip->stream = (z_stream){.zalloc = gzip_alloc, .zfree = gzip_free, .opaque = gzip};
    gzip->is_open = deflateInit2(&gzip->stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, GZIP_BITS,
                                 MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
    if (!gzip->is_open && hs_pen_ok(pen))
        pen->status = hs_fail(&pen->error, HS_BUG, "zlib refuses to begin");
}

/* Takes all of the input, and with Z_FINISH puts out all of the output. */
static void gzip_run(struct hs_gzip *gzip, int flush)
{
    int result;
    do {
        Bytef piece[PIECE_BYTES];
        gzip->stream.next_out = piece;
        gzip->stream.avail_out = sizeof piece;
        result = deflate(&gzip->stream, flush);
        hs_pen_bytes(gzip->pen, piece, sizeof piece - gzip->stream.avail_out);
    } while (hs_pen_ok(gzip->pen) && result != Z_STREAM_END && gzip->stream.avail_out == 0);
}

void hs_gzip_write(struct hs_gzip *gzip, const void *bytes, size_t n_bytes)
{
    const Bytef *at = bytes;
    while (n_bytes != 0 && gzip->is_open && hs_pen_ok(gzip->pen)) {
        uInt n = n_bytes > (1U << 30) ? 1U << 30 : (uInt)n_bytes;
        gzip->stream.next_in = at;
        gzip->stream.avail_in = n;
        gzip_run(gzip, Z_NO_FLUSH);
        at += n;
        n_bytes -= n;
    }
}

void hs_gzip_close(struct hs_gzip *gzip)
{
    if (gzip->is_open && hs_pen_ok(gzip->pen)) {
        gzip->stream.next_in = NULL;
        gzip->stream.avail_in = 0;
        gzip_run(gzip, Z_FINISH);
    }
    if (gzip->is_open)
        (void)deflateEnd(&gzip->stream);
    gzip->is_open = false;
}
