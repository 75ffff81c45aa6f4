/* links: hs_analysis */
/* Chains of keepers against their definition, on random heaps and long lists. */
#include "analysis/keeper_chains.h"

#include "unit.h"

#include "base/alloc.h"
#include "edge_list.h"
#include "made_view.h"

enum { MAX_RUNS = 512 };

/* By definition: the types of the dominators from the root's side, runs folded. */
static size_t plain_runs(struct hs_view *view, hs_node node, uint64_t *first, uint32_t *types)
{
    uint32_t upwards[MAX_RUNS];
    size_t n = 0, n_types = 0;
    struct hs_node_facts facts;
    struct hs_error err = HS_ERROR_INIT;
    for (; node != HS_NO_NODE && node >= view->n_tree; node = hs_index_idom(view->index, node)) {
        assert_int_equal(hs_view_facts(view, node, &facts, &err), HS_OK);
        assert_true(n < MAX_RUNS);
        upwards[n++] = facts.type;
    }
    *first = view->n_tree + 1;
    if (node != HS_NO_NODE) {
        hs_node root = hs_view_root_of(view, node);
        *first = root == HS_NO_NODE ? view->n_tree : root;
    }
    while (n-- > 0)
        if (n_types == 0 || types[n_types - 1] != upwards[n])
            types[n_types++] = upwards[n];
    return n_types;
}

static void check(struct hs_chains *chains, hs_node node)
{
    struct hs_error err = HS_ERROR_INIT;
    uint32_t chain, runs[HS_CHAIN_RUNS + 1], types[MAX_RUNS];
    uint64_t first;
    assert_int_equal(hs_chains_find(chains, node, &chain, &err), HS_OK);
    size_t n = hs_chain_runs(chains, chain, runs);
    size_t n_plain = plain_runs(chains->view, node, &first, types);
    assert_int_equal(hs_chain_first(chains, chain)->key, first);
    size_t n_kept = n_plain < HS_CHAIN_RUNS + 1 ? n_plain : HS_CHAIN_RUNS + 1;
    assert_int_equal(n, n_kept);
    for (size_t i = 0; i < n_kept; i++) { /* beyond the room only the last one is kept */
        size_t at = i == HS_CHAIN_RUNS ? n_plain - 1 : i;
        assert_int_equal(chains->chains[runs[i]].key, types[at]);
    }
}

static void random_heaps(void **state)
{
    for (uint64_t seed = 1; seed <= 40; seed++) {
        struct made_view made = {0};
        struct hs_graph_builder *b = &made.builder;
        uint64_t random = seed * 7654321;
        uint32_t n = made_random(b, &random, 3);
        made_view_open(&made);
        struct hs_error err = HS_ERROR_INIT;
        struct hs_chains chains;
        assert_int_equal(hs_chains_init(&made.view, &chains, &err), HS_OK);
        for (uint32_t i = 0; i < 500; i++)
            check(&chains, made.view.n_tree + hs_random_below(&random, n));
        hs_chains_fini(&chains);
        made_view_close(&made);
    }
}

/* Two types by turns: more runs than are kept. */
static void many_runs(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t first = hs_graph_builder_blocks(b, 400, 3);
    (void)hs_graph_builder_type(b, "a", 0, 0);
    for (uint32_t i = 0; i < 400; i++) {
        b->blocks[first + i].type = i % 2;
        if (i + 1 < 400)
            hs_graph_builder_edge(b, first + i, first + i + 1, HS_EDGE_EXACT);
    }
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    made_view_open(&made);
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chains chains;
    assert_int_equal(hs_chains_init(&made.view, &chains, &err), HS_OK);
    uint64_t random = 99;
    for (uint32_t i = 0; i < 1000; i++)
        check(&chains, made.view.n_tree + first + hs_random_below(&random, 400));
    assert_true(chains.n <= HS_CHAIN_RUNS + 4);
    hs_chains_fini(&chains);
    made_view_close(&made);
}

/* Of a list of a million cells every hundredth, the far end first: one chain, little memory. */
static void a_long_list(void **state)
{
    enum { N = 1000000 };
    struct made_view made = {0};
    struct hs_budget budget = {.limit_bytes = (uint64_t)32 << 20};
    made_list(&made.builder, N);
    made_view_open(&made);
    made.view.session.budget = &budget;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chains chains;
    assert_int_equal(hs_chains_init(&made.view, &chains, &err), HS_OK);
    uint32_t one = 0, chain;
    for (uint32_t i = 0; i < N; i += 100) {
        assert_int_equal(hs_chains_find(&chains, made.view.n_nodes - 1 - i, &chain, &err), HS_OK);
        one = i == 0 ? chain : one;
        assert_int_equal(chain, one);
    }
    assert_int_equal(chains.n, 2);
    hs_chains_fini(&chains);
    assert_int_equal(budget.used_bytes, 0);
    made.view.session.budget = NULL;
    made_view_close(&made);
}

/* Blocks without a type are alike whatever their size; those with one are not. */
static void untyped(void **state)
{
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint32_t first = hs_graph_builder_blocks(b, 6, 8);
    (void)hs_graph_builder_type(b, "block of 8 bytes", 0, HS_FORM_BYTES);
    (void)hs_graph_builder_type(b, "block of 64 bytes", 0, HS_FORM_BYTES);
    for (uint32_t i = 1; i < 5; i++)
        hs_graph_builder_edge(b, first, first + i, HS_EDGE_EXACT);
    for (uint32_t i = 0; i < 6; i++)
        b->blocks[first + i].type = i % 3;
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    made_view_open(&made);
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chains chains;
    uint32_t found[6], runs[HS_CHAIN_RUNS + 1];
    assert_int_equal(hs_chains_init(&made.view, &chains, &err), HS_OK);
    for (uint32_t i = 0; i < 6; i++)
        assert_int_equal(
            hs_chains_find_alike(&chains, made.view.n_tree + first + i, &found[i], &err), HS_OK);
    assert_int_equal(found[1], found[2]);
    assert_int_equal(found[1], found[4]);
    assert_int_not_equal(found[1], found[3]);
    assert_int_equal(hs_chain_runs(&chains, found[1], runs), 2);
    assert_int_equal(chains.chains[runs[1]].key, HS_CHAIN_UNTYPED);
    assert_int_equal(hs_chain_first(&chains, found[5])->key, made.view.n_tree + 1); /* unreached */
    hs_chains_fini(&chains);
    made_view_close(&made);
}

static void over_the_budget(void **state)
{
    struct made_view made = {0};
    struct hs_budget budget = {.limit_bytes = 1000};
    uint32_t first = hs_graph_builder_blocks(&made.builder, 3000, 3);
    hs_graph_builder_leaf(&made.builder, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    made_view_open(&made);
    made.view.session.budget = &budget;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_chains chains = {0};
    assert_int_equal(hs_chains_init(&made.view, &chains, &err), HS_LIMIT);
    assert_int_equal(budget.used_bytes, 0);
    made.view.session.budget = NULL;
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(random_heaps),    cmocka_unit_test(many_runs),
        cmocka_unit_test(a_long_list),     cmocka_unit_test(untyped),
        cmocka_unit_test(over_the_budget),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
