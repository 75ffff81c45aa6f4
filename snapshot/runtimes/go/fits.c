#include "fits.h"

#include <limits.h>

#include "masks.h"
#include "pointers.h"

enum { MAP_BYTES = 48, CHAN_BYTES_MIN = 96, CHAN_ELEMENT_AT = 24, CHAN_ELEMENT_MASK = UINT16_MAX };

/* ---- static data */

static const struct hs_go_data *data_at(const struct hs_go_heap *heap, hs_addr at)
{
    for (unsigned i = 0; i < HS_GO_NOPTRDATA; i++)
        if (at >= heap->module.data[i].begin && at < heap->module.data[i].end)
            return &heap->module.data[i];
    return NULL;
}

bool hs_go_is_in_data(const struct hs_go_heap *heap, hs_addr at)
{
    return data_at(heap, at) != NULL;
}

bool hs_go_is_static_value(const struct hs_go_heap *heap, hs_addr at, hs_addr address)
{
    const struct hs_go_data *data = data_at(heap, at);
    const struct hs_go_mask *of;
    struct hs_go_type type;

    if (data == NULL || at % HS_WORD_BYTES != 0 || !hs_go_read_type(heap, address, &type) ||
        type.n_pointer_bytes == 0 || type.n_bytes > data->end - at)
        return false;
    uint64_t first = (at - data->begin) / HS_WORD_BYTES, n = type.n_bytes / HS_WORD_BYTES;
    const uint8_t *bits = first + n > data->n_mask_bits
                              ? NULL
                              : hs_go_bytes(heap, data->mask + first / CHAR_BIT,
                                            (first % CHAR_BIT + n + CHAR_BIT - 1) / CHAR_BIT);
    if (bits == NULL || (of = hs_go_mask_of(heap, heap->masks, address, type.n_bytes)) == NULL)
        return false;
    for (uint64_t i = 0; i < n; i++) {
        uint64_t bit = first % CHAR_BIT + i;
        bool is_pointer =
            i < of->n_masked_words && (of->bits[i / CHAR_BIT] >> i % CHAR_BIT & 1) != 0;
        if (is_pointer != ((bits[bit / CHAR_BIT] >> bit % CHAR_BIT & 1) != 0))
            return false;
    }
    return true;
}

/* ---- objects */

/* Tells whether each pointer of an object stands where values of a type have one. */
static bool has_pointers_of(const struct hs_go_heap *heap, const struct hs_go_block *block,
                            const struct hs_go_type *type)
{
    uint64_t header = hs_go_header_bytes(heap, block->span) / HS_WORD_BYTES, word, offset;
    const struct hs_go_mask *mask =
        hs_go_mask_of(heap, heap->masks, type->address, block->span->elem_bytes);

    if (mask == NULL || mask->n_words == 0)
        return false;
    const struct hs_go_mask of = *mask; /* it moves when another is made */
    struct hs_go_pointers it = hs_go_pointers_begin(heap, block);
    while (hs_go_pointers_next(&it, &word, &offset)) {
        uint64_t at = offset < header ? 0 : (offset - header) % of.n_words;
        if (at >= of.n_masked_words || (of.bits[at / CHAR_BIT] >> at % CHAR_BIT & 1) == 0)
            return false;
    }
    return true;
}

/* Tells whether a block has room for so many values of a type, and no more than a size class adds;
 * up to 1.23 a sixteenth of the entries of a map may be there more. */
static bool is_room_for(const struct hs_go_heap *heap, hs_addr begin, hs_addr address, uint64_t n)
{
    struct hs_go_block block;
    struct hs_go_type type;

    if (!hs_go_resolve(heap, begin, &block) || !hs_go_read_type(heap, address, &type) ||
        type.n_bytes == 0 || n > block.span->elem_bytes / type.n_bytes)
        return false;
    uint64_t n_bytes = n * type.n_bytes;
    return ((block.span->spanclass & 1) != 0) == (type.n_pointer_bytes == 0) &&
           block.span->elem_bytes <= n_bytes + n_bytes / 3 + MAP_BYTES;
}

bool hs_go_has_entries(const struct hs_go_heap *heap, hs_addr map, hs_addr type)
{
    enum { LOG_AT = 9, GROUPS_AT = 16, LENGTH_AT = 24, MASK_AT = 24, LOG_MAX = 40 };
    uint64_t entries = hs_go_member(heap, map, HS_GO_MAP_ENTRIES_AT), of, log;

    if (!hs_go_u64(heap, type + HS_GO_ENTRIES_AT, &of) || entries == 0)
        return entries == 0;
    if (heap->layout->minor < HS_GO_MINOR_OF_GROUPS) {
        log = hs_go_member(heap, map, LOG_AT - 1) >> CHAR_BIT & UINT8_MAX;
        return log <= LOG_MAX && is_room_for(heap, entries, of, UINT64_C(1) << log);
    }
    if (hs_go_member(heap, map, LENGTH_AT) == 0)
        return is_room_for(heap, entries, of, 1);
    uint64_t table = hs_go_member(heap, entries, 0), mask = hs_go_member(heap, table, MASK_AT);
    return mask < UINT32_MAX &&
           is_room_for(heap, hs_go_member(heap, table, GROUPS_AT), of, mask + 1);
}

bool hs_go_fits(const struct hs_go_heap *heap, hs_addr word, hs_addr address,
                enum hs_go_holding holding)
{
    struct hs_go_block block;
    struct hs_go_type type;

    if (!hs_go_read_type(heap, address, &type) || type.n_bytes == 0)
        return false;
    if (!hs_go_resolve(heap, word, &block))
        return holding == HS_GO_HOLD_ONE && hs_go_is_in_data(heap, word);
    uint64_t n_bytes = block.span->elem_bytes, header = hs_go_header_bytes(heap, block.span);
    bool has_none = (block.span->spanclass & 1) != 0;
    if (word != block.begin + header)
        return false;
    if (holding == HS_GO_HOLD_MAP)
        return type.kind == HS_GO_MAP && n_bytes == MAP_BYTES && !has_none &&
               hs_go_has_entries(heap, word, address);
    if (holding == HS_GO_HOLD_CHAN)
        return n_bytes >= CHAN_BYTES_MIN &&
               (hs_go_member(heap, word, CHAN_ELEMENT_AT) & CHAN_ELEMENT_MASK) == type.n_bytes;
    if (has_none != (type.n_pointer_bytes == 0) || type.n_bytes > n_bytes - header)
        return false;
    if (holding == HS_GO_HOLD_ONE && n_bytes > 2 * (type.n_bytes + header))
        return false;
    return has_none || has_pointers_of(heap, &block, &type);
}
