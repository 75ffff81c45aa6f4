/* links: hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "base/bitmap.h"

static uint64_t random_state = 12345;

static uint64_t next_random(void)
{
    random_state ^= random_state << 13;
    random_state ^= random_state >> 7;
    random_state ^= random_state << 17;
    return random_state;
}

/* Every query at every position against the counting of single bits. */
static void compare_with_naive(const struct hs_bitmap *map, uint64_t n_set)
{
    uint64_t rank = 0;
    uint64_t previous = UINT64_MAX;
    for (uint64_t at = 0; at < map->n_bits; at++) {
        assert_int_equal(hs_bitmap_rank(map, at), rank);
        if (hs_bitmap_get(map, at)) {
            assert_int_equal(hs_bitmap_select(map, rank), at);
            rank++;
            previous = at;
        }
        assert_true(hs_bitmap_previous(map, at) == previous);
        assert_true(hs_bitmap_previous_ranked(map, at) == previous);
    }
    assert_int_equal(rank, n_set);
    assert_int_equal(hs_bitmap_rank(map, map->n_bits), n_set);
    uint64_t next = map->n_bits;
    assert_int_equal(hs_bitmap_next(map, map->n_bits), map->n_bits);
    for (uint64_t at = map->n_bits; at-- > 0;) {
        if (hs_bitmap_get(map, at))
            next = at;
        assert_int_equal(hs_bitmap_next(map, at), next);
    }
}

static void agrees_with_naive_on_random_maps(void **state)
{
    static const uint64_t sizes[] = {1,   2,   63,  64,   65,   127,  128, 511,
                                     512, 513, 575, 1023, 1024, 1025, 5000};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++)
        for (unsigned density = 0; density <= 8; density++) {
            struct hs_error err = HS_ERROR_INIT;
            struct hs_bitmap map = {0};
            uint64_t n_set = 0;
            uint64_t expected = 0;
            assert_int_equal(hs_bitmap_init(&map, sizes[i], &err), HS_OK);
            for (uint64_t at = 0; at < sizes[i]; at++)
                if ((next_random() >> 20) % 8 < density) {
                    hs_bitmap_set(&map, at);
                    expected++;
                }
            assert_int_equal(hs_bitmap_index(&map, &n_set, &err), HS_OK);
            assert_int_equal(n_set, expected);
            compare_with_naive(&map, n_set);
            hs_bitmap_fini(&map);
        }
}

/* The long way back over empty blocks, from next to a set bit and from far behind it. */
static void finds_the_previous_across_gaps(void **state)
{
    enum { N = 1 << 20 };
    struct hs_error err = HS_ERROR_INIT;
    struct hs_bitmap map = {0};
    uint64_t n_set = 0;

    assert_int_equal(hs_bitmap_init(&map, N, &err), HS_OK);
    for (uint64_t at = 5000; at < N; at += 1 + next_random() % 90000)
        hs_bitmap_set(&map, at);
    assert_int_equal(hs_bitmap_index(&map, &n_set, &err), HS_OK);
    assert_true(n_set > 10);
    for (uint64_t rank = 0, at = hs_bitmap_next(&map, 0); rank < n_set;
         rank++, at = hs_bitmap_next(&map, at + 1))
        assert_int_equal(hs_bitmap_select(&map, rank), at);
    for (uint64_t at = 0; at < N + 600; at += 1 + next_random() % 130)
        assert_true(hs_bitmap_previous_ranked(&map, at) == hs_bitmap_previous(&map, at));
    for (uint64_t at = hs_bitmap_next(&map, 0); at < N; at = hs_bitmap_next(&map, at + 1)) {
        assert_true(hs_bitmap_previous_ranked(&map, at) == at);
        assert_true(hs_bitmap_previous_ranked(&map, at - 1) == hs_bitmap_previous(&map, at - 1));
    }
    hs_bitmap_fini(&map);
}

static void can_be_indexed_again(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_bitmap map = {0};
    uint64_t n_set = 0;
    assert_int_equal(hs_bitmap_init(&map, 1000, &err), HS_OK);
    hs_bitmap_set(&map, 3);
    assert_int_equal(hs_bitmap_index(&map, &n_set, &err), HS_OK);
    hs_bitmap_set(&map, 900);
    hs_bitmap_set(&map, 999);
    hs_bitmap_clear(&map, 3);
    hs_bitmap_clear(&map, 4);
    assert_int_equal(hs_bitmap_index(&map, &n_set, &err), HS_OK);
    assert_int_equal(n_set, 2);
    compare_with_naive(&map, 2);
    assert_int_equal(hs_bitmap_next(&map, 5000), 1000);
    assert_int_equal(hs_bitmap_previous(&map, 5000), 999);
    hs_bitmap_fini(&map);
    assert_null(map.words);
    hs_bitmap_fini(&map);
    hs_bitmap_fini(NULL);
}

static void empty_map_has_no_bits(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_bitmap map = {0};
    uint64_t n_set = 7;
    assert_int_equal(hs_bitmap_init(&map, 0, &err), HS_OK);
    assert_int_equal(hs_bitmap_index(&map, &n_set, &err), HS_OK);
    assert_int_equal(n_set, 0);
    assert_int_equal(hs_bitmap_rank(&map, 0), 0);
    assert_int_equal(hs_bitmap_next(&map, 0), 0);
    assert_true(hs_bitmap_previous(&map, 0) == UINT64_MAX);
    assert_true(hs_bitmap_previous_ranked(&map, 0) == UINT64_MAX);
    hs_bitmap_fini(&map);
}

static void tells_when_there_is_no_room(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_bitmap map = {0};
    uint64_t n_set;
    assert_int_equal(hs_bitmap_init(&map, UINT64_MAX, &err), HS_LIMIT);
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_bitmap_init(&map, 100, &err), HS_LIMIT);
    assert_null(map.words);
    assert_int_equal(hs_bitmap_init(&map, 100, &err), HS_OK);
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_bitmap_index(&map, &n_set, &err), HS_LIMIT);
    assert_null(map.ranks);
    hs_alloc_fail_at(0, false);
    hs_bitmap_fini(&map);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(agrees_with_naive_on_random_maps),
        cmocka_unit_test(finds_the_previous_across_gaps),
        cmocka_unit_test(can_be_indexed_again),
        cmocka_unit_test(empty_map_has_no_bits),
        cmocka_unit_test(tells_when_there_is_no_room),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
