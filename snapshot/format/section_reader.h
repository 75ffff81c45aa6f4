/* Section bytes, verified: the only way from the file's bytes to a decoder. */
#ifndef HS_FORMAT_SECTION_READER_H
#define HS_FORMAT_SECTION_READER_H

#include "base/buffer.h"
#include "layout.h"

struct ZSTD_DCtx_s;

/* The file as a whole. */
struct hs_file_bytes {
    const uint8_t *bytes; /* borrowed */
    size_t n_bytes;
    bool trust_hashes; /* for fuzzing only */
};

/* Unpacks one section at a time. A zeroed one is valid and empty. */
struct hs_unpacker {
    struct ZSTD_DCtx_s *zstd; /* owned */
    struct hs_buffer raw;
};

/* The raw bytes of a section: borrowed from the file or from the unpacker, until its next use. */
struct hs_section_view {
    const uint8_t *bytes; /* never NULL */
    size_t n_bytes;
};

void hs_unpacker_fini(struct hs_unpacker *unpacker);

/* Compares the head in the file with `section` (from the trailer, or from that head itself),
 * verifies the hash, unpacks. HS_FORMAT says which section is damaged and where. */
hs_status hs_section_load(const struct hs_file_bytes *file, const struct hs_section *section,
                          struct hs_unpacker *unpacker, struct hs_section_view *ret,
                          struct hs_error *err);

/* The head and the hash alone. */
hs_status hs_section_verify(const struct hs_file_bytes *file, const struct hs_section *section,
                            struct hs_error *err);

/* Prepends which section, and where; sets the hint of a damaged file. */
hs_status hs_section_context(const struct hs_section *section, struct hs_error *err);

#endif
