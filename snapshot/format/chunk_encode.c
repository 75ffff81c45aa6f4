/* Turns blocks and edges into the columns of a chunk. */
#include <assert.h>

#include "chunk_codec.h"

enum { BLOCK_BUFFERS = 3, LONG_BUFFERS = 8, EDGES_PER_RESERVE = 4096 };

static void encoder_long(struct hs_chunk_encoder *encoder, struct hs_long_buffer *ret[LONG_BUFFERS])
{
    struct hs_long_buffer *all[LONG_BUFFERS] = {&encoder->degrees,      &encoder->targets,
                                                &encoder->fields,       &encoder->extra,
                                                &encoder->states.pairs, &encoder->classes.pairs,
                                                &encoder->extra_head,   &encoder->reasons.pairs};
    for (size_t i = 0; i < LONG_BUFFERS; i++)
        ret[i] = all[i];
}

/* Room for a whole chunk at once, so that adding a block asks only for its edges. */
hs_status hs_chunk_encoder_begin(struct hs_chunk_encoder *encoder, hs_node first, uint64_t n_left,
                                 struct hs_error *err)
{
    size_t n_blocks = n_left < HS_CHUNK_BLOCKS ? (size_t)n_left : HS_CHUNK_BLOCKS;
    struct hs_buffer *per_block[BLOCK_BUFFERS] = {&encoder->gaps, &encoder->words, &encoder->types};
    struct hs_long_buffer *per_edge[LONG_BUFFERS];

    for (size_t i = 0; i < BLOCK_BUFFERS; i++) {
        per_block[i]->n_bytes = 0;
        HS_TRY(hs_buffer_reserve(per_block[i], n_blocks * HS_VARINT_MAX_BYTES, err));
    }
    encoder_long(encoder, per_edge);
    for (size_t i = 0; i < LONG_BUFFERS; i++)
        hs_long_buffer_clear(per_edge[i], encoder->budget);
    HS_TRY(hs_buffer_reserve(&encoder->degrees.tail, (n_blocks + 1) * HS_VARINT_MAX_BYTES, err));
    encoder->states.length = 0;
    encoder->classes.length = 0;
    encoder->reasons.length = 0;
    encoder->first = first;
    encoder->counts.n_bytes = 0;
    encoder->n_counts = encoder->counted = 0;
    encoder->n_blocks = 0;
    encoder->n_edges = 0;
    encoder->n_extra = 0;
    encoder->n_doubtful = 0;
    encoder->first_address = 0;
    encoder->end_address = 0;
    encoder->extra_source = first;
    encoder->degree = 0;
    return HS_OK;
}

void hs_chunk_encoder_fini(struct hs_chunk_encoder *encoder)
{
    struct hs_long_buffer *per_edge[LONG_BUFFERS];

    if (encoder == NULL)
        return;
    hs_buffer_fini(&encoder->gaps);
    hs_buffer_fini(&encoder->words);
    hs_buffer_fini(&encoder->types);
    hs_buffer_fini(&encoder->counts);
    encoder_long(encoder, per_edge);
    for (size_t i = 0; i < LONG_BUFFERS; i++)
        hs_long_buffer_fini(per_edge[i], encoder->budget);
    *encoder = (struct hs_chunk_encoder){0};
}

static hs_status runs_end(struct hs_runs *runs, struct hs_budget *budget, struct hs_error *err)
{
    if (runs->length == 0)
        return HS_OK;
    HS_TRY(hs_long_buffer_room(&runs->pairs, budget, 2 * HS_VARINT_MAX_BYTES, err));
    hs_buffer_put_varint(&runs->pairs.tail, runs->value);
    hs_buffer_put_varint(&runs->pairs.tail, runs->length);
    runs->length = 0;
    return HS_OK;
}

static inline hs_status runs_add(struct hs_runs *runs, uint64_t value, struct hs_budget *budget,
                                 struct hs_error *err)
{
    if (runs->value != value)
        HS_TRY(runs_end(runs, budget, err));
    runs->value = value;
    runs->length++;
    return HS_OK;
}

static hs_status encode_extra(struct hs_chunk_encoder *encoder, hs_node source,
                              const struct hs_edge *edge, struct hs_error *err)
{
    struct hs_buffer *extra = &encoder->extra.tail;

    HS_TRY(hs_long_buffer_room(&encoder->extra, encoder->budget, 5 * HS_VARINT_MAX_BYTES, err));
    assert(source >= encoder->extra_source);
    hs_buffer_put_varint(extra, source - encoder->extra_source);
    hs_buffer_put_zigzag(extra, (int64_t)(edge->target - source));
    hs_buffer_put_varint(extra, edge->offset_words);
    hs_buffer_put_varint(extra, edge->edge_class);
    hs_buffer_put_varint(extra, edge->reason);
    encoder->extra_source = source;
    encoder->n_extra++;
    return HS_OK;
}

/* Room for the next edges of a block, but not for millions at their longest. */
static hs_status encode_edge_room(struct hs_chunk_encoder *encoder, size_t n_edges,
                                  struct hs_error *err)
{
    size_t n = n_edges < EDGES_PER_RESERVE ? n_edges : EDGES_PER_RESERVE;
    HS_TRY(hs_long_buffer_room(&encoder->targets, encoder->budget, n * HS_VARINT_MAX_BYTES, err));
    return hs_long_buffer_room(&encoder->fields, encoder->budget, n * HS_VARINT_MAX_BYTES, err);
}

hs_status hs_chunk_encoder_edges(struct hs_chunk_encoder *encoder, const struct hs_edge *edges,
                                 size_t n_edges, struct hs_error *err)
{
    hs_node source = encoder->first + encoder->n_blocks;
    struct hs_edge previous = encoder->previous;
    uint64_t degree = encoder->degree;

    for (size_t i = 0; i < n_edges; i++) {
        const struct hs_edge *edge = &edges[i];
        if (i % EDGES_PER_RESERVE == 0)
            HS_TRY(encode_edge_room(encoder, n_edges - i, err));
        if (!hs_edge_is_strong(edge->edge_class)) {
            HS_TRY(encode_extra(encoder, source, edge, err));
            continue;
        }
        if (degree++ == 0) {
            hs_buffer_put_zigzag(&encoder->targets.tail, (int64_t)(edge->target - source));
            hs_buffer_put_varint(&encoder->fields.tail, edge->offset_words);
        } else {
            assert(edge->target >= previous.target);
            hs_buffer_put_varint(&encoder->targets.tail, edge->target - previous.target);
            hs_buffer_put_zigzag(&encoder->fields.tail,
                                 (int64_t)(edge->offset_words - previous.offset_words - 1));
        }
        HS_TRY(runs_add(&encoder->classes, edge->edge_class, encoder->budget, err));
        if (!hs_edge_is_sure(edge->edge_class)) {
            HS_TRY(runs_add(&encoder->reasons, edge->reason, encoder->budget, err));
            encoder->n_doubtful++;
        }
        previous = *edge;
    }
    encoder->previous = previous;
    encoder->degree = degree;
    return HS_OK;
}

static hs_status encode_count(struct hs_chunk_encoder *encoder, const struct hs_block_record *block,
                              struct hs_error *err)
{
    struct hs_buffer *counts = &encoder->counts;

    HS_TRY(hs_buffer_reserve(counts, 3 * HS_VARINT_MAX_BYTES, err));
    hs_buffer_put_varint(counts, encoder->n_blocks - encoder->counted);
    hs_buffer_put_varint(counts, block->entries);
    hs_buffer_put_varint(counts, block->room + 1);
    encoder->counted = encoder->n_blocks + 1;
    encoder->n_counts++;
    return HS_OK;
}

hs_status hs_chunk_encoder_add(struct hs_chunk_encoder *encoder,
                               const struct hs_block_record *block, const struct hs_edge *edges,
                               size_t n_edges, struct hs_error *err)
{
    assert(encoder->n_blocks < HS_CHUNK_BLOCKS);
    assert(block->address >= encoder->end_address && block->words != 0);

    HS_TRY(hs_chunk_encoder_edges(encoder, edges, n_edges, err));
    if (block->is_counted)
        HS_TRY(encode_count(encoder, block, err));
    HS_TRY(runs_add(&encoder->states, block->state, encoder->budget, err));
    hs_buffer_put_varint(&encoder->degrees.tail, encoder->degree);
    hs_buffer_put_varint(&encoder->gaps, block->address - encoder->end_address);
    hs_buffer_put_varint(&encoder->words, block->words);
    hs_buffer_put_varint(&encoder->types, block->type);
    if (encoder->n_blocks == 0)
        encoder->first_address = block->address;
    encoder->end_address = block->address + block->words * encoder->word_bytes;
    encoder->n_edges += encoder->degree;
    encoder->degree = 0;
    encoder->n_blocks++;
    return HS_OK;
}

/* ---- columns */

static hs_status encode_append(struct hs_buffer *out, const struct hs_buffer *part,
                               struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(out, part->n_bytes, err));
    hs_buffer_put_bytes(out, part->bytes, part->n_bytes);
    return HS_OK;
}

/* The parts of a column of edges. */
static hs_status encode_parts(struct hs_chunk_encoder *encoder, enum hs_section_kind kind,
                              struct hs_section_parts *ret, struct hs_error *err)
{
    struct hs_long_buffer *first = &encoder->degrees, *second = &encoder->targets, *third = NULL;

    if (kind == HS_SECTION_FIELDS) {
        HS_TRY(runs_end(&encoder->classes, encoder->budget, err));
        HS_TRY(runs_end(&encoder->reasons, encoder->budget, err));
        first = &encoder->classes.pairs;
        second = &encoder->fields;
        third = &encoder->reasons.pairs;
    } else if (kind == HS_SECTION_EXTRA) {
        first = &encoder->extra_head;
        first->tail.n_bytes = 0;
        HS_TRY(hs_buffer_reserve(&first->tail, HS_VARINT_MAX_BYTES, err));
        hs_buffer_put_varint(&first->tail, encoder->n_extra);
        second = &encoder->extra;
    }
    *ret = (struct hs_section_parts){.parts = {first, second, third},
                                     .n_parts = third == NULL ? 2 : 3,
                                     .n_bytes = hs_long_buffer_bytes(first) +
                                                hs_long_buffer_bytes(second)};
    if (third != NULL)
        ret->n_bytes += hs_long_buffer_bytes(third);
    return HS_OK;
}

hs_status hs_chunk_encoder_column(struct hs_chunk_encoder *encoder, enum hs_section_kind kind,
                                  struct hs_buffer *out, struct hs_section_parts *ret_long,
                                  struct hs_error *err)
{
    struct hs_section_parts parts;

    *ret_long = (struct hs_section_parts){0};
    switch (kind) {
    case HS_SECTION_SIZES:
        HS_TRY(runs_end(&encoder->states, NULL, err));
        HS_TRY(encode_append(out, &encoder->gaps, err));
        HS_TRY(encode_append(out, &encoder->words, err));
        return encode_append(out, &encoder->states.pairs.tail, err);
    case HS_SECTION_BLOCK_TYPES:
        HS_TRY(encode_append(out, &encoder->types, err));
        if (encoder->n_counts == 0)
            return HS_OK;
        HS_TRY(hs_buffer_reserve(out, HS_VARINT_MAX_BYTES, err));
        hs_buffer_put_varint(out, encoder->n_counts);
        return encode_append(out, &encoder->counts, err);
    case HS_SECTION_EDGES:
    case HS_SECTION_FIELDS:
    case HS_SECTION_EXTRA:
        HS_TRY(encode_parts(encoder, kind, &parts, err));
        if (parts.n_bytes > HS_SECTION_LONG_BYTES) {
            *ret_long = parts;
            return HS_OK;
        }
        for (size_t i = 0; i < parts.n_parts; i++)
            HS_TRY(encode_append(out, &parts.parts[i]->tail, err));
        return HS_OK;
    default:
        return hs_fail(err, HS_BUG, "section kind %u is no column", kind);
    }
}
