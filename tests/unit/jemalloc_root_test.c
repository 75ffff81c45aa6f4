/* links: hs_heaps */
/* The root of the radix tree: found without symbols in every layout, not mistaken for a copy of its
 * words, and hostile data costs a bounded time. */
#include "unit.h"

#include "base/alloc.h"
#include "base/progress.h"
#include "fail_each.h"
#include "fake_jemalloc.h"

static struct fake_jemalloc fake;
static struct jemalloc_tree trees[JEMALLOC_MAX_TREES];
static const uint64_t all[8] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};

static void set_up_layout(unsigned bits, bool is_52)
{
    fake_jemalloc_init(&fake, bits, is_52);
    fake_jemalloc_slab(&fake, 1, 3, all);
    fake_jemalloc_slab(&fake, 5, 7, all);
    fake_jemalloc_extent(&fake, 5, 36, false, JEMALLOC_ACTIVE);
}

static void tear_down(void)
{
    for (size_t i = 0; i < JEMALLOC_MAX_TREES; i++)
        hs_jemalloc_tree_fini(&trees[i]);
    fake_jemalloc_fini(&fake);
}

static size_t find(void)
{
    struct hs_error err = HS_ERROR_INIT;
    size_t n = 99;

    for (size_t i = 0; i < JEMALLOC_MAX_TREES; i++)
        hs_jemalloc_tree_fini(&trees[i]);
    assert_int_equal(hs_jemalloc_find(&fake.process, trees, &n, &err), HS_OK);
    return n;
}

static void sizes_of_classes(void **state)
{
    static const uint64_t first[2][14] = {
        {8, 16, 24, 32, 40, 48, 56, 64, 80, 96, 112, 128, 160, 192},
        {8, 16, 32, 48, 64, 80, 96, 112, 128, 160, 192, 224, 256, 320},
    };

    for (unsigned k = 0; k < 2; k++) {
        struct jemalloc_tree tree = {.lg_quantum = (uint8_t)(3 + k)};
        unsigned n = k == 0 ? 235 : 232;
        for (unsigned i = 0; i < 14; i++)
            assert_int_equal(hs_jemalloc_class_bytes(&tree, i), first[k][i]);
        assert_int_equal(hs_jemalloc_class_bytes(&tree, jemalloc_n_small(&tree) - 1), 14336);
        assert_int_equal(hs_jemalloc_class_bytes(&tree, jemalloc_n_small(&tree)), 16384);
        assert_int_equal(hs_jemalloc_class_bytes(&tree, n - 1), UINT64_C(0x7000000000000000));
        assert_int_equal(hs_jemalloc_class_bytes(&tree, n), 0);
    }
}

static void found_in_every_layout(void **state)
{
    static const struct {
        unsigned bits;
        bool is_52;
    } layouts[] = {{48, false}, {48, true}, {57, false}, {57, true}};

    for (size_t i = 0; i < 4; i++) {
        set_up_layout(layouts[i].bits, layouts[i].is_52);
        assert_int_equal(find(), 1);
        assert_int_equal(trees[0].root, FAKE_JE_ROOT_AT);
        assert_int_equal(trees[0].bits, layouts[i].bits);
        assert_int_equal(trees[0].is_52, layouts[i].is_52);
        assert_int_equal(trees[0].n_leaves, 1);
        assert_int_equal(trees[0].leaves[0].address, FAKE_JE_LEAF_AT);
        tear_down();
    }
}

static void a_copy_of_a_word_is_no_root(void **state)
{
    set_up_layout(48, false);
    uint64_t word = FAKE_JE_ROOT_AT - FAKE_JE_DATA_AT + (FAKE_JE_HEAP_AT >> 30) * 8;
    for (unsigned i = 1; i <= 3; i++) /* before and after the true place, more votes than it has */
        fake_put(fake.data, word + 64 * i, FAKE_JE_LEAF_AT);
    /* A root with wrong words is less than strictly right; each copy is as wrong. Nothing may be
     * taken twice. */
    assert_int_equal(find(), 1);
    for (unsigned i = 1; i <= 3; i++)
        fake_put(fake.data, word + 64 * i, 0);
    fake_put(fake.data, 0x800, FAKE_JE_LEAF_AT); /* no room for a root before that one */
    fake_put(fake.data, 0x808, FAKE_JE_HEAP_AT);
    assert_int_equal(find(), 1);
    assert_int_equal(trees[0].root, FAKE_JE_ROOT_AT);
    tear_down();
}

static void the_clean_place_wins(void **state)
{
    set_up_layout(48, false);
    /* a copy behind the root array: seen from the true root it is not there */
    uint64_t end = FAKE_JE_ROOT_AT - FAKE_JE_DATA_AT + (1 << 21);
    fake_put(fake.data, end + 0x40, FAKE_JE_LEAF_AT);
    assert_int_equal(find(), 1);
    assert_int_equal(trees[0].root, FAKE_JE_ROOT_AT);
    assert_int_equal(trees[0].n_damaged, 0);
    tear_down();
}

static void a_few_wrong_words_are_counted(void **state)
{
    set_up_layout(48, false);
    uint64_t root = FAKE_JE_ROOT_AT - FAKE_JE_DATA_AT;
    fake_put(fake.data, root + 8, 0x1234);           /* nowhere */
    fake_put(fake.data, root + 16, FAKE_JE_LEAF_AT); /* a leaf twice */
    assert_int_equal(find(), 1);
    assert_int_equal(trees[0].n_leaves, 1);
    assert_int_equal(trees[0].n_damaged, 2);
    tear_down();
}

static void other_programs_have_none(void **state)
{
    set_up_layout(48, false);
    for (unsigned i = 0; i < fake.n_extents; i++) /* every extent elsewhere than it is entered */
        fake_put(fake_jemalloc_edata(&fake, i), 8, FAKE_JE_HEAP_AT + (80 + 7 * i) * 4096);
    assert_int_equal(find(), 0);
    tear_down();
    set_up_layout(48, false);
    fake.mappings[0].writable = false;
    assert_int_equal(find(), 0);
    fake.mappings[0].writable = true;
    fake.mappings[0].inode = 0;
    assert_int_equal(find(), 0);
    tear_down();
}

static void hostile_data_is_bounded(void **state)
{
    set_up_layout(48, false);
    /* every word points to something large and empty, by turns to two places */
    memset(fake.base + 0x80000, 0, 0x280000);
    for (uint64_t i = 0; i < FAKE_JE_DATA_BYTES; i += 8)
        fake_put(fake.data, i, FAKE_JE_LEAF_AT + (i / 8 % 2) * 64);
    uint64_t began = hs_now_ns();
    assert_int_equal(find(), 0);
    /* and leaves that point to themselves */
    for (uint64_t i = 0x80000; i < 0x300000; i += 8)
        fake_put(fake.base, i, FAKE_JE_LEAF_AT + i % 4096 * 64);
    assert_int_equal(find(), 0);
    assert_true(hs_now_ns() - began < UINT64_C(60) * 1000000000);
    tear_down();
}

static void every_allocation_may_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;

    set_up_layout(48, false);
    FAIL_EACH (each, .at_least = 1) {
        size_t n = 0;
        (void)FAIL_EACH_TRY(each, hs_jemalloc_find(&fake.process, trees, &n, &err));
        for (size_t i = 0; i < JEMALLOC_MAX_TREES; i++)
            hs_jemalloc_tree_fini(&trees[i]);
    }
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(sizes_of_classes),
        cmocka_unit_test(found_in_every_layout),
        cmocka_unit_test(a_copy_of_a_word_is_no_root),
        cmocka_unit_test(the_clean_place_wins),
        cmocka_unit_test(a_few_wrong_words_are_counted),
        cmocka_unit_test(other_programs_have_none),
        cmocka_unit_test(hostile_data_is_bounded),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
