/* Takes a snapshot apart and puts it together again with one thing wrong and every checksum right:
 * for files that a reader must reject, and for fuzzing behind the checksums. */
#ifndef HS_TEST_SNAP_FORGE_H
#define HS_TEST_SNAP_FORGE_H

#include "base/buffer.h"
#include "format/layout.h"
#include "snapshot/model.h"

struct hs_forge_section {
    struct hs_section head; /* kind, flags and id are used as they are; sizes and hash recomputed */
    struct hs_buffer raw;   /* the section's bytes before compression */
    bool keep_raw_bytes;    /* use head.raw_bytes and `raw` as the stored bytes: a lie */
};

struct hs_forge {
    struct hs_header header;
    uint32_t version; /* of the tables, whatever the header is made to say */
    struct hs_snap_totals totals;
    struct hs_chunk_info *chunks; /* owned */
    size_t n_chunks;
    struct hs_forge_section *sections; /* owned; without the trailer */
    size_t n_sections;
    struct hs_buffer trailer_tail; /* appended to the trailer's bytes */
};

/* From the bytes of a sound snapshot. Aborts when it is not one. */
void hs_forge_open(struct hs_forge *forge, const void *bytes, size_t n_bytes);
void hs_forge_close(struct hs_forge *forge);

/* The nth section (from 0) of a kind. */
struct hs_forge_section *hs_forge_section(struct hs_forge *forge, enum hs_section_kind kind,
                                          size_t nth);
/* Replaces `n_old` bytes at `at` of a section. */
void hs_forge_splice(struct hs_forge_section *section, size_t at, size_t n_old, const void *bytes,
                     size_t n_bytes);
void hs_forge_set_byte(struct hs_forge_section *section, size_t at, uint8_t value);

/* All stored as they are, hashes recomputed. *ret is the caller's to hs_free. */
void hs_forge_bytes(const struct hs_forge *forge, void **ret, size_t *ret_n);

#endif
