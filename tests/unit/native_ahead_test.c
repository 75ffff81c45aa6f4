/* links: hs_native */
#include "unit.h"

#include "fail_each.h"
#include "native/ahead.h"
#include "native_world.h"

enum { NODE = 1, N_BLOCKS = 2000, UNIT = 64, LARGE_BYTES = 20000 };

static struct world *w;
static struct hs_flow flow;
static struct hs_scan scan;

/* Lists of blocks without types, of which some are lost, with unaligned words and ends among them;
 * between them one that is large, and some of a type. */
static void build(void)
{
    hs_addr last = world_block(w, 24), first = last, large = 0;

    world_no_types();
    world_type(NODE, "struct node", HS_CTYPE_RECORD, 32);
    world_slot(NODE, "next", 0, NODE);
    for (unsigned i = 0; i < N_BLOCKS; i++) {
        hs_addr next = world_block(w, i % 7 == 0 ? 40 : 24);
        *world_word(w, next) = i % 5 == 0 ? last + 8 : last;
        if (i % 11 == 0)
            *world_word(w, next + 8) = first;
        if (i % 13 == 0) {
            uint64_t word = last;
            memcpy((uint8_t *)w->heap + (next + 11 - WORLD_HEAP), &word, sizeof word);
        }
        last = i % 100 == 99 ? 0 : next;
        if (last == 0)
            world_root(w, next, HS_EDGE_EXACT);
        if (i == N_BLOCKS / 2)
            large = world_block(w, LARGE_BYTES);
        if (i % 250 == 17)
            world_seed(w, world_block(w, 32), NODE);
    }
    for (uint64_t at = 0; at < LARGE_BYTES; at += 40)
        *world_word(w, large + at) = first;
    world_root(w, large, HS_EDGE_EXACT);
}

static int set_up(void **state)
{
    (void)state;
    w = world_new();
    build();
    world_seal(w);
    WORLD_OK(hs_native_flow(&w->native, &flow, &world_err));
    WORLD_OK(hs_scan_begin(&scan, &w->native, &flow, &world_err));
    WORLD_OK(hs_scan_mark_roots(&scan, &world_err));
    WORLD_OK(hs_scan_end(&scan, &world_err));
    w->dump.n_tree = 1000;
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    hs_scan_close(&scan);
    hs_flow_fini(&flow);
    world_free(w);
    return 0;
}

/* Compares all that is collected ahead with what the one scan says, block by block; returns how
 * many were left. */
static size_t compare(struct hs_ahead *ahead)
{
    struct hs_heap_iterator it = {.map = &w->dump.heaps.map};
    struct hs_heap_block block;
    struct hs_ahead_block got;
    size_t n_left = 0, n_edges = 0;

    while (hs_heap_map_next(&it, &block)) {
        assert_true(hs_ahead_next(ahead, &got));
        assert_int_equal(got.block.rank, block.rank);
        assert_int_equal(got.block.begin, block.begin);
        assert_int_equal(got.block.n_bytes, block.n_bytes);
        WORLD_OK(hs_scan_block(&scan, &block, &world_err));
        n_edges += scan.n_edges;
        if (got.is_left) {
            n_left++;
            continue;
        }
        assert_int_equal(got.states, scan.states);
        assert_int_equal(got.n_edges, scan.n_edges);
        for (size_t i = 0; i < got.n_edges; i++) {
            assert_int_equal(got.edges[i].target, scan.edges[i].target);
            assert_int_equal(got.edges[i].offset_words, scan.edges[i].offset_words);
            assert_int_equal(got.edges[i].edge_class, scan.edges[i].edge_class);
            assert_int_equal(got.edges[i].reason, scan.edges[i].reason);
        }
    }
    assert_false(hs_ahead_next(ahead, &got));
    assert_true(n_edges > N_BLOCKS);
    return n_left;
}

static void the_same_for_any_number_of_threads(void **state)
{
    size_t n_left[4];
    (void)state;
    assert_null(hs_ahead_open(&scan, 1, UNIT));
    for (unsigned n = 0; n < 4; n++) {
        struct hs_ahead *ahead = hs_ahead_open(&scan, n + 2, UNIT);
        assert_non_null(ahead);
        n_left[n] = compare(ahead);
        hs_ahead_close(ahead);
        assert_int_equal(n_left[n], n_left[0]);
    }
    assert_true(n_left[0] > 1 && n_left[0] < N_BLOCKS / 4); /* the large one, and those of a type */
}

/* A unit that has no room for all edges leaves blocks, and loses none. */
static void small_units(void **state)
{
    struct hs_ahead *ahead = hs_ahead_open(&scan, 2, 1);
    (void)state;
    assert_non_null(ahead);
    (void)compare(ahead);
    hs_ahead_close(ahead);
}

static void ended_midway(void **state)
{
    struct hs_ahead_block got;
    (void)state;
    for (unsigned n = 0; n < 3 * UNIT; n += 50) {
        struct hs_ahead *ahead = hs_ahead_open(&scan, 3, UNIT);
        assert_non_null(ahead);
        for (unsigned i = 0; i < n; i++)
            assert_true(hs_ahead_next(ahead, &got));
        hs_ahead_close(ahead);
    }
    hs_ahead_close(NULL);
}

/* Without memory nothing is collected ahead, and nothing fails. */
static void every_allocation_fails(void **state)
{
    (void)state;
    FAIL_EACH (each, .at_least = 4) {
        fail_each_begin(&each);
        struct hs_ahead *ahead = hs_ahead_open(&scan, 2, UNIT);
        if (fail_each_end(&each, ahead == NULL ? HS_LIMIT : HS_OK) == HS_OK)
            (void)compare(ahead);
        hs_ahead_close(ahead);
    }
}

static void where_it_is_not_possible(void **state)
{
    (void)state;
    scan.is_bare = false;
    assert_null(hs_ahead_open(&scan, 2, UNIT));
    scan.is_bare = true;
    w->dump.n_serving = 2;
    assert_null(hs_ahead_open(&scan, 2, UNIT));
    w->dump.n_serving = 0;
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(the_same_for_any_number_of_threads),
        TEST(small_units),
        TEST(ended_midway),
        TEST(every_allocation_fails),
        TEST(where_it_is_not_possible),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
