/* Writes sections one after another and remembers their heads for the trailer. */
#ifndef HS_FORMAT_SECTION_WRITER_H
#define HS_FORMAT_SECTION_WRITER_H

#include "base/buffer.h"
#include "base/file.h"
#include "base/long_buffer.h"
#include "layout.h"

struct ZSTD_CCtx_s;

struct hs_section_writer {
    struct hs_out *out;          /* borrowed */
    struct ZSTD_CCtx_s *zstd;    /* owned */
    int level;                   /* of zstd; 0: everything is stored as it is */
    uint64_t begin;              /* out->n_written before the header */
    uint64_t checksum;           /* the chain so far */
    struct hs_section *sections; /* owned */
    size_t n_sections, capacity;
    struct hs_buffer packed;
    struct hs_budget *budget; /* borrowed: for what is long; NULL: no limit */
    struct hs_long_buffer long_packed;
};

/* Contents of more bytes are compressed piece by piece. */
#define HS_SECTION_LONG_BYTES HS_LONG_BUFFER_FREE_BYTES
/* The bytes that stay in memory of a column whose edges went through files, and of what it is
 * packed to: a dump cannot foresee how long they are. */
#define HS_SECTION_KEPT_BYTES ((size_t)16 << 20)

/* The parts of a long section, one behind the other. */
struct hs_section_parts {
    struct hs_long_buffer *parts[3]; /* borrowed */
    size_t n_parts;
    uint64_t n_bytes; /* of all */
};

hs_status hs_section_writer_init(struct hs_section_writer *writer, struct hs_out *out,
                                 struct hs_error *err);
void hs_section_writer_fini(struct hs_section_writer *writer);

hs_status hs_section_writer_header(struct hs_section_writer *writer, const struct hs_header *header,
                                   struct hs_error *err);
/* Compresses when that gains at least an eighth, and writes. */
hs_status hs_section_writer_put(struct hs_section_writer *writer, enum hs_section_kind kind,
                                uint64_t id, const struct hs_buffer *raw, struct hs_error *err);
/* The same for contents of any size that may lie in files; more than HS_SECTION_LONG_BYTES. Where
 * they lie makes no difference to what is written. */
hs_status hs_section_writer_put_long(struct hs_section_writer *writer, enum hs_section_kind kind,
                                     uint64_t id, const struct hs_section_parts *raw,
                                     struct hs_error *err);
/* After the trailer. */
hs_status hs_section_writer_footer(struct hs_section_writer *writer, struct hs_footer *ret,
                                   struct hs_error *err);

#endif
