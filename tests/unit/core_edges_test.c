/* links: hs_passes hs_dominator hs_graph */
#include "passes/core_edges.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"

static struct hs_error err;
static struct core_edges edges, read;

/* The nth record: all lengths, small and huge gaps. */
static void record_make(uint32_t nth)
{
    uint64_t random = nth + 1, last = 0;
    edges.core = nth * 1000003U % (UINT32_MAX - 1);
    edges.n = nth % 50 == 0 ? CORE_EDGES_MAX : 1 + hs_random_below(&random, 40);
    for (uint32_t i = 0; i < edges.n; i++) {
        uint64_t gap = hs_random_below(&random, 1U << hs_random_below(&random, 31));
        if (nth % 7 == 0 && i == 0)
            gap = (uint64_t)1 << 36;
        edges.source[i] = last + gap + (i != 0);
        last = edges.source[i];
    }
}

static void test_round_trip(void **state)
{
    enum { RECORDS = 500 };
    struct hs_spill spill = {0};
    struct hs_spill_reader reader = {0};
    bool more = true;
    assert_int_equal(hs_spill_open(NULL, "edges", &spill, &err), HS_OK);
    for (uint32_t i = 0; i < RECORDS; i++) {
        record_make(i);
        assert_int_equal(core_edges_put(&spill, &edges, &err), HS_OK);
    }
    assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);
    for (int round = 0; round < 2; round++) {
        assert_int_equal(hs_spill_read(&spill, 0, spill.n_bytes, &reader, &err), HS_OK);
        for (uint32_t i = 0; i < RECORDS; i++) {
            record_make(i);
            assert_int_equal(core_edges_get(&reader, &read, &more, &err), HS_OK);
            assert_true(more);
            assert_int_equal(read.core, edges.core);
            assert_int_equal(read.n, edges.n);
            assert_memory_equal(read.source, edges.source, edges.n * sizeof *edges.source);
        }
        assert_int_equal(core_edges_get(&reader, &read, &more, &err), HS_OK);
        assert_false(more);
        hs_spill_reader_close(&reader);
    }
    hs_spill_close(&spill);
}

/* Every number sequence that is no record, and every cut, is refused. */
static void check_damaged(const uint64_t *numbers, unsigned n)
{
    struct hs_spill spill = {0};
    struct hs_spill_reader reader = {0};
    bool more;
    assert_int_equal(hs_spill_open(NULL, "edges", &spill, &err), HS_OK);
    for (unsigned i = 0; i < n; i++)
        assert_int_equal(hs_spill_put_varint(&spill, numbers[i], &err), HS_OK);
    assert_int_equal(hs_spill_seal(&spill, &err), HS_OK);
    assert_int_equal(hs_spill_read(&spill, 0, spill.n_bytes, &reader, &err), HS_OK);
    assert_int_equal(core_edges_get(&reader, &read, &more, &err), HS_BUG);
    assert_false(more);
    hs_spill_reader_close(&reader);
    hs_spill_close(&spill);
}

static void test_damaged(void **state)
{
    check_damaged((uint64_t[]){1}, 1);
    check_damaged((uint64_t[]){1, 2, 3}, 3);
    check_damaged((uint64_t[]){1, 0, 3}, 3);
    check_damaged((uint64_t[]){UINT32_MAX, 1, 3}, 3);
    check_damaged((uint64_t[]){1, CORE_EDGES_MAX + 1, 3}, 3);
    check_damaged((uint64_t[]){1, 2, UINT64_MAX, 0}, 4);
    check_damaged((uint64_t[]){1, 2, 5, UINT64_MAX - 5}, 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_round_trip),
        cmocka_unit_test(test_damaged),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
