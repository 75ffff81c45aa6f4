/* The block map: areas laid out in one bitmap, the way from an address to its block. */
#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/table.h"
#include "map.h"
#include "v5/ocaml5.h"

enum { MAP_SPANS_MAX = 1 << 30 };
/* The least resident memory from which blocks are gone through by region, as in native/. */
#define LARGE_BYTES ((uint64_t)32 << 20)

/* Returns the first range of the copy that ends above `address`. */
static size_t map_first_range(const struct hs_image *image, hs_addr address)
{
    return HS_FIRST_ABOVE(image->ranges, image->n_ranges, end, address);
}

/* Adds the parts of [begin, end) that the copy has; counts the words that it lacks. */
static hs_status map_add_parts(struct hs_block_map *map, hs_addr begin, hs_addr end,
                               enum hs_area area, unsigned slot_words, uint64_t *n_missing_words,
                               struct hs_error *err)
{
    const struct hs_image *image = map->rt->image;
    hs_addr at = begin;

    for (size_t i = map_first_range(image, begin); i < image->n_ranges && at < end; i++) {
        const struct hs_image_range *range = &image->ranges[i];
        hs_addr first = range->begin > at ? (range->begin + HS_WORD - 1) & -(hs_addr)HS_WORD : at;
        hs_addr stop = (range->end < end ? range->end : end) & -(hs_addr)HS_WORD;
        if (first >= stop)
            continue;
        *n_missing_words += (first - at) / HS_WORD;
        HS_TRY(hs_spans_add(&map->spans, first, stop, err));
        struct hs_span *span = &map->spans.spans[map->spans.n - 1];
        span->area = (uint8_t)area;
        span->slot_words = (uint8_t)slot_words;
        span->bytes = range->bytes + (first - range->begin);
        at = stop;
    }
    if (at < end)
        *n_missing_words += (end - at) / HS_WORD;
    return HS_OK;
}

static hs_status map_add_area(struct hs_block_map *map, hs_addr begin, hs_addr end,
                              enum hs_area area, uint64_t *n_missing_words, struct hs_error *err)
{
    return map_add_parts(map, begin, end, area, 0, n_missing_words, err);
}

static hs_status map_add_chunks(struct hs_block_map *map, const struct hs_spans *chunks,
                                uint64_t *n_missing, struct hs_error *err)
{
    for (size_t i = 0; i < chunks->n; i++) {
        const struct hs_span *span = &chunks->spans[i];
        uint64_t n_bytes = span->end - span->begin;
        if (span->slot_words != 0 && hs_image_bytes(map->rt->image, span->begin, n_bytes) == NULL)
            *n_missing += n_bytes / HS_WORD; /* where slots begin is told by the whole alone */
        else
            HS_TRY(map_add_parts(map, span->begin, span->end, HS_AREA_HEAP, span->slot_words,
                                 n_missing, err));
    }
    return HS_OK;
}

static int map_span_compare(const void *a, const void *b)
{
    const struct hs_span *x = a, *y = b;
    return x->begin < y->begin ? -1 : x->begin > y->begin;
}

/* Sorts, checks that the areas are disjoint, and gives each its stretch of the bitmap. */
static hs_status map_number(struct hs_block_map *map, uint64_t *ret_n_bits, struct hs_error *err)
{
    struct hs_span *spans = map->spans.spans;
    uint64_t n_bits = 0;

    if (map->spans.n > 1)
        qsort(spans, map->spans.n, sizeof *spans, map_span_compare);
    for (size_t i = 0; i < map->spans.n; i++) {
        if (i != 0 && spans[i].begin < spans[i - 1].end) {
            (void)hs_fail(err, HS_TARGET, "two areas of the heap overlap at %#llx",
                          (unsigned long long)spans[i].begin);
            return hs_hint(err, "its runtime may be modified, or its memory damaged");
        }
        spans[i].first_bit = n_bits;
        n_bits += (spans[i].end - spans[i].begin) / HS_WORD;
    }
    *ret_n_bits = n_bits;
    return HS_OK;
}

static struct hs_granule *map_granule(struct hs_block_map *map, uint64_t key)
{
    size_t slot = hs_granule_slot(map, key);

    while (map->granules[slot].key != 0 && map->granules[slot].key != key)
        slot = (slot + 1) & (map->n_granules - 1);
    return &map->granules[slot];
}

/* Makes the table that leads from each MiB of the address space to the spans that reach into it. */
static hs_status map_hash(struct hs_block_map *map, struct hs_error *err)
{
    uint64_t n_keys = 0;
    size_t n_slots = 16;

    for (size_t i = 0; i < map->spans.n; i++) {
        const struct hs_span *span = &map->spans.spans[i];
        n_keys += ((span->end - 1) >> HS_GRANULE_BITS) - (span->begin >> HS_GRANULE_BITS) + 1;
    }
    if (n_keys > MAP_SPANS_MAX || map->spans.n > MAP_SPANS_MAX)
        return hs_fail(err, HS_LIMIT, "the heap is scattered over too many places");
    while (n_slots < 2 * n_keys)
        n_slots *= 2;
    HS_TRY(HS_ALLOC(&map->granules, n_slots, err));
    map->n_granules = n_slots;
    map->granule_factor = hs_hash(n_slots) | 1;
    for (size_t i = 0; i < map->spans.n; i++) {
        const struct hs_span *span = &map->spans.spans[i];
        uint64_t last = (span->end - 1) >> HS_GRANULE_BITS;
        for (uint64_t at = span->begin >> HS_GRANULE_BITS; at <= last; at++) {
            struct hs_granule *granule = map_granule(map, at + 1);
            if (granule->key == 0)
                *granule = (struct hs_granule){.key = at + 1, .first = (uint32_t)i};
            granule->n_spans++;
        }
    }
    return HS_OK;
}

/* Proves the blocks by what OCaml 5 counts of what it has given out of its pools and large blocks.
 */
static hs_status map_prove5(struct hs_ocaml *rt, const struct hs_walk *heap, struct hs_error *err)
{
    HS_TRY(hs_findings_proof(&rt->findings, "ocaml heap: blocks, by the runtime's count",
                             rt->heap_blocks, heap->n_blocks, err));
    HS_TRY(hs_findings_proof(&rt->findings, "ocaml heap: words of blocks, by the runtime's count",
                             rt->heap_words, heap->n_live_words, err));
    if (rt->heap_blocks == heap->n_blocks && rt->heap_words == heap->n_live_words)
        return HS_OK;
    return hs_findings_note(
        &rt->findings, true, err,
        "%llu blocks of %llu words are in the heap but the runtime counts %llu "
        "of %llu",
        (unsigned long long)heap->n_blocks, (unsigned long long)heap->n_live_words,
        (unsigned long long)rt->heap_blocks, (unsigned long long)rt->heap_words);
}

/* Returns the words that minor heaps have in use. */
static uint64_t map_young_words(const struct hs_ocaml *rt)
{
    uint64_t n_bytes = rt->young_alloc_end - rt->young_ptr;

    for (size_t i = 0; rt->five != NULL && i < rt->five->n_domains; i++)
        n_bytes += rt->five->domains[i].young_end - rt->five->domains[i].young_ptr;
    return n_bytes / HS_WORD;
}

static hs_status map_report(struct hs_block_map *map, struct hs_ocaml *rt,
                            const struct hs_walk *heap, const struct hs_walk *young,
                            uint64_t n_chunk_words, struct hs_error *err)
{
    uint64_t n_found = heap->n_live_words + heap->n_free_words + heap->n_fragment_words;
    uint64_t n_young = young->n_live_words + young->n_fragment_words + young->n_unborn_words;

    HS_TRY(hs_findings_proof(&rt->findings,
                             "ocaml heap: words of blocks, free blocks and fragments",
                             n_chunk_words, n_found, err));
    if (rt->five != NULL)
        HS_TRY(map_prove5(rt, heap, err));
    HS_TRY(hs_findings_proof(&rt->findings, "ocaml minor heap: words in use", map_young_words(rt),
                             n_young, err));
    if (heap->n_resyncs + young->n_resyncs != 0)
        HS_TRY(hs_findings_note(&rt->findings, true, err,
                                "%llu damaged block header%s: %llu words of the heap were skipped",
                                (unsigned long long)map->n_resyncs, map->n_resyncs == 1 ? "" : "s",
                                (unsigned long long)map->n_damaged_words));
    if (young->n_unborn_words != 0)
        HS_TRY(
            hs_findings_note(&rt->findings, false, err,
                             "%llu words of the minor heap were allocated but not yet initialised",
                             (unsigned long long)young->n_unborn_words));
    return HS_OK;
}

static hs_status map_enumerate(struct hs_block_map *map, struct hs_ocaml *rt, struct hs_error *err)
{
    struct hs_walk heap = {0}, young = {0};
    uint64_t n_chunk_words = 0;

    for (size_t i = 0; i < rt->chunks.n; i++)
        n_chunk_words += (rt->chunks.spans[i].end - rt->chunks.spans[i].begin) / HS_WORD;
    for (unsigned pass = 0; pass < 2; pass++) { /* moved young blocks need the heap's starts */
        enum hs_area area = pass == 0 ? HS_AREA_HEAP : HS_AREA_YOUNG;
        for (size_t i = 0; i < map->spans.n; i++) {
            const struct hs_span *span = &map->spans.spans[i];
            if (span->area != area)
                continue;
            bool is_first =
                pass == 0 ? hs_spans_find(&rt->chunks, span->begin)->begin == span->begin : false;
            if (span->slot_words != 0)
                hs_map_enumerate_pool(map, span, &heap);
            else
                hs_map_enumerate(map, span, is_first, pass == 0 ? &heap : &young);
        }
    }
    map->n_live_words = heap.n_live_words + young.n_live_words;
    map->n_free_words = heap.n_free_words;
    map->n_fragment_words = heap.n_fragment_words + young.n_fragment_words;
    map->n_damaged_words = heap.n_damaged_words + young.n_damaged_words;
    map->n_resyncs = heap.n_resyncs + young.n_resyncs;
    map->n_unborn_words = young.n_unborn_words;
    map->n_forwarded = young.n_forwarded;
    return map_report(map, rt, &heap, &young, n_chunk_words, err);
}

static hs_status map_areas(struct hs_block_map *map, struct hs_ocaml *rt, struct hs_error *err)
{
    uint64_t n_missing = 0;

    HS_TRY(map_add_chunks(map, &rt->chunks, &n_missing, err));
    if (rt->five == NULL)
        HS_TRY(
            map_add_area(map, rt->young_ptr, rt->young_alloc_end, HS_AREA_YOUNG, &n_missing, err));
    for (size_t i = 0; rt->five != NULL && i < rt->five->n_domains; i++)
        HS_TRY(map_add_area(map, rt->five->domains[i].young_ptr, rt->five->domains[i].young_end,
                            HS_AREA_YOUNG, &n_missing, err));
    for (size_t i = 0; i < rt->statics.n; i++)
        HS_TRY(map_add_area(map, rt->statics.ranges[i].begin, rt->statics.ranges[i].end,
                            HS_AREA_STATIC, &n_missing, err));
    HS_TRY(map_add_area(map, rt->atoms_begin, rt->atoms_end, HS_AREA_ATOM, &n_missing, err));
    if (n_missing != 0)
        HS_TRY(hs_findings_note(&rt->findings, true, err,
                                "%llu words of the heap could not be read",
                                (unsigned long long)n_missing));
    return HS_OK;
}

static hs_status map_fill(struct hs_block_map *map, struct hs_ocaml *rt, struct hs_error *err)
{
    uint64_t n_bits = 0;

    map->rt = rt;
    map->is_large = hs_image_resident_bytes(rt->image, 0, UINT64_MAX) >= LARGE_BYTES;
    HS_TRY(map_areas(map, rt, err));
    HS_TRY(map_number(map, &n_bits, err));
    HS_TRY(map_hash(map, err));
    /* The end of the last span may be a block's address: that of an empty one after a chunk. */
    HS_TRY(hs_bitmap_init(&map->starts, n_bits + 1, err));
    return map_enumerate(map, rt, err);
}

hs_status hs_block_map_build(struct hs_block_map *map, struct hs_ocaml *rt, struct hs_error *err)
{
    *map = (struct hs_block_map){0};
    hs_status status = map_fill(map, rt, err);
    if (status != HS_OK)
        hs_block_map_fini(map);
    return status;
}

void hs_block_map_fini(struct hs_block_map *map)
{
    if (map == NULL)
        return;
    hs_spans_fini(&map->spans);
    hs_free(map->granules);
    hs_bitmap_fini(&map->starts);
    *map = (struct hs_block_map){0};
}

hs_status hs_block_map_index(struct hs_block_map *map, struct hs_error *err)
{
    return hs_bitmap_index(&map->starts, &map->n_blocks, err);
}

uint64_t hs_block_map_rank(const struct hs_block_map *map, hs_addr block)
{
    const struct hs_span *span = block % HS_WORD == 0 ? hs_map_span(map, block) : NULL;

    if (span == NULL)
        return HS_NO_NODE;
    uint64_t bit = hs_map_bit(span, block);
    return hs_bitmap_get(&map->starts, bit) ? hs_bitmap_rank(&map->starts, bit) : HS_NO_NODE;
}

/* Finds the closure that an infix header is of: the block that starts n_words below `value`, when
 * it is a closure that reaches that far. */
static bool map_enclosing_closure(const struct hs_block_map *map, const struct hs_span *span,
                                  hs_addr value, uint64_t n_words, struct hs_block *ret)
{
    if (n_words == 0 || n_words >= (value - span->begin) / HS_WORD)
        return false; /* its header must lie in the span too */
    struct hs_block block = {.span = span, .address = value - n_words * HS_WORD};
    block.bit = hs_map_bit(span, block.address);
    uint64_t header = hs_block_head(&block);
    bool is_known = hs_bitmap_get(&map->starts, block.bit);
    bool may_be_new = span->area == HS_AREA_STATIC;
    if ((!is_known && !may_be_new) || HS_HEADER_TAG(header) != HS_TAG_CLOSURE ||
        HS_HEADER_WOSIZE(header) <= n_words ||
        HS_HEADER_WOSIZE(header) > (span->end - block.address) / HS_WORD)
        return false;
    *ret = block;
    return true;
}

/* Finds the copy of a block already moved, in a minor collection. */
static bool map_moved(const struct hs_block_map *map, const uint8_t *at, struct hs_block *ret)
{
    uint64_t copy = hs_load_u64(at);

    if (copy % HS_WORD != 0)
        return false;
    const struct hs_span *span = hs_map_span(map, copy);
    if (span == NULL || span->area != HS_AREA_HEAP ||
        !hs_bitmap_get(&map->starts, hs_map_bit(span, copy)))
        return false;
    *ret = (struct hs_block){.span = span, .address = copy, .bit = hs_map_bit(span, copy)};
    return true;
}

bool hs_map_resolve_slow(const struct hs_block_map *map, uint64_t value, struct hs_block *ret)
{
    const struct hs_span *span = ret->span;

    if (value - span->begin < HS_WORD)
        return false; /* no room for a header */
    const uint8_t *at = hs_map_bytes(span, value);
    uint64_t header = hs_load_u64(at - HS_WORD);
    if (HS_HEADER_TAG(header) == HS_TAG_INFIX)
        return map_enclosing_closure(map, span, value, HS_HEADER_WOSIZE(header), ret);
    switch ((enum hs_area)span->area) {
    case HS_AREA_ATOM:
        return HS_HEADER_WOSIZE(header) == 0;
    case HS_AREA_STATIC:
        return HS_HEADER_WOSIZE(header) <= (span->end - value) / HS_WORD &&
               (HS_HEADER_TAG(header) != HS_TAG_CLOSURE || HS_HEADER_WOSIZE(header) >= 2);
    case HS_AREA_YOUNG:
        return header == 0 && map_moved(map, at, ret);
    case HS_AREA_HEAP:
    case HS_AREA_NONE:
        break;
    }
    return false;
}

bool hs_block_of_value(const struct hs_block_map *map, uint64_t value, hs_addr *ret_block)
{
    struct hs_block block;

    if (!hs_map_resolve(map, value, &block))
        return false;
    *ret_block = block.address;
    return true;
}

uint64_t hs_block_header(const struct hs_block_map *map, hs_addr block)
{
    const struct hs_span *span = block % HS_WORD == 0 ? hs_map_span(map, block) : NULL;

    if (span == NULL || block - span->begin < HS_WORD)
        return 0;
    return hs_load_u64(hs_map_bytes(span, block) - HS_WORD);
}
