/* links: hs_tools_lib */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"
#include "made_view.h"
#include "root_rows.h"

static const struct hs_root_query everything = {.kinds = UINT64_MAX, .max_rows = UINT64_MAX};

/*  A.x -> 1(10) -> 2(20) <- A.y;  B.z -> 3(5);  stack s -> 4(7) -> 2;  weak w -> 5(9);  6(11) lost;
 *  A.none -> nothing;  c_root k -> 7(static 6) -> 3
 *  so: 2 is shared by A.x, A.y and s; 3 by B.z and k. Heap: 10+20+5+7+9+11 = 62. */
static void fill(struct hs_graph_builder *b)
{
    uint32_t n1 = hs_graph_builder_block(b, 10, false);
    uint32_t n2 = hs_graph_builder_block(b, 20, false);
    uint32_t n3 = hs_graph_builder_block(b, 5, false);
    uint32_t n4 = hs_graph_builder_block(b, 7, false);
    uint32_t n5 = hs_graph_builder_block(b, 9, false);
    (void)hs_graph_builder_block(b, 11, false);
    uint32_t n7 = hs_graph_builder_block(b, 6, true);
    hs_graph_builder_edge(b, n1, n2, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n4, n2, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n7, n3, HS_EDGE_EXACT);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "A", "A.x", n1);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "A", "A.y", n2);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "B", "B.z", n3);
    hs_graph_builder_leaf(b, HS_ROOT_STACK, "thread 1", "#1 f", "s", n4);
    uint32_t w = hs_graph_builder_leaf(b, HS_ROOT_FINALISER, "m", "Gc", "w", n5);
    b->leaves[w].weak = true;
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "A", "A.none", HS_GRAPH_BUILDER_NOWHERE);
    hs_graph_builder_leaf(b, HS_ROOT_C_ROOT, "m", "c", "k", n7);
}

static uint64_t sum(const struct hs_view *view, const struct hs_root_rows *rows)
{
    uint64_t words = rows->shared_words + rows->others_words;
    for (size_t i = 0; i < rows->n_rows; i++)
        words += rows->rows[i].retained.words;
    return words + hs_index_unreached_total(view->index).words;
}

/* Selects, checks that the sum closes, and compares the names in order. */
static void selects(const struct hs_view *view, const struct hs_root_query *query,
                    const char *const *names, uint64_t n_others)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_root_rows rows;
    assert_int_equal(hs_root_rows_select(view, query, &rows, &err), HS_OK);
    size_t n = 0;
    for (; names[n] != NULL; n++) {
        assert_true(n < rows.n_rows);
        const struct hs_root *root = hs_snap_root(view->snap, rows.rows[n].node);
        assert_string_equal(hs_snap_string(view->snap, root->name), names[n]);
    }
    assert_int_equal(rows.n_rows, n);
    assert_int_equal(rows.n_others, n_others);
    assert_int_equal(sum(view, &rows), view->totals->heap_words);
    hs_root_rows_fini(&rows);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void by_root(void **state)
{
    (void)state;
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    const struct hs_view *view = &made.view;
    struct hs_root_query query = everything;
    /* Retained: x 10, s 7, the rest 0; then by reach: y 20, k and z 5, none 0; then by number. */
    selects(view, &query, NAMES("A.x", "s", "A.y", "B.z", "k", "A.none"), 0);
    query.max_rows = 2;
    selects(view, &query, NAMES("A.x", "s"), 4);
    query.max_rows = 0;
    selects(view, &query, NAMES(), 6);
    query = everything;
    query.min_words = 20; /* of reach */
    selects(view, &query, NAMES("A.x", "s", "A.y"), 3);
    query.min_words = 21;
    selects(view, &query, NAMES("A.x", "s"), 4);
    query.min_words = UINT64_MAX;
    selects(view, &query, NAMES(), 6);
    query = everything;
    query.kinds = HS_BIT(HS_ROOT_STACK) | HS_BIT(HS_ROOT_C_ROOT);
    selects(view, &query, NAMES("s", "k"), 4);
    query.kinds = HS_BIT(HS_ROOT_FINALISER); /* the weak one is no row */
    selects(view, &query, NAMES(), 6);
    query = everything;
    query.sort = HS_SORT_NAME;
    selects(view, &query, NAMES("A.none", "A.x", "A.y", "B.z", "k", "s"), 0);
    query.sort = HS_SORT_REACHABLE; /* x 30, s 27, y 20, k and z 5, none 0 */
    selects(view, &query, NAMES("A.x", "s", "A.y", "B.z", "k", "A.none"), 0);
    made_view_close(&made);
}

static void by_group(void **state)
{
    (void)state;
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    const struct hs_view *view = &made.view;
    struct hs_root_query query = everything;
    query.group_by = HS_BY_UNIT;
    query.sort = HS_SORT_NAME;
    selects(view, &query, NAMES("A", "B", "Gc", "c"), 1); /* the frame is among the others */
    query.group_by = HS_BY_MODULE;
    selects(view, &query, NAMES("m", "m", "m"), 1);
    query.group_by = HS_BY_FRAME;
    selects(view, &query, NAMES("#1 f"), 4);
    query.group_by = HS_BY_THREAD;
    selects(view, &query, NAMES("thread 1"), 3);
    query.group_by = HS_BY_KIND;
    query.kinds = HS_BIT(HS_ROOT_GLOBAL);
    struct hs_error err = HS_ERROR_INIT;
    struct hs_root_rows rows;
    assert_int_equal(hs_root_rows_select(view, &query, &rows, &err), HS_OK);
    assert_int_equal(rows.n_rows, 1);
    assert_int_equal(rows.rows[0].retained.words, 10); /* 2 is the stack's too, 3 the C root's */
    assert_int_equal(rows.rows[0].reachable.words, 35);
    assert_int_equal(rows.shared_words, 25);
    hs_root_rows_fini(&rows);
    made_view_close(&made);
}

/* What is static is counted apart. */
static void static_words(void **state)
{
    (void)state;
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    struct hs_root_query query = everything;
    query.kinds = HS_BIT(HS_ROOT_C_ROOT);
    struct hs_error err = HS_ERROR_INIT;
    struct hs_root_rows rows;
    assert_int_equal(hs_root_rows_select(&made.view, &query, &rows, &err), HS_OK);
    assert_int_equal(rows.n_rows, 1);
    assert_int_equal(rows.rows[0].reachable.words, 5);
    assert_int_equal(rows.rows[0].reachable.static_words, 6);
    assert_int_equal(rows.rows[0].retained.words, 0);
    assert_int_equal(rows.rows[0].retained.static_words, 6);
    hs_root_rows_fini(&rows);
    made_view_close(&made);
}

static void nothing(void **state)
{
    (void)state;
    struct made_view made = {0};
    made_view_open(&made);
    selects(&made.view, &everything, NAMES(), 0);
    made_view_close(&made);
}

static void out_of_memory(void **state)
{
    (void)state;
    struct made_view made = {0};
    for (int i = 0; i < 100; i++) {
        uint32_t block = hs_graph_builder_block(&made.builder, 3, false);
        hs_graph_builder_leaf(&made.builder, HS_ROOT_GLOBAL, "m", "U", "U.x", block);
    }
    made_view_open(&made);
    bool done = false;
    uint64_t n = 0;
    while (!done) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_root_rows rows = {.n_rows = 77};
        hs_alloc_fail_at(++n, false);
        hs_status status = hs_root_rows_select(&made.view, &everything, &rows, &err);
        hs_alloc_fail_at(0, false);
        done = status == HS_OK;
        if (done) {
            assert_int_equal(rows.n_rows, 100);
            hs_root_rows_fini(&rows);
        } else {
            assert_int_equal(status, HS_LIMIT);
            assert_int_equal(rows.n_rows, 77);
        }
    }
    assert_true(n > 1);
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_root), cmocka_unit_test(by_group),      cmocka_unit_test(static_words),
        cmocka_unit_test(nothing), cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
