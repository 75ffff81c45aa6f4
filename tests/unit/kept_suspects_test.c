/* links: hs_analysis */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <string.h>

#include "analysis/kept_suspects.h"
#include "analysis/suspect_finds.h"
#include "base/alloc.h"
#include "fail_each.h"
#include "made_view.h"

static const struct hs_suspect_query query = {
    .threshold_percent = 5, .follow_percent = 50, .follow_joint_percent = 50, .max_rows = 5};

static char *text(const char *words)
{
    struct hs_error err = HS_ERROR_INIT;
    char *ret = NULL;
    assert_int_equal(hs_strdup(words, &ret, &err), HS_OK);
    return ret;
}

static void fill_accumulation(struct hs_accumulation *at)
{
    for (unsigned i = 0; i <= HS_GROUP_STEPS; i++)
        at->steps[i] = (struct hs_accumulated){i % 2, 100 + i, 200 + i, 300 + i};
    at->n_steps = HS_GROUP_STEPS + 1;
    at->members = 3;
    at->bulk = (struct hs_accumulated){HS_UNTYPED, 4, 5, 6};
    for (unsigned i = 0; i < 2; i++) {
        at->parts[i] = (struct hs_accumulated){i, 7 + i, 8 + i, 9 + i};
        at->classes[i] = (struct hs_accumulated){i, 10 + i, 11 + i, 12 + i};
        at->class_tops[i] = i == 0 ? 2 : HS_NO_NODE;
    }
    at->median_words = 13;
    at->largest_words = 14;
    for (unsigned i = 0; i < HS_MEMBER_SIZES; i++)
        at->sizes[i] = (struct hs_member_size){15 + i, 16 + i};
    at->top = 3;
    at->point = 4;
    at->n_direct = 17;
}

/* Gives each field a value of its own. */
static void fill(struct hs_suspects *found)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_suspect *row;
    assert_int_equal(hs_suspect_add(found, HS_SUSPECT_JOINT, &row, &err), HS_OK);
    row->words = 1001;
    row->objects = HS_SUSPECT_UNKNOWN;
    row->certainty = 2;
    for (unsigned i = 0; i < HS_SUSPECT_SHOWN_ROOTS; i++)
        row->roots[i] = i + 1;
    row->n_roots = 3;
    row->n_shown = HS_SUSPECT_SHOWN_ROOTS;
    assert_int_equal(HS_ALLOC(&row->all_roots, 3, &err), HS_OK);
    for (unsigned i = 0; i < 3; i++)
        row->all_roots[i] = 5 - i;
    row->fold_name = text("fold");
    for (uint32_t i = 0; i < HS_SUSPECT_MODULES; i++)
        row->modules[i] = (struct hs_suspect_module){i + 1, i + 20};
    row->n_modules = HS_SUSPECT_MODULES;
    row->n_on_stacks = 31;
    row->n_threads = 32;
    row->outermost = 3;
    row->tier = 1;
    row->doubtful_words = 33;
    row->reserve = 1;
    row->untyped_words = 34;
    row->plain_words = 35;
    row->n_aliases = 36;
    row->alias = text("alias");
    row->set = 37;
    row->type = 1;
    row->is_class = true;
    row->count = 38;
    row->each_words = 39;
    row->held_words = 40;
    fill_accumulation(&row->at);
    row->holder = text("holder.of[*]");
    row->class_holders[0] = text("first");
    row->class_holders[1] = text("second");
    row->holder_root = 2;
    row->elements = 68;
    row->within = (struct hs_accumulated){1, 69, 70, 71};
    row->class_within[0] = 1;
    row->class_within[1] = HS_UNTYPED;
    row->entries = 61;
    row->room = 62;
    row->site = text("main at a.c:1");
    row->site_percent = 41;
    row->waste = HS_WASTE_UNKNOWN;
    row->evidence = 5;
    assert_int_equal(hs_suspect_add(found, HS_SUSPECT_LOST, &row, &err), HS_OK);
    row->evidence = HS_NO_NODE;
    found->n_others = 51;
    found->threshold_words = 52;
    found->garbage_words = 53;
    found->garbage_type = 0;
    found->garbage_count = 55;
    found->garbage_held_words = 56;
    found->garbage_cycle = text("handler.__self__");
    found->largest_root = 2;
    found->largest_words = 54;
}

static void assert_same_text(char **a, char **b)
{
    assert_int_equal(*a == NULL, *b == NULL);
    if (*a != NULL)
        assert_string_equal(*a, *b);
    hs_free(*a);
    hs_free(*b);
    *a = *b = NULL;
}

/* Both lose what they own. */
static void assert_same(struct hs_suspects *a, struct hs_suspects *b)
{
    assert_int_equal(a->n, b->n);
    for (size_t i = 0; i < a->n; i++) {
        struct hs_suspect *x = &a->rows[i], *y = &b->rows[i];
        assert_same_text(&x->fold_name, &y->fold_name);
        assert_same_text(&x->alias, &y->alias);
        assert_same_text(&x->holder, &y->holder);
        assert_same_text(&x->class_holders[0], &y->class_holders[0]);
        assert_same_text(&x->class_holders[1], &y->class_holders[1]);
        assert_same_text(&x->site, &y->site);
        assert_int_equal(x->all_roots == NULL, y->all_roots == NULL);
        if (x->all_roots != NULL)
            assert_memory_equal(x->all_roots, y->all_roots, x->n_roots * sizeof(hs_node));
        hs_free(x->all_roots);
        hs_free(y->all_roots);
        x->all_roots = y->all_roots = NULL;
        assert_memory_equal(x, y, sizeof *x);
    }
    assert_int_equal(a->n_others, b->n_others);
    assert_int_equal(a->threshold_words, b->threshold_words);
    assert_int_equal(a->garbage_words, b->garbage_words);
    assert_int_equal(a->garbage_type, b->garbage_type);
    assert_int_equal(a->garbage_count, b->garbage_count);
    assert_int_equal(a->garbage_held_words, b->garbage_held_words);
    assert_same_text(&a->garbage_cycle, &b->garbage_cycle);
    assert_int_equal(a->largest_root, b->largest_root);
    assert_int_equal(a->largest_words, b->largest_words);
}

static bool is_found(struct made_view *made, const struct hs_suspect_query *asked,
                     struct hs_suspects *ret)
{
    struct hs_error err = HS_ERROR_INIT;
    bool found = false;
    *ret = (struct hs_suspects){0};
    assert_int_equal(hs_kept_suspects_find(&made->view, asked, ret, &found, &err), HS_OK);
    return found;
}

static void keep(struct made_view *made, const struct hs_suspects *found)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_kept_suspects_keep(&made->view, &query, found, &err), HS_OK);
}

static void open_heap(struct made_view *made, uint32_t n_blocks)
{
    made_list(&made->builder, n_blocks);
    (void)hs_graph_builder_type(&made->builder, "order", 0, 0);
    made_view_open(made);
}

static void close_heap(struct made_view *made)
{
    char path[sizeof made->path + 16];
    (void)snprintf(path, sizeof path, "%s.suspects", made->path);
    (void)unlink(path);
    made_view_close(made);
}

static void each_field_is_kept(void **state)
{
    (void)state;
    struct made_view made = {0};
    struct hs_suspects found = {0}, back;
    open_heap(&made, 20);
    fill(&found);
    assert_false(is_found(&made, &query, &back));
    keep(&made, &found);
    assert_true(is_found(&made, &query, &back));
    assert_same(&found, &back);
    hs_suspects_fini(&found);
    hs_suspects_fini(&back);
    close_heap(&made);
}

static void another_question_is_not_answered(void **state)
{
    (void)state;
    struct made_view made = {0};
    struct hs_suspects found = {0}, back;
    struct hs_suspect_query other = query;
    open_heap(&made, 20);
    fill(&found);
    keep(&made, &found);
    other.max_rows = 6;
    assert_false(is_found(&made, &other, &back));
    other = query;
    other.threshold_percent = 6;
    assert_false(is_found(&made, &other, &back));
    hs_suspects_fini(&found);
    close_heap(&made);
}

static size_t read_kept(const struct made_view *made, uint8_t *bytes, size_t most)
{
    char path[sizeof made->path + 16];
    (void)snprintf(path, sizeof path, "%s.suspects", made->path);
    FILE *file = fopen(path, "rb");
    assert_non_null(file);
    size_t n = fread(bytes, 1, most, file);
    assert_int_equal(fclose(file), 0);
    return n;
}

/* Whatever the bytes are, nothing but what was kept comes back, or nothing: of what is compressed
 * some bits may be another way to say the same. */
static void damage_is_of_no_use(void **state)
{
    (void)state;
    struct made_view made = {0};
    struct hs_suspects found = {0}, back;
    char path[sizeof made.path + 16];
    uint8_t bytes[4096];
    open_heap(&made, 20);
    fill(&found);
    keep(&made, &found);
    size_t n = read_kept(&made, bytes, sizeof bytes);
    (void)snprintf(path, sizeof path, "%s.suspects", made.path);
    FILE *file = fopen(path, "r+b");
    assert_non_null(file);
    for (size_t at = 0; at < n; at++) {
        const uint8_t wrong = bytes[at] ^ 0x21;
        assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
        assert_int_equal(fwrite(&wrong, 1, 1, file), 1);
        assert_int_equal(fflush(file), 0);
        if (is_found(&made, &query, &back)) {
            struct hs_suspects same = {0};
            fill(&same);
            assert_same(&same, &back);
            hs_suspects_fini(&same);
            hs_suspects_fini(&back);
        }
        assert_int_equal(fseek(file, (long)at, SEEK_SET), 0);
        assert_int_equal(fwrite(&bytes[at], 1, 1, file), 1);
    }
    assert_int_equal(fclose(file), 0);
    assert_true(is_found(&made, &query, &back));
    hs_suspects_fini(&back);
    assert_int_equal(truncate(path, (long)n - 1), 0);
    assert_false(is_found(&made, &query, &back));
    hs_suspects_fini(&found);
    close_heap(&made);
}

static void large_heaps_are_looked_through_once(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    struct made_view made = {0};
    struct hs_suspects first, again, kept;
    uint8_t bytes[2][4096];
    open_heap(&made, HS_KEPT_SUSPECTS_LEAST_BLOCKS);
    assert_int_equal(hs_suspects_find(&made.view, &query, &first, &err), HS_OK);
    assert_int_not_equal(first.n, 0);
    assert_true(is_found(&made, &query, &kept));
    assert_int_equal(hs_suspects_find(&made.view, &query, &again, &err), HS_OK);
    size_t n = read_kept(&made, bytes[0], sizeof bytes[0]);
    keep(&made, &kept);
    assert_int_equal(read_kept(&made, bytes[1], sizeof bytes[1]), n);
    assert_memory_equal(bytes[0], bytes[1], n);
    assert_int_equal(again.n, first.n);
    hs_suspects_fini(&again);
    hs_suspects_fini(&kept);
    hs_suspects_fini(&first);
    close_heap(&made);
}

static void each_allocation_may_fail(void **state)
{
    (void)state;
    struct made_view made = {0};
    struct hs_suspects found = {0};
    open_heap(&made, 20);
    fill(&found);
    FAIL_EACH (f, .at_least = 3, .may_do_without = true) {
        struct hs_error err = HS_ERROR_INIT;
        (void)!FAIL_EACH_TRY(f, hs_kept_suspects_keep(&made.view, &query, &found, &err));
    }
    keep(&made, &found);
    FAIL_EACH (f, .at_least = 6, .may_do_without = true) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_suspects back = {0};
        bool is_there = false;
        (void)!FAIL_EACH_TRY(f, hs_kept_suspects_find(&made.view, &query, &back, &is_there, &err));
        hs_suspects_fini(&back);
    }
    hs_suspects_fini(&found);
    close_heap(&made);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(each_field_is_kept),
        cmocka_unit_test(another_question_is_not_answered),
        cmocka_unit_test(damage_is_of_no_use),
        cmocka_unit_test(large_heaps_are_looked_through_once),
        cmocka_unit_test(each_allocation_may_fail),
    };
    (void)setenv("XDG_CACHE_HOME", "/dev/null", 1); /* where an earlier run may have left one */
    return cmocka_run_group_tests(tests, NULL, NULL);
}
