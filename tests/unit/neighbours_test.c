/* links: hs_analysis */
/* The first pointers of a block by offset are those that all of them begin with, whatever the limit
 * is; those between two blocks are those of all that lead there. */
#include "analysis/neighbours.h"

#include "unit.h"

#include "made_view.h"

static bool is_same(const struct hs_link *a, const struct hs_link *b)
{
    return a->other == b->other && a->offset_words == b->offset_words &&
           a->edge_class == b->edge_class;
}

static void check_first(struct hs_view *view, hs_node node, const struct hs_links *all)
{
    struct hs_error err = HS_ERROR_INIT;
    for (uint64_t limit = 0; limit <= all->n + 1; limit++) {
        struct hs_links first;
        uint64_t n;
        assert_int_equal(hs_links_out_first(view, node, limit, &first, &n, &err), HS_OK);
        assert_int_equal(n, all->n);
        if (node >= view->n_tree)
            assert_int_equal(first.n, limit < all->n ? limit : all->n);
        for (size_t i = 0; i < first.n; i++)
            assert_true(is_same(&first.links[i], &all->links[i]));
        hs_links_fini(&first);
    }
}

/* Of all pointers by their definition: a walk over what leads anywhere. */
static void check_between(struct hs_view *view, hs_node source, const struct hs_links *all)
{
    struct hs_error err = HS_ERROR_INIT;
    for (hs_node target = view->n_tree; target < view->n_nodes; target++) {
        struct hs_links between = {0};
        size_t n = 0;
        assert_int_equal(hs_links_between(view, source, target, &between, &err), HS_OK);
        for (size_t i = 0; i < all->n; i++) {
            struct hs_link link = all->links[i];
            if (link.other != target || link.edge_class > HS_EDGE_EPHEMERON)
                continue;
            assert_true(n < between.n);
            link.other = source;
            assert_true(is_same(&between.links[n++], &link));
        }
        assert_int_equal(between.n, n);
        hs_links_fini(&between);
    }
}

/* Up to forty pointers of any class from one block to few, in any order of offsets; some twice. */
static void random_blocks(void **state)
{
    uint64_t random = 7;
    for (int round = 0; round < 60; round++) {
        struct made_view made = {0};
        struct hs_error err = HS_ERROR_INIT;
        struct hs_links all;
        uint32_t n = 2 + hs_random_below(&random, 6), n_edges = hs_random_below(&random, 40);
        hs_graph_builder_blocks(&made.builder, n, 60);
        for (uint32_t i = 0; i < n_edges; i++)
            hs_graph_builder_edge_at(
                &made.builder, hs_random_below(&random, 2), hs_random_below(&random, n),
                hs_random_below(&random, HS_N_EDGE_CLASSES), hs_random_below(&random, 60));
        hs_graph_builder_leaf(&made.builder, HS_ROOT_GLOBAL, "m", "u", "v", 0);
        made_view_open(&made);
        for (hs_node node = 0; node < made.view.n_nodes; node++) {
            assert_int_equal(hs_links_out(&made.view, node, &all, &err), HS_OK);
            for (size_t i = 1; i < all.n; i++)
                assert_true(all.links[i - 1].offset_words <= all.links[i].offset_words);
            check_first(&made.view, node, &all);
            if (node >= made.view.n_tree)
                check_between(&made.view, node, &all);
            hs_links_fini(&all);
        }
        made_view_close(&made);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(random_blocks)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
