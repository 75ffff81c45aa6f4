/* links: hs_analysis */
#include "unit.h"

#include "analysis/neighbours.h"
#include "analysis/path_fold.h"
#include "base/alloc.h"
#include "fail_each.h"
#include "made_view.h"

static void add(struct hs_path_fold *fold, hs_node node, uint32_t type, uint64_t offset_words)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_path_step step = {
        .node = node, .offset_words = offset_words, .type = type, .repeat = 1};
    assert_int_equal(hs_path_fold_add(fold, &step, &err), HS_OK);
}

static uint64_t n_objects(const struct hs_path_fold *fold)
{
    uint64_t n = 0;
    for (size_t i = 0; i < fold->n_steps; i++)
        n += fold->steps[i].repeat;
    return n;
}

static void a_list(void **state)
{
    struct hs_path_fold fold = {0};
    for (hs_node i = 0; i < 400000; i++)
        add(&fold, 100 + i, 7, 1);
    add(&fold, 9, 7, 0);
    hs_path_fold_finish(&fold);
    assert_int_equal(fold.n_steps, 2);
    assert_int_equal(fold.steps[0].repeat, 400000);
    assert_int_equal(fold.steps[0].node, 100); /* the first of the run */
    assert_int_equal(fold.steps[1].repeat, 1);
    hs_path_fold_fini(&fold);
    assert_null(fold.steps);
    hs_path_fold_fini(&fold);
}

/* Another type or another field ends a run. */
static void runs_end(void **state)
{
    struct hs_path_fold fold = {0};
    add(&fold, 1, 0, 1);
    add(&fold, 2, 0, 2);
    add(&fold, 3, 1, 2);
    add(&fold, 4, 1, 2);
    add(&fold, 5, 0, 2);
    hs_path_fold_finish(&fold);
    assert_int_equal(fold.n_steps, 4);
    assert_int_equal(fold.steps[2].repeat, 2);
    assert_int_equal(fold.steps[2].node, 3);
    hs_path_fold_fini(&fold);
}

static void long_paths(void **state)
{
    for (uint32_t n = 0; n < 60; n++) {
        struct hs_path_fold fold = {0};
        for (uint32_t i = 0; i < n; i++)
            add(&fold, i, i % 2, 0); /* unlike their neighbours */
        hs_path_fold_finish(&fold);
        assert_int_equal(n_objects(&fold), n);
        assert_true(fold.n_steps <= HS_PATH_FOLD_MAX_STEPS + 1);
        if (n <= HS_PATH_FOLD_MAX_STEPS) {
            assert_int_equal(fold.n_steps, n);
        } else {
            size_t middle = HS_PATH_FOLD_MAX_STEPS / 2;
            assert_int_equal(fold.n_steps, HS_PATH_FOLD_MAX_STEPS + 1);
            assert_true(fold.steps[middle].node == HS_NO_NODE);
            assert_int_equal(fold.steps[middle - 1].node, middle - 1);
            assert_int_equal(fold.steps[HS_PATH_FOLD_MAX_STEPS].node, n - 1); /* the target stays */
        }
        hs_path_fold_fini(&fold);
    }
}

static void the_gap_counts_objects(void **state)
{
    struct hs_path_fold fold = {0};
    for (uint32_t i = 0; i < 40; i++)
        for (uint32_t j = 0; j < 5; j++)
            add(&fold, i * 5 + j, i % 2, 0);
    hs_path_fold_finish(&fold);
    assert_int_equal(n_objects(&fold), 200);
    assert_int_equal(fold.steps[HS_PATH_FOLD_MAX_STEPS / 2].repeat,
                     200 - 5 * HS_PATH_FOLD_MAX_STEPS);
    hs_path_fold_fini(&fold);
}

/* A path all of whose steps differ takes no more memory than a short one. */
static void a_path_without_runs(void **state)
{
    enum { N = 100000 };
    struct hs_path_fold fold = {0};
    for (uint32_t i = 0; i < N; i++)
        add(&fold, i, i % 2, 0);
    assert_true(fold.capacity <= HS_PATH_FOLD_KEPT_STEPS);
    hs_path_fold_finish(&fold);
    assert_int_equal(fold.n_steps, HS_PATH_FOLD_MAX_STEPS + 1);
    assert_int_equal(fold.steps[HS_PATH_FOLD_MAX_STEPS / 2].repeat, N - HS_PATH_FOLD_MAX_STEPS);
    assert_int_equal(n_objects(&fold), N);
    for (uint32_t i = 0; i < HS_PATH_FOLD_MAX_STEPS / 2; i++) {
        assert_int_equal(fold.steps[i].node, i);
        assert_int_equal(fold.steps[HS_PATH_FOLD_MAX_STEPS - i].node, N - 1 - i);
    }
    hs_path_fold_fini(&fold);
}

static void out_of_memory(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_path_fold fold = {0};
    struct hs_path_step step = {.node = 1, .repeat = 1};
    hs_alloc_fail_at(1, false);
    assert_int_equal(hs_path_fold_add(&fold, &step, &err), HS_LIMIT);
    hs_alloc_fail_at(0, false);
    assert_int_equal(fold.n_steps, 0);
    assert_int_equal(hs_path_fold_add(&fold, &step, &err), HS_OK);
    assert_int_equal(fold.n_steps, 1);
    hs_path_fold_fini(&fold);
}

/* A list that goes back and forth in memory over two chunks, by field 1 of odd blocks and 0 of even
 * ones: each step knows its own field, and the path its own order. */
static uint32_t make_list(struct made_view *made, hs_node *nodes, uint32_t n)
{
    struct hs_graph_builder *b = &made->builder;
    uint32_t first = hs_graph_builder_blocks(b, HS_CHUNK_BLOCKS + n, 3);
    uint32_t string = hs_graph_builder_type(b, "string", 252, HS_FORM_STRING);
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = first + (i % 2 == 0 ? HS_CHUNK_BLOCKS + n - 1 - i : i);
    for (uint32_t i = 0; i + 1 < n; i++)
        hs_graph_builder_edge_at(b, (uint32_t)nodes[i], (uint32_t)nodes[i + 1], HS_EDGE_EXACT,
                                 i % 2);
    b->blocks[nodes[n - 1]].type = string;
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", (uint32_t)nodes[0]);
    for (uint32_t i = 0; i < n; i++)
        nodes[i] = hs_graph_builder_node(b, (uint32_t)nodes[i]);
    made_view_open(made);
    return string;
}

static void a_path_in_any_order(void **state)
{
    enum { N = 6 };
    struct hs_error err = HS_ERROR_INIT;
    struct made_view made = {0};
    struct hs_path_fold fold = {0};
    hs_node nodes[N];
    uint32_t string = make_list(&made, nodes, N);
    assert_int_equal(hs_path_fold_nodes(&fold, &made.view, nodes, N, &err), HS_OK);
    assert_int_equal(fold.n_steps, N);
    for (uint32_t i = 0; i < N; i++) {
        assert_int_equal(fold.steps[i].node, nodes[i]);
        assert_true(fold.steps[i].offset_words == (i + 1 < N ? i % 2 : HS_NO_OFFSET));
        assert_int_equal(fold.steps[i].type, i + 1 < N ? 0 : string);
        assert_int_equal(fold.steps[i].repeat, 1);
    }
    hs_path_fold_fini(&fold);
    made_view_close(&made);
}

static void a_path_without_memory(void **state)
{
    enum { N = 6 };
    struct made_view made = {0};
    hs_node nodes[N];
    (void)make_list(&made, nodes, N);
    FAIL_EACH (each, .at_least = 3, .keeps = true) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_path_fold fold = {0};
        (void)FAIL_EACH_TRY(each, hs_path_fold_nodes(&fold, &made.view, nodes, N, &err));
        hs_path_fold_fini(&fold);
    }
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_list),
        cmocka_unit_test(runs_end),
        cmocka_unit_test(long_paths),
        cmocka_unit_test(the_gap_counts_objects),
        cmocka_unit_test(a_path_without_runs),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(a_path_in_any_order),
        cmocka_unit_test(a_path_without_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
