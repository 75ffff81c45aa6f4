/* links: hs_native */
#include "unit.h"

#include "native/queue.h"
#include "native_world.h"

enum { BLOCKS = 100 };

static struct world *world;

static int set_up(void **state)
{
    world = world_new();
    for (int i = 0; i < BLOCKS; i++)
        world_block(world, 16);
    world_seal(world);
    return 0;
}

static int tear_down(void **state)
{
    world_free(world);
    return 0;
}

static void block_of(size_t number, struct hs_heap_block *ret)
{
    assert_int_equal(hs_heap_map_resolve(&world->dump.heaps.map, world->blocks[number], ret),
                     HS_POINTER_START);
}

static void push(struct hs_block_queue *queue, size_t number)
{
    struct hs_heap_block block;
    block_of(number, &block);
    assert_int_equal(hs_block_queue_push(queue, &block, &world_err), HS_OK);
}

static void first_in_first_out(void **state)
{
    struct hs_block_queue queue;
    struct hs_heap_block block;
    assert_int_equal(hs_block_queue_init(&queue, &world->dump.heaps.map, 128, &world_err), HS_OK);
    assert_false(hs_block_queue_pop(&queue, &block));
    for (size_t i = 0; i < BLOCKS; i++)
        push(&queue, BLOCKS - 1 - i);
    for (size_t i = 0; i < BLOCKS; i++) {
        assert_true(hs_block_queue_pop(&queue, &block));
        assert_int_equal(block.begin, world->blocks[BLOCKS - 1 - i]);
        assert_int_equal(block.n_bytes, 16);
    }
    assert_false(hs_block_queue_pop(&queue, &block));
    assert_null(queue.pending.words);
    hs_block_queue_fini(&queue);
    hs_block_queue_fini(&queue);
}

/* Pushes everything, and a second half while the first is taken: each comes out once. */
static void whatever_its_size(void **state)
{
    for (uint64_t capacity = 1; capacity <= 64; capacity *= 2) {
        struct hs_block_queue queue;
        struct hs_heap_block block;
        unsigned seen[BLOCKS] = {0};
        size_t n = 0, next = BLOCKS / 2;
        assert_int_equal(hs_block_queue_init(&queue, &world->dump.heaps.map, capacity, &world_err),
                         HS_OK);
        for (size_t i = 0; i < BLOCKS / 2; i++)
            push(&queue, i * 7 % (BLOCKS / 2));
        while (hs_block_queue_pop(&queue, &block)) {
            seen[block.rank]++;
            n++;
            if (next < BLOCKS)
                push(&queue, next++);
        }
        assert_int_equal(n, BLOCKS);
        for (size_t i = 0; i < BLOCKS; i++)
            assert_int_equal(seen[i], 1);
        hs_block_queue_fini(&queue);
    }
}

/* 256 blocks of 1 MiB, 16 to a region of the queue. */
enum { LARGE_BLOCKS = 256, PER_REGION = 16 };
#define LARGE_AT UINT64_C(0x200000000)

static void large_map(struct hs_heap_map *map)
{
    struct hs_heap_span span = {.begin = LARGE_AT,
                                .end = LARGE_AT + ((uint64_t)LARGE_BLOCKS << 20),
                                .unit_bytes = 1 << 20,
                                .form = HS_SPAN_UNIFORM,
                                .owner = HS_OWNER_jemalloc};
    uint64_t n_refused;

    hs_heap_map_init(map, NULL);
    assert_int_equal(hs_heap_map_add(map, &span, &world_err), HS_OK);
    assert_int_equal(hs_heap_map_seal(map, &n_refused, &world_err), HS_OK);
    for (uint64_t i = 0; i < LARGE_BLOCKS; i++)
        assert_true(hs_heap_map_set(map, LARGE_AT + (i << 20)));
    assert_int_equal(hs_heap_map_index(map, &world_err), HS_OK);
}

static void push_large(struct hs_block_queue *queue, uint64_t number)
{
    struct hs_heap_block block;
    assert_int_equal(hs_heap_map_resolve(queue->map, LARGE_AT + (number << 20), &block),
                     HS_POINTER_START);
    assert_int_equal(hs_block_queue_push(queue, &block, &world_err), HS_OK);
}

/* A region is done before the next one begins, with what is pushed meanwhile, and what is pushed of
 * others waits for their turn. */
static void region_by_region(void **state)
{
    for (uint64_t capacity = 1; capacity <= 64; capacity *= 4) {
        struct hs_heap_map map;
        struct hs_block_queue queue;
        struct hs_heap_block block;
        unsigned seen[LARGE_BLOCKS] = {0}, n_turns = 0;
        uint64_t region = UINT64_MAX, n = 0;

        large_map(&map);
        assert_int_equal(hs_block_queue_init(&queue, &map, capacity, &world_err), HS_OK);
        hs_block_queue_go_by_region(&queue);
        for (uint64_t i = 0; i < LARGE_BLOCKS / 2; i++) /* every other block, scattered */
            push_large(&queue, i * 37 % (LARGE_BLOCKS / 2) * 2);
        assert_int_equal(queue.end, 0); /* no region is at hand yet */
        while (hs_block_queue_pop(&queue, &block)) {
            assert_true(hs_block_queue_is_at_hand(&queue, &block));
            n_turns += block.rank / PER_REGION != region;
            region = block.rank / PER_REGION;
            assert_int_equal(seen[block.rank]++, 0);
            n++;
            if (block.rank % 2 == 0) /* the neighbour, of this region */
                push_large(&queue, block.rank + 1);
        }
        assert_int_equal(n, LARGE_BLOCKS);
        assert_int_equal(n_turns, LARGE_BLOCKS / PER_REGION);
        hs_block_queue_fini(&queue);
        hs_heap_map_fini(&map);
    }
}

/* A path from the last region to the first: every turn finds the next one. */
static void goes_round(void **state)
{
    struct hs_heap_map map;
    struct hs_block_queue queue;
    struct hs_heap_block block;
    uint64_t expected = LARGE_BLOCKS;

    large_map(&map);
    assert_int_equal(hs_block_queue_init(&queue, &map, 4, &world_err), HS_OK);
    hs_block_queue_go_by_region(&queue);
    push_large(&queue, LARGE_BLOCKS - 1);
    while (hs_block_queue_pop(&queue, &block)) {
        assert_int_equal(block.rank, --expected);
        if (block.rank != 0)
            push_large(&queue, block.rank - 1);
    }
    assert_int_equal(expected, 0);
    hs_block_queue_fini(&queue);
    hs_heap_map_fini(&map);
}

static void without_memory(void **state)
{
    struct hs_block_queue queue;
    struct hs_heap_block block;
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_block_queue_init(&queue, &world->dump.heaps.map, 2, &world_err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    hs_block_queue_fini(&queue);
    assert_int_equal(hs_block_queue_init(&queue, &world->dump.heaps.map, 2, &world_err), HS_OK);
    push(&queue, 0);
    push(&queue, 1);
    block_of(2, &block);
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_block_queue_push(&queue, &block, &world_err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_int_equal(hs_block_queue_push(&queue, &block, &world_err), HS_OK);
    for (size_t i = 0; i < 3; i++) {
        assert_true(hs_block_queue_pop(&queue, &block));
        assert_int_equal(block.rank, i);
    }
    hs_block_queue_fini(&queue);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(first_in_first_out), cmocka_unit_test(whatever_its_size),
        cmocka_unit_test(region_by_region),   cmocka_unit_test(goes_round),
        cmocka_unit_test(without_memory),
    };
    return cmocka_run_group_tests(tests, set_up, tear_down);
}
