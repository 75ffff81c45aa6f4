/* links: hs_format */
#include "snap_forge.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/alloc.h"
#include "format/reader_internal.h"
#include "format/schema.h"

static void forge_must(hs_status status, const struct hs_error *err)
{
    if (status == HS_OK)
        return;
    fprintf(stderr, "snapshot forge: %s\n", err->message);
    abort();
}

static void forge_append(struct hs_buffer *b, const void *bytes, size_t n)
{
    struct hs_error err = HS_ERROR_INIT;
    forge_must(hs_buffer_reserve(b, n, &err), &err);
    hs_buffer_put_bytes(b, bytes, n);
}

void hs_forge_open(struct hs_forge *forge, const void *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_snap *snap = NULL;
    struct hs_unpacker unpacker = {0};
    void *sections = NULL;
    void *chunks = NULL;
    forge_must(hs_snap_open_bytes(bytes, n_bytes, 0, &snap, &err), &err);
    forge_must(hs_alloc(snap->n_sections, sizeof(struct hs_forge_section), &sections, &err), &err);
    forge_must(hs_alloc(snap->n_chunks, sizeof(struct hs_chunk_info), &chunks, &err), &err);
    *forge = (struct hs_forge){
        .header = snap->header,
        .version = snap->header.version,
        .totals = snap->totals,
        .chunks = chunks,
        .n_chunks = snap->n_chunks,
        .sections = sections,
        .n_sections = snap->n_sections,
    };
    if (snap->n_chunks != 0)
        memcpy(chunks, snap->chunks, snap->n_chunks * sizeof snap->chunks[0]);
    for (size_t i = 0; i < snap->n_sections; i++) {
        struct hs_section_view view;
        forge_must(hs_section_load(&snap->file, &snap->sections[i], &unpacker, &view, &err), &err);
        forge->sections[i].head = snap->sections[i];
        forge->sections[i].head.flags = 0;
        forge_append(&forge->sections[i].raw, view.bytes, view.n_bytes);
    }
    hs_unpacker_fini(&unpacker);
    hs_snap_close(snap);
}

void hs_forge_close(struct hs_forge *forge)
{
    for (size_t i = 0; i < forge->n_sections; i++)
        hs_buffer_fini(&forge->sections[i].raw);
    hs_buffer_fini(&forge->trailer_tail);
    hs_free(forge->sections);
    hs_free(forge->chunks);
    *forge = (struct hs_forge){0};
}

struct hs_forge_section *hs_forge_section(struct hs_forge *forge, enum hs_section_kind kind,
                                          size_t nth)
{
    for (size_t i = 0; i < forge->n_sections; i++)
        if (forge->sections[i].head.kind == kind && nth-- == 0)
            return &forge->sections[i];
    fprintf(stderr, "snapshot forge: no section %s\n", hs_section_name(kind));
    abort();
}

void hs_forge_splice(struct hs_forge_section *section, size_t at, size_t n_old, const void *bytes,
                     size_t n_bytes)
{
    struct hs_buffer fresh = {0};
    if (at + n_old > section->raw.n_bytes)
        abort();
    forge_append(&fresh, section->raw.bytes, at);
    forge_append(&fresh, bytes, n_bytes);
    forge_append(&fresh, section->raw.bytes + at + n_old, section->raw.n_bytes - at - n_old);
    hs_buffer_fini(&section->raw);
    section->raw = fresh;
}

void hs_forge_set_byte(struct hs_forge_section *section, size_t at, uint8_t value)
{
    hs_forge_splice(section, at, 1, &value, 1);
}

static void forge_put_section(struct hs_buffer *file, struct hs_section *head,
                              const struct hs_buffer *raw, bool keep_raw_bytes, uint64_t *checksum)
{
    uint8_t bytes[HS_HEAD_BYTES];
    head->offset = file->n_bytes;
    head->stored_bytes = raw->n_bytes;
    if (!keep_raw_bytes)
        head->raw_bytes = raw->n_bytes;
    head->hash = hs_head_hash(head, raw->bytes);
    hs_head_encode(head, bytes);
    *checksum = hs_checksum_chain(bytes, sizeof bytes, *checksum);
    forge_append(file, bytes, sizeof bytes);
    forge_append(file, raw->bytes, raw->n_bytes);
}

static void forge_put_trailer(const struct hs_forge *forge, const struct hs_section *heads,
                              struct hs_buffer *file, uint64_t *checksum)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer raw = {0};
    struct hs_section head = {.kind = HS_SECTION_TRAILER};
    struct hs_footer footer = {.trailer_offset = file->n_bytes};
    uint8_t bytes[HS_FOOTER_BYTES];
    const struct hs_column_limits limits = {.version = forge->version};
    forge_must(hs_schema_encode(&hs_schema_totals, &forge->totals, 1, &limits, &raw, &err), &err);
    forge_must(hs_schema_encode_list(&hs_schema_chunks, forge->chunks, forge->n_chunks, &limits,
                                     &raw, &err),
               &err);
    forge_must(
        hs_schema_encode_list(&hs_schema_sections, heads, forge->n_sections, &limits, &raw, &err),
        &err);
    forge_append(&raw, forge->trailer_tail.bytes, forge->trailer_tail.n_bytes);
    forge_put_section(file, &head, &raw, false, checksum);
    hs_buffer_fini(&raw);
    footer.file_bytes = file->n_bytes + HS_FOOTER_BYTES;
    footer.checksum = *checksum;
    hs_footer_encode(&footer, bytes);
    forge_append(file, bytes, sizeof bytes);
}

void hs_forge_bytes(const struct hs_forge *forge, void **ret, size_t *ret_n)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer file = {0};
    uint8_t header[HS_HEADER_BYTES];
    void *memory = NULL;
    hs_header_encode(&forge->header, header);
    uint64_t checksum = hs_checksum_chain(header, sizeof header, 0);
    forge_append(&file, header, sizeof header);
    forge_must(hs_alloc(forge->n_sections, sizeof(struct hs_section), &memory, &err), &err);
    struct hs_section *heads = memory;
    for (size_t i = 0; i < forge->n_sections; i++) {
        heads[i] = forge->sections[i].head;
        forge_put_section(&file, &heads[i], &forge->sections[i].raw,
                          forge->sections[i].keep_raw_bytes, &checksum);
    }
    forge_put_trailer(forge, heads, &file, &checksum);
    hs_free(heads);
    *ret = file.bytes;
    *ret_n = file.n_bytes;
}
