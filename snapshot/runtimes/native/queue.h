/* A queue of blocks to look at, of bounded size: first in, first out, until it is full. What does
 * not fit is noted with one bit and found again by going through the blocks in address order. So
 * any graph is walked in memory that does not depend on its shape, in an order that does not depend
 * on anything but the graph.
 *
 * In a large heap order goes by region instead, of 16 MiB of addresses: what does not lie in the
 * region at hand is noted, and taken when the regions before it are done. So the copy is read in
 * pieces that fit in memory, each as often as paths enter it, and not once per pointer.
 *
 * A block is pushed at most once at a time: the caller keeps a mark. Resident: 10 MiB, lazily, and
 * 1 bit per block once it has been full or goes by region. */
#ifndef HS_NATIVE_QUEUE_H
#define HS_NATIVE_QUEUE_H

#include "heaps/heap_map.h"

enum { HS_QUEUE_BLOCKS = 1 << 18, HS_QUEUE_REGION_BITS = 24 };

struct hs_block_queue {
    const struct hs_heap_map *map; /* borrowed, indexed */
    struct hs_heap_block *ring;    /* owned pages */
    uint64_t begin, end;           /* entries [begin, end), taken modulo the capacity */
    uint64_t capacity;             /* a power of two */
    struct hs_bitmap pending;      /* by rank; made when the ring is full for the first time */
    struct hs_bitmap groups;       /* which words of `pending` are not 0 */
    uint64_t n_pending;
    struct hs_heap_iterator sweep; /* first in, first out */
    bool goes_by_region;
    unsigned region_bits;
    uint64_t region; /* at hand: addresses >> region_bits; UINT64_MAX: none yet */
    uint64_t cursor; /* rank: regions before it are done */
    uint64_t random; /* not 0: what is in the ring comes out of it in any order */
};

/* Tells whether the block may be looked at now. Else what is to be done with it waits until it is
 * popped. */
static inline bool hs_block_queue_is_at_hand(const struct hs_block_queue *queue,
                                             const struct hs_heap_block *block)
{
    return !queue->goes_by_region || block->begin >> queue->region_bits == queue->region;
}

/* Makes an empty queue. `capacity` is a power of two; HS_QUEUE_BLOCKS but in tests. Fails with
 * HS_LIMIT. */
hs_status hs_block_queue_init(struct hs_block_queue *queue, const struct hs_heap_map *map,
                              uint64_t capacity, struct hs_error *err);
/* Makes the queue go by region; before the first push. */
void hs_block_queue_go_by_region(struct hs_block_queue *queue);
/* Returns the next number of a random order, from one that is not 0: the same in every run, unlike
 * hs_hash, so that what an order shows can be shown again. Marsaglia, Xorshift RNGs (2003). */
static inline uint64_t hs_order_next(uint64_t random)
{
    random ^= random << 13;
    random ^= random >> 7;
    return random ^ random << 17;
}
/* Sets an order for tests, on which no result may depend: see struct hs_dump_order. */
void hs_block_queue_order(struct hs_block_queue *queue, uint64_t seed, unsigned region_bits);
void hs_block_queue_fini(struct hs_block_queue *queue);

hs_status hs_block_queue_push(struct hs_block_queue *queue, const struct hs_heap_block *block,
                              struct hs_error *err);
/* Finds block number `rank` of the map, for those who go through some of its blocks in ascending
 * order. */
void hs_block_queue_seek(struct hs_heap_iterator *it, uint64_t rank, struct hs_heap_block *ret);
/* Takes the next block. False when the queue is empty. */
bool hs_block_queue_pop(struct hs_block_queue *queue, struct hs_heap_block *ret);

#endif
