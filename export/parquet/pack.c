#include "pack.h"

enum { BLOCK_VALUES = 128, GROUPS = 4, GROUP_VALUES = BLOCK_VALUES / GROUPS };

/* Puts bits; room is there. */
static void put_bits(const uint64_t *values, size_t n, unsigned width, struct hs_buffer *b)
{
    unsigned __int128 waiting = 0;
    unsigned n_waiting = 0;
    for (size_t i = 0; i < n; i++) {
        waiting |= (unsigned __int128)values[i] << n_waiting;
        n_waiting += width;
        if (n_waiting >= 64) {
            hs_buffer_put_u64(b, (uint64_t)waiting);
            waiting >>= 64;
            n_waiting -= 64;
        }
    }
    for (; n_waiting > 0; n_waiting -= n_waiting < 8 ? n_waiting : 8) {
        hs_buffer_put_u8(b, (uint8_t)waiting);
        waiting >>= 8;
    }
}

hs_status pack_bits(const uint64_t *values, size_t n, unsigned width, struct hs_buffer *b,
                    struct hs_error *err)
{
    assert(width <= 64);
    HS_TRY(hs_buffer_reserve(b, n * width / 8 + 1, err));
    put_bits(values, n, width, b);
    return HS_OK;
}

/* The n differences behind *last, at most BLOCK_VALUES; the last group is filled up with zeroes. */
static void put_block(const int64_t *values, size_t n, int64_t last, struct hs_buffer *b)
{
    uint64_t rest[BLOCK_VALUES] = {0};
    int64_t least = INT64_MAX;
    for (size_t i = 0; i < n; i++) {
        rest[i] = (uint64_t)values[i] - (uint64_t)last;
        last = values[i];
        if ((int64_t)rest[i] < least)
            least = (int64_t)rest[i];
    }
    for (size_t i = 0; i < n; i++)
        rest[i] -= (uint64_t)least;
    hs_buffer_put_zigzag(b, least);
    unsigned width[GROUPS];
    for (size_t g = 0; g < GROUPS; g++) {
        uint64_t all = 0;
        for (size_t i = 0; i < GROUP_VALUES; i++)
            all |= rest[g * GROUP_VALUES + i];
        width[g] = pack_width(all);
        hs_buffer_put_u8(b, (uint8_t)width[g]);
    }
    for (size_t g = 0; g * GROUP_VALUES < n; g++)
        put_bits(rest + g * GROUP_VALUES, GROUP_VALUES, width[g], b);
}

hs_status pack_deltas(const int64_t *values, size_t n, struct hs_buffer *b, struct hs_error *err)
{
    size_t n_blocks = n / BLOCK_VALUES + 1;
    HS_TRY(hs_buffer_reserve(
        b, 4 * HS_VARINT_MAX_BYTES + n_blocks * (HS_VARINT_MAX_BYTES + GROUPS + 8 * BLOCK_VALUES),
        err));
    hs_buffer_put_varint(b, BLOCK_VALUES);
    hs_buffer_put_varint(b, GROUPS);
    hs_buffer_put_varint(b, n);
    hs_buffer_put_zigzag(b, n == 0 ? 0 : values[0]);
    for (size_t i = 1; i < n; i += BLOCK_VALUES)
        put_block(values + i, n - i < BLOCK_VALUES ? n - i : BLOCK_VALUES, values[i - 1], b);
    return HS_OK;
}

hs_status pack_indices(const uint64_t *indices, size_t n, unsigned width, struct hs_buffer *b,
                       struct hs_error *err)
{
    enum { AT_ONCE = 8 }; /* a run is of whole groups of eight */
    uint64_t last[AT_ONCE] = {0};
    size_t whole = n / AT_ONCE * AT_ONCE;
    HS_TRY(hs_buffer_reserve(b, 1 + HS_VARINT_MAX_BYTES + (n + AT_ONCE) * width / 8 + 1, err));
    hs_buffer_put_u8(b, (uint8_t)width);
    hs_buffer_put_varint(b, (n + AT_ONCE - 1) / AT_ONCE << 1 | 1);
    put_bits(indices, whole, width, b);
    if (whole == n)
        return HS_OK;
    memcpy(last, indices + whole, (n - whole) * sizeof *last);
    put_bits(last, AT_ONCE, width, b);
    return HS_OK;
}
