/* Addresses one behind the last byte of a block.
 *
 * Where an allocator puts nothing between its blocks (jemalloc, mimalloc, tcmalloc, pools, mappings
 * of their own), the end of a full buffer is the address of the block behind it. std::vector has
 * such words, a deque's iterators, Rust's slice iterators, and C's { start, pos, end }: read as a
 * pointer each is a reference to a block that has nothing to do with its holder.
 *
 * A word is an end when words beside it lead to the block that it is the end of, and
 *
 *   by name      debug information calls it end, finish, last, limit, ...: one such word is enough,
 *                and for one in a register none is asked for
 *   by agreement (begin, pos, end), (begin, end, end), the position in the middle: two words agree.
 *                One alone does not tell: two nodes that were allocated one after the other, and
 *                whose addresses stand side by side, look the same. Nor does one that a word leads
 *                from into the block behind, when that word is nearer: it begins a group of its own
 *   by others    a bare pair (begin, end) that stands in the same place of others (ends_alike.h)
 *
 * Rejected: any pair of neighbours that differ by a block's size. Every array of pointers to blocks
 * that were allocated in a row would lose all of them but the first. */
#ifndef HS_NATIVE_ENDS_H
#define HS_NATIVE_ENDS_H

#include "base/load.h"
#include "native.h"

/* The words on either side of a word that may lead to the same buffer. */
enum { HS_ENDS_NEAR_WORDS = 4 };

/* Memory around a word: its neighbours are read from there. */
struct hs_ends_place {
    const uint8_t *bytes; /* NULL: it is in a register */
    uint64_t n_bytes, at;
    const struct hs_heap_block *holder; /* borrowed; whose words they are; NULL: nobody asks */
};

/* Returns the place of a word at an address of the image. */
struct hs_ends_place hs_ends_place_of(const struct hs_native *native, hs_addr address);
/* Says no, quickly, of most that is no end: no word beside it leads in front of `target`. Words
 * behind it count only where the word may have a name that says it. */
static inline bool hs_ends_may_be(const struct hs_ends_place *place,
                                  const struct hs_heap_block *target, bool may_be_named)
{
    const struct hs_heap_span *span = target->span;

    if (span->form == HS_SPAN_HEADERS || place->bytes == NULL)
        return span->form != HS_SPAN_HEADERS && may_be_named;
    bool is_slab = span->form == HS_SPAN_UNIFORM && target->begin != span->begin;
    uint64_t most = is_slab ? span->unit_bytes : target->begin - 1; /* how far in front */
    uint64_t near = HS_ENDS_NEAR_WORDS * sizeof(uint64_t);
    uint64_t at = place->at < near ? place->at % sizeof(uint64_t) : place->at - near;
    uint64_t end = place->at + (may_be_named ? near : 0);
    for (; at <= end && at + sizeof(uint64_t) <= place->n_bytes; at += sizeof(uint64_t))
        if (target->begin - 1 - hs_load_u64(place->bytes + at) < most)
            return true;
    return false;
}

/* Tells whether the word there, which leads to the start of `target`, is rather the end of the
 * block before it. *ret_before is that one. O(1): eight words, before any look-up; a few dozen
 * for a pair alone. */
bool hs_ends_is(const struct hs_native *native, const struct hs_ends_place *place,
                const struct hs_heap_block *target, bool is_named,
                struct hs_heap_block *ret_before);

#endif
