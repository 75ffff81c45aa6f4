/* links: hs_index hs_passes hs_dominator hs_graph hs_format */
/* Which engine a budget allows, where the result goes, what is refused; and that the engines write
 * the same bytes. */
#include "index/index_engine.h"

#include <ftw.h>
#include <sys/stat.h>
#include <unistd.h>

#include "unit.h"

#include "base/alloc.h"
#include "base/spill.h"
#include "edge_list.h"
#include "graph_builder.h"
#include "index/index_build.h"
#include "index/index_passes.h"
#include "index/index_private.h"
#include "seeds.h"

static struct hs_error err;
static char directory[] = "/tmp/hs_engine_test.XXXXXX";
static char snap_path[64], index_path[80], part_path[96];

struct shape {
    uint32_t n_blocks, n_edges, n_roots;
    bool ephemerons, hub, local;
};

static uint32_t some_block(const struct shape *shape, uint64_t *random, uint32_t near)
{
    if (shape->local && hs_random_below(random, 4) != 0)
        return (near + hs_random_below(random, 20)) % shape->n_blocks;
    return hs_random_below(random, shape->n_blocks);
}

static void fill(struct hs_graph_builder *b, uint64_t seed, const struct shape *shape)
{
    uint64_t random = seed * 2 + 1;
    for (uint32_t i = 0; i < shape->n_blocks; i++)
        (void)hs_graph_builder_block(b, 2 + hs_random_below(&random, 9), i % 50 == 7);
    for (uint32_t i = 0; i < shape->n_edges && shape->n_blocks != 0; i++) {
        uint32_t source = hs_random_below(&random, shape->n_blocks);
        uint32_t target = shape->hub && i % 3 == 0 ? 0 : some_block(shape, &random, source);
        bool ephemeron = shape->ephemerons && i % 10 == 0;
        hs_graph_builder_edge(b, source, target, ephemeron ? HS_EDGE_EPHEMERON : HS_EDGE_EXACT);
    }
    for (uint32_t i = 0; i < shape->n_roots && shape->n_blocks != 0; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "U.v%u", i);
        uint32_t leaf = hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", name,
                                              hs_random_below(&random, shape->n_blocks));
        b->leaves[leaf].weak = i % 11 == 3;
    }
}

typedef hs_status build_engine(const struct hs_snap *snap, struct index_writer *writer);

static hs_status in_memory(const struct hs_snap *snap, struct index_writer *writer)
{
    struct index_policy policy;
    assert_int_equal(index_policy_init(snap, &(struct hs_policy){0}, &policy, &err), HS_OK);
    const struct index_work work = {.snap = snap, .policy = &policy};
    hs_status status = index_build_run(&work, writer, &err);
    index_policy_fini(&policy);
    return status;
}

static hs_status by_passes(const struct hs_snap *snap, struct index_writer *writer)
{
    struct index_policy policy;
    assert_int_equal(index_policy_init(snap, &(struct hs_policy){0}, &policy, &err), HS_OK);
    const struct index_work work = {.snap = snap, .policy = &policy};
    hs_status status = index_passes_build(&work, writer, &err);
    index_policy_fini(&policy);
    return status;
}

static void run(const struct hs_snap *snap, build_engine *engine, struct index_output *ret)
{
    struct index_writer writer;
    assert_int_equal(index_output_open_memory(index_engine_file_bytes_max(snap), NULL, ret, &err),
                     HS_OK);
    assert_int_equal(index_write_init(ret, snap, 0, NULL, &writer, &err), HS_OK);
    hs_status status = engine(snap, &writer);
    if (status != HS_OK)
        print_error("%s\n", err.message);
    assert_int_equal(status, HS_OK);
    assert_int_equal(index_write_finish(&writer, &err), HS_OK);
    index_write_fini(&writer);
}

static void test_same_bytes(void **state)
{
    static const struct shape shapes[] = {
        {0, 0, 0, false, false, false},         {1, 1, 1, false, false, false},
        {200, 300, 30, false, false, false},    {200, 300, 30, true, false, false},
        {3000, 6500, 40, false, false, true},   {3000, 6500, 40, true, false, true},
        {3000, 9000, 300, false, true, false},  {3000, 9000, 300, true, true, true},
        {20000, 45000, 900, false, true, true},
    };
    for (size_t i = 0; i < sizeof shapes / sizeof *shapes; i++)
        for (uint64_t seed = 0; seed < 4; seed++) {
            struct hs_graph_builder b = {0};
            struct index_output first, second;
            fill(&b, seed, &shapes[i]);
            struct hs_snap *snap = hs_graph_builder_open(&b);
            run(snap, in_memory, &first);
            run(snap, by_passes, &second);
            assert_int_equal(first.n_bytes, second.n_bytes);
            assert_memory_equal(first.memory, second.memory, first.n_bytes);
            assert_true(first.n_bytes < index_engine_file_bytes_max(snap));
            index_output_close(&first, false);
            index_output_close(&second, false);
            hs_snap_close(snap);
            hs_graph_builder_fini(&b);
        }
}

/* ---- the choice ---- */

struct opened {
    struct hs_graph_builder b;
    struct hs_snap *snap;
    struct hs_budget budget;
    struct hs_index_estimate estimate;
};

static const struct shape usual = {60000, 130000, 100, false, false, true};

static void set_up(struct opened *o, uint64_t limit)
{
    *o = (struct opened){0};
    fill(&o->b, 3, &usual);
    o->snap = hs_graph_builder_open(&o->b);
    hs_budget_init(limit, NULL, 1, &o->budget);
    hs_index_estimate(o->snap, &o->budget, &o->estimate);
    (void)unlink(index_path);
}

static void tear_down(struct opened *o)
{
    hs_snap_close(o->snap);
    hs_graph_builder_fini(&o->b);
}

static void test_too_little(void **state)
{
    struct opened o;
    set_up(&o, HS_BUDGET_BASE_BYTES + ((uint64_t)1 << 20));
    const struct hs_index_options options = {.snap_path = snap_path, .budget = &o.budget};
    struct hs_index *index = NULL;
    assert_false(o.estimate.in_memory);
    assert_true(o.estimate.least_bytes > hs_budget_left_bytes(&o.budget));
    assert_int_equal(hs_index_open(o.snap, &options, &index, &err), HS_LIMIT);
    assert_null(index);
    assert_non_null(strstr(err.message, "at least"));
    assert_non_null(strstr(err.hint, "--memory"));
    assert_int_equal(access(index_path, F_OK), -1);
    assert_int_equal(access(part_path, F_OK), -1);
    tear_down(&o);
}

/* A row of many pointers at few blocks is next to nothing as a graph, and has to be decoded. */
static void test_one_long_row(void **state)
{
    enum { N_EDGES = 1 << 21 };
    struct hs_graph_builder b = {0};
    struct hs_index_estimate least;
    struct hs_budget budget;
    uint32_t array = hs_graph_builder_block(&b, 2 * N_EDGES, false);
    for (uint32_t i = 0; i < 16; i++)
        (void)hs_graph_builder_block(&b, 2, false);
    for (uint32_t i = 0; i < N_EDGES; i++)
        hs_graph_builder_edge_at(&b, array, 1 + i % 16, HS_EDGE_EXACT, i);
    (void)hs_graph_builder_leaf(&b, HS_ROOT_GLOBAL, "m", "U", "held", array);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    hs_budget_init(HS_BUDGET_BASE_BYTES + ((uint64_t)8 << 20), NULL, 1, &budget);
    hs_index_estimate(snap, &budget, &least);
    assert_false(least.in_memory);
    assert_true(least.least_bytes >= N_EDGES * sizeof(hs_node));
    const struct hs_index_options options = {.snap_path = snap_path, .budget = &budget};
    struct hs_index *index = NULL;
    assert_int_equal(hs_index_open(snap, &options, &index, &err), HS_LIMIT);
    for (uint64_t more = 0; more < 3; more++) { /* what is accepted works */
        hs_budget_init(HS_BUDGET_BASE_BYTES + least.least_bytes + (more << 22), NULL, 1, &budget);
        hs_index_estimate(snap, &budget, &least);
        hs_spill_most_again();
        assert_int_equal(hs_index_open(snap, &options, &index, &err), HS_OK);
        assert_true(budget.peak_bytes <= budget.limit_bytes);
        assert_true(hs_spill_most_bytes() <= least.spill_bytes);
        hs_index_close(index);
        (void)unlink(index_path);
    }
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

/* What ephemerons hold is followed by strong edges alone, a second time: the least that is accepted
 * is enough for that, too. */
static void test_ephemerons_at_the_least(void **state)
{
    const struct shape shape = {.n_blocks = HS_SEEDS(1000000),
                                .n_edges = HS_SEEDS(2200000),
                                .n_roots = 3000,
                                .ephemerons = true};
    struct hs_graph_builder b = {0};
    struct hs_index_estimate least;
    struct hs_index *index = NULL;
    struct hs_budget budget;
    fill(&b, 8, &shape);
    struct hs_snap *snap = hs_graph_builder_open(&b);
    hs_budget_init(HS_BUDGET_BASE_BYTES + ((uint64_t)8 << 20), NULL, 1, &budget);
    hs_index_estimate(snap, &budget, &least);
    const struct hs_index_options options = {.snap_path = snap_path, .budget = &budget};
    hs_budget_init(HS_BUDGET_BASE_BYTES + least.least_bytes, NULL, 1, &budget);
    hs_index_estimate(snap, &budget, &least);
    assert_false(least.in_memory);
    hs_spill_most_again();
    if (hs_index_open(snap, &options, &index, &err) != HS_OK)
        fail_msg("%llu bytes: %s", (unsigned long long)budget.limit_bytes, err.message);
    assert_true(hs_spill_most_bytes() <= least.spill_bytes);
    hs_index_close(index);
    (void)unlink(index_path);
    hs_snap_close(snap);
    hs_graph_builder_fini(&b);
}

static void test_estimates(void **state)
{
    struct opened o;
    set_up(&o, 0);
    assert_true(o.estimate.in_memory);
    assert_true(o.estimate.least_bytes <= o.estimate.memory_bytes);
    assert_true(o.estimate.seconds >= 1);
    struct hs_index_options options = {.snap_path = snap_path, .budget = &o.budget};
    uint64_t used = o.budget.used_bytes;
    struct hs_index *index;
    assert_int_equal(hs_index_open(o.snap, &options, &index, &err), HS_OK);
    assert_int_equal(o.budget.used_bytes, used); /* a file's map is not ours */
    assert_true(o.budget.peak_bytes - used <= o.estimate.memory_bytes);
    struct stat about;
    assert_int_equal(stat(index_path, &about), 0);
    assert_true((uint64_t)about.st_size <= o.estimate.file_bytes);
    assert_true((uint64_t)about.st_size * 2 > o.estimate.file_bytes);
    hs_index_close(index);
    assert_int_equal(o.budget.used_bytes, used);
    tear_down(&o);
}

/* With nowhere to keep it, it goes to memory where there is room, else to a file without name. */
static void test_unkept(void **state)
{
    struct opened o;
    set_up(&o, 0);
    uint64_t room[] = {o.estimate.memory_bytes + ((uint64_t)1 << 16),
                       o.estimate.memory_bytes + ((uint64_t)40 << 20)};
    tear_down(&o);
    for (int in_memory_too = 0; in_memory_too < 2; in_memory_too++) {
        set_up(&o, HS_BUDGET_BASE_BYTES + room[in_memory_too]);
        struct hs_index_options options = {
            .snap_path = snap_path, .no_write = true, .budget = &o.budget};
        uint64_t used = o.budget.used_bytes;
        struct hs_index *index;
        assert_true(o.estimate.in_memory);
        o.budget.spill_dir = "/proc/no/such";
        hs_status status = hs_index_open(o.snap, &options, &index, &err);
        assert_int_equal(status, in_memory_too ? HS_OK : HS_IO);
        if (!in_memory_too) {
            o.budget.spill_dir = directory;
            assert_int_equal(hs_index_open(o.snap, &options, &index, &err), HS_OK);
        }
        assert_null(hs_index_path(index));
        assert_true(hs_index_was_built(index));
        assert_int_equal(index->memory.memory != NULL, in_memory_too);
        assert_int_equal(index->file.map.bytes != NULL, !in_memory_too);
        assert_int_equal(hs_index_check_all(index, NULL, &err), HS_OK);
        assert_int_equal(access(index_path, F_OK), -1);
        assert_true(in_memory_too ? o.budget.used_bytes > used : o.budget.used_bytes == used);
        hs_index_close(index);
        assert_int_equal(o.budget.used_bytes, used);
        tear_down(&o);
    }
}

/* Memory for one engine only: its choice shows in what is taken. */
static void test_passes_are_chosen(void **state)
{
    struct opened o;
    const struct shape large = {3000000, 0, 3, false, false, false};
    struct hs_index *index;
    o = (struct opened){0};
    fill(&o.b, 1, &large);
    o.snap = hs_graph_builder_open(&o.b);
    hs_index_estimate(o.snap, NULL, &o.estimate);
    assert_true(o.estimate.in_memory && o.estimate.least_bytes < o.estimate.memory_bytes);
    hs_budget_init(HS_BUDGET_BASE_BYTES + (o.estimate.least_bytes + o.estimate.memory_bytes) / 2,
                   directory, 2, &o.budget);
    const struct hs_index_options options = {.snap_path = snap_path, .budget = &o.budget};
    hs_index_estimate(o.snap, &o.budget, &o.estimate);
    assert_false(o.estimate.in_memory);
    (void)unlink(index_path);
    hs_spill_most_again();
    hs_status status = hs_index_open(o.snap, &options, &index, &err);
    if (status != HS_OK)
        print_error("%s\n", err.message);
    assert_int_equal(status, HS_OK);
    assert_true(o.budget.peak_bytes <= o.budget.limit_bytes);
    assert_true(hs_spill_most_bytes() <= o.estimate.spill_bytes);
    hs_index_close(index);
    tear_down(&o);
}

static int group_setup(void **state)
{
    if (mkdtemp(directory) == NULL)
        return -1;
    (void)snprintf(snap_path, sizeof snap_path, "%s/heap.snap", directory);
    (void)snprintf(index_path, sizeof index_path, "%s.idx", snap_path);
    (void)snprintf(part_path, sizeof part_path, "%s.part", index_path);
    return 0;
}

static int remove_entry(const char *path, const struct stat *about, int type, struct FTW *ftw)
{
    (void)about, (void)type, (void)ftw;
    return remove(path);
}

static int group_teardown(void **state)
{
    return nftw(directory, remove_entry, 8, FTW_DEPTH | FTW_PHYS);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_same_bytes),
        cmocka_unit_test(test_too_little),
        cmocka_unit_test(test_ephemerons_at_the_least),
        cmocka_unit_test(test_one_long_row),
        cmocka_unit_test(test_estimates),
        cmocka_unit_test(test_unkept),
        cmocka_unit_test(test_passes_are_chosen),
    };
    return cmocka_run_group_tests(tests, group_setup, group_teardown);
}
