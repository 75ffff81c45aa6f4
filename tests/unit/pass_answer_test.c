/* links: hs_passes hs_dominator hs_graph */
#include "fail_each.h"
#include "passes/pass_steps.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "seeds.h"

static struct hs_error err;

enum { KIND_RANDOM, KIND_CHAIN, KIND_STAR, KIND_BUSHY, N_KINDS };

/* A forest by the depths of its positions alone. */
struct forest {
    uint32_t n, n_queries;
    uint32_t *depth, *parent, *head;
    struct pass_query *queries;
    uint64_t *expected; /* by core node, as many as queries */
    struct hs_budget budget;
    struct hs_passes passes;
};

static void *test_alloc(size_t n, size_t size)
{
    void *memory;
    assert_int_equal(hs_alloc(n + 1, size, &memory, &err), HS_OK);
    return memory;
}

static uint32_t next_depth(int kind, uint64_t *random, uint32_t last)
{
    switch (kind) {
    case KIND_CHAIN:
        return last + 1;
    case KIND_STAR:
        return 1;
    case KIND_BUSHY: {
        uint32_t deeper = last + 1 - hs_random_below(random, 3) % (last + 1);
        return deeper == 0 ? 1 : deeper;
    }
    default:
        return 1 + hs_random_below(random, last + 1);
    }
}

static void forest_spill(struct forest *forest)
{
    struct hs_passes *passes = &forest->passes;
    assert_int_equal(hs_spill_open(NULL, "depths", &passes->depths, &err), HS_OK);
    for (uint32_t i = 0; i < forest->n; i++) {
        uint32_t depth = forest->depth[i];
        assert_int_equal(hs_spill_put_fixed(&passes->depths, depth, 4, &err), HS_OK);
        passes->max_depth = depth > passes->max_depth ? depth : passes->max_depth;
    }
    assert_int_equal(hs_spill_seal(&passes->depths, &err), HS_OK);
}

static void forest_init(struct forest *forest, int kind, uint64_t seed, uint32_t n, uint32_t region)
{
    uint64_t random = seed * 2 + 1;
    uint32_t *way = test_alloc(n, sizeof *way);

    *forest = (struct forest){.n = n,
                              .depth = test_alloc(n, sizeof(uint32_t)),
                              .parent = test_alloc(n, sizeof(uint32_t)),
                              .head = test_alloc(n, sizeof(uint32_t))};
    for (uint32_t i = 0; i < n; i++) {
        bool is_head = i == 0 || hs_random_below(&random, region) == 0;
        uint32_t depth = is_head ? 0 : next_depth(kind, &random, forest->depth[i - 1]);
        forest->depth[i] = depth;
        forest->parent[i] = depth == 0 ? i : way[depth - 1];
        forest->head[i] = depth == 0 ? i : forest->head[i - 1];
        way[depth] = i;
    }
    hs_free(way);
    hs_budget_init(UINT64_MAX, NULL, 1, &forest->budget);
    forest->passes = (struct hs_passes){.n_positions = n, .budget = &forest->budget};
    forest_spill(forest);
}

static void forest_fini(struct forest *forest)
{
    hs_spill_close(&forest->passes.depths);
    hs_ids_fini(&forest->passes.attach);
    assert_int_equal(forest->budget.used_bytes, HS_BUDGET_BASE_BYTES);
    hs_free(forest->depth);
    hs_free(forest->parent);
    hs_free(forest->head);
    hs_free(forest->queries);
    hs_free(forest->expected);
}

static uint64_t ancestor_slowly(const struct forest *forest, uint32_t a, uint32_t b)
{
    while (a != b) {
        if (forest->depth[a] >= forest->depth[b])
            a = forest->parent[a];
        else
            b = forest->parent[b];
    }
    return a;
}

static void queries_make(struct forest *forest, uint64_t seed, uint32_t n)
{
    uint64_t random = seed * 2 + 3;
    forest->n_queries = n;
    forest->queries = test_alloc(n, sizeof *forest->queries);
    forest->expected = test_alloc(n, sizeof *forest->expected);
    for (uint32_t i = 0; i < n; i++) {
        uint32_t high = hs_random_below(&random, forest->n), head = forest->head[high];
        if (seed % 3 == 0) /* many of one */
            high = head;
        uint32_t low = head + hs_random_below(&random, high - head + 1);
        forest->queries[i] = (struct pass_query){low, high, n - 1 - i};
        forest->expected[n - 1 - i] = ancestor_slowly(forest, low, high);
    }
    forest->passes.n_core = n;
    assert_int_equal(
        hs_ids_init(n, forest->n, &forest->budget, "attach", &forest->passes.attach, &err), HS_OK);
}

static void check(int kind, uint64_t seed, uint32_t n, uint32_t region, uint32_t n_queries)
{
    struct forest forest;
    forest_init(&forest, kind, seed, n, region);
    queries_make(&forest, seed, n_queries);
    assert_int_equal(pass_answer_run(&forest.passes, forest.queries, n_queries, NULL, &err), HS_OK);
    for (uint32_t i = 0; i < n_queries; i++)
        assert_int_equal(hs_ids_get(&forest.passes.attach, i), forest.expected[i]);
    forest_fini(&forest);
}

static void test_small(void **state)
{
    for (uint64_t seed = 0; seed < HS_SEEDS(400); seed++)
        for (int kind = 0; kind < N_KINDS; kind++)
            check(kind, seed, 1 + (uint32_t)(seed % 60), 1 + (uint32_t)(seed % 30), 50);
}

static void test_large(void **state)
{
    for (uint64_t seed = 0; seed < 4; seed++) {
        check(KIND_RANDOM, seed, 300000, 1000, 70000);
        check(KIND_STAR, seed, 100000, 100000, 70000);
        check(KIND_BUSHY, seed, 100000, 20000, 1000);
    }
}

/* Each on a way of its own length: climbing would take 10^10 steps. */
static void test_deep(void **state)
{
    enum { DEEP = 300000 };
    struct forest forest;
    forest_init(&forest, KIND_CHAIN, 1, DEEP, UINT32_MAX);
    forest.queries = test_alloc(DEEP, sizeof *forest.queries);
    for (uint32_t i = 0; i < DEEP; i++)
        forest.queries[i] = (struct pass_query){i / 2, DEEP - 1 - i / 2, i};
    forest.passes.n_core = DEEP;
    assert_int_equal(hs_ids_init(DEEP, DEEP, &forest.budget, "attach", &forest.passes.attach, &err),
                     HS_OK);
    assert_int_equal(pass_answer_run(&forest.passes, forest.queries, DEEP, NULL, &err), HS_OK);
    for (uint32_t i = 0; i < DEEP; i++)
        assert_int_equal(hs_ids_get(&forest.passes.attach, i), i / 2);
    forest_fini(&forest);
}

static bool refuse(void *context, const char *phase, uint64_t done, uint64_t total)
{
    assert_true(phase != NULL && done <= total);
    return --*(int *)context > 0;
}

static void test_failures(void **state)
{
    struct forest forest;
    forest_init(&forest, KIND_CHAIN, 1, 100000, UINT32_MAX);
    assert_int_equal(pass_answer_run(&forest.passes, NULL, 0, NULL, &err), HS_OK);
    queries_make(&forest, 1, 100);
    FAIL_EACH (each, .at_least = 1) {
        (void)FAIL_EACH_TRY(each, pass_answer_run(&forest.passes, forest.queries, 100, NULL, &err));
    }
    int left = 1;
    struct hs_progress progress = {refuse, &left};
    assert_int_equal(pass_answer_run(&forest.passes, forest.queries, 100, &progress, &err),
                     HS_LIMIT);
    assert_non_null(strstr(err.message, "interrupted"));
    forest.budget.limit_bytes = forest.budget.used_bytes + 4 * 100000;
    assert_int_equal(pass_answer_run(&forest.passes, forest.queries, 100, NULL, &err), HS_LIMIT);
    assert_non_null(strstr(err.hint, "--memory"));
    forest.budget.limit_bytes += 8;
    assert_int_equal(pass_answer_run(&forest.passes, forest.queries, 100, NULL, &err), HS_OK);
    for (uint32_t i = 0; i < 100; i++)
        assert_int_equal(hs_ids_get(&forest.passes.attach, i), forest.expected[i]);
    forest_fini(&forest);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_small),
        cmocka_unit_test(test_large),
        cmocka_unit_test(test_deep),
        cmocka_unit_test(test_failures),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
