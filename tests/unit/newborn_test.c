/* links: hs_analysis */
#include "unit.h"

#include "analysis/newborn.h"
#include "base/alloc.h"
#include "fail_each.h"
#include "made_view.h"

/* root U.list -> n blocks of a type, in a row, of 4 words; root U.other -> one of 100. */
static void fill(struct hs_graph_builder *b, uint32_t n)
{
    uint32_t first = 0;
    for (uint32_t i = 0; i < n; i++) {
        uint32_t block = hs_graph_builder_block(b, 4, false);
        if (i == 0)
            first = block;
        else
            hs_graph_builder_edge(b, block - 1, block, HS_EDGE_EXACT);
    }
    uint32_t other = hs_graph_builder_block(b, 100, false);
    uint32_t type = hs_graph_builder_type(b, "session", 0, HS_FORM_OTHER);
    for (uint32_t i = first; i < first + n; i++)
        b->blocks[i].type = type;
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.list", first);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.other", other);
}

struct pair {
    struct made_view older, newer;
    struct hs_snap_keys tables[2];
    struct hs_series series;
};

static void pair_open(struct pair *pair, uint32_t n_older, uint32_t n_newer)
{
    struct hs_error err = HS_ERROR_INIT;
    *pair = (struct pair){0};
    fill(&pair->older.builder, n_older);
    fill(&pair->newer.builder, n_newer);
    made_view_open(&pair->older);
    made_view_open(&pair->newer);
    assert_int_equal(hs_snap_keys_collect(&pair->older.view, &pair->tables[0], &err), HS_OK);
    assert_int_equal(hs_snap_keys_collect(&pair->newer.view, &pair->tables[1], &err), HS_OK);
    const struct hs_snap_keys *const tables[] = {&pair->tables[0], &pair->tables[1]};
    assert_int_equal(hs_series_find(tables, 2, NULL, &pair->series, &err), HS_OK);
}

static void pair_close(struct pair *pair)
{
    hs_series_fini(&pair->series);
    hs_snap_keys_fini(&pair->tables[0]);
    hs_snap_keys_fini(&pair->tables[1]);
    made_view_close(&pair->older);
    made_view_close(&pair->newer);
}

static void one_that_is_new(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_newborn found;
    struct hs_node_facts facts;
    struct pair pair;
    pair_open(&pair, 10, 13);
    assert_int_equal(pair.series.n_found, 1);
    uint32_t key = pair.series.found[0];
    char text[HS_KEY_TEXT_BYTES];
    hs_series_text(&pair.series, key, text, sizeof text);
    assert_string_equal(text, "U.list > session");
    assert_int_equal(
        hs_newborn_find(&pair.newer.view, &pair.older.view, &pair.series, key, &found, &err),
        HS_OK);
    assert_true(found.is_new);
    assert_int_equal(hs_view_facts(&pair.newer.view, found.node, &facts, &err), HS_OK);
    assert_int_equal(facts.address, found.address);
    assert_string_equal(facts.label, "session");
    /* The first of which no session stood at its address. */
    assert_int_equal(found.node, pair.newer.view.n_tree + 10);
    assert_int_equal(hs_newborn_find(&pair.newer.view, NULL, &pair.series, key, &found, &err),
                     HS_OK);
    assert_false(found.is_new);
    assert_int_equal(found.node, pair.newer.view.n_tree);
    pair_close(&pair);
}

static void none_of_a_key_that_is_gone(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_newborn found;
    struct pair pair;
    pair_open(&pair, 10, 0);
    for (uint32_t i = 0; i < pair.series.n_rows; i++) {
        char text[HS_KEY_TEXT_BYTES];
        hs_series_text(&pair.series, i, text, sizeof text);
        if (strcmp(text, "U.list > session") != 0)
            continue;
        assert_int_equal(
            hs_newborn_find(&pair.newer.view, &pair.older.view, &pair.series, i, &found, &err),
            HS_OK);
        assert_int_equal(found.node, HS_NO_NODE);
    }
    pair_close(&pair);
}

static void each_allocation_may_fail(void **state)
{
    struct pair pair;
    pair_open(&pair, 10, 13);
    FAIL_EACH (f, .at_least = 10, .keeps = true) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_newborn found;
        (void)!FAIL_EACH_TRY(f, hs_newborn_find(&pair.newer.view, &pair.older.view, &pair.series,
                                                pair.series.found[0], &found, &err));
    }
    FAIL_EACH (f, .at_least = 10, .keeps = true) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_snap_keys table = {0};
        if (FAIL_EACH_TRY(f, hs_snap_keys_collect(&pair.newer.view, &table, &err)) == HS_OK)
            hs_snap_keys_fini(&table);
    }
    pair_close(&pair);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(one_that_is_new),
        cmocka_unit_test(none_of_a_key_that_is_gone),
        cmocka_unit_test(each_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
