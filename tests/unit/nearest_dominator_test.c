/* links: hs_analysis */
#include "analysis/nearest_dominator.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "fail_each.h"
#include "made_view.h"

struct asked {
    const struct hs_view *view;
    uint64_t n;
};

/* Tells both what it came to and by which block. */
static uint64_t value_of(const void *context, hs_node tree_node, hs_node below)
{
    struct asked *asked = (struct asked *)(uintptr_t)context;
    asked->n++;
    return below == HS_NO_NODE ? tree_node : tree_node * 1000000 + below;
}

static uint64_t plain_climb(const struct hs_view *view, hs_node node)
{
    hs_node below = HS_NO_NODE;
    while (node != HS_NO_NODE && node >= view->n_tree) {
        below = node;
        node = hs_index_idom(view->index, node);
    }
    if (node == HS_NO_NODE)
        return HS_NEAREST_NONE;
    return below == HS_NO_NODE ? node : node * 1000000 + below;
}

static void random_heaps(void **state)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct made_view made = {0};
        struct hs_graph_builder *b = &made.builder;
        uint64_t random = seed * 1234567;
        (void)made_random(b, &random, 0);
        made_view_open(&made);
        struct hs_error err = HS_ERROR_INIT;
        struct hs_nearest climb;
        struct asked asked = {.view = &made.view};
        hs_nearest_init(&made.view, value_of, &asked, &climb);
        for (uint32_t i = 0; i < 1000; i++) {
            hs_node node = hs_random_below(&random, (uint32_t)made.view.n_nodes);
            uint64_t value;
            assert_int_equal(hs_nearest_find(&climb, node, &value, &err), HS_OK);
            assert_true(value == plain_climb(&made.view, node));
        }
        hs_nearest_fini(&climb);
        made_view_close(&made);
    }
}

/* A list of a million cells: from every hundredth of them, from its end on. */
static void a_long_list(void **state)
{
    enum { N = 1000000 };
    struct made_view made = {0};
    struct hs_budget budget = {.limit_bytes = (uint64_t)16 << 20};
    made_list(&made.builder, N);
    made_view_open(&made);
    made.view.session.budget = &budget;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_nearest climb;
    struct asked asked = {.view = &made.view};
    hs_nearest_init(&made.view, value_of, &asked, &climb);
    for (uint32_t i = 0; i < N; i += 100) {
        uint64_t value;
        assert_int_equal(hs_nearest_find(&climb, made.view.n_nodes - 1 - i, &value, &err), HS_OK);
        assert_true(value != HS_NEAREST_NONE);
    }
    assert_true(climb.n_passed < 2 * N); /* a step apiece, and some to what is remembered */
    hs_nearest_fini(&climb);
    assert_int_equal(budget.used_bytes, 0);
    made.view.session.budget = NULL;
    made_view_close(&made);
}

static void out_of_memory(void **state)
{
    struct made_view made = {0};
    made_list(&made.builder, 3000);
    made_view_open(&made);
    struct asked asked = {.view = &made.view};
    FAIL_EACH (each, .at_least = 2) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_nearest climb = {0};
        uint64_t value;
        hs_nearest_init(&made.view, value_of, &asked, &climb);
        (void)FAIL_EACH_TRY(each, hs_nearest_find(&climb, made.view.n_nodes - 1, &value, &err));
        hs_nearest_fini(&climb);
    }
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_heaps),
        cmocka_unit_test(a_long_list),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
