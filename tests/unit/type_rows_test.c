/* links: hs_analysis */
#include "unit.h"

#include "analysis/type_rows.h"
#include "base/alloc.h"
#include "edge_list.h"
#include "fail_each.h"
#include "made_view.h"

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
    assert_int_equal(hs_type_rows_select(&made->view, query, &rows, &err), HS_OK);
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

enum { N_RANDOM = 3000, N_TYPES = 700 };

/* What each type retains: every block against all that stands above it. */
static void brute_force(const struct made_view *made, uint32_t first, uint64_t *retained)
{
    const struct hs_graph_builder *b = &made->builder;
    const hs_node first_node = hs_graph_builder_node(b, first);
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        uint32_t type = b->blocks[first + i].type;
        bool is_below = false;
        hs_node node = hs_index_idom(made->view.index, first_node + i);
        for (; node >= made->view.n_tree; node = hs_index_idom(made->view.index, node))
            is_below |= b->blocks[first + (node - first_node)].type == type;
        if (!is_below)
            retained[type] += hs_index_retained(made->view.index, first_node + i).words;
    }
}

/* More types than a byte tells apart, with room for two bytes per block, for one, and for less. */
static void lots_of_types(void **state)
{
    static const uint64_t limits[] = {UINT64_MAX, 2 * N_RANDOM, N_RANDOM, N_RANDOM - 1};
    static uint64_t retained[N_TYPES + 1];
    struct made_view made = {0};
    struct hs_graph_builder *b = &made.builder;
    uint64_t random = 4711;
    uint32_t first = hs_graph_builder_blocks(b, N_RANDOM, 3);
    for (uint32_t i = 0; i < N_TYPES; i++) {
        char name[16];
        (void)snprintf(name, sizeof name, "t%u", i);
        (void)hs_graph_builder_type(b, name, 0, HS_FORM_RECORD);
    }
    for (uint32_t i = 0; i < N_RANDOM; i++) {
        b->blocks[first + i].type = hs_random_below(&random, i % 2 == 0 ? 3 : N_TYPES + 1);
        if (i > 0)
            hs_graph_builder_edge(b, first + hs_random_below(&random, i), first + i, HS_EDGE_EXACT);
    }
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", "U.x", first);
    made_view_open(&made);
    brute_force(&made, first, retained);
    for (unsigned i = 0; i < 4; i++) {
        struct hs_budget budget = {.limit_bytes = limits[i]};
        struct hs_error err = HS_ERROR_INIT;
        struct hs_type_rows rows;
        made.view.session.budget = &budget;
        hs_status status = hs_type_rows_select(&made.view, &everything, &rows, &err);
        made.view.session.budget = NULL;
        assert_int_equal(status, i == 3 ? HS_LIMIT : HS_OK);
        assert_int_equal(budget.used_bytes, 0);
        if (status != HS_OK)
            continue;
        assert_true(rows.n_rows > 600);
        for (size_t row = 0; row < rows.n_rows; row++)
            assert_int_equal(rows.rows[row].retained_words, retained[rows.rows[row].type]);
        hs_type_rows_fini(&rows);
    }
    made_view_close(&made);
}

/* What waits while smaller children are visited stays short in a comb, whichever way it leans. */
static void combs(void **state)
{
    enum { TEETH = 20000 };
    for (unsigned leaning = 0; leaning < 2; leaning++) {
        struct made_view made = {0};
        uint32_t first = hs_graph_builder_blocks(&made.builder, 2 * TEETH, 3);
        for (uint32_t i = 0; i < TEETH; i++) {
            uint32_t back = leaning == 0 ? first + i : first + TEETH + i;
            uint32_t tooth = leaning == 0 ? first + TEETH + i : first + i;
            hs_graph_builder_edge(&made.builder, back, tooth, HS_EDGE_EXACT);
            if (i + 1 < TEETH)
                hs_graph_builder_edge(&made.builder, back, back + 1, HS_EDGE_EXACT);
        }
        hs_graph_builder_leaf(&made.builder, HS_ROOT_GLOBAL, "m", "U", "U.x",
                              leaning == 0 ? first : first + TEETH);
        made_view_open(&made);
        struct hs_type_rows rows = select_rows(&made, &everything);
        assert_int_equal(rows.n_rows, 1);
        assert_int_equal(rows.rows[0].retained_words, 3 * 2 * TEETH);
        hs_type_rows_fini(&rows);
        made_view_close(&made);
    }
}

/* The walk of the dominator tree keeps its own stack: depth is the input's to choose. */
static void a_deep_tree(void **state)
{
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
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    FAIL_EACH (each, .at_least = 4) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_type_rows rows = {.n_rows = 77};
        hs_status status =
            FAIL_EACH_TRY(each, hs_type_rows_select(&made.view, &everything, &rows, &err));
        if (status == HS_OK)
            hs_type_rows_fini(&rows);
        else
            assert_int_equal(rows.n_rows, 77);
    }
    made_view_close(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(counts),        cmocka_unit_test(order_and_limits),
        cmocka_unit_test(nothing),       cmocka_unit_test(a_deep_tree),
        cmocka_unit_test(out_of_memory), cmocka_unit_test(lots_of_types),
        cmocka_unit_test(combs),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
