/* Turns the columns of a chunk back into arrays. The bytes are hostile: each number is checked
 * where it is made, and no loop runs longer than the bytes it was given allow. */
#include <assert.h>

#include "base/checked.h"
#include "base/cursor.h"
#include "chunk_codec.h"
#include "varint.h"

struct hs_varint hs_varint_careful(const uint8_t *at, const uint8_t *end)
{
    struct hs_cursor c = hs_cursor_make(at, (size_t)(end - at));
    uint64_t value = hs_cursor_varint(&c);
    return c.failed ? (struct hs_varint){NULL, 0} : (struct hs_varint){at + c.at, value};
}

static hs_status decode_short(uint64_t block, struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "it ends early, or holds a malformed number, at block %llu",
                   (unsigned long long)block);
}

static hs_status decode_end(const uint8_t *at, const uint8_t *end, struct hs_error *err)
{
    if (at != end)
        return hs_fail(err, HS_FORMAT, "%zu bytes are left over at its end", (size_t)(end - at));
    return HS_OK;
}

/* Spreads runs over values[n]; the lengths sum to n. Returns where they end, NULL when bad. */
static const uint8_t *decode_runs(const uint8_t *at, const uint8_t *end, uint64_t max,
                                  uint8_t *values, uint64_t n)
{
    for (uint64_t done = 0; done < n;) {
        struct hs_varint value = hs_varint_take(at, end);
        if (value.next == NULL || value.value > max)
            return NULL;
        struct hs_varint length = hs_varint_take(value.next, end);
        if (length.next == NULL || length.value == 0 || length.value > n - done)
            return NULL;
        memset(values + done, (int)value.value, (size_t)length.value);
        done += length.value;
        at = length.next;
    }
    return at;
}

/* Addresses need the words, which stand behind all gaps: two passes over address[]. */
static hs_status decode_addresses(const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                                  struct hs_error *err)
{
    hs_addr end_address = 0;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        uint64_t size;
        if (chunk->words[i] == 0 || !hs_mul_fits(chunk->words[i], limits->word_bytes, &size) ||
            !hs_add_fits(end_address, chunk->address[i], &chunk->address[i]) ||
            !hs_add_fits(chunk->address[i], size, &end_address))
            return hs_fail(err, HS_FORMAT, "block %llu has no room in the address space",
                           (unsigned long long)(chunk->first + i));
    }
    return HS_OK;
}

hs_status hs_sizes_decode(const uint8_t *bytes, size_t n_bytes,
                          const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                          struct hs_error *err)
{
    assert(chunk->n_blocks <= HS_CHUNK_BLOCKS);
    const uint8_t *at = bytes;
    const uint8_t *end = bytes + n_bytes;
    uint64_t *const columns[2] = {chunk->address, chunk->words};
    for (size_t column = 0; column < 2; column++) {
        for (uint32_t i = 0; i < chunk->n_blocks; i++) {
            struct hs_varint v = hs_varint_take(at, end);
            if (v.next == NULL)
                return decode_short(chunk->first + i, err);
            columns[column][i] = v.value;
            at = v.next;
        }
    }
    HS_TRY(decode_addresses(limits, chunk, err));
    at = decode_runs(at, end, limits->max_state, chunk->state, chunk->n_blocks);
    if (at == NULL)
        return hs_fail(err, HS_FORMAT, "its runs of states are malformed");
    return decode_end(at, end, err);
}

hs_status hs_block_types_decode(const uint8_t *bytes, size_t n_bytes,
                                const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                                size_t *ret_used, struct hs_error *err)
{
    const uint8_t *at = bytes;
    const uint8_t *end = bytes + n_bytes;
    assert(limits->n_types <= UINT32_MAX);
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        struct hs_varint v = hs_varint_take(at, end);
        if (v.next == NULL)
            return decode_short(chunk->first + i, err);
        if (v.value >= limits->n_types)
            return hs_fail(err, HS_FORMAT, "block %llu has type %llu of %llu",
                           (unsigned long long)(chunk->first + i), (unsigned long long)v.value,
                           (unsigned long long)limits->n_types);
        chunk->type[i] = (uint32_t)v.value;
        at = v.next;
    }
    *ret_used = (size_t)(at - bytes);
    return HS_OK;
}

hs_status hs_counts_number(const uint8_t *bytes, size_t n_bytes,
                           const struct hs_chunk_limits *limits, const struct hs_chunk *chunk,
                           uint32_t *ret, struct hs_error *err)
{
    enum { FIRST_VERSION = 5 };
    *ret = 0;
    if (limits->version < FIRST_VERSION)
        return decode_end(bytes, bytes + n_bytes, err);
    if (n_bytes == 0)
        return HS_OK;
    struct hs_varint n = hs_varint_take(bytes, bytes + n_bytes);
    if (n.next == NULL || n.value == 0 || n.value > chunk->n_blocks)
        return hs_fail(err, HS_FORMAT, "its number of counts is malformed");
    *ret = (uint32_t)n.value;
    return HS_OK;
}

hs_status hs_counts_decode(const uint8_t *bytes, size_t n_bytes, struct hs_chunk *chunk,
                           struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes);
    uint64_t n = n_bytes == 0 ? 0 : hs_cursor_varint(&c), next = 0;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t gap = hs_cursor_varint(&c);
        uint64_t entries = hs_cursor_varint(&c);
        uint64_t room = hs_cursor_varint(&c) - 1;
        HS_TRY(hs_cursor_check(&c, "a count", err));
        if (gap >= chunk->n_blocks - next || (room != HS_NO_ROOM && room < entries))
            return hs_fail(err, HS_FORMAT, "count %llu is of no block, or beyond its room",
                           (unsigned long long)i);
        next += gap + 1;
        if (chunk->counts != NULL)
            chunk->counts[i] = (struct hs_block_count){(uint32_t)(next - 1), entries, room};
    }
    return decode_end(c.bytes + c.at, c.bytes + n_bytes, err);
}

static hs_status decode_out_of_range(hs_node source, struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "an edge of block %llu leads to a node that does not exist",
                   (unsigned long long)source);
}

/* The offsets of all edges; returns where they end, NULL with err set when they are bad. */
static const uint8_t *decode_offsets(const uint8_t *at, const uint8_t *end, struct hs_chunk *chunk,
                                     struct hs_error *err)
{
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        uint64_t offset = 0;
        for (uint64_t e = chunk->edge_begin[i]; e < chunk->edge_begin[i + 1]; e++) {
            struct hs_varint v = hs_varint_take(at, end);
            if (v.next == NULL) {
                (void)decode_short(chunk->first + i, err);
                return NULL;
            }
            offset = e == chunk->edge_begin[i] ? v.value
                                               : offset + 1 + (uint64_t)hs_zigzag_decode(v.value);
            chunk->offset_words[e] = offset;
            at = v.next;
        }
    }
    return at;
}

static const uint8_t *decode_classes(const uint8_t *at, const uint8_t *end, struct hs_chunk *chunk,
                                     struct hs_error *err)
{
    at = decode_runs(at, end, HS_EDGE_GUESSED, chunk->edge_class, chunk->n_edges);
    if (at == NULL)
        (void)hs_fail(err, HS_FORMAT, "its runs of edge classes are malformed");
    return at;
}

/* The next `n` edges from `e` on that are not sure have this reason; returns what comes behind. */
static uint64_t spread_reason(struct hs_chunk *chunk, uint64_t e, uint64_t n, uint8_t reason)
{
    for (; n != 0; e++)
        if (!hs_edge_is_sure(chunk->edge_class[e])) {
            chunk->edge_reason[e] = reason;
            n--;
        }
    return e;
}

/* Spreads the runs of reasons over the edges that are not sure, or, where there is no room for
 * them, only verifies them. Returns where they end, NULL with err set when they are bad. */
static const uint8_t *decode_reasons(const uint8_t *at, const uint8_t *end, struct hs_chunk *chunk,
                                     struct hs_error *err)
{
    uint64_t n_left = 0, next = 0;

    for (uint64_t e = 0; e < chunk->n_edges; e++)
        n_left += !hs_edge_is_sure(chunk->edge_class[e]);
    if (chunk->edge_reason != NULL && chunk->n_edges != 0)
        memset(chunk->edge_reason, HS_REASON_NONE, (size_t)chunk->n_edges);
    while (n_left != 0) {
        struct hs_varint value = hs_varint_take(at, end);
        struct hs_varint length = value.next == NULL ? value : hs_varint_take(value.next, end);
        if (length.next == NULL || length.value == 0 || length.value > n_left ||
            value.value > HS_MAX_REASON) {
            (void)hs_fail(err, HS_FORMAT, "its runs of reasons are malformed");
            return NULL;
        }
        if (chunk->edge_reason != NULL)
            next = spread_reason(chunk, next, length.value, (uint8_t)value.value);
        n_left -= length.value;
        at = length.next;
    }
    return at;
}

/* The classes stand in front since version 3. */
static bool has_classes_first(const struct hs_chunk_limits *limits)
{
    return limits->version >= 3;
}

static bool has_reasons(const struct hs_chunk_limits *limits)
{
    return limits->version >= 4;
}

hs_status hs_fields_decode(const uint8_t *bytes, size_t n_bytes,
                           const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                           struct hs_error *err)
{
    const uint8_t *at = bytes;
    const uint8_t *end = bytes + n_bytes;
    const bool classes_first = has_classes_first(limits);
    if (classes_first)
        at = decode_classes(at, end, chunk, err);
    if (at != NULL)
        at = decode_offsets(at, end, chunk, err);
    if (at != NULL && !classes_first)
        at = decode_classes(at, end, chunk, err);
    if (at != NULL && has_reasons(limits))
        at = decode_reasons(at, end, chunk, err);
    else if (chunk->edge_reason != NULL && chunk->n_edges != 0)
        memset(chunk->edge_reason, HS_REASON_NONE, (size_t)chunk->n_edges);
    return at == NULL ? HS_FORMAT : decode_end(at, end, err);
}

hs_status hs_classes_decode(const uint8_t *bytes, size_t n_bytes,
                            const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                            struct hs_error *err)
{
    const uint8_t *at = bytes;
    const uint8_t *end = bytes + n_bytes;
    if (!has_classes_first(limits)) {
        uint64_t n_left = chunk->n_edges; /* a number ends with the byte without the top bit */
        for (; n_left != 0 && at < end; at++)
            n_left -= *at < 0x80;
        if (n_left != 0)
            return hs_fail(err, HS_FORMAT, "it ends before its edge classes");
    }
    at = decode_classes(at, end, chunk, err);
    if (at == NULL)
        return HS_FORMAT;
    return has_classes_first(limits) ? HS_OK : decode_end(at, end, err);
}

hs_status hs_extra_count(const uint8_t *bytes, size_t n_bytes, const struct hs_chunk_limits *limits,
                         uint64_t *ret, struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes);
    uint64_t n = hs_cursor_varint(&c);
    HS_TRY(hs_cursor_check(&c, "the count of extra edges", err));
    if (n > hs_cursor_left(&c) / (has_reasons(limits) ? 5 : 4))
        return hs_fail(err, HS_FORMAT, "%llu extra edges cannot stand in %zu bytes",
                       (unsigned long long)n, hs_cursor_left(&c));
    *ret = n;
    return HS_OK;
}

static hs_status extra_verify(const struct hs_extra_edge *edge,
                              const struct hs_extra_edge *previous,
                              const struct hs_chunk_limits *limits, struct hs_error *err)
{
    if (edge->target - limits->n_tree >= limits->n_blocks)
        return decode_out_of_range(edge->source, err);
    if (previous != NULL && previous->source == edge->source && previous->target > edge->target)
        return hs_fail(err, HS_FORMAT, "the extra edges of block %llu are out of order",
                       (unsigned long long)edge->source);
    return HS_OK;
}

hs_status hs_extra_decode(const uint8_t *bytes, size_t n_bytes,
                          const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                          struct hs_error *err)
{
    struct hs_cursor c = hs_cursor_make(bytes, n_bytes);
    (void)hs_cursor_varint(&c); /* the count, verified by hs_extra_count */
    hs_node source = chunk->first;
    for (uint64_t i = 0; i < chunk->n_extra; i++) {
        struct hs_extra_edge *edge = &chunk->extra[i];
        uint64_t gap = hs_cursor_varint(&c);
        int64_t distance = hs_cursor_zigzag(&c);
        edge->offset_words = hs_cursor_varint(&c);
        uint64_t edge_class = hs_cursor_varint(&c);
        uint64_t reason = has_reasons(limits) ? hs_cursor_varint(&c) : HS_REASON_NONE;
        HS_TRY(hs_cursor_check(&c, "an extra edge", err));
        if (gap >= chunk->n_blocks - (source - chunk->first))
            return hs_fail(err, HS_FORMAT, "extra edge %llu comes from outside its chunk",
                           (unsigned long long)i);
        if (edge_class >= HS_N_EDGE_CLASSES || hs_edge_is_strong((unsigned)edge_class))
            return hs_fail(err, HS_FORMAT, "extra edge %llu has class %llu", (unsigned long long)i,
                           (unsigned long long)edge_class);
        if (reason > HS_MAX_REASON ||
            (reason != HS_REASON_NONE && !hs_edge_has_reason((unsigned)edge_class)))
            return hs_fail(err, HS_FORMAT, "extra edge %llu has reason %llu", (unsigned long long)i,
                           (unsigned long long)reason);
        source += gap;
        edge->source = source;
        edge->target = source + (uint64_t)distance;
        edge->edge_class = (uint8_t)edge_class;
        edge->reason = (uint8_t)reason;
        HS_TRY(extra_verify(edge, i == 0 ? NULL : edge - 1, limits, err));
    }
    return decode_end(c.bytes + c.at, c.bytes + n_bytes, err);
}
