/* The linear walk over blocks that stand one after another, header first.
 *
 * A chunk of the major heap is full of blocks: white, gray and black ones are live or garbage, blue
 * ones free; a header of size 0 is a fragment (freelist.c). A header that cannot be right is
 * damage: the walk then searches, word by word, for the next place from which a chain of plausible
 * headers leads on, and counts what it skipped.
 *
 * The minor heap is filled downwards, so its blocks stand newest first from young_ptr on. OCaml
 * code lowers the pointer for several blocks at once and writes their headers afterwards; a stop in
 * between finds up to 257 words at the front that hold anything. They are skipped the same way, but
 * are no damage. In a minor collection a header of 0 marks a block already moved: its first field
 * leads to the copy, whose size is its own (minor_gc.c caml_oldify_one).
 *
 * In OCaml 5 blocks of up to 128 words are in the slots of pools, one size for each pool: a header
 * of 0 is a free slot. A larger block stands alone. Colours change their roles with every cycle, so
 * they say nothing here. */
#include "map.h"

enum {
    YOUNG_MAX_WOSIZE = 256, /* Max_young_wosize, config.h */
    CHAIN_BLOCKS = 24       /* plausible headers in a row that end a search */
};

enum walk_kind { WALK_IMPOSSIBLE, WALK_BLOCK, WALK_FREE, WALK_FRAGMENT, WALK_FORWARDED };

/* Classifies the header at `at`; its whole size in words in *ret_words. `left` >= 1 words remain in
 * the span, the header included. */
static enum walk_kind walk_heap(const struct hs_block_map *map, const uint8_t *at, uint64_t left,
                                uint64_t *ret_words)
{
    uint64_t header = hs_load_u64(at);
    uint64_t wosize = HS_HEADER_WOSIZE(header);
    unsigned tag = HS_HEADER_TAG(header);

    *ret_words = wosize + 1;
    if (wosize >= left)
        return WALK_IMPOSSIBLE;
    if (wosize == 0) /* a white 0 of the free list, or what Obj.truncate left */
        return tag == 0 || tag == HS_TAG_ABSTRACT ? WALK_FRAGMENT : WALK_IMPOSSIBLE;
    if (HS_HEADER_COLOUR(header) == HS_BLUE && map->rt->five == NULL)
        return WALK_FREE;
    if (tag == HS_TAG_INFIX || (tag == HS_TAG_CLOSURE && wosize < 2))
        return WALK_IMPOSSIBLE;
    return WALK_BLOCK;
}

static enum walk_kind walk_young(const struct hs_block_map *map, const uint8_t *at, uint64_t left,
                                 uint64_t *ret_words)
{
    uint64_t header = hs_load_u64(at);
    struct hs_block copy;

    if (header == 0) {
        if (left < 2 || !hs_map_resolve(map, hs_load_u64(at + HS_WORD), &copy) ||
            copy.span->area != HS_AREA_HEAP)
            return WALK_IMPOSSIBLE;
        header = hs_block_head(&copy);
        *ret_words = HS_HEADER_WOSIZE(header) + 1;
        return *ret_words <= left && *ret_words <= YOUNG_MAX_WOSIZE + 1 ? WALK_FORWARDED
                                                                        : WALK_IMPOSSIBLE;
    }
    if (HS_HEADER_COLOUR(header) != HS_WHITE || HS_HEADER_WOSIZE(header) > YOUNG_MAX_WOSIZE)
        return WALK_IMPOSSIBLE;
    return walk_heap(map, at, left, ret_words);
}

static enum walk_kind walk_classify(const struct hs_block_map *map, const struct hs_span *span,
                                    uint64_t word, uint64_t n_words, uint64_t *ret_words)
{
    const uint8_t *at = span->bytes + word * HS_WORD;

    return span->area == HS_AREA_YOUNG ? walk_young(map, at, n_words - word, ret_words)
                                       : walk_heap(map, at, n_words - word, ret_words);
}

/* Tells whether a chain of plausible headers leads on from `word`, long enough or to the very end.
 */
static bool walk_chain_holds(const struct hs_block_map *map, const struct hs_span *span,
                             uint64_t word, uint64_t n_words)
{
    for (unsigned i = 0; i < CHAIN_BLOCKS && word < n_words; i++) {
        uint64_t n;
        if (walk_classify(map, span, word, n_words, &n) == WALK_IMPOSSIBLE)
            return false;
        word += n;
    }
    return word <= n_words;
}

/* Returns the next word from which the walk can go on; n_words when there is none. */
static uint64_t walk_resync(const struct hs_block_map *map, const struct hs_span *span,
                            uint64_t word, uint64_t n_words)
{
    while (word < n_words && !walk_chain_holds(map, span, word, n_words))
        word++;
    return word;
}

static void walk_skip(const struct hs_span *span, uint64_t from, uint64_t to, struct hs_walk *walk)
{
    if (span->area == HS_AREA_YOUNG && from == 0 && to <= YOUNG_MAX_WOSIZE + 1) {
        walk->n_unborn_words += to;
        return;
    }
    walk->n_damaged_words += to - from;
    walk->n_resyncs++;
}

void hs_map_enumerate(struct hs_block_map *map, const struct hs_span *span, bool is_first,
                      struct hs_walk *walk)
{
    uint64_t n_words = (span->end - span->begin) / HS_WORD;
    uint64_t word = 0;

    if (!is_first) {
        word = walk_resync(map, span, 0, n_words);
        if (word != 0)
            walk_skip(span, 0, word, walk);
    }
    while (word < n_words) {
        uint64_t n;
        switch (walk_classify(map, span, word, n_words, &n)) {
        case WALK_BLOCK:
            hs_bitmap_set(&map->starts, span->first_bit + word + 1);
            walk->n_blocks++;
            walk->n_live_words += n;
            break;
        case WALK_FREE:
            walk->n_free_words += n;
            break;
        case WALK_FRAGMENT:
            walk->n_fragment_words += n;
            break;
        case WALK_FORWARDED:
            walk->n_forwarded++;
            walk->n_fragment_words += n;
            break;
        case WALK_IMPOSSIBLE:
            n = walk_resync(map, span, word + 1, n_words) - word;
            walk_skip(span, word, word + n, walk);
            break;
        }
        word += n;
    }
}

void hs_map_enumerate_pool(struct hs_block_map *map, const struct hs_span *span,
                           struct hs_walk *walk)
{
    uint64_t n_words = (span->end - span->begin) / HS_WORD, slot = span->slot_words;

    for (uint64_t word = 0; word + slot <= n_words; word += slot) {
        const uint8_t *at = span->bytes + word * HS_WORD;
        uint64_t n;
        if (hs_load_u64(at) == 0) {
            walk->n_free_words += slot;
        } else if (walk_heap(map, at, slot, &n) == WALK_BLOCK) {
            hs_bitmap_set(&map->starts, span->first_bit + word + 1);
            walk->n_blocks++;
            walk->n_live_words += n;
            walk->n_fragment_words += slot - n;
        } else {
            walk->n_damaged_words += slot;
            walk->n_resyncs++;
        }
    }
}
