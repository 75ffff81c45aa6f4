/* One section after another: compress, hash, head, bytes. */
#include "section_writer.h"

#include <assert.h>
#include <xxhash.h>
#include <zstd.h>

#include "base/alloc.h"

/* Measured on the 6.34 million blocks of a coqtop: level 1 writes in 75 % of the time and makes the
 * file 7 % larger, 6 takes 185 % for 5 % less, 9 takes 260 % for 7 % less. */
#define SECTION_LEVEL 3

hs_status hs_section_writer_init(struct hs_section_writer *writer, struct hs_out *out,
                                 struct hs_error *err)
{
    *writer =
        (struct hs_section_writer){.out = out, .level = SECTION_LEVEL, .begin = out->n_written};
    writer->zstd = ZSTD_createCCtx();
    if (writer->zstd == NULL)
        return hs_fail(err, HS_LIMIT, "cannot compress: out of memory");
    return HS_OK;
}

void hs_section_writer_fini(struct hs_section_writer *writer)
{
    if (writer == NULL)
        return;
    ZSTD_freeCCtx(writer->zstd);
    hs_free(writer->sections);
    hs_buffer_fini(&writer->packed);
    hs_long_buffer_fini(&writer->long_packed, writer->budget);
    *writer = (struct hs_section_writer){0};
}

hs_status hs_section_writer_header(struct hs_section_writer *writer, const struct hs_header *header,
                                   struct hs_error *err)
{
    uint8_t bytes[HS_HEADER_BYTES];
    assert(writer->n_sections == 0);
    hs_header_encode(header, bytes);
    writer->checksum = hs_checksum_chain(bytes, sizeof bytes, 0);
    return hs_out_write(writer->out, bytes, sizeof bytes, err);
}

/* The bytes to store: the raw ones, or the packed ones with the flag set. */
static hs_status section_pack(struct hs_section_writer *writer, const struct hs_buffer *raw,
                              struct hs_section *section, const uint8_t **ret, struct hs_error *err)
{
    section->raw_bytes = raw->n_bytes;
    section->stored_bytes = raw->n_bytes;
    *ret = raw->bytes;
    if (writer->level == 0 || raw->n_bytes == 0)
        return HS_OK;

    writer->packed.n_bytes = 0;
    HS_TRY(hs_buffer_reserve(&writer->packed, ZSTD_compressBound(raw->n_bytes), err));
    size_t n = ZSTD_compressCCtx(writer->zstd, writer->packed.bytes, writer->packed.capacity,
                                 raw->bytes, raw->n_bytes, writer->level);
    if (ZSTD_isError(n))
        return hs_fail(err, HS_LIMIT, "cannot compress: %s", ZSTD_getErrorName(n));
    if (n > raw->n_bytes - raw->n_bytes / 8 || raw->n_bytes > hs_section_raw_limit(n))
        return HS_OK;
    section->flags = HS_SECTION_ZSTD;
    section->stored_bytes = n;
    *ret = writer->packed.bytes;
    return HS_OK;
}

/* The head, once all of it is known, and its place in the trailer. */
static hs_status section_put_head(struct hs_section_writer *writer, struct hs_section *section,
                                  struct hs_error *err)
{
    uint8_t head[HS_HEAD_BYTES];
    HS_TRY(HS_GROW(&writer->sections, &writer->capacity, writer->n_sections + 1, err));
    section->offset = writer->out->n_written - writer->begin;
    hs_head_encode(section, head);
    HS_TRY(hs_out_write(writer->out, head, sizeof head, err));
    writer->checksum = hs_checksum_chain(head, sizeof head, writer->checksum);
    writer->sections[writer->n_sections++] = *section;
    return HS_OK;
}

hs_status hs_section_writer_put(struct hs_section_writer *writer, enum hs_section_kind kind,
                                uint64_t id, const struct hs_buffer *raw, struct hs_error *err)
{
    const uint8_t *stored;
    struct hs_section section = {.kind = kind, .id = id};
    assert(writer->out->n_written >= writer->begin + HS_HEADER_BYTES);
    HS_TRY(section_pack(writer, raw, &section, &stored, err));
    section.hash = hs_head_hash(&section, stored);
    HS_TRY(section_put_head(writer, &section, err));
    return hs_out_write(writer->out, stored, (size_t)section.stored_bytes, err);
}

/* ---- long contents */

static hs_status long_read(const struct hs_section_parts *parts, const struct hs_bytes_sink *sink,
                           struct hs_error *err)
{
    for (size_t i = 0; i < parts->n_parts; i++)
        HS_TRY(hs_long_buffer_read(parts->parts[i], sink, err));
    return HS_OK;
}

/* Moves the compressor's buffers: with `ends` until its frame is whole. */
static hs_status long_compress(struct hs_section_writer *writer, ZSTD_inBuffer *in, bool ends,
                               struct hs_error *err)
{
    struct hs_long_buffer *to = &writer->long_packed;
    size_t left;

    do {
        HS_TRY(hs_long_buffer_room(to, writer->budget, ZSTD_CStreamOutSize(), err));
        ZSTD_outBuffer out = {.dst = to->tail.bytes + to->tail.n_bytes,
                              .size = to->tail.capacity - to->tail.n_bytes};
        left = ZSTD_compressStream2(writer->zstd, &out, in, ends ? ZSTD_e_end : ZSTD_e_continue);
        if (ZSTD_isError(left))
            return hs_fail(err, HS_LIMIT, "cannot compress: %s", ZSTD_getErrorName(left));
        to->tail.n_bytes += out.pos;
    } while (ends ? left != 0 : in->pos != in->size);
    return HS_OK;
}

static hs_status long_compress_piece(void *context, const uint8_t *bytes, size_t n_bytes,
                                     struct hs_error *err)
{
    ZSTD_inBuffer in = {.src = bytes, .size = n_bytes};
    return long_compress(context, &in, false, err);
}

static hs_status long_pack(struct hs_section_writer *writer, const struct hs_section_parts *raw,
                           struct hs_error *err)
{
    const struct hs_bytes_sink sink = {.visit = long_compress_piece, .context = writer};
    ZSTD_inBuffer none = {.src = ""};

    (void)ZSTD_CCtx_reset(writer->zstd, ZSTD_reset_session_and_parameters);
    size_t set = ZSTD_CCtx_setParameter(writer->zstd, ZSTD_c_compressionLevel, writer->level);
    if (!ZSTD_isError(set))
        set = ZSTD_CCtx_setPledgedSrcSize(writer->zstd, raw->n_bytes);
    if (ZSTD_isError(set))
        return hs_fail(err, HS_LIMIT, "cannot compress: %s", ZSTD_getErrorName(set));
    HS_TRY(long_read(raw, &sink, err));
    return long_compress(writer, &none, true, err);
}

static hs_status long_hash(void *context, const uint8_t *bytes, size_t n_bytes,
                           struct hs_error *err)
{
    (void)err;
    (void)XXH64_update(context, bytes, n_bytes);
    return HS_OK;
}

static hs_status long_hash_all(const struct hs_section *section,
                               const struct hs_section_parts *stored, uint64_t *ret,
                               struct hs_error *err)
{
    XXH64_state_t *hash = XXH64_createState();

    if (hash == NULL)
        return hs_fail(err, HS_LIMIT, "cannot hash a section: out of memory");
    (void)XXH64_reset(hash, hs_head_seed(section));
    const struct hs_bytes_sink sink = {.visit = long_hash, .context = hash};
    hs_status status = long_read(stored, &sink, err);
    *ret = XXH64_digest(hash);
    (void)XXH64_freeState(hash);
    return status;
}

static hs_status long_write(void *context, const uint8_t *bytes, size_t n_bytes,
                            struct hs_error *err)
{
    return hs_out_write(context, bytes, n_bytes, err);
}

static hs_status long_put(struct hs_section_writer *writer, struct hs_section *section,
                          const struct hs_section_parts *raw, struct hs_error *err)
{
    struct hs_section_parts packed = {.parts = {&writer->long_packed}, .n_parts = 1};
    const struct hs_section_parts *stored = raw;

    if (writer->level != 0) {
        HS_TRY(long_pack(writer, raw, err));
        packed.n_bytes = hs_long_buffer_bytes(&writer->long_packed);
        if (packed.n_bytes <= raw->n_bytes - raw->n_bytes / 8 &&
            raw->n_bytes <= hs_section_raw_limit(packed.n_bytes)) {
            section->flags = HS_SECTION_ZSTD;
            stored = &packed;
        }
    }
    section->stored_bytes = stored->n_bytes;
    HS_TRY(long_hash_all(section, stored, &section->hash, err));
    HS_TRY(section_put_head(writer, section, err));
    const struct hs_bytes_sink out = {.visit = long_write, .context = writer->out};
    return long_read(stored, &out, err);
}

hs_status hs_section_writer_put_long(struct hs_section_writer *writer, enum hs_section_kind kind,
                                     uint64_t id, const struct hs_section_parts *raw,
                                     struct hs_error *err)
{
    struct hs_section section = {.kind = kind, .id = id, .raw_bytes = raw->n_bytes};
    assert(raw->n_bytes > HS_SECTION_LONG_BYTES);
    for (size_t i = 0; i < raw->n_parts; i++)
        if (raw->parts[i]->kept_bytes != 0)
            writer->long_packed.kept_bytes = HS_SECTION_KEPT_BYTES;
    hs_status status = long_put(writer, &section, raw, err);
    hs_long_buffer_clear(&writer->long_packed, writer->budget);
    return status;
}

hs_status hs_section_writer_footer(struct hs_section_writer *writer, struct hs_footer *ret,
                                   struct hs_error *err)
{
    uint8_t bytes[HS_FOOTER_BYTES];
    assert(writer->n_sections != 0);
    const struct hs_section *trailer = &writer->sections[writer->n_sections - 1];
    assert(trailer->kind == HS_SECTION_TRAILER);
    struct hs_footer footer = {
        .trailer_offset = trailer->offset,
        .file_bytes = writer->out->n_written - writer->begin + HS_FOOTER_BYTES,
        .checksum = writer->checksum,
    };
    hs_footer_encode(&footer, bytes);
    HS_TRY(hs_out_write(writer->out, bytes, sizeof bytes, err));
    *ret = footer;
    return HS_OK;
}
