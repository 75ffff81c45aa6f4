/* links: hs_analysis */
/* One pass over a trace for some ids: what is kept, what it costs, and every failure of it. */
#include "analysis/trace_join.h"

#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "fail_each.h"
#include "trace_writer.h"

static char path[] = "/tmp/heapsnap-trace-XXXXXX";

/* 100 allocations with 7 backtraces; every third is collected. */
static void make_trace(void)
{
    static struct trace_writer w;
    trace_writer_init(&w, 1234, 1000000, 0.01, "program");
    trace_writer_location(&w, 0x1000, "M.f", "m.ml", 12);
    trace_writer_location(&w, 0x2000, "M.g", "m.ml", 13);
    for (uint64_t i = 0; i < 100; i++) {
        uint64_t codes[3] = {0x2000, 0x1000, i % 7};
        assert_int_equal(trace_writer_alloc(&w, 10 * i, i, 1 + i % 3, codes, 3), i);
        if (i % 3 == 0)
            trace_writer_collect(&w, 10 * i + 5, i);
        if (i == 50)
            trace_writer_end(&w);
    }
    trace_writer_file(&w, path);
}

static void check(const struct hs_trace_join *join, uint64_t id)
{
    size_t n;
    const struct hs_traced *traced = hs_trace_join_find(join, id);
    assert_non_null(traced);
    assert_true(traced->is_allocated == (id < 100));
    if (id >= 100)
        return;
    assert_int_equal(traced->allocated_us, 10 * id);
    assert_int_equal(traced->words, id);
    assert_int_equal(traced->n_samples, 1 + id % 3);
    assert_true(traced->is_collected == (id % 3 == 0));
    if (traced->is_collected)
        assert_int_equal(traced->collected_us, 10 * id + 5);
    const uint64_t *codes = hs_trace_join_stack(join, traced->stack, &n);
    assert_int_equal(n, 3);
    assert_int_equal(codes[0], 0x2000);
    assert_int_equal(codes[2], id % 7);
}

static void joined(void **state)
{
    static const uint64_t ids[] = {0, 1, 7, 8, 50, 51, 99, 100, UINT64_MAX};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_join join;
    assert_int_equal(hs_trace_join_open(path, NULL, &join, &err), HS_OK);
    assert_int_equal(hs_trace_join_read(&join, ids, sizeof ids / sizeof *ids, NULL, &err), HS_OK);
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++)
        check(&join, ids[i]);
    assert_null(hs_trace_join_find(&join, 2)); /* not asked for */
    assert_int_equal(join.n_allocated, 100);
    assert_int_equal(join.n_collected, 34);
    assert_int_equal(join.last_id, 99);
    assert_int_equal(join.n_stacks, 3); /* 0 and 7; 1, 8, 50 and 99; 51 */
    assert_false(join.has_domains);
    hs_trace_join_close(&join);
}

static void out_of_memory(void **state)
{
    static const uint64_t ids[] = {1, 2, 3};
    FAIL_EACH (each, .at_least = 4) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_trace_join join = {0};
        fail_each_begin(&each);
        hs_status status = hs_trace_join_open(path, NULL, &join, &err);
        if (status == HS_OK)
            status = hs_trace_join_read(&join, ids, 3, NULL, &err);
        (void)fail_each_end(&each, status);
        hs_trace_join_close(&join);
    }
}

static void over_the_budget(void **state)
{
    static const uint64_t ids[] = {1, 2, 3};
    struct hs_budget budget = {.limit_bytes = 100};
    struct hs_error err = HS_ERROR_INIT;
    struct hs_trace_join join;
    assert_int_equal(hs_trace_join_open(path, &budget, &join, &err), HS_OK);
    assert_int_equal(hs_trace_join_read(&join, ids, 3, NULL, &err), HS_LIMIT);
    hs_trace_join_close(&join);
    assert_int_equal(budget.used_bytes, 0);
}

/* Random bytes in a random place: an answer or a clear failure. */
static void hostile(void **state)
{
    static uint8_t bytes[1 << 16];
    uint64_t random = 4711;
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, sizeof bytes, file);
    fclose(file);
    char bad[] = "/tmp/heapsnap-trace-XXXXXX";
    int fd = mkstemp(bad);
    assert_true(fd >= 0);
    static uint64_t ids[100];
    for (size_t i = 0; i < 100; i++)
        ids[i] = i;
    for (unsigned round = 0; round < 500; round++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_trace_join join = {0};
        size_t at = hs_random_below(&random, (uint32_t)n);
        uint8_t old = bytes[at];
        bytes[at] = (uint8_t)hs_random_below(&random, 256);
        assert_int_equal(pwrite(fd, bytes, n, 0), n);
        if (hs_trace_join_open(bad, NULL, &join, &err) == HS_OK &&
            hs_trace_join_read(&join, ids, 100, NULL, &err) == HS_OK)
            for (size_t i = 0; i < 100; i++) {
                const struct hs_traced *traced = hs_trace_join_find(&join, i);
                size_t n_codes;
                if (traced->stack != HS_NO_STACK)
                    (void)hs_trace_join_stack(&join, traced->stack, &n_codes);
            }
        else
            assert_true(err.message[0] != 0);
        hs_trace_join_close(&join);
        bytes[at] = old;
    }
    close(fd);
    unlink(bad);
}

static int setup(void **state)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return -1;
    close(fd);
    make_trace();
    return 0;
}

static int teardown(void **state)
{
    return unlink(path);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(joined),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(over_the_budget),
        cmocka_unit_test(hostile),
    };
    return cmocka_run_group_tests(tests, setup, teardown);
}
