/* links: hs_graph hs_format */
#include "fail_each.h"
#include "graph/reverse.h"

#include <unistd.h>

#include "unit.h"

#include <errno.h>
#include <sys/mount.h>

#include "base/alloc.h"
#include "collect_sweep.h"
#include "edge_list.h"
#include "seeds.h"

static struct hs_error err;
static char directory[64];

#define MIB ((uint64_t)1 << 20)

static int make_directory(void **state)
{
    (void)snprintf(directory, sizeof directory, "%s", "/var/tmp/hs_reverse_test.XXXXXX");
    return mkdtemp(directory) == NULL ? -1 : 0;
}

/* Fails when anything is left. */
static int remove_directory(void **state)
{
    return rmdir(directory);
}

/* A budget of which `left` bytes are left. */
static struct hs_budget budget_of(uint64_t left, unsigned n_threads)
{
    struct hs_budget budget;
    hs_budget_init(left == UINT64_MAX ? left : HS_BUDGET_BASE_BYTES + left, directory, n_threads,
                   &budget);
    return budget;
}

/* What the counts of a snapshot would be. */
static uint64_t *counts_of(const struct hs_graph *graph)
{
    void *memory;
    assert_int_equal(hs_alloc((graph->n_nodes - graph->n_tree) / HS_SWEEP_RUN + 1, sizeof(uint64_t),
                              &memory, &err),
                     HS_OK);
    uint64_t *counts = memory;
    for (uint64_t e = 0; e < graph->n_edges; e++)
        if (graph->target[e] >= graph->n_tree)
            counts[(graph->target[e] - graph->n_tree) / HS_SWEEP_RUN]++;
    return counts;
}

static void check_reversal(const struct hs_graph *graph, uint64_t left, unsigned n_threads,
                           const uint64_t *in_degrees)
{
    struct hs_budget budget = budget_of(left, n_threads);
    const struct hs_reverse_options options = {
        .budget = &budget, .phase = "reversing", .in_degrees = in_degrees};
    struct hs_sweep forward = hs_sweep_of_graph(graph);
    struct hs_collected c;
    uint64_t used = budget.used_bytes;

    hs_collected_init(&c, 0, graph->n_nodes);
    struct hs_piece_sink sink = hs_collected_sink(&c);
    hs_status status = hs_reverse(&forward, &options, &sink, &err);
    if (status != HS_OK)
        (void)fprintf(stderr, "%s\n", err.message);
    assert_int_equal(status, HS_OK);
    assert_true(hs_collected_equals(&c, graph, true));
    assert_int_equal(budget.used_bytes, used);
    assert_true(budget.peak_bytes <= budget.limit_bytes);
    hs_collected_fini(&c);
}

/* With all memory, on disk with many and with few threads, with counts right and wrong. */
static void check_all_ways(const struct hs_graph *graph)
{
    uint64_t *counts = counts_of(graph);

    check_reversal(graph, UINT64_MAX, 1, NULL);
    check_reversal(graph, UINT64_MAX, 3, counts);
    check_reversal(graph, 64 * MIB, 2, NULL);
    check_reversal(graph, 8 * MIB, 1, counts);
    check_reversal(graph, 12 * MIB, 2, NULL);
    for (uint32_t i = 0; i < (graph->n_nodes - graph->n_tree) / HS_SWEEP_RUN + 1; i++)
        counts[i] = i == 3 ? graph->n_edges : 0;
    check_reversal(graph, 12 * MIB, 2, counts);
    for (uint32_t i = 0; i < (graph->n_nodes - graph->n_tree) / HS_SWEEP_RUN + 1; i++)
        counts[i] = i % 3 == 0 ? UINT64_MAX : 0;
    check_reversal(graph, 12 * MIB, 2, counts);
    memset(counts, 0, ((graph->n_nodes - graph->n_tree) / HS_SWEEP_RUN + 1) * sizeof *counts);
    check_reversal(graph, 8 * MIB, 2, counts);
    hs_free(counts);
}

static void turns_small_graphs_round(void **state)
{
    for (uint64_t seed = 0; seed < 100; seed++) {
        struct hs_random_shape shape = {.n_leaves = 3,
                                        .n_blocks = 1 + (uint32_t)(seed % 50),
                                        .n_edges = (uint32_t)(seed % 130),
                                        .flat = seed % 4 == 0};
        struct hs_graph graph = hs_random_graph(seed, &shape);
        check_reversal(&graph, UINT64_MAX, 1 + (unsigned)(seed % 3), NULL);
        check_reversal(&graph, 8 * MIB, 1, NULL);
        hs_graph_fini(&graph);
    }
}

static void turns_large_graphs_round(void **state)
{
#ifdef HS_SANITIZED
    static const uint64_t n_seeds = 1;
#else
    static const uint64_t n_seeds = 2;
#endif
    for (uint64_t seed = 0; seed < n_seeds; seed++) {
        struct hs_random_shape shape = {.n_leaves = 3000,
                                        .n_blocks = HS_SEEDS(400000),
                                        .n_edges = HS_SEEDS(2000000),
                                        .local = seed == 1};
        struct hs_graph graph = hs_random_graph(seed, &shape);
        check_all_ways(&graph);
        hs_graph_fini(&graph);
    }
}

/* Graphs of one thing that is too large for a bucket. */

static struct hs_graph graph_of(uint32_t n_nodes, uint64_t n_edges)
{
    struct hs_graph graph;
    assert_int_equal(hs_graph_init(n_nodes, 1, n_edges, &graph, &err), HS_OK);
    return graph;
}

static void graph_end_row(struct hs_graph *graph, uint32_t node)
{
    graph->begin[node + 1] = (uint32_t)graph->n_edges;
}

static void graph_add(struct hs_graph *graph, uint32_t target)
{
    graph->target[graph->n_edges++] = target;
}

static void turns_hubs_round(void **state)
{
    enum { N = 1600000 };
    static const uint32_t hubs[] = {0, 1000, 1001, N / 2, N - 1};

#ifdef HS_SANITIZED /* each alone is the same code at the same sizes */
    static const size_t first = 3;
#else
    static const size_t first = 0;
#endif
    for (size_t i = first; i < 5; i++) { /* each alone, and all of them */
        struct hs_graph graph = graph_of(N, 5 * (uint64_t)N);
        for (uint32_t v = 0; v < N; v++) {
            for (size_t k = 0; k < 5; k++)
                if ((k == i || i == 4) && hubs[k] != v)
                    graph_add(&graph, hubs[k]);
            graph_end_row(&graph, v);
        }
        check_reversal(&graph, i == 4 ? 12 * MIB : 8 * MIB, 2, NULL);
        hs_graph_fini(&graph);
    }
}

/* Rows that are more than a piece, but not more than a bucket. */
static void turns_long_rows_round(void **state)
{
    enum { N = 400000 };
    struct hs_graph graph = graph_of(N, 5 * (uint64_t)N);

    for (uint32_t v = 0; v < N; v++) {
        if (v % 2 == 1)
            graph_add(&graph, 0);
        if (v > 1000 && v % 5 != 0)
            graph_add(&graph, 1000);
        if (v != 1001)
            graph_add(&graph, 1001);
        if (v != N - 1 && v % 3 == 0)
            graph_add(&graph, N - 1);
        graph_end_row(&graph, v);
    }
    check_reversal(&graph, UINT64_MAX, 2, NULL);
    check_reversal(&graph, 8 * MIB, 1, NULL);
    check_reversal(&graph, 8 * MIB, 2, NULL);
    hs_graph_fini(&graph);
}

/* A thousand targets that are many's: their bucket is gone through several times. */
static void turns_a_crowded_run_round(void **state)
{
    enum { N = 400000, EACH = 6 };
    struct hs_graph graph = graph_of(N, EACH * (uint64_t)N);
    uint64_t random = 5;

    for (uint32_t v = 0; v < N; v++) {
        uint32_t target = 5000 + hs_random_below(&random, 150);
        for (int i = 0; i < EACH; i++, target += 1 + hs_random_below(&random, 150))
            if (target != v)
                graph_add(&graph, target);
        graph_end_row(&graph, v);
    }
    check_all_ways(&graph);
    hs_graph_fini(&graph);
}

/* Gaps that do not fit into a record: few sources, far apart, over the whole graph. */
static void turns_sparse_graphs_round(void **state)
{
    enum { N = 4000000 };
    struct hs_graph graph = graph_of(N, N / 1000 * 40);
    uint64_t random = 5;

    for (uint32_t v = 0; v < N; v++) {
        uint32_t target = hs_random_below(&random, 50000);
        for (int i = 0; v % 1000 == 0 && i < 40; i++, target += 1 + hs_random_below(&random, 90000))
            if (target != v)
                graph_add(&graph, target);
        graph_end_row(&graph, v);
    }
    check_all_ways(&graph);
    hs_graph_fini(&graph);
}

static void turns_nothing_round(void **state)
{
    struct hs_graph graph = graph_of(1, 0);
    check_all_ways(&graph);
    hs_graph_fini(&graph);
    graph = graph_of(300000, 0);
    check_all_ways(&graph);
    hs_graph_fini(&graph);
}

/* ---- 2^32 nodes and more ---- */

/* Node 0 points at every 2^26th node; the last ones at each other and at node 0's neighbours. */
enum { FAR_STEP = 1 << 26, FAR_LAST = 100 };
#define FAR_NODES (((uint64_t)1 << 32) + FAR_STEP)
static uint64_t far_nodes = FAR_NODES;

static uint64_t far_row(hs_node source, hs_node *target)
{
    uint64_t n = 0;
    if (source == 0) {
        for (hs_node v = FAR_STEP; v < far_nodes; v += FAR_STEP)
            target[n++] = v;
    } else if (source >= far_nodes - FAR_LAST) {
        target[n++] = 1;
        target[n++] = 2 + source % 7;
        for (hs_node v = far_nodes - FAR_LAST; v < source; v += 3)
            target[n++] = v;
    }
    return n;
}

static hs_status far_run(const void *context, const struct hs_piece_sink *sink, struct hs_error *e)
{
    static hs_node target[FAR_NODES / FAR_STEP + FAR_LAST];
    uint64_t begin[2] = {0, 0};
    /* Rows without targets in between are left out: nobody looks at them here. */
    for (hs_node v = 0; v < far_nodes; v = v == 0 ? far_nodes - FAR_LAST : v + 1) {
        begin[1] = far_row(v, target);
        const struct hs_piece piece = {.first = v, .n = 1, .begin = begin, .target = target};
        HS_TRY(sink->put(sink->context, &piece, e));
    }
    return HS_OK;
}

struct far_check {
    hs_node next;
    uint64_t n_edges, sum; /* of source * 3 + target, which no order changes */
};

static hs_status far_take(void *context, const struct hs_piece *piece, struct hs_error *e)
{
    struct far_check *check = context;
    assert_int_equal(piece->first, check->next);
    assert_int_equal(piece->of_row, 0);
    check->next += piece->n;
    if (piece->begin[piece->n] == 0)
        return HS_OK;
    for (uint32_t i = 0; i < piece->n; i++)
        for (uint64_t k = piece->begin[i]; k < piece->begin[i + 1]; k++) {
            assert_true(k == piece->begin[i] || piece->target[k - 1] < piece->target[k]);
            check->sum += piece->target[k] * 3 + piece->first + i;
            check->n_edges++;
        }
    return HS_OK;
}

static void check_far(uint64_t left, unsigned n_threads)
{
    static hs_node target[FAR_NODES / FAR_STEP + FAR_LAST];
    const struct hs_sweep forward = {
        .run = far_run, .n_nodes = far_nodes, .n_tree = 1, .max_edges = 100000};
    struct far_check expected = {0}, check = {0};
    struct hs_budget budget = budget_of(left, n_threads);
    const struct hs_reverse_options options = {.budget = &budget, .phase = "reversing"};
    const struct hs_piece_sink sink = {far_take, &check};

    for (hs_node v = 0; v < far_nodes; v = v == 0 ? far_nodes - FAR_LAST : v + 1) {
        uint64_t n = far_row(v, target);
        for (uint64_t i = 0; i < n; i++)
            expected.sum += v * 3 + target[i];
        expected.n_edges += n;
    }
    assert_int_equal(hs_reverse(&forward, &options, &sink, &err), HS_OK);
    assert_true(check.next == far_nodes);
    assert_int_equal(check.n_edges, expected.n_edges);
    assert_true(check.sum == expected.sum);
}

static void turns_more_than_2_to_32_nodes_round(void **state)
{
    far_nodes = FAR_NODES;
    check_far(120 * MIB, 1);
#ifndef HS_SANITIZED
    check_far(UINT64_MAX, 2);
#endif
}

/* So little memory that buckets are larger than what can be sorted at a time. */
static void turns_many_nodes_round_in_little_memory(void **state)
{
    far_nodes = (uint64_t)1 << 30;
    check_far(20 * MIB, 2);
}

/* ---- failures ---- */

static struct hs_graph middling(void)
{
    struct hs_random_shape shape = {.n_leaves = 300, .n_blocks = 300000, .n_edges = 1900000};
    return hs_random_graph(3, &shape);
}

static hs_status take_all(void *context, const struct hs_piece *piece, struct hs_error *e)
{
    (void)context, (void)piece, (void)e;
    return HS_OK;
}

static void needs_some_memory(void **state)
{
    struct hs_graph graph = middling();
    struct hs_sweep forward = hs_sweep_of_graph(&graph);
    const struct hs_piece_sink sink = {take_all, NULL};

    for (uint64_t left = 0; left < 9 * MIB; left += MIB / 4) {
        struct hs_budget budget = budget_of(left, 2);
        const struct hs_reverse_options options = {.budget = &budget};
        uint64_t used = budget.used_bytes;
        hs_status status = hs_reverse(&forward, &options, &sink, &err);
        assert_int_equal(status, left > 6 * MIB ? HS_OK : HS_LIMIT);
        assert_int_equal(budget.used_bytes, used);
    }
    hs_graph_fini(&graph);
}

static void every_allocation_can_fail(void **state)
{
    struct hs_graph graph = middling();
    struct hs_sweep forward = hs_sweep_of_graph(&graph);
    const struct hs_piece_sink sink = {take_all, NULL};

    for (int way = 0; way < 2; way++) {
        struct hs_budget budget = budget_of(way == 0 ? 8 * MIB : UINT64_MAX, 2);
        const struct hs_reverse_options options = {.budget = &budget};
        uint64_t used = budget.used_bytes;
        FAIL_EACH (each, .at_least = 10) {
            (void)FAIL_EACH_TRY(each, hs_reverse(&forward, &options, &sink, &err));
            assert_int_equal(budget.used_bytes, used);
        }
    }
    hs_graph_fini(&graph);
}

struct telling {
    int left;
    uint64_t last, total;
};

static bool tell(void *context, const char *phase, uint64_t done, uint64_t total)
{
    struct telling *telling = context;
    assert_string_equal(phase, "reversing");
    assert_true(done >= telling->last && done <= total);
    telling->last = done;
    telling->total = total;
    return telling->left-- > 0;
}

static void ends_when_it_is_told_to(void **state)
{
    struct hs_graph graph = middling();
    struct hs_sweep forward = hs_sweep_of_graph(&graph);
    const struct hs_piece_sink sink = {take_all, NULL};

    for (int n = 0;; n = n * 2 + 1) {
        struct hs_budget budget = budget_of(8 * MIB, 1 + (unsigned)(n % 3));
        struct telling telling = {.left = n};
        const struct hs_progress progress = {tell, &telling};
        const struct hs_reverse_options options = {
            .budget = &budget, .progress = &progress, .phase = "reversing"};
        uint64_t used = budget.used_bytes;
        hs_status status = hs_reverse(&forward, &options, &sink, &err);
        assert_int_equal(budget.used_bytes, used);
        assert_int_equal(telling.total, 3 * graph.n_edges);
        if (status == HS_OK)
            break;
        assert_int_equal(status, HS_LIMIT);
        assert_string_equal(err.message, "interrupted while reversing");
    }
    hs_graph_fini(&graph);
}

static hs_status take_some(void *context, const struct hs_piece *piece, struct hs_error *e)
{
    int *left = context;
    return (*left)-- > 0 ? HS_OK : hs_fail(e, HS_TARGET, "enough");
}

static void ends_with_its_sink(void **state)
{
    struct hs_graph graph = middling();
    struct hs_sweep forward = hs_sweep_of_graph(&graph);

    for (int n = 0; n < 20; n += 3) {
        struct hs_budget budget = budget_of(8 * MIB, 2);
        const struct hs_reverse_options options = {.budget = &budget};
        int left = n;
        const struct hs_piece_sink sink = {take_some, &left};
        assert_int_equal(hs_reverse(&forward, &options, &sink, &err), HS_TARGET);
        assert_int_equal(left, -1);
    }
    hs_graph_fini(&graph);
}

/* A sweep that says less than is true must not lead beyond our arrays. */
static void does_not_trust_a_sweep(void **state)
{
    struct hs_graph graph = middling();
    const struct hs_piece_sink sink = {take_all, NULL};

    for (int way = 0; way < 2; way++) {
        struct hs_budget budget = budget_of(way == 0 ? 8 * MIB : UINT64_MAX, 2);
        const struct hs_reverse_options options = {.budget = &budget};
        struct hs_sweep forward = hs_sweep_of_graph(&graph);
        forward.n_nodes -= 10;
        assert_int_equal(hs_reverse(&forward, &options, &sink, &err), HS_BUG);
        forward = hs_sweep_of_graph(&graph);
        forward.max_edges = 10;
        hs_status status = hs_reverse(&forward, &options, &sink, &err);
        assert_true(status == HS_BUG || (way == 0 && status == HS_OK));
        forward.max_edges = UINT64_MAX;
        assert_int_equal(hs_reverse(&forward, &options, &sink, &err), HS_LIMIT);
        forward.max_edges = 10;
        forward.n_nodes = UINT64_MAX;
        assert_int_equal(hs_reverse(&forward, &options, &sink, &err), HS_LIMIT);
    }
    hs_graph_fini(&graph);
}

static void a_full_disk_ends_it(void **state)
{
    struct hs_graph graph = middling();
    struct hs_sweep forward = hs_sweep_of_graph(&graph);
    const struct hs_piece_sink sink = {take_all, NULL};
    struct hs_budget budget = budget_of(8 * MIB, 2);
    const struct hs_reverse_options options = {.budget = &budget};

    if (mount("none", directory, "tmpfs", 0, "size=4m") != 0) {
        (void)fprintf(stderr, "skipped: cannot mount a small file system: %s\n", strerror(errno));
        hs_graph_fini(&graph);
        skip();
    }
    uint64_t used = budget.used_bytes;
    assert_int_equal(hs_reverse(&forward, &options, &sink, &err), HS_IO); /* known before */
    assert_non_null(strstr(err.message, "do not fit"));
    assert_int_equal(budget.used_bytes, used);
    forward.max_edges = 900000; /* so that it is tried */
    assert_int_equal(hs_reverse(&forward, &options, &sink, &err), HS_IO);
    assert_int_equal(err.sys_errno, ENOSPC);
    assert_int_equal(budget.used_bytes, used);
    assert_int_equal(umount(directory), 0);
    hs_graph_fini(&graph);
}

/* Empties our unnamed file, as a broken disk might. */
static hs_status take_and_truncate(void *context, const struct hs_piece *piece, struct hs_error *e)
{
    char path[64], name[256];
    (void)context, (void)piece, (void)e;
    for (int fd = 3; fd < 64; fd++) {
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
        ssize_t n = readlink(path, name, sizeof name - 1);
        if (n > 0 && (size_t)n > strlen(directory) &&
            memcmp(name, directory, strlen(directory)) == 0)
            assert_int_equal(ftruncate(fd, 0), 0);
    }
    return HS_OK;
}

static void a_file_that_is_lost_ends_it(void **state)
{
    struct hs_random_shape shape = {.n_leaves = 3, .n_blocks = 800000, .n_edges = 6000000};
    struct hs_graph graph = hs_random_graph(3, &shape);
    struct hs_sweep forward = hs_sweep_of_graph(&graph);
    const struct hs_piece_sink sink = {take_and_truncate, NULL};

    for (unsigned n_threads = 1; n_threads <= 2; n_threads++) {
        struct hs_budget budget = budget_of(8 * MIB, n_threads);
        const struct hs_reverse_options options = {.budget = &budget};
        uint64_t used = budget.used_bytes;
        assert_int_equal(hs_reverse(&forward, &options, &sink, &err), HS_BUG);
        assert_non_null(strstr(err.message, "ends early"));
        assert_int_equal(budget.used_bytes, used);
    }
    hs_graph_fini(&graph);
}

static void says_what_disk_it_needs(void **state)
{
    struct hs_sweep forward = {.n_nodes = 50000000, .n_tree = 1, .max_edges = 107000000};
    uint64_t n_bytes = hs_reverse_disk_bytes(&forward);
    assert_true(n_bytes >= 4 * forward.max_edges && n_bytes < 5 * forward.max_edges);
    forward.n_nodes = (uint64_t)1 << 40;
    forward.max_edges = (uint64_t)1 << 41;
    assert_true(hs_reverse_disk_bytes(&forward) >= (uint64_t)1 << 44);
    forward.max_edges = forward.n_nodes = UINT64_MAX;
    assert_true(hs_reverse_disk_bytes(&forward) == UINT64_MAX);
}

#define REVERSE_TEST(name) cmocka_unit_test_setup_teardown(name, make_directory, remove_directory)

int main(void)
{
    const struct CMUnitTest tests[] = {
        REVERSE_TEST(turns_small_graphs_round),
        REVERSE_TEST(turns_large_graphs_round),
        REVERSE_TEST(turns_hubs_round),
        REVERSE_TEST(turns_long_rows_round),
        REVERSE_TEST(turns_a_crowded_run_round),
        REVERSE_TEST(turns_sparse_graphs_round),
        REVERSE_TEST(turns_nothing_round),
        REVERSE_TEST(turns_more_than_2_to_32_nodes_round),
        REVERSE_TEST(turns_many_nodes_round_in_little_memory),
        REVERSE_TEST(needs_some_memory),
        REVERSE_TEST(every_allocation_can_fail),
        REVERSE_TEST(ends_when_it_is_told_to),
        REVERSE_TEST(ends_with_its_sink),
        REVERSE_TEST(does_not_trust_a_sweep),
        REVERSE_TEST(a_full_disk_ends_it),
        REVERSE_TEST(a_file_that_is_lost_ends_it),
        REVERSE_TEST(says_what_disk_it_needs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
