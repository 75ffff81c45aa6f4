/* links: hs_index hs_passes hs_dominator hs_graph hs_format */
#include "fail_each.h"
#include "index/index_passes.h"

#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "graph_builder.h"
#include "index/index_build.h"
#include "index/index_engine.h"
#include "seeds.h"

static struct hs_error err;

struct shape {
    uint32_t n_blocks, n_roots;
    bool with_ephemerons, with_static;
};

/* Random edges, weak ones and ephemerons among them; roots in all sorts of units. */
static struct hs_snap *made_snap(struct hs_graph_builder *b, uint64_t seed,
                                 const struct shape *shape)
{
    uint64_t random = seed * 2 + 1;
    uint32_t n = shape->n_blocks;
    for (uint32_t i = 0; i < n; i++)
        (void)hs_graph_builder_block(
            b, 2 + hs_random_below(&random, hs_random_below(&random, 9) == 0 ? 300 : 9),
            shape->with_static && hs_random_below(&random, 5) == 0);
    for (uint32_t i = 0; i < n + n / 3; i++) {
        uint32_t kind = hs_random_below(&random, 12), source = hs_random_below(&random, n);
        uint32_t target = seed % 2 == 0 ? hs_random_below(&random, n)
                                        : (source + hs_random_below(&random, 9) + n - 3) % n;
        unsigned edge_class = kind == 0                             ? HS_EDGE_WEAK
                              : kind == 1 && shape->with_ephemerons ? HS_EDGE_EPHEMERON
                                                                    : HS_EDGE_EXACT;
        hs_graph_builder_edge(b, source, target, edge_class);
    }
    for (uint32_t i = 0; i < shape->n_roots; i++) {
        char module[16], unit[16], name[32];
        (void)snprintf(module, sizeof module, "m%u", i % 2);
        (void)snprintf(unit, sizeof unit, "U%u", i % 5);
        (void)snprintf(name, sizeof name, "U%u.v%u", i % 5, i);
        uint32_t leaf =
            hs_graph_builder_slot(b, i % 7 == 0 ? HS_ROOT_STACK : HS_ROOT_GLOBAL, module, unit,
                                  i % 4 == 1 ? "a" : NULL, name, hs_random_below(&random, n));
        b->leaves[leaf].weak = i % 11 == 3;
    }
    return hs_graph_builder_open(b);
}

static const char *spill_dir(void)
{
    return access("/dev/shm", W_OK) == 0 ? "/dev/shm" : NULL;
}

static void out_open(struct index_output *out, const struct hs_snap *snap)
{
    assert_int_equal(index_output_open_memory(index_engine_file_bytes_max(snap), NULL, out, &err),
                     HS_OK);
}

static void build_in_memory(const struct hs_snap *snap, struct index_output *out)
{
    struct index_writer writer;
    out_open(out, snap);
    assert_int_equal(index_write_init(out, snap, 0, NULL, &writer, &err), HS_OK);
    struct index_policy policy;
    assert_int_equal(index_policy_init(snap, &(struct hs_policy){0}, &policy, &err), HS_OK);
    const struct index_work work = {.snap = snap, .policy = &policy};
    assert_int_equal(index_build_run(&work, &writer, &err), HS_OK);
    index_policy_fini(&policy);
    assert_int_equal(index_write_finish(&writer, &err), HS_OK);
    index_write_fini(&writer);
}

/* What the output has already is gone on with. */
static hs_status build_more(const struct hs_snap *snap, struct hs_budget *budget,
                            const struct hs_progress *progress, struct index_output *out)
{
    struct index_policy policy;
    assert_int_equal(index_policy_init(snap, &(struct hs_policy){0}, &policy, &err), HS_OK);
    const struct index_work work = {
        .snap = snap, .policy = &policy, .budget = budget, .progress = progress};
    struct index_writer writer = {0};
    uint64_t used = budget->used_bytes;
    hs_status status = index_write_init(out, snap, 0, budget, &writer, &err);
    if (status == HS_OK)
        status = index_passes_build(&work, &writer, &err);
    if (status == HS_OK)
        status = index_write_finish(&writer, &err);
    index_write_fini(&writer);
    index_policy_fini(&policy);
    assert_true(budget->used_bytes == used);
    return status;
}

static void assert_same(const struct index_output *a, const struct index_output *b)
{
    assert_int_equal(index_output_size(a), index_output_size(b));
    assert_memory_equal(a->memory, b->memory, index_output_size(a));
}

static void check(const struct hs_snap *snap, uint64_t room_bytes)
{
    struct index_output expected, out;
    struct hs_budget budget;
    build_in_memory(snap, &expected);
    hs_budget_init(UINT64_MAX, spill_dir(), 1, &budget);
    if (room_bytes != UINT64_MAX)
        budget.limit_bytes = budget.used_bytes + room_bytes;
    out_open(&out, snap);
    assert_int_equal(build_more(snap, &budget, NULL, &out), HS_OK);
    assert_same(&out, &expected);
    index_output_close(&out, false);
    index_output_close(&expected, false);
}

static void test_same_bytes(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(200); seed++) {
        const struct shape shape = {.n_blocks = 3 + (uint32_t)seed * 3,
                                    .n_roots = 1 + (uint32_t)(seed % 60),
                                    .with_ephemerons = seed % 3 != 0,
                                    .with_static = seed % 4 != 0};
        struct hs_graph_builder b = {0};
        struct hs_snap *snap = made_snap(&b, seed, &shape);
        check(snap, UINT64_MAX);
        hs_snap_close(snap);
        hs_graph_builder_fini(&b);
    }
}

/* Several chunks and pages, and less memory than all would need. */
static void test_same_bytes_in_little_memory(void **state)
{
    for (uint64_t seed = 0; seed < 2; seed++) {
        const struct shape shape = {.n_blocks = 200000,
                                    .n_roots = 500,
                                    .with_ephemerons = seed == 1,
                                    .with_static = seed == 0};
        struct hs_graph_builder b = {0};
        struct hs_snap *snap = made_snap(&b, seed, &shape);
        check(snap, (uint64_t)40 << 20);
        hs_snap_close(snap);
        hs_graph_builder_fini(&b);
    }
}

/* Ends the work at its nth word. */
struct ender {
    uint64_t n, at;
};

static bool end_at(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct ender *ender = context;
    (void)phase, (void)done, (void)total;
    return ender->n++ != ender->at;
}

/* Ended at every word in turn: what is there is gone on with, to the same bytes. */
static void test_resumes(void **state)
{
    const struct shape shape = {
        .n_blocks = 3000, .n_roots = 40, .with_ephemerons = true, .with_static = true};
    struct hs_graph_builder b = {0};
    struct hs_snap *snap = made_snap(&b, 6, &shape);
    struct index_output expected;
    struct hs_budget budget;
    hs_status status = HS_LIMIT;
    uint64_t at = 0, n_sections = 0;
    build_in_memory(snap, &expected);
    hs_budget_init(UINT64_MAX, spill_dir(), 1, &budget);
    for (; status != HS_OK; at++) {
        struct ender ender = {.at = at};
        const struct hs_progress progress = {end_at, &ender};
        struct index_output out;
        out_open(&out, snap);
        status = build_more(snap, &budget, &progress, &out);
        assert_true(status == HS_OK || status == HS_LIMIT);
        n_sections += index_output_size(&out) > index_packed_begin(hs_graph_builder_n_tree(&b));
        if (status == HS_LIMIT)
            assert_int_equal(build_more(snap, &budget, NULL, &out), HS_OK);
        assert_same(&out, &expected);
        index_output_close(&out, false);
    }
    assert_true(at > 10 && n_sections > 4);
    index_output_close(&expected, false);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void test_every_allocation_fails(void **state)
{
    const struct shape shape = {
        .n_blocks = 400, .n_roots = 20, .with_ephemerons = true, .with_static = true};
    struct hs_graph_builder b = {0};
    struct hs_snap *snap = made_snap(&b, 4, &shape);
    struct index_output out;
    struct hs_budget budget;
    hs_budget_init(UINT64_MAX, spill_dir(), 1, &budget);
    FAIL_EACH (each, .at_least = 50, .may_do_without = true) {
        out_open(&out, snap);
        (void)FAIL_EACH_TRY(each, build_more(snap, &budget, NULL, &out)); /* some only for speed */
        index_output_close(&out, false);
    }
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

/* From nothing up: refused with a limit, or done; never more than allowed. */
static void test_any_budget(void **state)
{
    const struct shape shape = {.n_blocks = 20000, .n_roots = 100, .with_static = true};
    struct hs_graph_builder b = {0};
    struct hs_snap *snap = made_snap(&b, 8, &shape);
    unsigned n_done = 0, n_refused = 0;
    for (uint64_t room = 0; room <= (uint64_t)32 << 20; room += (uint64_t)2 << 20) {
        struct index_output out;
        struct hs_budget budget;
        hs_budget_init(UINT64_MAX, spill_dir(), 1, &budget);
        budget.limit_bytes = budget.used_bytes + room;
        out_open(&out, snap);
        hs_status status = build_more(snap, &budget, NULL, &out);
        assert_true(status == HS_OK || status == HS_LIMIT);
        assert_true(budget.peak_bytes <= budget.limit_bytes);
        n_done += status == HS_OK;
        n_refused += status == HS_LIMIT;
        index_output_close(&out, false);
    }
    assert_true(n_done >= 2 && n_refused >= 2);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes), cmocka_unit_test(test_same_bytes_in_little_memory),
        cmocka_unit_test(test_resumes),    cmocka_unit_test(test_every_allocation_fails),
        cmocka_unit_test(test_any_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
