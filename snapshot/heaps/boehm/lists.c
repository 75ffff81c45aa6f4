/* The lists of free objects. */
#include "base/load.h"
#include "boehm/parts.h"
#include "data_words.h"

/* The most objects that are looked through for the lists of a thread. */
enum { LISTS_THREADS = 1 << 16 };

/* Returns the block in which a small object begins at an address; NULL: none does. */
static const struct boehm_block *block_of_object(const struct boehm *boehm, hs_addr at)
{
    const struct boehm_block *block = hs_boehm_block_at(boehm, at);

    return block != NULL && block->object_bytes != 0 && block->object_bytes <= BOEHM_SMALL_BYTES &&
                   (at - block->begin) % block->object_bytes == 0 &&
                   (at - block->begin) / block->object_bytes < hs_boehm_n_objects(block)
               ? block
               : NULL;
}

/* Tells whether a word is the head of a list of objects of so many granules, a small number, as
 * threads have where a list is not used, or 0. */
static bool is_entry(const struct boehm *boehm, uint64_t word, uint64_t granules)
{
    const struct boehm_block *block;

    if (word < BOEHM_PAGE_BYTES)
        return true;
    block = block_of_object(boehm, word);
    return block != NULL && block->object_bytes == granules * BOEHM_GRANULE_BYTES;
}

/* Tells whether the word at an address is the head of a list: those of the sizes up to 384 bytes
 * stand around it. Of lists of larger objects the same is asked of the words before. */
static bool is_head(const struct boehm *boehm, hs_addr at, const struct boehm_block *block)
{
    const uint64_t granules = block->object_bytes / BOEHM_GRANULE_BYTES;
    const uint64_t least = granules < BOEHM_TINY ? 1 : granules - BOEHM_TINY + 1;
    uint64_t word;

    for (uint64_t i = least; i < least + BOEHM_TINY - 1; i++)
        if (!hs_image_u64(boehm->process->image, at + (i - granules) * HS_WORD_BYTES, &word) ||
            !is_entry(boehm, word, i))
            return false;
    return true;
}

/* Tells whether an object can be free: all but its first word is cleared, if it may have pointers.
 */
static bool is_cleared(const struct boehm *boehm, hs_addr at, const struct boehm_block *block)
{
    const uint8_t *bytes = hs_image_bytes(boehm->process->image, at, block->object_bytes);

    for (uint64_t i = HS_WORD_BYTES; bytes != NULL && !block->is_atomic && i < block->object_bytes;
         i += HS_WORD_BYTES)
        if (hs_load_u64(bytes + i) != 0)
            return false;
    return bytes != NULL;
}

/* Takes the objects of a list out of the map, as far as they are of one size and were not taken
 * before. */
static hs_status take_list(const struct boehm *boehm, hs_addr first, struct hs_heap_map *map,
                           struct hs_ledger *ledger, struct boehm_lists *ret, struct hs_error *err)
{
    const struct boehm_block *head = block_of_object(boehm, first);
    uint64_t next;

    for (hs_addr at = first; at != 0; at = next) {
        const struct boehm_block *block = block_of_object(boehm, at);
        if (block == NULL || block->object_bytes != head->object_bytes ||
            !is_cleared(boehm, at, block) || !hs_heap_map_is_set(map, at) ||
            !hs_image_u64(boehm->process->image, at, &next))
            return HS_OK;
        hs_heap_map_clear(map, at);
        ret->n_free++;
        HS_TRY(hs_ledger_move(ledger, BOEHM_OWNER, HS_MEMORY_LIVE, HS_MEMORY_FREE, at,
                              at + block->object_bytes, 0, err));
    }
    ret->n_sound++;
    return HS_OK;
}

static hs_status take_at(const struct boehm *boehm, hs_addr at, uint64_t word,
                         struct hs_heap_map *map, struct hs_ledger *ledger, struct boehm_lists *ret,
                         struct hs_error *err)
{
    const struct boehm_block *block = block_of_object(boehm, word);

    if (block == NULL || !hs_heap_map_is_set(map, word) || !is_cleared(boehm, word, block) ||
        !is_head(boehm, at, block))
        return HS_OK;
    ret->n_lists++;
    return take_list(boehm, word, map, ledger, ret, err);
}

/* Looks through an object that the collector's data leads to: what it knows of a thread. */
static hs_status take_of_thread(const struct boehm *boehm, hs_addr thread, struct hs_heap_map *map,
                                struct hs_ledger *ledger, struct boehm_lists *ret,
                                struct hs_error *err)
{
    const struct boehm_block *block = block_of_object(boehm, thread);
    uint64_t word;

    if (block == NULL || block->object_bytes < BOEHM_TINY * HS_WORD_BYTES ||
        ret->n_threads == LISTS_THREADS ||
        is_cleared(boehm, thread, block)) /* a free one, which leads to the next */
        return HS_OK;
    ret->n_threads++;
    for (uint64_t i = 0; i < block->object_bytes; i += HS_WORD_BYTES)
        if (hs_image_u64(boehm->process->image, thread + i, &word) && word >= BOEHM_PAGE_BYTES)
            HS_TRY(take_at(boehm, thread + i, word, map, ledger, ret, err));
    return HS_OK;
}

hs_status hs_boehm_lists(const struct boehm *boehm, struct hs_heap_map *map,
                         struct hs_ledger *ledger, struct boehm_lists *ret, struct hs_error *err)
{
    struct hs_data_words words = {.process = boehm->process, .object = boehm->object};
    hs_addr address;
    uint64_t word;

    *ret = (struct boehm_lists){0};
    while (hs_data_words_next(&words, &address, &word))
        if (word >= BOEHM_PAGE_BYTES && word % BOEHM_GRANULE_BYTES == 0) {
            HS_TRY(take_at(boehm, address, word, map, ledger, ret, err));
            HS_TRY(take_of_thread(boehm, word, map, ledger, ret, err));
        }
    return HS_OK;
}
