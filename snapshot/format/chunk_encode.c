/* Turns blocks and edges into the columns of a chunk. */
#include <assert.h>

#include "chunk_codec.h"

enum { BLOCK_BUFFERS = 4, EDGES_PER_RESERVE = 4096 };

/* Room for a whole chunk at once, so that adding a block asks only for its edges. */
hs_status hs_chunk_encoder_begin(struct hs_chunk_encoder *encoder, hs_node first, uint64_t n_left,
                                 struct hs_error *err)
{
    size_t n_blocks = n_left < HS_CHUNK_BLOCKS ? (size_t)n_left : HS_CHUNK_BLOCKS;
    struct hs_buffer *per_block[BLOCK_BUFFERS] = {&encoder->gaps, &encoder->words, &encoder->types,
                                                  &encoder->degrees};
    for (size_t i = 0; i < BLOCK_BUFFERS; i++) {
        per_block[i]->n_bytes = 0;
        HS_TRY(hs_buffer_reserve(per_block[i], n_blocks * HS_VARINT_MAX_BYTES, err));
    }
    encoder->targets.n_bytes = 0;
    encoder->fields.n_bytes = 0;
    encoder->extra.n_bytes = 0;
    encoder->states.pairs.n_bytes = 0;
    encoder->states.length = 0;
    encoder->classes.pairs.n_bytes = 0;
    encoder->classes.length = 0;
    encoder->first = first;
    encoder->n_blocks = 0;
    encoder->n_edges = 0;
    encoder->n_extra = 0;
    encoder->n_doubtful = 0;
    encoder->first_address = 0;
    encoder->end_address = 0;
    encoder->extra_source = first;
    return HS_OK;
}

void hs_chunk_encoder_fini(struct hs_chunk_encoder *encoder)
{
    if (encoder == NULL)
        return;
    hs_buffer_fini(&encoder->gaps);
    hs_buffer_fini(&encoder->words);
    hs_buffer_fini(&encoder->types);
    hs_buffer_fini(&encoder->degrees);
    hs_buffer_fini(&encoder->targets);
    hs_buffer_fini(&encoder->fields);
    hs_buffer_fini(&encoder->extra);
    hs_buffer_fini(&encoder->states.pairs);
    hs_buffer_fini(&encoder->classes.pairs);
    *encoder = (struct hs_chunk_encoder){0};
}

static hs_status encode_room(struct hs_buffer *b, size_t more, struct hs_error *err)
{
    return b->capacity - b->n_bytes >= more ? HS_OK : hs_buffer_reserve(b, more, err);
}

static hs_status runs_end(struct hs_runs *runs, struct hs_error *err)
{
    if (runs->length == 0)
        return HS_OK;
    HS_TRY(encode_room(&runs->pairs, 2 * HS_VARINT_MAX_BYTES, err));
    hs_buffer_put_varint(&runs->pairs, runs->value);
    hs_buffer_put_varint(&runs->pairs, runs->length);
    runs->length = 0;
    return HS_OK;
}

static inline hs_status runs_add(struct hs_runs *runs, uint64_t value, struct hs_error *err)
{
    if (runs->value != value)
        HS_TRY(runs_end(runs, err));
    runs->value = value;
    runs->length++;
    return HS_OK;
}

static hs_status encode_extra(struct hs_chunk_encoder *encoder, hs_node source,
                              const struct hs_edge *edge, struct hs_error *err)
{
    HS_TRY(encode_room(&encoder->extra, 4 * HS_VARINT_MAX_BYTES, err));
    assert(source >= encoder->extra_source);
    hs_buffer_put_varint(&encoder->extra, source - encoder->extra_source);
    hs_buffer_put_zigzag(&encoder->extra, (int64_t)(edge->target - source));
    hs_buffer_put_varint(&encoder->extra, edge->offset_words);
    hs_buffer_put_varint(&encoder->extra, edge->edge_class);
    encoder->extra_source = source;
    encoder->n_extra++;
    return HS_OK;
}

/* Room for the next edges of a block, but not for millions at their longest. */
static hs_status encode_edge_room(struct hs_chunk_encoder *encoder, size_t n_edges,
                                  struct hs_error *err)
{
    size_t n = n_edges < EDGES_PER_RESERVE ? n_edges : EDGES_PER_RESERVE;
    HS_TRY(encode_room(&encoder->targets, n * HS_VARINT_MAX_BYTES, err));
    return encode_room(&encoder->fields, n * HS_VARINT_MAX_BYTES, err);
}

/* The strong edges of one block; returns their number in *ret. */
static hs_status encode_edges(struct hs_chunk_encoder *encoder, const struct hs_edge *edges,
                              size_t n_edges, size_t *ret, struct hs_error *err)
{
    hs_node source = encoder->first + encoder->n_blocks;
    const struct hs_edge *previous = NULL;
    size_t n = 0;
    for (size_t i = 0; i < n_edges; i++) {
        const struct hs_edge *edge = &edges[i];
        if (i % EDGES_PER_RESERVE == 0)
            HS_TRY(encode_edge_room(encoder, n_edges - i, err));
        if (!hs_edge_is_strong(edge->edge_class)) {
            HS_TRY(encode_extra(encoder, source, edge, err));
            continue;
        }
        if (previous == NULL) {
            hs_buffer_put_zigzag(&encoder->targets, (int64_t)(edge->target - source));
            hs_buffer_put_varint(&encoder->fields, edge->offset_words);
        } else {
            assert(edge->target >= previous->target);
            hs_buffer_put_varint(&encoder->targets, edge->target - previous->target);
            hs_buffer_put_zigzag(&encoder->fields,
                                 (int64_t)(edge->offset_words - previous->offset_words - 1));
        }
        HS_TRY(runs_add(&encoder->classes, edge->edge_class, err));
        encoder->n_doubtful += !hs_edge_is_sure(edge->edge_class);
        previous = edge;
        n++;
    }
    *ret = n;
    return HS_OK;
}

hs_status hs_chunk_encoder_add(struct hs_chunk_encoder *encoder,
                               const struct hs_block_record *block, const struct hs_edge *edges,
                               size_t n_edges, struct hs_error *err)
{
    assert(encoder->n_blocks < HS_CHUNK_BLOCKS);
    assert(block->address >= encoder->end_address && block->words != 0);
    size_t degree;

    HS_TRY(encode_edges(encoder, edges, n_edges, &degree, err));
    HS_TRY(runs_add(&encoder->states, block->state, err));
    hs_buffer_put_varint(&encoder->degrees, degree);
    hs_buffer_put_varint(&encoder->gaps, block->address - encoder->end_address);
    hs_buffer_put_varint(&encoder->words, block->words);
    hs_buffer_put_varint(&encoder->types, block->type);
    if (encoder->n_blocks == 0)
        encoder->first_address = block->address;
    encoder->end_address = block->address + block->words * encoder->word_bytes;
    encoder->n_edges += degree;
    encoder->n_blocks++;
    return HS_OK;
}

static hs_status encode_append(struct hs_buffer *out, const struct hs_buffer *part,
                               struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(out, part->n_bytes, err));
    hs_buffer_put_bytes(out, part->bytes, part->n_bytes);
    return HS_OK;
}

hs_status hs_chunk_encoder_column(struct hs_chunk_encoder *encoder, enum hs_section_kind kind,
                                  struct hs_buffer *out, struct hs_error *err)
{
    switch (kind) {
    case HS_SECTION_SIZES:
        HS_TRY(runs_end(&encoder->states, err));
        HS_TRY(encode_append(out, &encoder->gaps, err));
        HS_TRY(encode_append(out, &encoder->words, err));
        return encode_append(out, &encoder->states.pairs, err);
    case HS_SECTION_BLOCK_TYPES:
        return encode_append(out, &encoder->types, err);
    case HS_SECTION_EDGES:
        HS_TRY(encode_append(out, &encoder->degrees, err));
        return encode_append(out, &encoder->targets, err);
    case HS_SECTION_FIELDS:
        HS_TRY(runs_end(&encoder->classes, err));
        HS_TRY(encode_append(out, &encoder->classes.pairs, err));
        return encode_append(out, &encoder->fields, err);
    case HS_SECTION_EXTRA:
        HS_TRY(hs_buffer_reserve(out, HS_VARINT_MAX_BYTES, err));
        hs_buffer_put_varint(out, encoder->n_extra);
        return encode_append(out, &encoder->extra, err);
    default:
        return hs_fail(err, HS_BUG, "section kind %u is no column", kind);
    }
}
