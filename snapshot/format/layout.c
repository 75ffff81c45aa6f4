/* The frame of heap.snap. Little-endian by shifts, whatever the machine. */
#include "layout.h"

#include <assert.h>
#include <string.h>
#include <xxhash.h>

#include "snapshot/reader.h"

static void layout_put(uint8_t *bytes, uint64_t value, unsigned n)
{
    assert(n <= 8);
    for (unsigned i = 0; i < n; i++)
        bytes[i] = (uint8_t)(value >> (8 * i));
}

static uint64_t layout_get(const uint8_t *bytes, unsigned n)
{
    assert(n <= 8);
    uint64_t value = 0;
    for (unsigned i = n; i-- > 0;)
        value = value << 8 | bytes[i];
    return value;
}

void hs_header_encode(const struct hs_header *header, uint8_t *bytes)
{
    memcpy(bytes, HS_SNAP_MAGIC, HS_MAGIC_BYTES);
    layout_put(bytes + 8, header->version, 4);
    layout_put(bytes + 12, header->flags, 2);
    layout_put(bytes + 14, header->word_bytes, 2);
    layout_put(bytes + 16, header->n_blocks, 8);
    layout_put(bytes + 24, XXH64(bytes, 24, 0), 8);
}

bool hs_header_decode(const uint8_t *bytes, struct hs_header *ret)
{
    ret->version = (uint32_t)layout_get(bytes + 8, 4);
    ret->flags = (uint16_t)layout_get(bytes + 12, 2);
    ret->word_bytes = (uint16_t)layout_get(bytes + 14, 2);
    ret->n_blocks = layout_get(bytes + 16, 8);
    return layout_get(bytes + 24, 8) == XXH64(bytes, 24, 0);
}

void hs_head_encode(const struct hs_section *section, uint8_t *bytes)
{
    layout_put(bytes, section->kind, 4);
    layout_put(bytes + 4, section->flags, 4);
    layout_put(bytes + 8, section->id, 8);
    layout_put(bytes + 16, section->raw_bytes, 8);
    layout_put(bytes + 24, section->stored_bytes, 8);
    layout_put(bytes + 32, section->hash, 8);
}

void hs_head_decode(const uint8_t *bytes, uint64_t offset, struct hs_section *ret)
{
    *ret = (struct hs_section){
        .kind = (uint32_t)layout_get(bytes, 4),
        .flags = (uint32_t)layout_get(bytes + 4, 4),
        .id = layout_get(bytes + 8, 8),
        .raw_bytes = layout_get(bytes + 16, 8),
        .stored_bytes = layout_get(bytes + 24, 8),
        .hash = layout_get(bytes + 32, 8),
        .offset = offset,
    };
}

uint64_t hs_head_seed(const struct hs_section *section)
{
    uint8_t head[HS_HEAD_BYTES];
    hs_head_encode(section, head);
    return XXH64(head, HS_HEAD_BYTES - 8, 0);
}

uint64_t hs_head_hash(const struct hs_section *section, const uint8_t *stored)
{
    static const uint8_t none[1];
    return XXH64(section->stored_bytes == 0 ? none : stored, (size_t)section->stored_bytes,
                 hs_head_seed(section));
}

void hs_footer_encode(const struct hs_footer *footer, uint8_t *bytes)
{
    layout_put(bytes, footer->trailer_offset, 8);
    layout_put(bytes + 8, footer->file_bytes, 8);
    layout_put(bytes + 16, footer->checksum, 8);
    memcpy(bytes + 24, HS_SNAP_END_MAGIC, HS_MAGIC_BYTES);
}

bool hs_footer_decode(const uint8_t *bytes, struct hs_footer *ret)
{
    ret->trailer_offset = layout_get(bytes, 8);
    ret->file_bytes = layout_get(bytes + 8, 8);
    ret->checksum = layout_get(bytes + 16, 8);
    return memcmp(bytes + 24, HS_SNAP_END_MAGIC, HS_MAGIC_BYTES) == 0;
}

uint64_t hs_checksum_chain(const uint8_t *bytes, size_t n_bytes, uint64_t chain)
{
    return XXH64(bytes, n_bytes, chain);
}

uint64_t hs_chunks_of(uint64_t n_blocks)
{
    return n_blocks / HS_CHUNK_BLOCKS + (n_blocks % HS_CHUNK_BLOCKS != 0);
}

uint64_t hs_sections_of(uint64_t n_chunks)
{
    assert(n_chunks <= HS_MAX_BLOCKS);
    return HS_FRONT_SECTIONS + HS_CHUNK_SECTIONS * n_chunks + HS_BACK_SECTIONS + 1;
}

enum hs_section_kind hs_section_expected(uint64_t at, uint64_t n_chunks)
{
    static const uint8_t front[HS_FRONT_SECTIONS] = {HS_SECTION_STRINGS, HS_SECTION_META,
                                                     HS_SECTION_ROOTS};
    static const uint8_t back[HS_BACK_SECTIONS + 1] = {HS_SECTION_TYPES, HS_SECTION_SAMPLES,
                                                       HS_SECTION_STRINGS, HS_SECTION_HISTOGRAM,
                                                       HS_SECTION_TRAILER};
    assert(at < hs_sections_of(n_chunks));
    if (at < HS_FRONT_SECTIONS)
        return (enum hs_section_kind)front[at];
    at -= HS_FRONT_SECTIONS;
    if (at < HS_CHUNK_SECTIONS * n_chunks)
        return (enum hs_section_kind)(HS_SECTION_SIZES + at % HS_CHUNK_SECTIONS);
    return (enum hs_section_kind)back[at - HS_CHUNK_SECTIONS * n_chunks];
}

const char *hs_section_name(uint32_t kind)
{
    static const char *const names[HS_N_SECTION_KINDS] = {
        "?",      "STRINGS", "META",  "ROOTS",   "SIZES",     "BLOCK_TYPES", "EDGES",
        "FIELDS", "EXTRA",   "TYPES", "SAMPLES", "HISTOGRAM", "TRAILER"};
    return kind < HS_N_SECTION_KINDS ? names[kind] : names[0];
}

uint64_t hs_section_raw_limit(uint64_t stored_bytes)
{
    uint64_t limit;
    if (__builtin_mul_overflow(stored_bytes, HS_LOAD_RATIO, &limit) ||
        __builtin_add_overflow(limit, HS_LOAD_FREE, &limit))
        return UINT64_MAX;
    return limit;
}
