/* The division of rows into pieces. */
#include <assert.h>

#include "sweep_parts.h"

static hs_status piece_emit(struct hs_sweep_out *out, const struct hs_piece *piece,
                            struct hs_error *err)
{
    uint64_t n = piece->begin[piece->n];
    if (n > out->max_edges - out->n_edges)
        return hs_fail(err, HS_FORMAT, "the graph has more than the %llu edges that it should have",
                       (unsigned long long)out->max_edges);
    out->n_edges += n;
    return out->sink->put(out->sink->context, piece, err);
}

hs_status hs_sweep_emit_part(struct hs_sweep_out *out, hs_node node, uint64_t of_row,
                             const hs_node *target, uint64_t n, struct hs_error *err)
{
    const uint64_t begin[2] = {0, n};
    const struct hs_piece piece = {
        .first = node, .n = 1, .of_row = of_row, .begin = begin, .target = target};
    return piece_emit(out, &piece, err);
}

static hs_status row_emit_parts(struct hs_sweep_out *out, hs_node node, const hs_node *target,
                                uint64_t n, struct hs_error *err)
{
    for (uint64_t at = 0; at < n; at += HS_PIECE_TARGETS) {
        uint64_t part = n - at < HS_PIECE_TARGETS ? n - at : HS_PIECE_TARGETS;
        HS_TRY(hs_sweep_emit_part(out, node, n, target + at, part, err));
    }
    return HS_OK;
}

hs_status hs_sweep_emit(struct hs_sweep_out *out, hs_node first, uint32_t n, uint64_t *begin,
                        const hs_node *target, struct hs_error *err)
{
    uint64_t base = 0;

    assert(begin[0] == 0);
    for (uint32_t i = 0; i < n;) {
        uint32_t end = i;
        while (end < n && end - i < HS_PIECE_NODES && begin[end + 1] - base <= HS_PIECE_TARGETS)
            end++;
        if (end == i) { /* one row is more than a piece */
            HS_TRY(row_emit_parts(out, first + i, target + base, begin[i + 1] - base, err));
            base = begin[++i];
            continue;
        }
        uint64_t next = begin[end];
        for (uint32_t k = i; base != 0 && k <= end; k++) /* begin[i] is base */
            begin[k] -= base;
        const struct hs_piece piece = {
            .first = first + i, .n = end - i, .begin = begin + i, .target = target + base};
        HS_TRY(piece_emit(out, &piece, err));
        begin[end] = base = next;
        i = end;
    }
    return HS_OK;
}
