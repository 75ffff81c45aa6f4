/* links: hs_runtimes hs_process hs_format hs_symbols hs_base */
/* The tree of roots: order, groups, what inner nodes show, size, memory. */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "process/roots.h"

struct fixture {
    struct hs_roots roots;
    struct hs_strtab strings;
    struct hs_root *tree;
    uint64_t n_tree;
};

/* Blocks of even "addresses" exist, at rank address / 2. */
static uint64_t rank_even(const void *context, hs_addr block)
{
    return block % 2 == 0 ? block / 2 : HS_NO_NODE;
}

static const struct hs_rank_of ranks = {rank_even, NULL};

static hs_status add(struct fixture *f, enum hs_root_kind kind, const char *module,
                     const char *unit, const char *name, hs_addr target, struct hs_error *err)
{
    struct hs_root_leaf leaf = {.root = {.kind = (uint8_t)kind, .field = HS_NO_FIELD},
                                .target = target};
    HS_TRY(hs_strtab_add(&f->strings, module, &leaf.group_module, err));
    HS_TRY(hs_strtab_add(&f->strings, unit, &leaf.group_unit, err));
    HS_TRY(hs_strtab_add(&f->strings, name, &leaf.root.name, err));
    leaf.root.module = leaf.group_module;
    return hs_roots_add(&f->roots, &leaf, err);
}

static void must_add(struct fixture *f, enum hs_root_kind kind, const char *module,
                     const char *unit, const char *name, hs_addr target)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(add(f, kind, module, unit, name, target, &err), HS_OK);
}

static void finish(struct fixture *f)
{
    struct hs_error err = HS_ERROR_INIT;
    assert_int_equal(hs_roots_finish(&f->roots, &f->strings, &ranks, &f->tree, &f->n_tree, &err),
                     HS_OK);
}

static void fixture_fini(struct fixture *f)
{
    hs_roots_fini(&f->roots);
    hs_strtab_fini(&f->strings);
    hs_free(f->tree);
}

static const char *name_of(const struct fixture *f, uint64_t node)
{
    return hs_strtab_get(&f->strings, f->tree[node].name);
}

/* What every tree must be: parents first, one level apart except that a leaf may stand below no
 * variable, only leaves with targets. */
static void assert_tree(const struct fixture *f)
{
    assert_int_equal(f->tree[0].level, HS_LEVEL_ALL);
    for (uint64_t i = 1; i < f->n_tree; i++) {
        const struct hs_root *r = &f->tree[i];
        assert_true(r->parent < i);
        unsigned above = f->tree[r->parent].level;
        if (r->level == HS_LEVEL_LEAF)
            assert_true(above == HS_LEVEL_UNIT || above == HS_LEVEL_VARIABLE);
        else
            assert_int_equal(r->level, above + 1);
        if (r->level != HS_LEVEL_LEAF)
            assert_true(r->target == HS_NO_NODE);
        if (r->level > HS_LEVEL_KIND)
            assert_int_equal(r->kind, f->tree[r->parent].kind);
    }
}

static void groups_leaves_that_come_in_any_order(void **state)
{
    struct fixture f = {0};
    must_add(&f, HS_ROOT_STACK, "thread 1", "#1 f", "s1", 2);
    must_add(&f, HS_ROOT_GLOBAL, "prog", "M", "g1", 4);
    must_add(&f, HS_ROOT_STACK, "thread 2", "#1 f", "s2", 6);
    must_add(&f, HS_ROOT_STACK, "thread 1", "#2 g", "s3", 8);
    must_add(&f, HS_ROOT_STACK, "thread 1", "#1 f", "s4", 9);
    finish(&f);
    assert_tree(&f);
    static const char *const expected[] = {"all", "stacks",  "thread 1", "#1 f",     "s1",
                                           "s4",  "#2 g",    "s3",       "thread 2", "#1 f",
                                           "s2",  "globals", "prog",     "M",        "g1"};
    assert_int_equal(f.n_tree, sizeof expected / sizeof *expected);
    for (uint64_t i = 0; i < f.n_tree; i++)
        assert_string_equal(name_of(&f, i), expected[i]);
    assert_int_equal(f.tree[4].target, f.n_tree + 1);
    assert_true(f.tree[5].target == HS_NO_NODE); /* 9 is no block */
    assert_int_equal(f.tree[14].target, f.n_tree + 2);
    fixture_fini(&f);
}

static void one_name_under_two_parents_is_two_groups(void **state)
{
    struct fixture f = {0};
    must_add(&f, HS_ROOT_GLOBAL, "x", "x", "x", 2);
    must_add(&f, HS_ROOT_C_ROOT, "x", "x", "x", 2);
    finish(&f);
    assert_tree(&f);
    assert_int_equal(f.n_tree, 1 + 2 * 4);
    fixture_fini(&f);
}

static void a_group_is_as_sure_as_its_least_sure_leaf(void **state)
{
    struct fixture f = {0};
    must_add(&f, HS_ROOT_STACK, "t", "u", "sure", 2);
    must_add(&f, HS_ROOT_STACK, "t", "u", "guessed", 2);
    must_add(&f, HS_ROOT_GLOBAL, "t", "u", "sure too", 2);
    must_add(&f, HS_ROOT_FINALISER, "t", "u", "weak", 2);
    f.roots.leaves[1].root.certainty = HS_CONSERVATIVE;
    f.roots.leaves[3].root.weak = true;
    finish(&f);
    assert_tree(&f);
    for (uint64_t i = 1; i < f.n_tree; i++) {
        if (f.tree[i].kind == HS_ROOT_STACK && f.tree[i].level < HS_LEVEL_LEAF)
            assert_int_equal(f.tree[i].certainty, HS_CONSERVATIVE);
        if (f.tree[i].kind == HS_ROOT_GLOBAL)
            assert_int_equal(f.tree[i].certainty, HS_EXACT);
        assert_int_equal(f.tree[i].weak, f.tree[i].kind == HS_ROOT_FINALISER);
    }
    assert_false(f.tree[0].weak);
    fixture_fini(&f);
}

static void frames_keep_their_place_in_their_group(void **state)
{
    struct fixture f = {0};
    must_add(&f, HS_ROOT_STACK, "thread 7", "#3 f (a.ml:5)", "f slot", 2);
    f.roots.leaves[0].root.frame = 3;
    f.roots.leaves[0].root.line = 5;
    f.roots.leaves[0].root.thread = 7;
    finish(&f);
    assert_int_equal(f.tree[2].thread, 7);
    assert_int_equal(f.tree[2].frame, 0);
    assert_int_equal(f.tree[3].frame, 3);
    assert_int_equal(f.tree[3].line, 5);
    fixture_fini(&f);
}

static void must_add_slot(struct fixture *f, const char *variable, const char *name,
                          hs_addr address, uint64_t offset)
{
    struct hs_error err = HS_ERROR_INIT;
    must_add(f, HS_ROOT_GLOBAL, "prog", "a.c", name, 2);
    struct hs_root_leaf *leaf = &f->roots.leaves[f->roots.n_leaves - 1];
    assert_int_equal(hs_strtab_add(&f->strings, variable, &leaf->group_variable, &err), HS_OK);
    leaf->root.symbol = leaf->group_variable;
    leaf->root.file = leaf->group_unit;
    leaf->root.line = 12;
    leaf->root.address = address;
    leaf->root.offset = offset;
}

static void slots_of_a_variable_stand_below_it(void **state)
{
    struct fixture f = {0};
    must_add_slot(&f, "server", "server.db", 0x1008, 8);
    must_add_slot(&f, NULL, "alone", 0x900, 0);
    must_add_slot(&f, "table", "table[1]", 0x2008, 8);
    must_add_slot(&f, "server", "server.lua", 0x1020, 0x20);
    f.roots.leaves[3].root.certainty = HS_CONSERVATIVE;
    finish(&f);
    assert_tree(&f);
    static const char *const expected[] = {"all",   "globals", "prog",      "a.c",
                                           "alone", "server",  "server.db", "server.lua",
                                           "table", "table[1]"};
    assert_int_equal(f.n_tree, sizeof expected / sizeof *expected);
    for (uint64_t i = 0; i < f.n_tree; i++)
        assert_string_equal(name_of(&f, i), expected[i]);
    const struct hs_root *server = &f.tree[5];
    assert_int_equal(server->level, HS_LEVEL_VARIABLE);
    assert_true(server->target == HS_NO_NODE);
    assert_int_equal(server->parent, 3);
    assert_int_equal(server->certainty, HS_CONSERVATIVE);
    assert_int_equal(server->address, 0x1000);
    assert_int_equal(server->offset, 0);
    assert_int_equal(server->line, 12);
    assert_int_equal(server->symbol, server->name);
    assert_int_equal(f.tree[4].parent, 3);
    assert_int_equal(f.tree[4].level, HS_LEVEL_LEAF);
    assert_int_equal(f.tree[7].parent, 5);
    assert_int_equal(f.tree[9].parent, 8);
    assert_int_equal(f.tree[8].certainty, HS_EXACT);
    assert_int_equal(f.tree[3].line, 0); /* a source file is no frame */
    fixture_fini(&f);
}

/* A variable of the same name in another file, and one that is called like its file. */
static void variables_belong_to_their_unit(void **state)
{
    struct fixture f = {0};
    struct hs_error err = HS_ERROR_INIT;
    must_add_slot(&f, "a.c", "x", 8, 16);
    must_add_slot(&f, "a.c", "y", 16, 24);
    assert_int_equal(hs_strtab_add(&f.strings, "b.c", &f.roots.leaves[1].group_unit, &err), HS_OK);
    finish(&f);
    assert_tree(&f);
    assert_int_equal(f.n_tree, 3 + 2 * 3);
    assert_int_equal(f.tree[4].address, 0); /* an offset larger than the address is not trusted */
    fixture_fini(&f);
}

static void no_roots_give_a_tree_of_one(void **state)
{
    struct fixture f = {0};
    finish(&f);
    assert_int_equal(f.n_tree, 1);
    assert_string_equal(name_of(&f, 0), "all");
    assert_false(f.tree[0].weak);
    fixture_fini(&f);
    hs_roots_fini(NULL);
}

static void missing_group_names_are_said(void **state)
{
    struct fixture f = {0};
    must_add(&f, HS_ROOT_GLOBAL, "", NULL, "x", 2);
    finish(&f);
    assert_string_equal(name_of(&f, 2), "(none)");
    assert_string_equal(name_of(&f, 3), "(none)");
    fixture_fini(&f);
}

/* A million leaves in a hundred thousand groups, the groups interleaved: linear or it takes hours.
 */
static void many_leaves_are_linear(void **state)
{
    enum { LEAVES = 1000000, GROUPS = 100000 };
    struct fixture f = {0};
    struct hs_error err = HS_ERROR_INIT;
    for (uint64_t i = 0; i < LEAVES; i++) {
        struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_STACK, .field = HS_NO_FIELD},
                                    .target = 2 * i,
                                    .group_module = 1,
                                    .group_unit = (hs_str)(i % GROUPS) + 1,
                                    .group_variable = (hs_str)(i / GROUPS % 2)};
        assert_int_equal(hs_roots_add(&f.roots, &leaf, &err), HS_OK);
    }
    finish(&f);
    assert_int_equal(f.n_tree, 1 + 1 + 1 + 2 * GROUPS + LEAVES);
    assert_tree(&f);
    fixture_fini(&f);
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 5) {
        struct fixture f = {0};
        struct hs_error err = HS_ERROR_INIT;
        fail_each_begin(&each);
        hs_status status = HS_OK;
        for (unsigned i = 0; i < 200 && status == HS_OK; i++) {
            char unit[16];
            snprintf(unit, sizeof unit, "u%u", i);
            status = add(&f, HS_ROOT_GLOBAL, "m", unit, "x", 2, &err);
        }
        if (status == HS_OK)
            status = hs_roots_finish(&f.roots, &f.strings, &ranks, &f.tree, &f.n_tree, &err);
        (void)fail_each_end(&each, status);
        fixture_fini(&f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(groups_leaves_that_come_in_any_order),
        cmocka_unit_test(one_name_under_two_parents_is_two_groups),
        cmocka_unit_test(a_group_is_as_sure_as_its_least_sure_leaf),
        cmocka_unit_test(frames_keep_their_place_in_their_group),
        cmocka_unit_test(slots_of_a_variable_stand_below_it),
        cmocka_unit_test(variables_belong_to_their_unit),
        cmocka_unit_test(no_roots_give_a_tree_of_one),
        cmocka_unit_test(missing_group_names_are_said),
        cmocka_unit_test(many_leaves_are_linear),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
