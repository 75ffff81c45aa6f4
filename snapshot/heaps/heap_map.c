#include "heaps/heap_map.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/huge.h"
#include "heap_map_pages.h"
#include "heap_map_seal.h"

#define MAP_CHUNK_BYTES ((uint64_t)16)
#define MAP_HEADER_BYTES ((uint64_t)8) /* the size word before a chunk's memory */
#define MAP_LEAST_CHUNK ((uint64_t)32) /* MINSIZE of malloc/malloc.c */
#define MAP_NEAR_WORDS ((uint64_t)16)  /* of the bitmaps: 16 KiB of chunks */
#define MAP_LEAST_UNIT ((uint64_t)8)
#define MAP_STEPS ((uint64_t)32) /* from block to block; beyond it a search is quicker */
#define MAP_BITS_LIMIT ((uint64_t)1 << 38)
#define MAP_SPANS_LIMIT ((size_t)HS_PAGE_NO_SPAN / 2)
#define MAP_END ((hs_addr)1 << HS_ADDRESS_BITS)

const char *hs_heap_owner_name(unsigned owner)
{
#define NAME(name) [HS_OWNER_##name] = #name,
    static const char *const names[HS_N_OWNERS] = {
        HS_ALLOCATORS(NAME)[HS_OWNER_RUNTIME] = "runtime", [HS_OWNER_MAPPING] = "unclaimed"};
#undef NAME
    return owner < HS_N_OWNERS ? names[owner] : NULL;
}

void hs_heap_map_init(struct hs_heap_map *map, const struct hs_image *image)
{
    *map = (struct hs_heap_map){.image = image};
}

void hs_heap_map_fini(struct hs_heap_map *map)
{
    if (map == NULL)
        return;
    hs_free(map->spans);
    hs_bitmap_fini(&map->starts);
    hs_bitmap_fini(&map->stops);
    hs_page_table_free(map->pages);
    *map = (struct hs_heap_map){0};
}

/* ---- building */

/* Brings a span into its form; false when it can be none. */
static bool map_fit(struct hs_heap_span *span)
{
    if (span->begin == 0 || span->begin >= span->end || span->end > MAP_END ||
        span->owner >= HS_N_OWNERS)
        return false;
    switch (span->form) {
    case HS_SPAN_HEADERS:
        span->unit_bytes = MAP_CHUNK_BYTES;
        return span->begin % MAP_CHUNK_BYTES == 0;
    case HS_SPAN_MARKED:
        span->unit_bytes = MAP_LEAST_UNIT;
        return span->begin % MAP_LEAST_UNIT == 0;
    case HS_SPAN_UNIFORM:
        if (span->unit_bytes < MAP_LEAST_UNIT || span->unit_bytes > span->end - span->begin)
            return false;
        span->end -= (span->end - span->begin) % span->unit_bytes;
        return true;
    case HS_SPAN_SINGLE:
        span->unit_bytes = span->end - span->begin; /* seal may leave less of it */
        return true;
    default:
        return false;
    }
}

hs_status hs_heap_map_add(struct hs_heap_map *map, const struct hs_heap_span *span,
                          struct hs_error *err)
{
    struct hs_heap_span new = *span;

    assert(!map->is_sealed);
    if (!map_fit(&new)) {
        map->n_unfit++;
        return HS_OK;
    }
    if (map->n_spans == MAP_SPANS_LIMIT)
        return hs_fail(err, HS_LIMIT, "cannot keep more than %zu pieces of heaps", MAP_SPANS_LIMIT);
    HS_TRY(HS_GROW(&map->spans, &map->spans_capacity, map->n_spans + 1, err));
    new.first_bit = map->n_spans; /* until seal: the order of adding */
    map->spans[map->n_spans++] = new;
    return HS_OK;
}

/* The copy of a span, and of the header before its first chunk; NULL when not in one piece. */
static const uint8_t *map_span_bytes(const struct hs_image *image, const struct hs_heap_span *span,
                                     size_t *hint)
{
    uint64_t n_before = span->form == HS_SPAN_HEADERS ? MAP_HEADER_BYTES : 0;
    const struct hs_image_range *range = hs_image_find(image, span->begin - n_before, hint);

    if (range == NULL || range->end < span->end)
        return NULL;
    return range->bytes + (span->begin - range->begin);
}

/* Gives every span its bits and its bytes; number of bits. */
static hs_status map_lay_out(struct hs_heap_map *map, uint64_t *ret_n_bits, struct hs_error *err)
{
    uint64_t n_bits = 0;
    size_t hint = 0;

    for (size_t i = 0; i < map->n_spans; i++) {
        struct hs_heap_span *span = &map->spans[i];
        uint64_t n_bytes = span->end - span->begin;
        span->first_bit = n_bits;
        span->bytes = map->image != NULL ? map_span_bytes(map->image, span, &hint) : NULL;
        n_bits += n_bytes / span->unit_bytes + (n_bytes % span->unit_bytes != 0);
        if (n_bits > MAP_BITS_LIMIT)
            return hs_fail(err, HS_LIMIT, "cannot keep track of more than %llu places for blocks",
                           (unsigned long long)MAP_BITS_LIMIT);
    }
    *ret_n_bits = n_bits;
    return HS_OK;
}

/* Asks for huge pages under the bitmaps where most of what the spans cover is there: in a span of
 * which little is, a huge page would be for a few bits. */
static void map_prefer_huge(struct hs_heap_map *map)
{
    uint64_t n_bytes = 0, n_map_bytes = map->starts.n_bits / 8;

    for (size_t i = 0; i < map->n_spans; i++)
        n_bytes += map->spans[i].end - map->spans[i].begin;
    if (map->image == NULL || n_bytes / 2 > map->image->kept_bytes)
        return;
    hs_pages_prefer_huge(map->starts.words, n_map_bytes);
    hs_pages_prefer_huge(map->stops.words, n_map_bytes);
}

hs_status hs_heap_map_seal(struct hs_heap_map *map, uint64_t *ret_n_refused, struct hs_error *err)
{
    uint64_t n_bits = 0, n_refused = 0;

    assert(!map->is_sealed);
    HS_TRY(
        hs_heap_spans_flatten(&map->spans, &map->n_spans, &map->spans_capacity, &n_refused, err));
    HS_TRY(map_lay_out(map, &n_bits, err));
    HS_TRY(hs_page_table_new(map->spans, map->n_spans, &map->pages, err));
    HS_TRY(hs_bitmap_init(&map->starts, n_bits, err));
    HS_TRY(hs_bitmap_init(&map->stops, n_bits, err));
    map_prefer_huge(map);
    map->is_sealed = true;
    *ret_n_refused = n_refused + map->n_unfit;
    return HS_OK;
}

/* ---- looking up */

const struct hs_heap_span *hs_heap_map_span_at(const struct hs_heap_map *map, hs_addr address)
{
    assert(map->is_sealed);
    if (address >= MAP_END)
        return NULL;
    uint32_t at = hs_page_table_at(map->pages, address);
    if (at == HS_PAGE_NO_SPAN)
        return NULL;
    const struct hs_heap_span *span = &map->spans[at];
    if (span->begin > address) {
        /* Several begin in this page. The last one that does so before it is a lower bound. */
        uint32_t before = address >> HS_PAGE_BITS != 0
                              ? hs_page_table_at(map->pages, address - (1 << HS_PAGE_BITS))
                              : HS_PAGE_NO_SPAN;
        size_t low = before != HS_PAGE_NO_SPAN ? before : 0;
        low = HS_FIRST_NOT(i, low + 1, at, map->spans[i].begin <= address) - 1;
        span = &map->spans[low];
    }
    return span->begin <= address && address < span->end ? span : NULL;
}

/* Has it blocks of several units, so that an address may lie in one that begins before its unit? */
static inline bool map_is_chunked(const struct hs_heap_span *span)
{
    return span->form == HS_SPAN_HEADERS || span->form == HS_SPAN_MARKED;
}

/* Number of the region that an offset lies in. A division of 32 bits takes a third of the time. */
static inline uint64_t map_region(const struct hs_heap_span *span, uint64_t offset)
{
    if (span->form == HS_SPAN_HEADERS)
        return offset / MAP_CHUNK_BYTES;
    if (span->form == HS_SPAN_MARKED)
        return offset / MAP_LEAST_UNIT;
    if (span->form == HS_SPAN_SINGLE)
        return 0;
    if ((offset | span->unit_bytes) >> 32 == 0)
        return (uint32_t)offset / (uint32_t)span->unit_bytes;
    return offset / span->unit_bytes;
}

/* Returns the size in the header before a chunk, without the flags. */
static uint64_t map_chunk_bytes(const struct hs_heap_map *map, const struct hs_heap_span *span,
                                hs_addr begin)
{
    uint64_t word = 0;

    if (span->bytes != NULL)
        memcpy(&word, span->bytes + (begin - span->begin) - MAP_HEADER_BYTES, sizeof word);
    else if (map->image == NULL || !hs_image_u64(map->image, begin - MAP_HEADER_BYTES, &word))
        return 0;
    return word & ~UINT64_C(7);
}

/* The place of a block that starts at `address`; false when none can. */
static bool map_place(const struct hs_heap_map *map, hs_addr address, uint64_t *ret_bit)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(map, address);

    if (span == NULL)
        return false;
    uint64_t region = map_region(span, address - span->begin);
    if (span->begin + region * span->unit_bytes != address)
        return false;
    *ret_bit = span->first_bit + region;
    return span->form != HS_SPAN_HEADERS || map_chunk_bytes(map, span, address) >= MAP_LEAST_CHUNK;
}

bool hs_heap_map_set(struct hs_heap_map *map, hs_addr address)
{
    uint64_t bit;

    if (!map_place(map, address, &bit))
        return false;
    hs_bitmap_set(&map->starts, bit);
    return true;
}

bool hs_heap_map_set_marked(struct hs_heap_map *map, hs_addr address, hs_addr end)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(map, address);
    uint64_t bit;

    if (span == NULL || span->form != HS_SPAN_MARKED || end <= address || end > span->end ||
        end % MAP_LEAST_UNIT != 0 || !map_place(map, address, &bit))
        return false;
    hs_bitmap_set(&map->starts, bit);
    if (end < span->end)
        hs_bitmap_set(&map->stops, bit + (end - address) / MAP_LEAST_UNIT);
    return true;
}

void hs_heap_map_clear(struct hs_heap_map *map, hs_addr address)
{
    uint64_t bit;

    if (map_place(map, address, &bit))
        hs_bitmap_clear(&map->starts, bit);
}

bool hs_heap_map_is_set(const struct hs_heap_map *map, hs_addr address)
{
    uint64_t bit;

    return map_place(map, address, &bit) && hs_bitmap_get(&map->starts, bit);
}

/* One more than the last bit of a span. */
static inline uint64_t map_span_end(const struct hs_heap_span *span)
{
    return span->first_bit + map_region(span, span->end - 1 - span->begin) + 1;
}

/* Returns how many bytes the chunk at `bit` has up to the next live one or stop; 0 when that is
 * more than n_words words of the bitmaps away, or behind the span. */
static inline uint64_t map_near_bytes(const struct hs_heap_map *map,
                                      const struct hs_heap_span *span, uint64_t bit,
                                      uint64_t n_words)
{
    uint64_t end = map_span_end(span), at = bit + 1;
    uint64_t last = (end - 1) / 64 < at / 64 + n_words ? (end - 1) / 64 : at / 64 + n_words;
    uint64_t mask = UINT64_MAX << (at % 64);

    for (uint64_t word = at / 64; word <= last; word++, mask = UINT64_MAX) {
        uint64_t bits = (map->starts.words[word] | map->stops.words[word]) & mask;
        if (bits == 0)
            continue;
        uint64_t found = word * 64 + (uint64_t)__builtin_ctzll(bits);
        return found < end ? (found - bit) * span->unit_bytes : 0;
    }
    return 0;
}

/* Returns the bytes of the block at `bit` of a MARKED span: up to its stop, which is the next one,
 * or to the span's end. */
static uint64_t map_marked_bytes(const struct hs_heap_map *map, const struct hs_heap_span *span,
                                 uint64_t bit)
{
    uint64_t n_left = span->end - span->begin - (bit - span->first_bit) * span->unit_bytes;
    uint64_t n_bytes = map_near_bytes(map, span, bit, MAP_NEAR_WORDS), stop = UINT64_MAX;

    if (n_bytes != 0)
        return n_bytes;
    if (!map->is_indexed)
        stop = hs_bitmap_next(&map->stops, bit + 1);
    else if (bit + 1 < map->stops.n_bits) {
        uint64_t rank = hs_bitmap_rank(&map->stops, bit + 1);
        stop = rank < map->n_stops ? hs_bitmap_select(&map->stops, rank) : UINT64_MAX;
    }
    return stop < map_span_end(span) ? (stop - bit) * span->unit_bytes : n_left;
}

bool hs_heap_map_take(struct hs_heap_map *map, hs_addr address, uint64_t *ret_n_bytes)
{
    uint64_t bit;

    if (!map_place(map, address, &bit) || !hs_bitmap_get(&map->starts, bit))
        return false;
    hs_bitmap_clear(&map->starts, bit);
    const struct hs_heap_span *span = hs_heap_map_span_at(map, address);
    uint64_t room = span->end - address, n_bytes = room;
    if (span->form == HS_SPAN_HEADERS)
        n_bytes = map_chunk_bytes(map, span, address) - MAP_HEADER_BYTES;
    else if (span->form == HS_SPAN_UNIFORM)
        n_bytes = span->unit_bytes;
    else if (span->form == HS_SPAN_MARKED)
        n_bytes = map_marked_bytes(map, span, bit);
    *ret_n_bytes = n_bytes < room ? n_bytes : room;
    return true;
}

/* Marks where the chunks of a span end before something else than a live chunk. */
static void map_find_stops(struct hs_heap_map *map, const struct hs_heap_span *span)
{
    uint64_t end = map_span_end(span);

    for (uint64_t bit = hs_bitmap_next(&map->starts, span->first_bit); bit < end;
         bit = hs_bitmap_next(&map->starts, bit + 1)) {
        hs_addr begin = span->begin + (bit - span->first_bit) * MAP_CHUNK_BYTES;
        uint64_t n_bytes = map_chunk_bytes(map, span, begin);
        uint64_t to = bit + n_bytes / MAP_CHUNK_BYTES;
        if (n_bytes >= MAP_LEAST_CHUNK && n_bytes % MAP_CHUNK_BYTES == 0 && to < end &&
            !hs_bitmap_get(&map->starts, to))
            hs_bitmap_set(&map->stops, to);
    }
}

hs_status hs_heap_map_index(struct hs_heap_map *map, struct hs_error *err)
{
    assert(map->is_sealed);
    bool has_marked = false;

    for (size_t i = 0; i < map->n_spans; i++) {
        has_marked |= map->spans[i].form == HS_SPAN_MARKED;
        if (map->spans[i].form == HS_SPAN_HEADERS)
            map_find_stops(map, &map->spans[i]);
    }
    if (has_marked) /* where a large one ends is found by rank */
        HS_TRY(hs_bitmap_index(&map->stops, &map->n_stops, err));
    map->is_indexed = true;
    return hs_bitmap_index(&map->starts, &map->n_blocks, err);
}

uint64_t hs_heap_map_table_bytes(const struct hs_heap_map *map)
{
    return map->starts.n_bits / 4 + map->starts.n_bits / 64 +
           map->spans_capacity * sizeof *map->spans + hs_page_table_bytes(map->pages);
}

/* Returns how many bytes the chunk at `bit` has up to the next live one or stop, where that is in
 * the same word of the bitmaps, as for nearly all; else 0. */
static inline uint64_t map_chunk_in_word(const struct hs_heap_map *map,
                                         const struct hs_heap_span *span, uint64_t bit)
{
    uint64_t bits = (map->starts.words[bit / 64] | map->stops.words[bit / 64]) >> (bit % 64) >> 1;

    if (bits == 0)
        return 0;
    uint64_t n = 1 + (uint64_t)__builtin_ctzll(bits);
    return bit + n < map_span_end(span) ? n * MAP_CHUNK_BYTES : 0;
}

/* Returns the usable bytes of the chunk at `bit`, which begins at `begin`. Its last word is the
 * first of the next chunk. The header cannot have changed since set. */
static inline uint64_t map_usable_bytes(const struct hs_heap_map *map,
                                        const struct hs_heap_span *span, uint64_t bit,
                                        hs_addr begin)
{
    uint64_t n_bytes = map->is_indexed ? map_chunk_in_word(map, span, bit) : 0;

    if (n_bytes == 0 && map->is_indexed)
        n_bytes = map_near_bytes(map, span, bit, MAP_NEAR_WORDS);
    if (n_bytes == 0)
        n_bytes = map_chunk_bytes(map, span, begin);
    return n_bytes >= MAP_LEAST_CHUNK ? n_bytes - MAP_HEADER_BYTES : MAP_CHUNK_BYTES;
}

/* The block whose bit is set, without its rank. */
static inline void map_block(const struct hs_heap_map *map, const struct hs_heap_span *span,
                             uint64_t bit, struct hs_heap_block *ret)
{
    uint64_t offset = (bit - span->first_bit) * span->unit_bytes;
    uint64_t n_bytes = span->unit_bytes;

    ret->begin = span->begin + offset;
    if (span->form == HS_SPAN_HEADERS) {
        n_bytes = map_usable_bytes(map, span, bit, ret->begin);
    } else if (span->form == HS_SPAN_MARKED) {
        n_bytes = map_marked_bytes(map, span, bit);
    }
    uint64_t n_left = span->end - ret->begin;
    ret->n_bytes = n_bytes < n_left ? n_bytes : n_left;
    if (span->bytes != NULL)
        ret->bytes = span->bytes + offset;
    else
        ret->bytes =
            map->image != NULL ? hs_image_bytes(map->image, ret->begin, ret->n_bytes) : NULL;
    ret->span = span;
}

/* The bit of the block that holds an address of a span, or that would if it were large enough;
 * false when there is none. */
static inline bool map_holder(const struct hs_heap_map *map, const struct hs_heap_span *span,
                              hs_addr address, uint64_t *ret_bit)
{
    uint64_t bit = span->first_bit + map_region(span, address - span->begin);

    if (!hs_bitmap_get(&map->starts, bit)) {
        if (!map_is_chunked(span))
            return false;
        bit = hs_bitmap_previous_ranked(&map->starts, bit);
        if (bit == UINT64_MAX || bit < span->first_bit)
            return false;
    }
    *ret_bit = bit;
    return true;
}

/* A word that lies in no span may still be the end of the last chunk of one. */
static enum hs_pointer map_resolve_end(const struct hs_heap_map *map, uint64_t word,
                                       struct hs_heap_block *ret)
{
    const struct hs_heap_span *span =
        word != 0 && word <= MAP_END ? hs_heap_map_span_at(map, word - 1) : NULL;
    struct hs_heap_block block;
    uint64_t bit;

    if (span == NULL || !map_is_chunked(span) || !map_holder(map, span, word - 1, &bit))
        return HS_POINTER_NONE;
    map_block(map, span, bit, &block);
    if (block.begin + block.n_bytes != word)
        return HS_POINTER_NONE;
    block.rank = hs_bitmap_rank(&map->starts, bit);
    *ret = block;
    return HS_POINTER_PAST_END;
}

enum hs_pointer hs_heap_map_resolve(const struct hs_heap_map *map, uint64_t word,
                                    struct hs_heap_block *ret)
{
    const struct hs_heap_span *span = hs_heap_map_span_at(map, word);
    struct hs_heap_block block;
    uint64_t bit;

    if (span == NULL)
        return map_resolve_end(map, word, ret);
    if (!map_holder(map, span, word, &bit))
        return HS_POINTER_NONE;
    map_block(map, span, bit, &block);
    uint64_t offset = word - block.begin;
    if (offset > block.n_bytes)
        return HS_POINTER_NONE;
    block.rank = hs_bitmap_rank(&map->starts, bit);
    *ret = block;
    return offset == 0               ? HS_POINTER_START
           : offset == block.n_bytes ? HS_POINTER_PAST_END
                                     : HS_POINTER_INTERIOR;
}

uint64_t hs_heap_map_below(const struct hs_heap_map *map, hs_addr address)
{
    size_t at = HS_FIRST_ABOVE(map->spans, map->n_spans, begin, address);

    if (at == 0)
        return 0;
    const struct hs_heap_span *span = &map->spans[at - 1];
    if (address >= span->end)
        return hs_bitmap_rank(&map->starts, map_span_end(span));
    uint64_t region = map_region(span, address - span->begin);
    bool begins_here = span->begin + region * span->unit_bytes == address;
    return hs_bitmap_rank(&map->starts, span->first_bit + region + (begins_here ? 0 : 1));
}

bool hs_heap_map_next(struct hs_heap_iterator *it, struct hs_heap_block *ret)
{
    const struct hs_heap_map *map = it->map;
    uint64_t bit = it->bit;

    assert(map->is_sealed);
    if (bit < map->starts.n_bits) {
        uint64_t bits = map->starts.words[bit / 64] >> (bit % 64);
        bit = bits != 0 ? bit + (uint64_t)__builtin_ctzll(bits) : hs_bitmap_next(&map->starts, bit);
    }
    if (bit >= map->starts.n_bits)
        return false;
    while (it->span + 1 < map->n_spans && map->spans[it->span + 1].first_bit <= bit)
        it->span++;
    map_block(map, &map->spans[it->span], bit, ret);
    ret->rank = it->rank++;
    it->bit = bit + 1;
    return true;
}

void hs_heap_map_forward(struct hs_heap_iterator *it, uint64_t rank)
{
    if (rank - it->rank > MAP_STEPS) {
        hs_heap_map_seek(it, rank);
        return;
    }
    for (; it->rank < rank; it->rank++)
        it->bit = hs_bitmap_next(&it->map->starts, it->bit) + 1;
}

void hs_heap_map_seek(struct hs_heap_iterator *it, uint64_t rank)
{
    const struct hs_heap_map *map = it->map;

    it->bit = hs_bitmap_select(&map->starts, rank);
    it->rank = rank;
    it->span = HS_FIRST_ABOVE(map->spans, map->n_spans, first_bit, it->bit) - 1;
}
