/* links: hs_analysis */
#include "unit.h"

#include "analysis/root_rows.h"
#include "base/alloc.h"
#include "edge_list.h"
#include "fail_each.h"
#include "made_view.h"

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
    assert_int_equal(hs_set_rows_words(&rows.sets), rows.shared_words);
    hs_root_rows_fini(&rows);
}

#define NAMES(...) ((const char *const[]){__VA_ARGS__ __VA_OPT__(, ) NULL})

static void by_root(void **state)
{
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
    query.kinds = 1U << HS_ROOT_STACK | 1U << HS_ROOT_C_ROOT;
    selects(view, &query, NAMES("s", "k"), 4);
    query.kinds = 1U << HS_ROOT_FINALISER; /* the weak one is no row */
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
    query.kinds = 1U << HS_ROOT_GLOBAL;
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

/*  variable v: slot v.a -> 1(10) -> 2(20), slot v.b -> 3(5) -> 2;  x -> 4(7);
 *  thread 8: stack #1 s -> 5(2), registers #1 rax -> 6(3), tls t -> 7(4), 8(6) by s and t both;
 *  thread 9: stack #1 -> 9(1). Heap: 58. */
static void fill_native(struct hs_graph_builder *b)
{
    static const uint32_t words[] = {10, 20, 5, 7, 2, 3, 4, 6, 1};
    uint32_t n[10];
    for (uint32_t i = 0; i < 9; i++)
        n[i + 1] = hs_graph_builder_block(b, words[i], false);
    hs_graph_builder_edge(b, n[1], n[2], HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n[3], n[2], HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n[5], n[8], HS_EDGE_EXACT);
    hs_graph_builder_edge(b, n[7], n[8], HS_EDGE_EXACT);
    hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "m", "u.c", "v", "v.a", n[1]);
    hs_graph_builder_slot(b, HS_ROOT_GLOBAL, "m", "u.c", "v", "v.b", n[3]);
    hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "u.c", "x", n[4]);
    hs_graph_builder_leaf(b, HS_ROOT_REGISTER, "thread 8", "#1 f", "rax", n[6]);
    hs_graph_builder_leaf(b, HS_ROOT_STACK, "thread 8", "#1 f", "s", n[5]);
    hs_graph_builder_leaf(b, HS_ROOT_TLS, "thread 8", "libc.so.6", "t", n[7]);
    hs_graph_builder_leaf(b, HS_ROOT_STACK, "thread 9", "#1 f", "s9", n[9]);
    /* As hs_roots_finish has it: the groups know their thread, frames their number. */
    for (size_t i = 0; i < b->n_groups; i++) {
        struct hs_root *group = &b->groups[i];
        if (group->level < HS_LEVEL_MODULE || group->kind == HS_ROOT_GLOBAL)
            continue;
        const struct hs_root *of =
            group->level == HS_LEVEL_UNIT ? &b->groups[group->parent] : group;
        group->thread = strcmp(hs_strtab_get(&b->strings, of->name), "thread 8") == 0 ? 8 : 9;
        group->frame = group->level == HS_LEVEL_UNIT && group->kind != HS_ROOT_TLS;
    }
}

static const struct hs_root_row *row_at(const struct hs_view *view, const struct hs_root_rows *rows,
                                        size_t at, const char *name, unsigned kind)
{
    assert_true(at < rows->n_rows);
    const struct hs_root *root = hs_snap_root(view->snap, rows->rows[at].node);
    assert_string_equal(hs_snap_string(view->snap, root->name), name);
    assert_int_equal(root->kind, kind);
    return &rows->rows[at];
}

/* A variable is one root, whatever its slots share. */
static void variables(void **state)
{
    struct made_view made = {0};
    fill_native(&made.builder);
    made_view_open(&made);
    const struct hs_view *view = &made.view;
    struct hs_root_query query = everything;
    query.kinds = 1U << HS_ROOT_GLOBAL;
    selects(view, &query, NAMES("v", "x"), 4);
    query = everything;
    selects(view, &query, NAMES("v", "x", "t", "rax", "s", "s9"), 0);
    struct hs_error err = HS_ERROR_INIT;
    struct hs_root_rows rows;
    assert_int_equal(hs_root_rows_select(view, &query, &rows, &err), HS_OK);
    assert_int_equal(rows.rows[0].retained.words, 35);
    assert_int_equal(rows.shared_words, 6);
    hs_root_rows_fini(&rows);
    query.group_by = HS_BY_UNIT; /* thread-local variables stand by thread */
    selects(view, &query, NAMES("u.c"), 4);
    made_view_close(&made);
}

static void one_row_for_a_thread(void **state)
{
    struct made_view made = {0};
    fill_native(&made.builder);
    made_view_open(&made);
    const struct hs_view *view = &made.view;
    struct hs_error err = HS_ERROR_INIT;
    struct hs_root_rows rows;
    struct hs_root_query query = everything;
    query.group_by = HS_BY_THREAD;
    selects(view, &query, NAMES("thread 8", "thread 9"), 1);
    assert_int_equal(hs_root_rows_select(view, &query, &rows, &err), HS_OK);
    const struct hs_root_row *row = row_at(view, &rows, 0, "thread 8", HS_ROOT_STACK);
    assert_int_equal(row->n_parts, 3);
    assert_int_equal(row->retained.words, 2 + 3 + 4 + 6); /* 8 is kept by two parts together */
    assert_int_equal(row->retained.objects, 4);
    assert_int_equal(rows.shared_words, 0);
    assert_int_equal(row->reachable.words, 8 + 3 + 10); /* at most: 8 counts for both */
    hs_root_rows_fini(&rows);
    query.min_words = 2; /* of the whole row */
    selects(view, &query, NAMES("thread 8"), 2);

    query = everything;
    query.group_by = HS_BY_FRAME;
    assert_int_equal(hs_root_rows_select(view, &query, &rows, &err), HS_OK);
    assert_int_equal(rows.n_rows, 2);
    row = row_at(view, &rows, 0, "#1 f", HS_ROOT_STACK);
    assert_int_equal(row->n_parts, 2);
    assert_int_equal(row->retained.words, 2 + 3);
    assert_int_equal(row_at(view, &rows, 1, "#1 f", HS_ROOT_STACK)->retained.words, 1);
    assert_int_equal(rows.n_others, 2); /* the unit of the globals, the module of the tls */
    hs_root_rows_fini(&rows);
    made_view_close(&made);
}

/* Words that node 0 does not reach when the parts of a thread are taken out, by definition. */
static uint64_t kept_by_thread(const struct hs_view *view, uint32_t thread)
{
    enum { MOST = 4096 };
    static bool seen[MOST];
    uint64_t words = 0;
    memset(seen, 0, sizeof seen);
    seen[0] = true;
    for (bool changed = true; changed;) { /* backwards: a node is seen when one of its sources is */
        changed = false;
        for (uint32_t node = 1; node < view->n_nodes; node++) {
            hs_node source = 0;
            if (node < view->n_tree) {
                const struct hs_root *root = hs_snap_root(view->snap, node);
                if (root->level == HS_LEVEL_MODULE && root->thread == thread)
                    continue;
                changed |= !seen[node] && seen[root->parent];
                seen[node] |= seen[root->parent];
                continue;
            }
            struct hs_row row = hs_index_predecessors(view->index, node);
            while (!seen[node] && hs_row_next(&row, &source))
                changed |= seen[node] = seen[source];
        }
    }
    for (uint32_t node = (uint32_t)view->n_tree; node < view->n_nodes; node++)
        if (!seen[node] && hs_index_is_reached(view->index, node))
            words += 3;
    return words;
}

/* Random heaps, dense and sparse, with roots of three threads and others. */
static void fill_threads(struct hs_graph_builder *b, uint64_t *random, uint32_t n)
{
    static const unsigned kinds[] = {HS_ROOT_STACK, HS_ROOT_REGISTER, HS_ROOT_TLS, HS_ROOT_GLOBAL};
    hs_graph_builder_blocks(b, n, 3);
    for (uint32_t i = 0; i < n + hs_random_below(random, n); i++)
        hs_graph_builder_edge(b, hs_random_below(random, n), hs_random_below(random, n),
                              HS_EDGE_EXACT);
    for (uint32_t i = 0; i < 2 + hs_random_below(random, 9); i++) {
        unsigned kind = kinds[hs_random_below(random, 8) % 7 % 4];
        char module[16];
        (void)snprintf(module, sizeof module, "%u", 1 + hs_random_below(random, 3));
        hs_graph_builder_leaf(b, kind, module, "u", "v", hs_random_below(random, n));
    }
    for (size_t i = 0; i < b->n_groups; i++)
        if (b->groups[i].level == HS_LEVEL_MODULE && b->groups[i].kind != HS_ROOT_GLOBAL)
            b->groups[i].thread =
                (uint32_t)(hs_strtab_get(&b->strings, b->groups[i].name)[0] - '0');
}

static void threads_by_brute_force(void **state)
{
    uint64_t n_joined = 0, n_together = 0;
    for (uint64_t seed = 1; seed <= 120; seed++) {
        struct made_view made = {0};
        uint64_t random = seed * 77 + 1;
        fill_threads(&made.builder, &random, 3 + hs_random_below(&random, 40));
        made_view_open(&made);
        const struct hs_view *view = &made.view;
        struct hs_error err = HS_ERROR_INIT;
        struct hs_root_rows rows;
        struct hs_root_query query = everything;
        query.group_by = HS_BY_THREAD;
        assert_int_equal(hs_root_rows_select(view, &query, &rows, &err), HS_OK);
        assert_int_equal(sum(view, &rows), view->totals->heap_words);
        for (size_t i = 0; i < rows.n_rows; i++) {
            const struct hs_root_row *row = &rows.rows[i];
            uint32_t thread = hs_snap_root(view->snap, row->node)->thread;
            assert_int_equal(row->retained.words, kept_by_thread(view, thread));
            assert_true(row->reachable.words >= row->retained.words);
            n_joined += row->n_parts > 1;
            n_together += row->n_parts > 1 &&
                          row->retained.words > hs_index_retained(view->index, row->node).words;
        }
        hs_root_rows_fini(&rows);
        made_view_close(&made);
    }
    assert_true(n_joined > 50 && n_together > 20);
}

/* What is static is counted apart. */
static void static_words(void **state)
{
    struct made_view made = {0};
    fill(&made.builder);
    made_view_open(&made);
    struct hs_root_query query = everything;
    query.kinds = 1U << HS_ROOT_C_ROOT;
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
    struct made_view made = {0};
    made_view_open(&made);
    selects(&made.view, &everything, NAMES(), 0);
    made_view_close(&made);
}

static void fails_at_each_allocation(const struct made_view *made,
                                     const struct hs_root_query *query, size_t n_rows)
{
    FAIL_EACH (each, .at_least = 1) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_root_rows rows = {.n_rows = 77};
        hs_status status =
            FAIL_EACH_TRY(each, hs_root_rows_select(&made->view, query, &rows, &err));
        if (status == HS_OK) {
            assert_int_equal(rows.n_rows, n_rows);
            hs_root_rows_fini(&rows);
        } else {
            assert_int_equal(rows.n_rows, 77);
        }
    }
}

static void out_of_memory(void **state)
{
    struct made_view made = {0};
    for (int i = 0; i < 100; i++) {
        uint32_t block = hs_graph_builder_block(&made.builder, 3, false);
        hs_graph_builder_leaf(&made.builder, HS_ROOT_GLOBAL, "m", "U", "U.x", block);
    }
    made_view_open(&made);
    fails_at_each_allocation(&made, &everything, 100);
    made_view_close(&made);
    struct made_view native = {0};
    fill_native(&native.builder);
    made_view_open(&native);
    struct hs_root_query query = everything;
    query.group_by = HS_BY_THREAD;
    fails_at_each_allocation(&native, &query, 2);
    made_view_close(&native);
}

/* ---- roots that are alike */

enum { N_ARRAYS = 6, MOST_SLOTS = 20 };

/* Fills so many arrays of roots of their own blocks, in rows of some links. */
static void fill_arrays(struct hs_graph_builder *b, uint64_t *random, uint32_t *n_slots,
                        uint64_t (*words)[MOST_SLOTS])
{
    char name[32];
    for (uint32_t array = 0; array < N_ARRAYS; array++) {
        n_slots[array] = hs_random_below(random, MOST_SLOTS + 1);
        bool has_largest = hs_random_below(random, 3) == 0;
        for (uint32_t slot = 0; slot < n_slots[array]; slot++) {
            uint32_t n = 2 + hs_random_below(random, 9) + (has_largest && slot == 0 ? 4000 : 0);
            uint32_t top = hs_graph_builder_block(b, n, false);
            uint32_t below = hs_graph_builder_block(b, 2, false);
            hs_graph_builder_edge(b, top, below, HS_EDGE_EXACT);
            (void)snprintf(name, sizeof name, "v%u[%u].first", array, slot);
            (void)hs_graph_builder_leaf(b, HS_ROOT_GLOBAL, "m", "U", name, top);
            words[array][slot] = n + 2;
        }
    }
}

/* The words of an array that is one row: of eight roots and more, none of which has 70 %. */
static uint64_t words_of_fold(uint32_t n_slots, const uint64_t *words)
{
    uint64_t all = 0, largest = 0;
    for (uint32_t slot = 0; slot < n_slots; slot++) {
        all += words[slot];
        largest = words[slot] > largest ? words[slot] : largest;
    }
    return n_slots >= HS_FOLD_LEAST_ROOTS && largest * 100 <= all * HS_FOLD_LARGEST_PERCENT ? all
                                                                                            : 0;
}

static void check_folds(const struct hs_root_rows *rows, const uint32_t *n_slots,
                        const uint64_t (*words)[MOST_SLOTS], size_t *ret_n)
{
    size_t n_folds = 0, n_rows = 0;
    for (uint32_t array = 0; array < N_ARRAYS; array++) {
        uint64_t expected = words_of_fold(n_slots[array], words[array]);
        bool is_there = expected == 0;
        n_rows += expected != 0 ? 1 : n_slots[array];
        for (size_t i = 0; i < rows->n_rows && !is_there; i++)
            is_there = rows->rows[i].is_fold && rows->rows[i].n_parts == n_slots[array] &&
                       rows->rows[i].retained.words == expected;
        assert_true(is_there);
        n_folds += expected != 0;
    }
    assert_int_equal(rows->n_rows, n_rows);
    *ret_n += n_folds;
}

static void alike_by_brute_force(void **state)
{
    uint64_t random = 43;
    size_t n_folds = 0;
    for (unsigned round = 0; round < 60; round++) {
        struct made_view made = {0};
        struct hs_error err = HS_ERROR_INIT;
        struct hs_root_folds folds;
        struct hs_root_rows rows;
        uint32_t n_slots[N_ARRAYS];
        uint64_t words[N_ARRAYS][MOST_SLOTS];
        struct hs_root_query query = everything;
        fill_arrays(&made.builder, &random, n_slots, words);
        made_view_open(&made);
        assert_int_equal(hs_root_folds_find(&made.view, 1, &folds, &err), HS_OK);
        query.folds = &folds;
        assert_int_equal(hs_root_rows_select(&made.view, &query, &rows, &err), HS_OK);
        assert_int_equal(sum(&made.view, &rows), made.view.totals->heap_words);
        check_folds(&rows, n_slots, (const uint64_t(*)[MOST_SLOTS])words, &n_folds);
        hs_root_rows_fini(&rows);
        hs_root_folds_fini(&folds);
        made_view_close(&made);
    }
    assert_true(n_folds > 60);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(by_root),
        cmocka_unit_test(by_group),
        cmocka_unit_test(static_words),
        cmocka_unit_test(threads_by_brute_force),
        cmocka_unit_test(variables),
        cmocka_unit_test(one_row_for_a_thread),
        cmocka_unit_test(nothing),
        cmocka_unit_test(out_of_memory),
        cmocka_unit_test(alike_by_brute_force),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
