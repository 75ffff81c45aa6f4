/* links: hs_process hs_symbols hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "process/ranges.h"

static void add(struct hs_range_set *set, hs_addr begin, hs_addr end)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_range_set_add(set, begin, end, &err), HS_OK);
}

static void merges_what_overlaps_or_touches(void **state)
{
    struct hs_range_set set = {0};
    add(&set, 40, 50);
    add(&set, 10, 20);
    add(&set, 20, 25);
    add(&set, 12, 14);
    add(&set, 30, 30); /* empty */
    add(&set, 60, 50); /* the wrong way round */
    hs_range_set_merge(&set);
    assert_int_equal(set.n, 2);
    assert_true(set.ranges[0].begin == 10 && set.ranges[0].end == 25);
    assert_true(set.ranges[1].begin == 40 && set.ranges[1].end == 50);
    hs_range_set_fini(&set);
    hs_range_set_fini(&set);
    hs_range_set_fini(NULL);
}

/* Against one flag per address; ends before begins are as empty. */
static void finds_what_is_inside(void **state)
{
    enum { N = 300 };
    srand(6);
    for (unsigned round = 0; round < 300; round++) {
        struct hs_range_set set = {0};
        bool inside[N] = {0};
        for (unsigned i = 0; i < round % 40; i++) {
            unsigned begin = (unsigned)rand() % N, end = (unsigned)rand() % N;
            add(&set, begin, end);
            for (unsigned at = begin; at < end; at++)
                inside[at] = true;
        }
        hs_range_set_merge(&set);
        for (size_t i = 0; i < set.n; i++) {
            assert_true(set.ranges[i].begin < set.ranges[i].end);
            assert_true(i == 0 || set.ranges[i - 1].end < set.ranges[i].begin);
        }
        for (hs_addr at = 0; at < N; at++) {
            const struct hs_range *range = hs_range_set_find(&set, at);
            assert_int_equal(range != NULL, inside[at]);
            assert_true(range == NULL || (range->begin <= at && at < range->end));
        }
        hs_range_set_fini(&set);
    }
}

static void takes_the_ends_of_the_address_space(void **state)
{
    struct hs_range_set set = {0};

    assert_null(hs_range_set_find(&set, 0));
    hs_range_set_merge(&set);
    add(&set, UINT64_MAX - 8, UINT64_MAX);
    add(&set, 0, 1);
    hs_range_set_merge(&set);
    assert_int_equal(set.n, 2);
    assert_ptr_equal(hs_range_set_find(&set, 0), &set.ranges[0]);
    assert_ptr_equal(hs_range_set_find(&set, UINT64_MAX - 1), &set.ranges[1]);
    assert_null(hs_range_set_find(&set, UINT64_MAX));
    hs_range_set_fini(&set);
}

/* Against one flag per address. */
static void tells_what_is_outside(void **state)
{
    enum { N = 200 };
    srand(5);
    for (unsigned round = 0; round < 500; round++) {
        struct hs_range_set set = {0};
        bool inside[N] = {0};
        for (unsigned i = 0; i < 12; i++) {
            unsigned begin = (unsigned)rand() % N, end = begin + (unsigned)rand() % 15;
            end = end < N ? end : N;
            add(&set, begin, end);
            for (unsigned at = begin; at < end; at++)
                inside[at] = true;
        }
        hs_range_set_merge(&set);
        unsigned from = (unsigned)rand() % N, to = from + (unsigned)rand() % (N - from);
        hs_addr begin = from, part, part_end;
        bool seen[N] = {0};
        while (hs_range_set_next_outside(&set, begin, to, &part, &part_end)) {
            assert_true(part >= begin && part < part_end && part_end <= to);
            for (hs_addr at = part; at < part_end; at++)
                seen[at] = true;
            begin = part_end;
        }
        for (unsigned at = 0; at < N; at++)
            assert_int_equal(seen[at], at >= from && at < to && !inside[at]);
        hs_range_set_fini(&set);
    }
}

static void fails_without_memory(void **state)
{
    struct hs_range_set set = {0};
    struct hs_error err = HS_ERROR_INIT;
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_range_set_add(&set, 1, 2, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    hs_range_set_merge(&set);
    hs_addr begin, end;
    assert_true(hs_range_set_next_outside(&set, 1, 2, &begin, &end));
    assert_true(begin == 1 && end == 2);
}

/* One ends where the next begins; of those that begin together the lowest number stays. */
static void makes_ranges_disjoint(void **state)
{
    struct hs_owned_range ranges[] = {{50, 90, 0}, {10, 60, 1}, {10, 20, 2}, {55, 55, 3},
                                      {90, 95, 4}, {20, 10, 5}, {60, 70, 6}};
    assert_int_equal(hs_owned_ranges_disjoin(ranges, 7), 4);
    assert_true(ranges[0].begin == 10 && ranges[0].end == 50 && ranges[0].of == 1);
    assert_true(ranges[1].begin == 50 && ranges[1].end == 60 && ranges[1].of == 0);
    assert_true(ranges[2].begin == 60 && ranges[2].end == 70 && ranges[2].of == 6);
    assert_true(ranges[3].begin == 90 && ranges[3].end == 95 && ranges[3].of == 4);
    hs_owned_ranges_sort(ranges, 4);
    assert_true(ranges[0].of == 0 && ranges[1].of == 1 && ranges[2].of == 4 && ranges[3].of == 6);
    assert_int_equal(hs_owned_ranges_disjoin(NULL, 0), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(merges_what_overlaps_or_touches),
        cmocka_unit_test(finds_what_is_inside),
        cmocka_unit_test(takes_the_ends_of_the_address_space),
        cmocka_unit_test(tells_what_is_outside),
        cmocka_unit_test(fails_without_memory),
        cmocka_unit_test(makes_ranges_disjoint),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
