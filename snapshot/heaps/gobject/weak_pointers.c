#include "gobject/weak_pointers.h"

#include <stdlib.h>

#include "base/alloc.h"
#include "base/bisect.h"
#include "base/load.h"

enum {
    COUNT_AT = 8,
    PAIRS_AT = 16,
    PAIR_BYTES = 16,
    MOST_PLACES = 1 << 20, /* what is beyond keeps what it leads to */
    MASK_WORDS = 64,
};

void hs_gobject_weak_fini(struct gobject_weak *weak)
{
    hs_free(weak->places);
    *weak = (struct gobject_weak){0};
}

/* The places of one block, if it is such a list. */
static hs_status read_block(const struct hs_image *image, const struct hs_heap_block *block,
                            hs_addr nullify, struct gobject_weak *ret, struct hs_error *err)
{
    hs_addr object = hs_load_u64(block->bytes);
    uint64_t n = hs_load_u32(block->bytes + COUNT_AT);
    bool is_sound = false;
    uint16_t private_bytes;

    if (n == 0 || n > (block->n_bytes - PAIRS_AT) / PAIR_BYTES)
        return HS_OK;
    for (uint64_t i = 0; i < n && ret->n < MOST_PLACES; i++) {
        const uint8_t *pair = block->bytes + PAIRS_AT + i * PAIR_BYTES;
        uint64_t place = hs_load_u64(pair + HS_WORD_BYTES), word;
        if (hs_load_u64(pair) != nullify || place % HS_WORD_BYTES != 0 ||
            !hs_image_u64(image, place, &word) || word != object)
            continue;
        is_sound = is_sound || hs_gobject_is_instance(image, object, &private_bytes);
        if (!is_sound)
            return HS_OK;
        HS_TRY(HS_GROW(&ret->places, &ret->capacity, ret->n + 1, err));
        ret->places[ret->n++] = place;
    }
    return HS_OK;
}

static int compare_places(const void *left, const void *right)
{
    const hs_addr *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

hs_status hs_gobject_read_weak(const struct hs_image *image, const struct hs_heap_map *map,
                               hs_addr nullify, struct gobject_weak *ret, struct hs_error *err)
{
    struct hs_heap_iterator it = {.map = map};
    struct hs_heap_block block;

    while (hs_heap_map_next(&it, &block))
        if (block.bytes != NULL && block.n_bytes >= PAIRS_AT + PAIR_BYTES)
            HS_TRY(read_block(image, &block, nullify, ret, err));
    if (ret->n != 0)
        qsort(ret->places, ret->n, sizeof *ret->places, compare_places);
    return HS_OK;
}

/* The first place that is not below `at`. */
static size_t first_from(const struct gobject_weak *weak, hs_addr at)
{
    return HS_FIRST_NOT(i, 0, weak->n, weak->places[i] < at);
}

bool hs_gobject_is_weak_at(const struct gobject_weak *weak, hs_addr at)
{
    size_t i = first_from(weak, at);
    return i < weak->n && weak->places[i] == at;
}

uint64_t hs_gobject_weak_words(const struct gobject_weak *weak, const struct hs_heap_block *block)
{
    uint64_t words = 0;

    for (size_t i = weak->n == 0 ? 0 : first_from(weak, block->begin);
         i < weak->n && weak->places[i] - block->begin < block->n_bytes; i++) {
        uint64_t word = (weak->places[i] - block->begin) / HS_WORD_BYTES;
        if (word < MASK_WORDS)
            words |= UINT64_C(1) << word;
    }
    return words;
}
