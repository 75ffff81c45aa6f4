#include "core_edges.h"

#include <assert.h>

#define PUT_BYTES 1024
#define VARINT_BYTES 10

/* Varints on their way to a spill. */
struct edge_bytes {
    struct hs_spill *spill;
    size_t n;
    uint8_t bytes[PUT_BYTES];
};

static hs_status edge_put(struct edge_bytes *out, uint64_t value, struct hs_error *err)
{
    if (out->n + VARINT_BYTES > PUT_BYTES) {
        HS_TRY(hs_spill_write(out->spill, out->bytes, out->n, err));
        out->n = 0;
    }
    for (; value >= 0x80; value >>= 7)
        out->bytes[out->n++] = (uint8_t)(value | 0x80);
    out->bytes[out->n++] = (uint8_t)value;
    return HS_OK;
}

hs_status core_edges_put(struct hs_spill *spill, const struct core_edges *edges,
                         struct hs_error *err)
{
    struct edge_bytes out = {.spill = spill};

    assert(edges->n != 0 && edges->n <= CORE_EDGES_MAX);
    HS_TRY(edge_put(&out, edges->core, err));
    HS_TRY(edge_put(&out, edges->n, err));
    HS_TRY(edge_put(&out, edges->source[0], err));
    for (uint32_t i = 1; i < edges->n; i++) {
        assert(edges->source[i] > edges->source[i - 1]);
        HS_TRY(edge_put(&out, edges->source[i] - edges->source[i - 1] - 1, err));
    }
    return hs_spill_write(spill, out.bytes, out.n, err);
}

static hs_status edges_damaged(struct hs_error *err)
{
    return hs_fail(err, HS_BUG, "the edges between regions are not what was written");
}

hs_status core_edges_get(struct hs_spill_reader *reader, struct core_edges *ret, bool *ret_more,
                         struct hs_error *err)
{
    uint64_t core, n, value, last;

    *ret_more = false;
    if (hs_spill_at_end(reader))
        return HS_OK;
    HS_TRY(hs_spill_get_varint(reader, &core, err));
    HS_TRY(hs_spill_get_varint(reader, &n, err));
    HS_TRY(hs_spill_get_varint(reader, &last, err));
    if (core >= UINT32_MAX || n == 0 || n > CORE_EDGES_MAX)
        return edges_damaged(err);
    ret->source[0] = last;
    for (uint64_t i = 1; i < n; i++) {
        HS_TRY(hs_spill_get_varint(reader, &value, err));
        if (__builtin_add_overflow(last, value, &value) || value == UINT64_MAX)
            return edges_damaged(err);
        ret->source[i] = last = value + 1;
    }
    ret->core = (uint32_t)core;
    ret->n = (uint32_t)n;
    *ret_more = true;
    return HS_OK;
}
