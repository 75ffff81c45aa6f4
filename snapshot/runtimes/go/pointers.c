#include "pointers.h"

#include <limits.h>

#include "base/bisect.h"
#include "base/load.h"

enum { GROUP_WORDS = 64, WORDS_OF_BYTE = 4, NIBBLE_BITS = 4 };
enum { MINOR_OF_BITS = 20, MINOR_OF_HEADERS = 22, MINOR_OF_MARKS = 26 };
/* mbitmap.go: minSizeForMallocHeader; mgcmark_greenteagc.go: spanInlineMarkBits. */
enum { HEADER_FROM_BYTES = 512, MARKS_FROM_BYTES = 16, MARKS_BYTES = 128 };

/* Finds the arena that holds an address, of which a span is known to have it. */
static const struct hs_go_arena *arena_of(const struct hs_go_heap *heap, hs_addr address)
{
    size_t at = HS_FIRST_ABOVE(heap->arenas, heap->n_arenas, begin, address);
    return at == 0 || address - heap->arenas[at - 1].begin >= HS_GO_ARENA_BYTES
               ? NULL
               : &heap->arenas[at - 1];
}

/* Go 1.19: a byte of the arena's bitmap has four words: below, whether each is a pointer; above,
 * whether any pointer follows from there on. */
static uint64_t group_of_nibbles(const struct hs_go_heap *heap, hs_addr address, uint64_t n_words,
                                 bool *ret_ends)
{
    const struct hs_go_arena *arena = NULL;
    const uint8_t *byte = NULL;
    uint64_t mask = 0;

    for (uint64_t i = 0; i < n_words; i++) {
        hs_addr at = address + i * HS_WORD_BYTES;
        if (arena == NULL || at - arena->begin >= HS_GO_ARENA_BYTES) {
            arena = arena_of(heap, at);
            byte = NULL;
        }
        if (arena == NULL)
            break;
        uint64_t word = (at - arena->begin) / HS_WORD_BYTES;
        if (byte == NULL || word % WORDS_OF_BYTE == 0)
            byte = hs_image_bytes(&heap->dump->image,
                                  arena->metadata + (uint64_t)heap->layout->heapArena_bitmap +
                                      word / WORDS_OF_BYTE,
                                  1);
        if (byte == NULL || (*byte >> (NIBBLE_BITS + word % WORDS_OF_BYTE) & 1) == 0) {
            *ret_ends = true;
            break;
        }
        mask |= (uint64_t)(*byte >> word % WORDS_OF_BYTE & 1) << i;
    }
    return mask;
}

/* Go 1.20 and 1.21: a bit of the arena's bitmap for each word. */
static uint64_t group_of_arena(const struct hs_go_heap *heap, hs_addr address, uint64_t n_words)
{
    const struct hs_go_arena *arena = NULL;
    uint64_t mask = 0;

    for (uint64_t i = 0; i < n_words; i++) {
        hs_addr at = address + i * HS_WORD_BYTES;
        uint8_t byte;
        if (arena == NULL || at - arena->begin >= HS_GO_ARENA_BYTES)
            arena = arena_of(heap, at);
        if (arena == NULL)
            break;
        uint64_t word = (at - arena->begin) / HS_WORD_BYTES;
        if (hs_image_u8(&heap->dump->image,
                        arena->metadata + (uint64_t)heap->layout->heapArena_bitmap +
                            word / CHAR_BIT,
                        &byte))
            mask |= (uint64_t)(byte >> word % CHAR_BIT & 1) << i;
    }
    return mask;
}

static uint64_t group_of_bits(const struct hs_go_pointers *it, uint64_t n_words)
{
    uint64_t mask = 0;

    for (uint64_t i = 0; i < n_words; i++) {
        uint64_t bit = it->first_bit + it->at + i;
        mask |= (uint64_t)(it->bits[bit / CHAR_BIT] >> bit % CHAR_BIT & 1) << i;
    }
    return mask;
}

/* Goes over the values of the type that lie in the object, one after the other. */
static uint64_t group_of_type(const struct hs_go_pointers *it, uint64_t n_words)
{
    const struct hs_go_mask *type = it->mask_of_type;
    uint64_t mask = 0;

    for (uint64_t i = it->at < it->header_words ? it->header_words - it->at : 0; i < n_words; i++) {
        uint64_t word = (it->at + i - it->header_words) % type->n_words;
        if (word < type->n_masked_words)
            mask |= (uint64_t)(type->bits[word / CHAR_BIT] >> word % CHAR_BIT & 1) << i;
    }
    return mask;
}

static void read_group(struct hs_go_pointers *it)
{
    uint64_t left = it->n_words - it->at, n = left < GROUP_WORDS ? left : GROUP_WORDS;
    hs_addr address = it->address + it->at * HS_WORD_BYTES;

    if (it->mask_of_type != NULL)
        it->mask = group_of_type(it, n);
    else if (it->bits != NULL)
        it->mask = group_of_bits(it, n);
    else if (it->heap->layout->minor < MINOR_OF_BITS)
        it->mask = group_of_nibbles(it->heap, address, n, &it->ends);
    else
        it->mask = group_of_arena(it->heap, address, n);
}

uint64_t hs_go_header_bytes(const struct hs_go_heap *heap, const struct hs_go_span *span)
{
    bool has_header = heap->layout->minor >= MINOR_OF_HEADERS && !span->is_stack &&
                      span->spanclass / 2 != 0 && (span->spanclass & 1) == 0 &&
                      span->elem_bytes > HEADER_FROM_BYTES;
    return has_header ? HS_WORD_BYTES : 0;
}

/* Go 1.22: small objects have their bits at the end of the span, before the marks that 1.26 has
 * there; larger ones begin with their type, and the type of one that fills a span stands in its
 * record. Without any of them no word is a pointer yet. */
static bool find_source(const struct hs_go_block *block, struct hs_go_pointers *it)
{
    const struct hs_go_heap *heap = it->heap;
    const struct hs_go_span *span = block->span;
    uint64_t n_bytes = span->n_pages * HS_GO_PAGE_BYTES, type = 0;

    if (span->elem_bytes <= HEADER_FROM_BYTES && span->spanclass / 2 != 0) {
        hs_addr bits = span->begin + n_bytes - n_bytes / (CHAR_BIT * HS_WORD_BYTES);
        if (heap->layout->minor >= MINOR_OF_MARKS && span->elem_bytes >= MARKS_FROM_BYTES)
            bits -= MARKS_BYTES;
        it->bits = hs_image_bytes(&heap->dump->image, bits, n_bytes / (CHAR_BIT * HS_WORD_BYTES));
        it->first_bit = (block->begin - span->begin) / HS_WORD_BYTES;
        return it->bits != NULL;
    }
    if (span->spanclass / 2 == 0) {
        type = hs_go_member(heap, span->record, heap->layout->mspan_largeType);
    } else {
        it->header_words = 1;
        if (it->bytes != NULL)
            type = hs_load_u64(it->bytes);
    }
    it->mask_of_type = type == 0
                           ? NULL
                           : hs_go_mask_of(heap, heap->masks, type,
                                           span->elem_bytes - it->header_words * HS_WORD_BYTES);
    return it->mask_of_type != NULL;
}

struct hs_go_pointers hs_go_pointers_begin(const struct hs_go_heap *heap,
                                           const struct hs_go_block *block)
{
    struct hs_go_pointers it = {.heap = heap, .address = block->begin};

    if (block->span->is_stack || (block->span->spanclass & 1) != 0)
        return it;
    it.bytes = hs_image_bytes(&heap->dump->image, block->begin, block->span->elem_bytes);
    if (heap->layout->minor >= MINOR_OF_HEADERS && !find_source(block, &it))
        return it;
    it.n_words = block->span->elem_bytes / HS_WORD_BYTES;
    if (it.n_words != 0)
        read_group(&it);
    return it;
}

bool hs_go_pointers_next(struct hs_go_pointers *it, uint64_t *ret_word, uint64_t *ret_offset_words)
{
    for (;;) {
        for (; it->mask != 0; it->mask &= it->mask - 1) {
            uint64_t offset = it->at + (unsigned)__builtin_ctzll(it->mask), word = 0;
            if (it->bytes != NULL)
                word = hs_load_u64(it->bytes + offset * HS_WORD_BYTES);
            else
                (void)hs_image_u64(&it->heap->dump->image, it->address + offset * HS_WORD_BYTES,
                                   &word);
            if (word == 0)
                continue;
            it->mask &= it->mask - 1;
            *ret_word = word;
            *ret_offset_words = offset;
            return true;
        }
        if (it->ends || it->n_words - it->at <= GROUP_WORDS)
            return false;
        it->at += GROUP_WORDS;
        read_group(it);
    }
}
