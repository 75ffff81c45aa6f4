#include "ends_alike.h"

#include "flow.h"

enum {
    ALIKE_WORD = 8,
    ALIKE_STRIDES = 8,  /* words of an element at the most */
    ALIKE_ELEMENTS = 4, /* on either side */
    ALIKE_HOLDERS = 8,  /* on either side, in the slab */
    ALIKE_ENOUGH = 4,   /* pairs of full buffers of one size: others will not differ */
    ALIKE_IN_ARRAY = 3, /* pairs of an array that agree, the least */
    ALIKE_ONE_IN = 4    /* holders in a slab may be of other types */
};

/* Pairs in the same place of others. */
struct alike {
    unsigned n_middle, n_full; /* the second leads into the first's block, or is its end */
    unsigned n_other;          /* it leads elsewhere */
    bool is_other_size;        /* a full one has another size than the buffer in question */
};

/* Tells, without a look-up, whether a pair has a full buffer as large as the one in question, as
 * most in rows of nodes have. */
static bool alike_is_full(const uint8_t *begin, const uint8_t *end,
                          const struct hs_heap_block *before)
{
    return hs_load_u64(end) - hs_load_u64(begin) == before->n_bytes;
}

/* Counts a pair; of an empty one, and of one that begins with no block, nothing is known. */
static void alike_count(const struct hs_native *native, const uint8_t *begin, const uint8_t *end,
                        const struct hs_heap_block *before, struct alike *alike)
{
    uint64_t first = hs_load_u64(begin), second = hs_load_u64(end);
    struct hs_heap_block block;

    if (alike_is_full(begin, end, before)) {
        alike->n_full++;
        return;
    }
    if (first == second || first == before->begin ||
        hs_flow_resolve(native, first, &block) != HS_POINTER_START)
        return;
    uint64_t distance = second - block.begin;
    alike->n_middle += distance < block.n_bytes;
    alike->n_full += distance == block.n_bytes;
    alike->n_other += distance > block.n_bytes;
    alike->is_other_size |= distance == block.n_bytes && block.n_bytes != before->n_bytes;
}

/* Tells whether all buffers so far are full and of one size, as nodes in a row are. */
static bool alike_is_in_vain(const struct alike *alike)
{
    return alike->n_middle == 0 && !alike->is_other_size &&
           alike->n_full + alike->n_other >= ALIKE_ENOUGH;
}

/* Tells whether a pair is a part of a row of pointers to blocks that follow each other, of which
 * every second one seems to be an end. */
static bool alike_is_row(const struct hs_ends_place *place, uint64_t begin_at, uint64_t end_at)
{
    uint64_t first = hs_load_u64(place->bytes + begin_at);
    uint64_t second = hs_load_u64(place->bytes + end_at), n_bytes = second - first;

    return n_bytes != 0 &&
           ((begin_at >= ALIKE_WORD &&
             hs_load_u64(place->bytes + begin_at - ALIKE_WORD) + n_bytes == first) ||
            (end_at + 2 * ALIKE_WORD <= place->n_bytes &&
             hs_load_u64(place->bytes + end_at + ALIKE_WORD) == second + n_bytes));
}

/* Counts the pair of an element of an array, whose second word is at `end_at`. */
static void alike_count_at(const struct hs_native *native, const struct hs_ends_place *place,
                           uint64_t end_at, unsigned back, const struct hs_heap_block *before,
                           struct alike *alike)
{
    uint64_t begin_at = end_at - (uint64_t)back * ALIKE_WORD;

    if (alike_is_row(place, begin_at, end_at))
        alike->n_other++;
    else
        alike_count(native, place->bytes + begin_at, place->bytes + end_at, before, alike);
}

/* Asks the elements of an array of `stride` words on either side. */
static bool alike_in_array(const struct hs_native *native, const struct hs_ends_place *place,
                           unsigned back, const struct hs_heap_block *before, uint64_t stride)
{
    struct alike alike = {0};

    for (uint64_t i = 1; i <= ALIKE_ELEMENTS && !alike_is_in_vain(&alike); i++) {
        uint64_t bytes = i * stride * ALIKE_WORD, from = place->at - back * ALIKE_WORD;
        if (from >= bytes)
            alike_count_at(native, place, place->at - bytes, back, before, &alike);
        if (place->at + bytes + ALIKE_WORD <= place->n_bytes)
            alike_count_at(native, place, place->at + bytes, back, before, &alike);
    }
    return alike.n_other == 0 && alike.n_middle + alike.n_full >= ALIKE_IN_ARRAY &&
           (alike.n_middle >= 2 || alike.is_other_size);
}

/* Asks the live blocks on either side of the holder in its slab. */
static bool alike_in_slab(const struct hs_native *native, const struct hs_ends_place *place,
                          unsigned back, const struct hs_heap_block *before)
{
    const struct hs_heap_block *holder = place->holder;
    const struct hs_heap_span *span = holder == NULL ? NULL : holder->span;
    struct hs_heap_block other;
    struct alike alike = {0};

    if (span == NULL || span->form != HS_SPAN_UNIFORM || span->bytes == NULL)
        return false;
    for (uint64_t i = 1; i <= ALIKE_HOLDERS && !alike_is_in_vain(&alike); i++)
        for (unsigned side = 0; side < 2; side++) {
            uint64_t bytes = i * span->unit_bytes;
            hs_addr at = side == 0 ? holder->begin - bytes : holder->begin + bytes;
            if (at < span->begin || at >= span->end ||
                span->end - at < place->at + ALIKE_WORD) /* the rest of a slab is no holder */
                continue;
            const uint8_t *end = span->bytes + (at - span->begin) + place->at;
            const uint8_t *begin = end - (uint64_t)back * ALIKE_WORD;
            if (alike_is_full(begin, end, before) ||
                hs_flow_resolve(native, at, &other) == HS_POINTER_START)
                alike_count(native, begin, end, before, &alike);
        }
    unsigned n = alike.n_middle + alike.n_full;
    return alike.n_middle != 0 ? n >= 2 && alike.n_other <= n / ALIKE_ONE_IN
                               : n >= 2 && alike.n_other == 0 && alike.is_other_size;
}

bool hs_ends_are_alike(const struct hs_native *native, const struct hs_ends_place *place,
                       unsigned back, const struct hs_heap_block *before)
{
    if (alike_in_slab(native, place, back, before))
        return true;
    for (uint64_t stride = back + 1; stride <= ALIKE_STRIDES; stride++)
        if (alike_in_array(native, place, back, before, stride))
            return true;
    return false;
}
