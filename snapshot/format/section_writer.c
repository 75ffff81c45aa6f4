/* One section after another: compress, hash, head, bytes. */
#include "section_writer.h"

#include <assert.h>
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

hs_status hs_section_writer_put(struct hs_section_writer *writer, enum hs_section_kind kind,
                                uint64_t id, const struct hs_buffer *raw, struct hs_error *err)
{
    const uint8_t *stored;
    uint8_t head[HS_HEAD_BYTES];
    struct hs_section section = {.kind = kind, .id = id};
    assert(writer->out->n_written >= writer->begin + HS_HEADER_BYTES);
    HS_TRY(section_pack(writer, raw, &section, &stored, err));
    HS_TRY(HS_GROW(&writer->sections, &writer->capacity, writer->n_sections + 1, err));
    section.offset = writer->out->n_written - writer->begin;
    section.hash = hs_head_hash(&section, stored);
    hs_head_encode(&section, head);
    HS_TRY(hs_out_write(writer->out, head, sizeof head, err));
    HS_TRY(hs_out_write(writer->out, stored, (size_t)section.stored_bytes, err));
    writer->checksum = hs_checksum_chain(head, sizeof head, writer->checksum);
    writer->sections[writer->n_sections++] = section;
    return HS_OK;
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
