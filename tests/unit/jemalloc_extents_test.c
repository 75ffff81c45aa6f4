/* links: hs_heaps */
/* From leaves to page runs: every kind, damage that stays where it is, and sizes of large blocks.
 */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_jemalloc.h"

static struct fake_jemalloc fake;
static struct jemalloc_tree tree;
static const uint64_t some[8] = {0x5, 0, 0x1};

static void set_up_layout(unsigned bits, bool is_52)
{
    fake_jemalloc_init(&fake, bits, is_52);
    tree = (struct jemalloc_tree){.image = &fake.image};
}

static void tear_down(void)
{
    hs_jemalloc_tree_fini(&tree);
    fake_jemalloc_fini(&fake);
}

static void read_tree(void)
{
    struct hs_error err = HS_ERROR_INIT;
    bool accepted = false;

    hs_jemalloc_tree_fini(&tree);
    tree = (struct jemalloc_tree){.image = &fake.image, .bits = (uint8_t)fake.bits};
    assert_int_equal(hs_jemalloc_accept(&tree, FAKE_JE_ROOT_AT, false, &accepted, &err), HS_OK);
    assert_true(accepted);
    assert_int_equal(hs_jemalloc_read_extents(&tree, &err), HS_OK);
}

static unsigned count(unsigned kind)
{
    unsigned n = 0;
    for (size_t i = 0; i < tree.n_extents; i++)
        n += tree.extents[i].kind == kind;
    return n;
}

static void every_kind_in_every_layout(void **state)
{
    for (unsigned layout = 0; layout < 4; layout++) {
        set_up_layout(layout & 1 ? 57 : 48, (layout & 2) != 0);
        fake_jemalloc_slab(&fake, 3, 3, some);
        fake_jemalloc_slab(&fake, 7, 35, some);
        fake_jemalloc_extent(&fake, 5, 36, false, JEMALLOC_ACTIVE);
        fake_jemalloc_extent(&fake, 9, 232, false, JEMALLOC_DIRTY);
        fake_jemalloc_extent(&fake, 1, 232, false, JEMALLOC_MUZZY);
        fake_jemalloc_extent(&fake, 2, 232, false, JEMALLOC_RETAINED);
        read_tree();
        assert_int_equal(tree.n_extents, 6);
        assert_int_equal(count(JEMALLOC_SLAB), 2);
        assert_int_equal(count(JEMALLOC_LARGE), 1);
        assert_int_equal(count(JEMALLOC_UNUSED), 3);
        assert_int_equal(tree.extents[0].begin, FAKE_JE_HEAP_AT);
        assert_int_equal(jemalloc_n_regions(&tree, &tree.extents[0]), 256);
        assert_int_equal(jemalloc_n_regions(&tree, &tree.extents[1]), 2);
        assert_int_equal(jemalloc_n_free(&tree, &tree.extents[1]), 1);
        assert_int_equal(tree.extents[3].state, JEMALLOC_DIRTY);
        assert_int_equal(tree.extents[5].n_pages, 2);
        assert_int_equal(tree.n_torn, 0);
        tear_down();
    }
}

/* The classes follow from what explains slabs and large blocks. */
static void quantum_is_told_by_the_extents(void **state)
{
    for (unsigned layout = 0; layout < 8; layout++) {
        bool is_8 = (layout & 4) != 0;
        set_up_layout(layout & 1 ? 57 : 48, (layout & 2) != 0);
        fake.lg_quantum = is_8 ? 3 : 4;
        fake_jemalloc_slab(&fake, 3, is_8 ? 5 : 3, some); /* 48 bytes */
        fake_jemalloc_slab(&fake, 5, is_8 ? 8 : 5, some); /* 80 bytes */
        fake_jemalloc_slab(&fake, 7, is_8 ? 38 : 35, some);
        fake_jemalloc_extent(&fake, 5, is_8 ? 39 : 36, false, JEMALLOC_ACTIVE); /* 16 KiB */
        fake_jemalloc_extent(&fake, 9, is_8 ? 235 : 232, false, JEMALLOC_DIRTY);
        read_tree();
        assert_int_equal(tree.lg_quantum, fake.lg_quantum);
        assert_int_equal(tree.n_extents, 5);
        assert_int_equal(count(JEMALLOC_SLAB), 3);
        assert_int_equal(count(JEMALLOC_LARGE), 1);
        assert_int_equal(tree.n_damaged + tree.n_torn, 0);
        assert_int_equal(jemalloc_n_regions(&tree, &tree.extents[0]), 256);
        assert_int_equal(jemalloc_n_regions(&tree, &tree.extents[2]), 2);
        tear_down();
    }
}

static void damage_stays_where_it_is(void **state)
{
    set_up_layout(48, false);
    fake_jemalloc_slab(&fake, 3, 3, some); /* 48 bytes: 256 regions */
    unsigned lost = fake_jemalloc_slab(&fake, 3, 3, some);
    fake_jemalloc_slab(&fake, 3, 3, some);
    fake_jemalloc_extent(&fake, 5, 36, false, JEMALLOC_ACTIVE);
    read_tree();
    assert_int_equal(tree.n_extents, 4);
    assert_int_equal(tree.n_damaged, 0);

    uint8_t *edata = fake_jemalloc_edata(&fake, lost);
    uint64_t bits = hs_load_u64(edata), size = hs_load_u64(edata + 16);
    static const uint64_t sizes[] = {0, 4096, 2 * 4096, 4 * 4096, UINT64_MAX, UINT64_C(1) << 46};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        fake_put(edata, 16, sizes[i]);
        read_tree();
        assert_int_equal(count(JEMALLOC_SLAB), 2);
        assert_int_equal(count(JEMALLOC_LARGE), 1);
        assert_true(count(JEMALLOC_DAMAGED) >= 1);
        assert_true(tree.n_damaged >= 1);
        for (size_t k = 1; k < tree.n_extents; k++)
            assert_true(tree.extents[k].begin >=
                        tree.extents[k - 1].begin + tree.extents[k - 1].n_pages * JEMALLOC_PAGE);
    }
    fake_put(edata, 16, size);
    fake_put(edata, 8, FAKE_JE_HEAP_AT); /* says that it is the first */
    read_tree();
    assert_int_equal(count(JEMALLOC_SLAB), 2);
    assert_int_equal(tree.extents[1].kind, JEMALLOC_DAMAGED);
    assert_int_equal(tree.extents[1].n_pages, 3);
    fake_put(edata, 8, FAKE_JE_HEAP_AT + 3 * JEMALLOC_PAGE);
    fake_put(edata, 0, bits & ~(UINT64_C(1) << 12)); /* no slab, as it says */
    read_tree();
    assert_int_equal(count(JEMALLOC_DAMAGED), 1);
    tear_down();
}

static void what_is_being_changed_is_torn(void **state)
{
    set_up_layout(48, false);
    fake_jemalloc_slab(&fake, 3, 3, some);
    fake_jemalloc_slab(&fake, 1, 4, some);
    unsigned merging = fake_jemalloc_extent(&fake, 4, 232, false, 5);
    unsigned classless = fake_jemalloc_slab(&fake, 3, 3, some);
    uint8_t *edata = fake_jemalloc_edata(&fake, classless);
    fake_put(edata, 0, (hs_load_u64(edata) & ~(UINT64_C(255) << 20)) | UINT64_C(232) << 20);
    read_tree();
    assert_int_equal(count(JEMALLOC_SLAB), 2);
    assert_int_equal(count(JEMALLOC_UNUSED), 2);
    assert_int_equal(tree.n_torn, 2);
    assert_int_equal(tree.n_damaged, 0);
    assert_int_equal(tree.extents[2].begin, fake_jemalloc_begin(&fake, merging));
    /* a merged run's inner border keeps its state and loses its pointer */
    fake_put(fake_jemalloc_entry(&fake, fake.pen), 0, 0x4);
    read_tree();
    assert_int_equal(tree.n_extents, 4);
    tear_down();
}

static void hostile_leaves_are_walked_once(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    set_up_layout(48, false);
    fake_jemalloc_slab(&fake, 3, 3, some);
    fake_jemalloc_slab(&fake, 3, 3, some);
    read_tree();
    /* all entries name an extent, or nothing at all, or nowhere */
    uint8_t *leaf = fake.base + (FAKE_JE_LEAF_AT - FAKE_JE_BASE_AT);
    for (uint64_t i = 0; i < 1 << 18; i++)
        fake_put(leaf, 8 * i,
                 i % 3 == 0   ? FAKE_JE_EDATA_AT | UINT64_C(3) << 48 | 1
                 : i % 3 == 1 ? UINT64_C(0xffffffffffffffc1)
                              : UINT64_C(0x00e8000000001000));
    assert_int_equal(hs_jemalloc_read_extents(&tree, &err), HS_OK);
    assert_true(tree.n_extents <= 1 << 18);
    for (size_t k = 1; k < tree.n_extents; k++)
        assert_true(tree.extents[k].begin >=
                    tree.extents[k - 1].begin + tree.extents[k - 1].n_pages * JEMALLOC_PAGE);
    tear_down();
}

static void large_blocks(void **state)
{
    hs_addr begin;
    uint64_t n_bytes;

    set_up_layout(48, false);
    unsigned moved = fake_jemalloc_extent(&fake, 5, 36, false, JEMALLOC_ACTIVE);
    fake_put(fake_jemalloc_edata(&fake, moved), 8, FAKE_JE_HEAP_AT + 0x240);
    fake_jemalloc_extent(&fake, 6, 37, false, JEMALLOC_ACTIVE); /* 20,480 and a page */
    fake_jemalloc_extent(&fake, 8, 39, false, JEMALLOC_ACTIVE); /* 5.3.1: 7 pages of class 8 */
    fake_jemalloc_extent(&fake, 5, 4, false, JEMALLOC_ACTIVE);  /* sampled: 64 bytes */
    read_tree();
    assert_int_equal(count(JEMALLOC_LARGE), 4);
    assert_int_equal(tree.large_pad_bytes, JEMALLOC_PAGE);
    hs_jemalloc_large(&tree, &tree.extents[0], &begin, &n_bytes);
    assert_int_equal(begin, FAKE_JE_HEAP_AT + 0x240);
    assert_int_equal(n_bytes, 16384);
    hs_jemalloc_large(&tree, &tree.extents[1], &begin, &n_bytes);
    assert_int_equal(n_bytes, 20480);
    hs_jemalloc_large(&tree, &tree.extents[2], &begin, &n_bytes);
    assert_int_equal(n_bytes, 7 * 4096);
    hs_jemalloc_large(&tree, &tree.extents[3], &begin, &n_bytes);
    assert_int_equal(n_bytes, 64);
    tear_down();

    set_up_layout(48, false); /* opt.cache_oblivious off: nothing is padded */
    fake_jemalloc_extent(&fake, 4, 36, false, JEMALLOC_ACTIVE);
    fake_jemalloc_extent(&fake, 5, 37, false, JEMALLOC_ACTIVE);
    read_tree();
    assert_int_equal(tree.large_pad_bytes, 0);
    hs_jemalloc_large(&tree, &tree.extents[1], &begin, &n_bytes);
    assert_int_equal(n_bytes, 20480);
    tear_down();
}

static void every_allocation_may_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;

    set_up_layout(48, false);
    fake_jemalloc_slab(&fake, 3, 3, some);
    fake_jemalloc_slab(&fake, 3, 3, some);
    FAIL_EACH (each, .at_least = 2) {
        bool accepted = false;
        tree = (struct jemalloc_tree){.image = &fake.image, .bits = 48};
        fail_each_begin(&each);
        hs_status status = hs_jemalloc_accept(&tree, FAKE_JE_ROOT_AT, true, &accepted, &err);
        if (status == HS_OK)
            status = hs_jemalloc_read_extents(&tree, &err);
        (void)fail_each_end(&each, status);
        hs_jemalloc_tree_fini(&tree);
    }
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(every_kind_in_every_layout),
        cmocka_unit_test(quantum_is_told_by_the_extents),
        cmocka_unit_test(damage_stays_where_it_is),
        cmocka_unit_test(what_is_being_changed_is_torn),
        cmocka_unit_test(hostile_leaves_are_walked_once),
        cmocka_unit_test(large_blocks),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
