/* The columns of one chunk of blocks, in both directions. Every column is a run of bytes that
 * stands for itself (no state crosses a chunk), so that chunks can be read in any order.
 *
 *   SIZES        gap varint * n | words varint * n | runs of (state, length)
 *   BLOCK_TYPES  type varint * n | where some blocks are counted: how many, then per such block:
 *                gap, entries, room + 1 (0: unknown); before version 5 there are none
 *   EDGES        degree varint * n | per block: first target - own node, zigzag; then gaps
 *   FIELDS       runs of (class, length) | per block: first offset; then zigzag(offset -
 *                previous - 1) | runs of (reason, length) over the edges that are not sure;
 *                before version 3 the runs of classes stand last, before 4 there are no reasons
 *   EXTRA        count | per edge: source gap, target - source zigzag, offset, class, reason
 *
 * The encoder trusts its caller (the writer has checked); the decoders trust nobody. */
#ifndef HS_FORMAT_CHUNK_CODEC_H
#define HS_FORMAT_CHUNK_CODEC_H

#include "base/buffer.h"
#include "layout.h"
#include "section_writer.h"
#include "snapshot/reader.h"
#include "snapshot/writer.h"

/* Runs of equal small values. */
struct hs_runs {
    struct hs_long_buffer pairs;
    uint64_t value, length; /* of the open run; length 0: none */
};

struct hs_chunk_encoder {
    uint32_t word_bytes;
    hs_node first; /* node number of the first block */
    uint32_t n_blocks;
    uint64_t n_edges, n_extra, n_doubtful;
    hs_addr first_address, end_address; /* end of the last block */
    hs_node extra_source;               /* of the last extra edge */
    struct hs_runs states, classes, reasons;
    struct hs_buffer gaps, words, types, counts;
    uint32_t n_counts, counted; /* how many blocks are; the one behind the last of these */
    struct hs_long_buffer degrees, targets, fields, extra_head, extra; /* any number of edges */
    struct hs_budget *budget; /* borrowed: what is long goes to files beyond it; NULL: no limit */
    uint64_t degree;          /* of the next block, whose edges are being added */
    struct hs_edge previous;  /* the last of them */
};

/* Begins a chunk whose first block is node `first`, with room for n_left blocks or a whole chunk of
 * them, whichever is less: no more may be added. Buffers are kept. */
hs_status hs_chunk_encoder_begin(struct hs_chunk_encoder *encoder, hs_node first, uint64_t n_left,
                                 struct hs_error *err);
void hs_chunk_encoder_fini(struct hs_chunk_encoder *encoder);

/* Edges of the block that is added next, any number of times: ordered by target, then offset, then
 * class. */
hs_status hs_chunk_encoder_edges(struct hs_chunk_encoder *encoder, const struct hs_edge *edges,
                                 size_t n_edges, struct hs_error *err);
/* The last edges, and the block. */
hs_status hs_chunk_encoder_add(struct hs_chunk_encoder *encoder,
                               const struct hs_block_record *block, const struct hs_edge *edges,
                               size_t n_edges, struct hs_error *err);

/* The raw bytes of one of the five sections of the chunk, in the order of their kinds: appended to
 * `out`, or, when there are more than HS_SECTION_LONG_BYTES, as parts that are borrowed. */
hs_status hs_chunk_encoder_column(struct hs_chunk_encoder *encoder, enum hs_section_kind kind,
                                  struct hs_buffer *out, struct hs_section_parts *ret_long,
                                  struct hs_error *err);

/* The limits that the numbers of a chunk are checked against. */
struct hs_chunk_limits {
    uint32_t version; /* of the file */
    uint32_t word_bytes;
    hs_node n_tree; /* targets are in [n_tree, n_tree + n_blocks) */
    uint64_t n_blocks;
    uint64_t n_types;
    unsigned max_state; /* all bits that the version has */
};

/* Decoders: chunk->first and n_blocks are set, the arrays have room for n_blocks (edge_begin for
 * one more). All bytes must be used up, but of types *ret_used. HS_FORMAT says which block is
 * wrong.
 */
hs_status hs_sizes_decode(const uint8_t *bytes, size_t n_bytes,
                          const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                          struct hs_error *err);
hs_status hs_block_types_decode(const uint8_t *bytes, size_t n_bytes,
                                const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                                size_t *ret_used, struct hs_error *err);
/* Reads how many blocks are counted, by what stands behind the types: at most as many as there are.
 */
hs_status hs_counts_number(const uint8_t *bytes, size_t n_bytes,
                           const struct hs_chunk_limits *limits, const struct hs_chunk *chunk,
                           uint32_t *ret, struct hs_error *err);
/* counts[] has room for them, unless it is NULL: then they are verified only. */
hs_status hs_counts_decode(const uint8_t *bytes, size_t n_bytes, struct hs_chunk *chunk,
                           struct hs_error *err);
/* Fills edge_begin and n_edges; the sum is at most n_bytes. *ret_used: where the targets begin. */
hs_status hs_degrees_decode(const uint8_t *bytes, size_t n_bytes, struct hs_chunk *chunk,
                            size_t *ret_used, struct hs_error *err);
/* target[n_edges] has room. Sets has_plain_rows. */
hs_status hs_targets_decode(const uint8_t *bytes, size_t n_bytes,
                            const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                            struct hs_error *err);
/* offset_words[n_edges] and edge_class[n_edges] have room, and edge_reason[n_edges] unless it is
 * NULL: then reasons are verified only. Needs edge_begin. */
hs_status hs_fields_decode(const uint8_t *bytes, size_t n_bytes,
                           const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                           struct hs_error *err);
/* edge_class[n_edges] alone: offsets are passed over, and not verified. */
hs_status hs_classes_decode(const uint8_t *bytes, size_t n_bytes,
                            const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                            struct hs_error *err);
/* Reads the count alone: at most a quarter of n_bytes. */
hs_status hs_extra_count(const uint8_t *bytes, size_t n_bytes, const struct hs_chunk_limits *limits,
                         uint64_t *ret, struct hs_error *err);
/* extra[n_extra] has room, n_extra set from the count. */
hs_status hs_extra_decode(const uint8_t *bytes, size_t n_bytes,
                          const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                          struct hs_error *err);

#endif
