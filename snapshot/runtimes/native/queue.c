#include "queue.h"

#include <assert.h>

#include "base/alloc.h"
#include "base/huge.h"
#include "base/table.h"

enum { PREFETCH_AHEAD = 8, STEPS_BEFORE_SEEK = 64, SPARSE_BYTES = 64 << 10 };

hs_status hs_block_queue_init(struct hs_block_queue *queue, const struct hs_heap_map *map,
                              uint64_t capacity, struct hs_error *err)
{
    assert(capacity != 0 && (capacity & (capacity - 1)) == 0);
    *queue = (struct hs_block_queue){.map = map,
                                     .capacity = capacity,
                                     .sweep = {.map = map},
                                     .region_bits = HS_QUEUE_REGION_BITS};
    HS_TRY(HS_PAGES_ALLOC(&queue->ring, capacity, err));
    hs_pages_prefer_huge(queue->ring, capacity * sizeof *queue->ring);
    return HS_OK;
}

void hs_block_queue_fini(struct hs_block_queue *queue)
{
    if (queue == NULL)
        return;
    if (queue->ring != NULL)
        hs_pages_free(queue->ring, queue->capacity, sizeof *queue->ring);
    hs_bitmap_fini(&queue->pending);
    hs_bitmap_fini(&queue->groups);
    *queue = (struct hs_block_queue){0};
}

/* Reads what the ring holds at once, unless little of what lies between is wanted. */
static void queue_expect(const struct hs_block_queue *queue)
{
    const struct hs_image *image = queue->map->image;
    uint64_t n = queue->end - queue->begin;

    if (n == 0 || image == NULL || image->paged == NULL)
        return;
    const struct hs_heap_block *first = &queue->ring[queue->begin & (queue->capacity - 1)];
    const struct hs_heap_block *last = &queue->ring[(queue->end - 1) & (queue->capacity - 1)];
    uint64_t n_bytes = last->begin + 1 - first->begin;
    if (first->bytes != NULL && n_bytes / n < SPARSE_BYTES)
        hs_paged_expect(image->paged, first->bytes, n_bytes);
}

static void queue_put(struct hs_block_queue *queue, const struct hs_heap_block *block)
{
    queue->ring[queue->end++ & (queue->capacity - 1)] = *block;
}

void hs_block_queue_go_by_region(struct hs_block_queue *queue)
{
    queue->goes_by_region = true;
    queue->region = UINT64_MAX;
}

void hs_block_queue_order(struct hs_block_queue *queue, uint64_t seed, unsigned region_bits)
{
    queue->random = seed;
    if (region_bits == 0)
        return;
    queue->region_bits = region_bits;
    hs_block_queue_go_by_region(queue);
}

/* Puts a random block of those in the ring first. */
static void queue_shuffle(struct hs_block_queue *queue)
{
    queue->random = hs_order_next(queue->random);
    uint64_t at = queue->begin + queue->random % (queue->end - queue->begin);
    struct hs_heap_block *first = &queue->ring[queue->begin & (queue->capacity - 1)];
    struct hs_heap_block *other = &queue->ring[at & (queue->capacity - 1)];
    const struct hs_heap_block block = *first;

    *first = *other;
    *other = block;
}

static hs_status queue_note(struct hs_block_queue *queue, uint64_t rank, struct hs_error *err)
{
    if (queue->pending.words == NULL) {
        HS_TRY(hs_bitmap_init(&queue->groups, queue->map->n_blocks / 64 + 1, err));
        HS_TRY(hs_bitmap_init(&queue->pending, queue->map->n_blocks, err));
    }
    if (!hs_bitmap_get(&queue->pending, rank)) {
        hs_bitmap_set(&queue->pending, rank);
        hs_bitmap_set(&queue->groups, rank / 64);
        queue->n_pending++;
    }
    return HS_OK;
}

static void queue_unnote(struct hs_block_queue *queue, uint64_t rank)
{
    hs_bitmap_clear(&queue->pending, rank);
    if (queue->pending.words[rank / 64] == 0)
        hs_bitmap_clear(&queue->groups, rank / 64);
    queue->n_pending--;
}

hs_status hs_block_queue_push(struct hs_block_queue *queue, const struct hs_heap_block *block,
                              struct hs_error *err)
{
    if (queue->end - queue->begin < queue->capacity && hs_block_queue_is_at_hand(queue, block)) {
        queue_put(queue, block);
        return HS_OK;
    }
    return queue_note(queue, block->rank, err);
}

/* Returns the first noted block from `rank` on, or n_blocks. */
static uint64_t queue_next(const struct hs_block_queue *queue, uint64_t rank)
{
    uint64_t n = queue->map->n_blocks;

    if (rank >= n)
        return n;
    uint64_t bits = queue->pending.words[rank / 64] & (UINT64_MAX << (rank % 64));
    uint64_t word = rank / 64;
    if (bits == 0) {
        word = hs_bitmap_next(&queue->groups, word + 1);
        if (word >= queue->groups.n_bits)
            return n;
        bits = queue->pending.words[word];
    }
    return word * 64 + (uint64_t)__builtin_ctzll(bits);
}

void hs_block_queue_seek(struct hs_heap_iterator *it, uint64_t rank, struct hs_heap_block *ret)
{
    if (it->bit == 0 || rank < it->rank || rank - it->rank > STEPS_BEFORE_SEEK)
        hs_heap_map_seek(it, rank);
    while (hs_heap_map_next(it, ret) && ret->rank != rank)
        ;
}

/* Queues the noted blocks of the next region that has any. */
static void queue_fill(struct hs_block_queue *queue)
{
    struct hs_heap_iterator it = {.map = queue->map};
    struct hs_heap_block block = {0};
    uint64_t n = queue->map->n_blocks, rank = queue_next(queue, queue->cursor);

    if (rank == n)
        rank = queue_next(queue, 0);
    queue->cursor = rank;
    for (; rank < n && queue->end - queue->begin < queue->capacity / 2 + 1;
         rank = queue_next(queue, rank + 1)) {
        hs_block_queue_seek(&it, rank, &block);
        if (queue->cursor == rank)
            queue->region = block.begin >> queue->region_bits;
        if (block.begin >> queue->region_bits != queue->region)
            break;
        queue_unnote(queue, rank);
        queue_put(queue, &block);
    }
    queue_expect(queue);
}

/* Goes on through the blocks in address order, round and round while any is noted. */
static void queue_refill(struct hs_block_queue *queue)
{
    struct hs_heap_block block;
    unsigned n_rounds = 0;

    while (queue->n_pending != 0 && queue->end - queue->begin < queue->capacity / 2 + 1) {
        if (!hs_heap_map_next(&queue->sweep, &block)) {
            if (n_rounds++ == 2) /* every block has been seen: what is noted is none */
                break;
            queue->sweep = (struct hs_heap_iterator){.map = queue->map};
            continue;
        }
        if (!hs_bitmap_get(&queue->pending, block.rank))
            continue;
        queue_unnote(queue, block.rank);
        queue_put(queue, &block);
    }
}

bool hs_block_queue_pop(struct hs_block_queue *queue, struct hs_heap_block *ret)
{
    if (queue->begin == queue->end && queue->n_pending != 0) {
        if (queue->goes_by_region)
            queue_fill(queue);
        else
            queue_refill(queue);
    }
    if (queue->begin == queue->end)
        return false;
    if (queue->random != 0)
        queue_shuffle(queue);
    uint64_t ahead = queue->begin + PREFETCH_AHEAD;
    if (ahead < queue->end)
        __builtin_prefetch(queue->ring[ahead & (queue->capacity - 1)].bytes);
    *ret = queue->ring[queue->begin++ & (queue->capacity - 1)];
    return true;
}
