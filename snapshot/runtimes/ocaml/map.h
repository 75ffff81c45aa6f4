/* The fast paths over a block map: from an address to its span, its bit, its block. Private to the
 * heap half. Everything is bounded by the span that an address was found in. */
#ifndef HS_OCAML_MAP_H
#define HS_OCAML_MAP_H

#include <string.h>

#include "base/load.h"
#include "ocaml.h"

#define HS_GRANULE_BITS 20

static inline size_t hs_granule_slot(const struct hs_block_map *map, uint64_t key)
{
    return (size_t)(key * map->granule_factor >> 32) & (map->n_granules - 1);
}

/* Finds the span that holds `address`, or NULL. One hash probe and, where spans are small, a short
 * search. */
static inline const struct hs_span *hs_map_span(const struct hs_block_map *map, hs_addr address)
{
    uint64_t key = (address >> HS_GRANULE_BITS) + 1;
    size_t slot = hs_granule_slot(map, key);

    while (map->granules[slot].key != key) {
        if (map->granules[slot].key == 0)
            return NULL;
        slot = (slot + 1) & (map->n_granules - 1);
    }
    const struct hs_span *span = &map->spans.spans[map->granules[slot].first];
    uint32_t n = map->granules[slot].n_spans;
    while (n > 1) { /* the last span that begins at or below the address */
        uint32_t half = n / 2;
        if (span[half].begin <= address)
            span += half;
        n -= half;
    }
    return address >= span->begin && address < span->end ? span : NULL;
}

/* Returns the bit of an address inside its span. */
static inline uint64_t hs_map_bit(const struct hs_span *span, hs_addr address)
{
    return span->first_bit + (address - span->begin) / HS_WORD;
}

static inline const uint8_t *hs_map_bytes(const struct hs_span *span, hs_addr address)
{
    return span->bytes + (address - span->begin);
}

/* A block that was found: where it lies. */
struct hs_block {
    const struct hs_span *span;
    hs_addr address;
    uint64_t bit;
};

static inline uint64_t hs_block_head(const struct hs_block *block)
{
    return hs_load_u64(hs_map_bytes(block->span, block->address) - HS_WORD);
}

/* Resolves a value to the block it points to or into (infix). Static blocks that are not known yet
 * count when their header is sane. */
bool hs_map_resolve_slow(const struct hs_block_map *map, uint64_t value, struct hs_block *ret);

static inline bool hs_map_resolve(const struct hs_block_map *map, uint64_t value,
                                  struct hs_block *ret)
{
    if (value % HS_WORD != 0)
        return false;
    const struct hs_span *span = hs_map_span(map, value);
    if (span == NULL)
        return false;
    ret->span = span;
    ret->address = value;
    ret->bit = hs_map_bit(span, value);
    return hs_bitmap_get(&map->starts, ret->bit) || hs_map_resolve_slow(map, value, ret);
}

/* Finds the fields [*ret_from, *ret_end) of a known block that hold values. mlvalues.h: none from
 * No_scan_tag on; of a closure, those from start_env on (code pointers and infix headers come
 * before). */
static inline void hs_block_fields(const struct hs_block *block, uint64_t header,
                                   uint64_t *ret_from, uint64_t *ret_end)
{
    uint64_t wosize = HS_HEADER_WOSIZE(header);
    unsigned tag = HS_HEADER_TAG(header);

    *ret_from = 0;
    *ret_end = wosize;
    if (tag >= HS_TAG_NO_SCAN) {
        *ret_end = 0;
    } else if (tag == HS_TAG_CLOSURE) {
        uint64_t info = hs_load_u64(hs_map_bytes(block->span, block->address) + HS_WORD);
        uint64_t start_env = info << 8 >> 9;
        *ret_from = wosize < 2 || start_env > wosize ? wosize : start_env;
    }
}

/* Returns the code of a closure of at least 2 fields: of several arguments it begins with
 * caml_curryN, its own is in field 2 (mlvalues.h, cmm_helpers.ml emit_constant_closure). */
static inline hs_addr hs_closure_code(const uint8_t *fields, uint64_t wosize)
{
    int64_t arity = (int64_t)hs_load_u64(fields + HS_WORD) >> 56;
    return hs_load_u64(fields + (wosize < 3 || arity == 0 || arity == 1 ? 0 : 2 * HS_WORD));
}

/* The counts of a walk over spans of the heap or the minor heap: enumerate.c. */
struct hs_walk {
    uint64_t n_live_words, n_free_words, n_fragment_words, n_damaged_words, n_unborn_words;
    uint64_t n_blocks, n_resyncs, n_forwarded;
};

/* Sets the starts of live blocks. `is_first`: a header is known to stand at the span's begin. */
void hs_map_enumerate(struct hs_block_map *map, const struct hs_span *span, bool is_first,
                      struct hs_walk *walk);
/* Sets the starts of live blocks in the slots of a pool. */
void hs_map_enumerate_pool(struct hs_block_map *map, const struct hs_span *span,
                           struct hs_walk *walk);

#endif
