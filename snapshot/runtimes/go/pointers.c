#include "pointers.h"

#include "base/bisect.h"
#include "base/load.h"

enum { GROUP_WORDS = 64, WORDS_OF_BYTE = 4, LOW = 15, NIBBLE_BITS = 4 };

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

static void read_group(struct hs_go_pointers *it)
{
    uint64_t left = it->n_words - it->at;
    hs_addr address = it->address + it->at * HS_WORD_BYTES;

    it->mask =
        group_of_nibbles(it->heap, address, left < GROUP_WORDS ? left : GROUP_WORDS, &it->ends);
}

struct hs_go_pointers hs_go_pointers_begin(const struct hs_go_heap *heap,
                                           const struct hs_go_block *block)
{
    struct hs_go_pointers it = {.heap = heap, .address = block->begin};

    if (block->span->is_stack || (block->span->spanclass & 1) != 0)
        return it;
    it.n_words = block->span->elem_bytes / HS_WORD_BYTES;
    it.bytes = hs_image_bytes(&heap->dump->image, block->begin, block->span->elem_bytes);
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
