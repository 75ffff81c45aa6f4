/* The frame of heap.snap: header, section heads, footer, and the one order in which sections stand.
 * What is inside a section is the business of schema.h and of the chunk codecs. Nothing here reads
 * past what it is given; nothing here knows about files.
 *
 *   header 32 | STRINGS META ROOTS | chunk 0: SIZES BLOCK_TYPES EDGES FIELDS EXTRA | chunk 1 ...
 *             | TYPES SAMPLES STRINGS HISTOGRAM | TRAILER | footer 32
 *
 * Each section is a head of 40 bytes and then `stored_bytes` bytes. docs/format.md is normative. */
#ifndef HS_FORMAT_LAYOUT_H
#define HS_FORMAT_LAYOUT_H

#include "base/types.h"

#define HS_SNAP_MAGIC "\x89HSNAP\r\n"
#define HS_SNAP_END_MAGIC "\x89HSEND\r\n"

/* A private flag of the openers: hashes are not compared, so that a fuzzer gets at the decoders. */
#define HS_SNAP_TRUST_HASHES (1u << 31)

enum {
    HS_MAGIC_BYTES = 8,
    HS_HEADER_BYTES = 32,
    HS_HEAD_BYTES = 40,
    HS_FOOTER_BYTES = 32,
    HS_FRONT_SECTIONS = 3, /* before the first chunk */
    HS_CHUNK_SECTIONS = 5,
    HS_BACK_SECTIONS = 4, /* after the last chunk, the trailer not counted */
    HS_HISTOGRAM_SHIFT = 10,
    HS_LOAD_RATIO = 1024,           /* raw <= HS_LOAD_FREE + HS_LOAD_RATIO * stored */
    HS_LOAD_FREE = 4 * 1024 * 1024, /* bytes */
};

/* More blocks than any address space holds; keeps every product below 2^64. */
#define HS_MAX_BLOCKS (UINT64_C(1) << 48)

enum hs_section_kind {
    HS_SECTION_STRINGS = 1,
    HS_SECTION_META,
    HS_SECTION_ROOTS,
    HS_SECTION_SIZES,
    HS_SECTION_BLOCK_TYPES,
    HS_SECTION_EDGES,
    HS_SECTION_FIELDS,
    HS_SECTION_EXTRA,
    HS_SECTION_TYPES,
    HS_SECTION_SAMPLES,
    HS_SECTION_HISTOGRAM,
    HS_SECTION_TRAILER,
    HS_N_SECTION_KINDS
};

enum hs_section_flags { HS_SECTION_ZSTD = 1 << 0 };

struct hs_header {
    uint32_t version;
    uint16_t flags; /* none is defined: 0 */
    uint16_t word_bytes;
    uint64_t n_blocks; /* promised before they are written */
};

/* A head and where it stands. */
struct hs_section {
    uint32_t kind, flags;
    uint64_t id; /* chunk number; for STRINGS the id of its first string; 0 otherwise */
    uint64_t raw_bytes, stored_bytes;
    uint64_t hash;   /* of the stored bytes, seeded with the hash of the head before it */
    uint64_t offset; /* file offset of the head; not stored */
};

struct hs_footer {
    uint64_t trailer_offset, file_bytes, checksum;
};

/* The trailer's entry of a chunk. */
struct hs_chunk_info {
    uint64_t n_edges, n_extra;
    hs_addr first_address;
};

void hs_header_encode(const struct hs_header *header, uint8_t *bytes);
/* False when its hash is wrong. The magic is not looked at. */
bool hs_header_decode(const uint8_t *bytes, struct hs_header *ret);

void hs_head_encode(const struct hs_section *section, uint8_t *bytes);
void hs_head_decode(const uint8_t *bytes, uint64_t offset, struct hs_section *ret);
uint64_t hs_head_hash(const struct hs_section *section, const uint8_t *stored);
/* Returns the seed of the hash (XXH64) of the stored bytes, a hash of the head, for who has these
 * in pieces. */
uint64_t hs_head_seed(const struct hs_section *section);

void hs_footer_encode(const struct hs_footer *footer, uint8_t *bytes);
/* False when the end magic is missing. */
bool hs_footer_decode(const uint8_t *bytes, struct hs_footer *ret);

/* The file's checksum, link by link: of the header first (chain 0), then of each head. */
uint64_t hs_checksum_chain(const uint8_t *bytes, size_t n_bytes, uint64_t chain);

uint64_t hs_chunks_of(uint64_t n_blocks);
/* All sections of a file with that many chunks, the trailer included. */
uint64_t hs_sections_of(uint64_t n_chunks);
/* The kind that stands at place `at` of the fixed order. */
enum hs_section_kind hs_section_expected(uint64_t at, uint64_t n_chunks);
/* "EDGES"; "?" for a kind out of range. */
const char *hs_section_name(uint32_t kind);
/* The most raw bytes that a section with so many stored bytes may claim when compressed. */
uint64_t hs_section_raw_limit(uint64_t stored_bytes);

#endif
