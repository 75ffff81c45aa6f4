/* links: hs_tools_lib */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "base/alloc.h"
#include "made_view.h"
#include "type_rows.h"

static const struct hs_type_query everything = {.max_rows = UINT64_MAX};

static const struct hs_type_row *row_of(const struct hs_view *view, const struct hs_type_rows *rows,
                                        const char *name)
{
    for (size_t i = 0; i < rows->n_rows; i++) {
        const struct hs_type *type = hs_snap_type(view->snap, rows->rows[i].type);
        if (strcmp(hs_snap_string(view->snap, type->name), name) == 0)
            return &rows->rows[i];
    }
    return NULL;
}

static struct hs_type_rows select_rows(struct made_view *made, const struct hs_type_query *query)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_type_rows rows;
    assert_int_equal(hs_type_rows_select(&made->tool, &made->view, query, &rows, &err), HS_OK);
    return rows;
}

/*  root -> block 2 -> string 30 -> block 3 -> block 4 -> string 5;  root -> other 100 (static);
 *  a string 50 that nobody reaches */
static void fill(struct hs_graph_builder *b)
{
    uint32_t n1 = hs_graph_builder_block(b, 2, false);
    uint32_t n2 = hs_graph_builder_block(b, 30, false);
    uint32_t n3 = hs_graph_builder_block(b, 3, false);
    uint32_t n4 = hs_graph_builder_block(b, 4, false);
    uint32_t n5 = hs_graph_builder_block(b, 5, false);
    uint32_t n6 = hs_graph_builder_block(b, 100, true);
    uint32_t n7 = hs_graph_builder_block(b, 50, false);
    hs_graph_builder_edge(b, n1, n2, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n2, n3, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n3, n4, HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n4, n5, HS_EDGE_EXACT);
    uint32_t string = hs_graph_builder_type(b, "string", 252, HS_FORM_STRING);
    b->blocks[n2].type = b->blocks[n5].type = b->blocks[n7].type = string;
    b->blocks[n6].type = hs_graph_builder_type(b, "other", 3, HS_FORM_OTHER);
    (void)hs_graph_builder_type(b, "unused", 4, HS_FORM_OTHER);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", n1);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.y", n6);
}

static void counts(void **state)
{
    (void)state;
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    struct hs_type_rows rows = select_rows(&made, &everything);
    assert_int_equal(rows.n_rows, 3);
    assert_int_equal(rows.n_others, 0);
    const struct hs_type_row *block = row_of(&made.view, &rows, "block");
    assert_int_equal(block->shallow.objects, 3);
    assert_int_equal(block->shallow.words, 9);
    assert_int_equal(block->retained_words, 44); /* the topmost holds all, and counts once */
    const struct hs_type_row *string = row_of(&made.view, &rows, "string");
    assert_int_equal(string->shallow.objects, 2); /* not the one that nobody reaches */
    assert_int_equal(string->shallow.words, 35);
    assert_int_equal(string->retained_words, 42);
    const struct hs_type_row *other = row_of(&made.view, &rows, "other");
    assert_int_equal(other->shallow.words, 0);
    assert_int_equal(other->shallow.static_words, 100);
    assert_int_equal(other->retained_words, 0);
    assert_null(row_of(&made.view, &rows, "unused"));
    hs_type_rows_fini(&rows);
    made_view_close(&made);
}

static void first_is(struct made_view *made, enum hs_type_sort sort, const char *name)
{
    struct hs_type_query query = everything;
    query.sort = sort;
    struct hs_type_rows rows = select_rows(made, &query);
    const struct hs_type *type = hs_snap_type(made->view.snap, rows.rows[0].type);
    assert_string_equal(hs_snap_string(made->view.snap, type->name), name);
    hs_type_rows_fini(&rows);
}

static void order_and_limits(void **state)
{
    (void)state;
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    first_is(&made, HS_TYPE_BY_RETAINED, "block");
    first_is(&made, HS_TYPE_BY_WORDS, "string");
    first_is(&made, HS_TYPE_BY_OBJECTS, "block");
    first_is(&made, HS_TYPE_BY_NAME, "block");
    struct hs_type_query query = everything;
    query.max_rows = 1;
    struct hs_type_rows rows = select_rows(&made, &query);
    assert_int_equal(rows.n_rows, 1);
    assert_int_equal(rows.n_others, 2);
    assert_int_equal(rows.others.words, 35);
    assert_int_equal(rows.others.static_words, 100);
    hs_type_rows_fini(&rows);
    query = everything;
    query.min_words = 43; /* retained */
    rows = select_rows(&made, &query);
    assert_int_equal(rows.n_rows, 1);
    assert_non_null(row_of(&made.view, &rows, "block"));
    hs_type_rows_fini(&rows);
    made_view_close(&made);
}

/* The walk of the dominator tree keeps its own stack: depth is the input's to choose. */
static void a_deep_tree(void **state)
{
    (void)state;
    enum { DEPTH = 300000 };
    struct made_view made = {0};
    uint32_t first = hs_graph_builder_blocks(&made.builder, DEPTH, 3);
    for (uint32_t i = 0; i + 1 < DEPTH; i++)
        hs_graph_builder_edge(&made.builder, first + i, first + i + 1, HS_EDGE_EXACT);
    hs_graph_builder_leaf(&made.builder, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    made_view_open(&made);
    struct hs_type_rows rows = select_rows(&made, &everything);
    assert_int_equal(rows.n_rows, 1);
    assert_int_equal(rows.rows[0].retained_words, 3 * DEPTH);
    hs_type_rows_fini(&rows);
    made_view_close(&made);
}

static void nothing(void **state)
{
    (void)state;
    struct made_view made = {0};
    made_view_open(&made);
    struct hs_type_rows rows = select_rows(&made, &everything);
    assert_int_equal(rows.n_rows, 0);
    hs_type_rows_fini(&rows);
    hs_type_rows_fini(&rows);
    made_view_close(&made);
}

static void out_of_memory(void **state)
{
    (void)state;
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    uint64_t n = 0;
    for (bool done = false; !done;) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_type_rows rows = {.n_rows = 77};
        hs_alloc_fail_at(++n, false);
        hs_status status = hs_type_rows_select(&made.tool, &made.view, &everything, &rows, &err);
        hs_alloc_fail_at(0, false);
        done = status == HS_OK;
        if (done)
            hs_type_rows_fini(&rows);
        else
            assert_int_equal(rows.n_rows, 77);
    }
    assert_true(n > 4);
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),        cmocka_unit_test(order_and_limits),
        cmocka_unit_test(nothing),       cmocka_unit_test(a_deep_tree),
        cmocka_unit_test(out_of_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
