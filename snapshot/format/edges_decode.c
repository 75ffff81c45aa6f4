/* The EDGES column: degrees, then targets row by row. */
#include <assert.h>

#include "chunk_codec.h"
#include "varint.h"

#define LAST_BYTES UINT64_C(0x8080808080808080) /* top bit clear: a last byte */

static hs_status edges_short(uint64_t block, struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "it ends early, or holds a malformed number, at block %llu",
                   (unsigned long long)block);
}

/* ---- degrees ---- */

/* Eight degrees of one byte each at `at`: false when they are not, or have more edges than room. */
static inline bool degrees_take_8(const uint8_t *at, uint64_t room, uint64_t *begin)
{
    uint64_t x, sum = begin[0];

    memcpy(&x, at, sizeof x);
    x = le64toh(x);
    if ((x & LAST_BYTES) != 0)
        return false;
    for (unsigned i = 0; i < 8; i++) {
        sum += x >> (8 * i) & 0x7f;
        begin[i + 1] = sum;
    }
    return sum <= room;
}

hs_status hs_degrees_decode(const uint8_t *bytes, size_t n_bytes, struct hs_chunk *chunk,
                            size_t *ret_used, struct hs_error *err)
{
    const uint8_t *at = bytes;
    const uint8_t *end = bytes + n_bytes;
    uint64_t *begin = chunk->edge_begin;
    begin[0] = 0;
    for (uint32_t i = 0; i < chunk->n_blocks;) {
        if (chunk->n_blocks - i >= 8 && end - at >= 8 && degrees_take_8(at, n_bytes, begin + i)) {
            i += 8;
            at += 8;
            continue;
        }
        struct hs_varint v = hs_varint_take_any(at, end);
        if (v.next == NULL)
            return edges_short(chunk->first + i, err);
        /* An edge takes at least a byte. */
        if (v.value > n_bytes - begin[i])
            return hs_fail(err, HS_FORMAT, "block %llu has %llu edges, more than there is room for",
                           (unsigned long long)(chunk->first + i), (unsigned long long)v.value);
        begin[i + 1] = begin[i] + v.value;
        i++;
        at = v.next;
    }
    uint64_t n_edges = begin[chunk->n_blocks];
    if (n_edges > (uint64_t)(end - at))
        return hs_fail(err, HS_FORMAT, "%llu edges cannot stand in %zu bytes",
                       (unsigned long long)n_edges, (size_t)(end - at));
    chunk->n_edges = n_edges;
    *ret_used = (size_t)(at - bytes);
    return HS_OK;
}

/* ---- targets ---- */

static hs_status edges_out_of_range(hs_node source, struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "an edge of block %llu leads to a node that does not exist",
                   (unsigned long long)source);
}

hs_status hs_targets_decode(const uint8_t *bytes, size_t n_bytes,
                            const struct hs_chunk_limits *limits, struct hs_chunk *chunk,
                            struct hs_error *err)
{
    const uint8_t *at = bytes, *const end = bytes + n_bytes;
    const hs_node n_tree = limits->n_tree, limit = limits->n_tree + limits->n_blocks;
    const uint64_t *begin = chunk->edge_begin;
    hs_node *out = chunk->target;
    bool is_odd = false; /* there was a duplicate or a self loop */

    assert(limit >= n_tree);
    for (uint32_t i = 0; i < chunk->n_blocks && chunk->n_edges != 0; i++) { /* else no target[] */
        const hs_node source = chunk->first + i, *const row_end = chunk->target + begin[i + 1];
        if (out == row_end)
            continue;
        struct hs_varint v = hs_varint_take_any(at, end);
        if (v.next == NULL)
            return edges_short(source, err);
        hs_node target = source + (uint64_t)hs_zigzag_decode(v.value);
        if (target - n_tree >= limit - n_tree)
            return edges_out_of_range(source, err);
        for (;;) {
            *out++ = target;
            is_odd |= target == source;
            at = v.next;
            if (out == row_end)
                break;
            v = hs_varint_take_any(at, end);
            if (v.next == NULL)
                return edges_short(source, err);
            if (v.value >= limit - target)
                return edges_out_of_range(source, err);
            is_odd |= v.value == 0;
            target += v.value;
        }
    }
    if (at != end)
        return hs_fail(err, HS_FORMAT, "%zu bytes are left over at its end", (size_t)(end - at));
    chunk->has_plain_rows = !is_odd;
    return HS_OK;
}
