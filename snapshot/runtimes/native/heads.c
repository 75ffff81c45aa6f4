#include "heads.h"

#include "base/load.h"
#include "flow.h"

enum { HEADS_WORD = 8 };

/* One of the two words of a link, as an offset in it. */
enum heads_word { HEADS_NEXT = 0, HEADS_PREVIOUS = HEADS_WORD };

static enum heads_word heads_other(enum heads_word word)
{
    return HEADS_PREVIOUS - word;
}

static uint64_t heads_at(const struct hs_native *native, hs_addr link, enum heads_word word)
{
    uint64_t there = 0;

    (void)hs_image_u64(&native->dump->image, link + word, &there);
    return there;
}

/* Tells whether a link is at `offset` of a block of so many bytes. */
static bool heads_is_alike(const struct hs_native *native, hs_addr link, uint64_t offset,
                           uint64_t n_bytes)
{
    struct hs_heap_block block;
    enum hs_pointer how = hs_flow_resolve(native, link, &block);

    return (how == HS_POINTER_START || how == HS_POINTER_INTERIOR) && block.n_bytes == n_bytes &&
           link == block.begin + offset;
}

/* Tells whether a word may lead to a member, by what costs nothing: words beside each other mostly
 * lead into one block (a begin and an end, an object and its counts), or one of them is a number.
 * The target is no member. */
static inline bool heads_may_be(const struct hs_native *native, uint64_t word,
                                const struct hs_heap_block *target)
{
    const struct hs_heap_map *map = &native->dump->heaps.map;

    return word - target->begin >= target->n_bytes &&
           (hs_heap_map_may_hold(map, word) || native->dump->options->pointer_mask != 0);
}

/* Tells whether the head, if it is one, leads back to a link. */
static bool heads_leads_back(const struct hs_native *native, hs_addr head, enum heads_word other,
                             const struct hs_heap_block *target, hs_addr link)
{
    uint64_t at = head - target->begin + other;

    if (target->bytes != NULL && at < target->n_bytes && target->n_bytes - at >= HEADS_WORD)
        return hs_load_u64(target->bytes + at) == link;
    return heads_at(native, head, other) == link;
}

/* Asks whether the word is the one of this name in a link: the word beside it leads to a member of
 * the list, then, and both lead back. Other blocks are read last, as they are in no cache. */
static bool heads_leads_to(const struct hs_native *native, const struct hs_heap_block *block,
                           uint64_t at, enum heads_word word, const struct hs_heap_block *target)
{
    enum heads_word other = heads_other(word);
    uint64_t offset = at - word;

    if (at < (uint64_t)word || offset + 2 * (uint64_t)HEADS_WORD > block->n_bytes)
        return false;
    hs_addr link = block->begin + offset, head = hs_load_u64(block->bytes + at);
    uint64_t member = hs_load_u64(block->bytes + offset + other);
    if (member == 0 || member == head || !heads_may_be(native, member, target) ||
        head - target->begin == offset || !heads_is_alike(native, member, offset, block->n_bytes) ||
        !heads_leads_back(native, head, other, target, link) ||
        heads_at(native, member, word) != link)
        return false;
    hs_addr second = heads_at(native, member, other);
    return second == head || (heads_is_alike(native, second, offset, block->n_bytes) &&
                              heads_at(native, second, word) == member);
}

/* Tells whether the word at `at` is the address of the word in the head that leads to this first
 * member: in TAILQ, LIST and hlist the one before that is the next member, whose second word leads
 * back, or none. */
static bool heads_is_slot(const struct hs_native *native, const struct hs_heap_block *block,
                          uint64_t at, const struct hs_heap_block *target)
{
    uint64_t slot = hs_load_u64(block->bytes + at);

    if (at < HEADS_WORD || slot == target->begin)
        return false;
    uint64_t offset = at - HEADS_WORD, next = hs_load_u64(block->bytes + offset);
    hs_addr link = block->begin + offset;
    uint64_t place = slot - target->begin;
    if (target->bytes == NULL || place == offset || place + HEADS_WORD > target->n_bytes ||
        (next != 0 && !heads_may_be(native, next, target)))
        return false;
    uint64_t first = hs_load_u64(target->bytes + place);
    if (first == 0 || (first != block->begin && first != link))
        return false;
    return next == 0 || (heads_is_alike(native, next, first - block->begin, block->n_bytes) &&
                         heads_at(native, next + (link - first), HEADS_PREVIOUS) == link);
}

bool hs_heads_is(const struct hs_native *native, const struct hs_heap_block *block, uint64_t at,
                 const struct hs_heap_block *target)
{
    return target->n_bytes != block->n_bytes && /* as of most links in a list */
           (heads_is_slot(native, block, at, target) ||
            heads_leads_to(native, block, at, HEADS_NEXT, target) ||
            heads_leads_to(native, block, at, HEADS_PREVIOUS, target));
}
