/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_native.h"
#include "native/foreign.h"
static struct hs_error err;

#define A_AT UINT64_C(0x7f6000000000)
#define B_AT UINT64_C(0x7f6000400000)
enum { A_BYTES = 2 << 20 };

static uint64_t a[A_BYTES / 8], b[512];

/* Two unclaimed mappings: one of two pieces, one small. */
static struct fake_native *with_mappings(void)
{
    struct fake_native *f = fake_native_new();
    memset(a, 0, sizeof a);
    memset(b, 0, sizeof b);
    fake_native_map(f, A_AT, a, sizeof a, "rw-p", "");
    fake_native_map(f, B_AT, b, sizeof b, "rw-p", "/tmp/data.bin");
    f->has_tls = true;
    fake_native_open(f);
    struct hs_thread *t = fake_native_thread(f, FAKE_N_PID);
    t->regs.rsp = FAKE_N_STACK_AT + 0x1000;
    t->regs.fs_base = FAKE_N_TCB_AT;
    f->tls[512] = f->tls[514] = FAKE_N_TCB_AT;
    assert_int_equal(hs_native_add_unclaimed(&f->native, &err), HS_OK);
    fake_native_mark(f);
    return f;
}

static void root_to(struct fake_native *f, hs_addr target)
{
    struct hs_root_leaf leaf = {.root = {.kind = HS_ROOT_GLOBAL}};
    assert_int_equal(hs_native_add_word(&f->native, target, &leaf, 0, &err), HS_OK);
}

static void collect(struct fake_native *f)
{
    assert_int_equal(hs_native_collect_unclaimed(&f->native, &err), HS_OK);
}

/* Leaves of kind unclaimed that lead to `block`. */
static size_t n_unclaimed(const struct fake_native *f, hs_addr block)
{
    size_t n = 0;
    for (size_t i = 0; i < f->native.roots.n_leaves; i++) {
        const struct hs_root_leaf *leaf = &f->native.roots.leaves[i];
        n += leaf->root.kind == HS_ROOT_UNCLAIMED && leaf->target == block;
    }
    return n;
}

static void what_nothing_leads_to_is_a_root(void **state)
{
    struct fake_native *f = with_mappings();
    a[5] = fake_native_block(1); /* so that the whole heap is marked */
    collect(f);
    assert_int_equal(f->native.roots.n_leaves, 3);
    const struct hs_root_leaf *leaf = fake_native_leaf(f, "[anon 0x7f6000000000 2.0 MiB]+0x0");
    assert_non_null(leaf);
    assert_true(leaf->target == A_AT && leaf->root.address == 0);
    assert_string_equal(fake_native_text(f, leaf->group_variable), "[anon 0x7f6000000000 2.0 MiB]");
    assert_string_equal(fake_native_text(f, leaf->group_module), "anonymous");
    assert_int_equal(leaf->root.certainty, HS_CONSERVATIVE);
    assert_int_equal(leaf->root.tier, HS_TIER_DOUBTFUL);
    leaf = fake_native_leaf(f, "[data.bin 0x7f6000400000 4.0 KiB]");
    assert_non_null(leaf);
    assert_int_equal(leaf->group_variable, 0);
    fake_native_free(f);
}

/* root -> block 1 -> block 2 -> the second piece of A -> block 3 -> B */
static void what_a_root_reaches_through_the_heap_is_none(void **state)
{
    struct fake_native *f = with_mappings();
    f->blocks[1 * FAKE_N_BLOCK_WORDS + 2] = fake_native_block(2) + 8;
    f->blocks[2 * FAKE_N_BLOCK_WORDS] = A_AT + (1 << 20) + 64;
    a[A_BYTES / 8 - 1] = fake_native_block(3);
    f->blocks[3 * FAKE_N_BLOCK_WORDS + 7] = B_AT;
    root_to(f, fake_native_block(1));
    collect(f);
    assert_int_equal(n_unclaimed(f, A_AT), 1);
    assert_int_equal(n_unclaimed(f, A_AT + (1 << 20)), 0);
    assert_int_equal(n_unclaimed(f, B_AT), 0);
    fake_native_free(f);
}

/* In address order: B hangs on A, not the other way round. */
static void one_mapping_may_keep_another(void **state)
{
    struct fake_native *f = with_mappings();
    a[9] = fake_native_block(4);
    f->blocks[4 * FAKE_N_BLOCK_WORDS] = B_AT + 100;
    b[1] = A_AT;
    collect(f);
    assert_int_equal(n_unclaimed(f, A_AT), 1);
    assert_int_equal(n_unclaimed(f, B_AT), 0);
    fake_native_free(f);
}

static void without_a_pointer_to_a_block_no_heap_is_marked(void **state)
{
    struct fake_native *f = with_mappings();
    f->blocks[0] = B_AT; /* would be found by a mark */
    root_to(f, fake_native_block(0));
    root_to(f, A_AT);
    collect(f);
    assert_int_equal(n_unclaimed(f, A_AT), 0);
    assert_int_equal(n_unclaimed(f, B_AT), 1);
    fake_native_free(f);
}

/* The program is given a runtime's name while `collect` is asked. */
static hs_status collect_foreign(struct fake_native *f)
{
    static char ruby[] = "libruby-3.1.so.3.1";
    struct hs_object *object = &f->dump.objects.objects[0];
    char *name = object->name;

    f->dump.process.objects = &f->dump.objects;
    f->dump.process.target = &f->dump.target;
    object->name = ruby;
    hs_status status = hs_native_collect_foreign(&f->native, &err);
    object->name = name;
    return status;
}

/* A variable leads into the second piece of A, another to block 1; B is a file's. */
static void the_heap_of_a_runtime_is_one_owner(void **state)
{
    struct fake_native *f = with_mappings();
    struct hs_heap_block piece;

    root_to(f, A_AT + (1 << 20) + 64);
    root_to(f, fake_native_block(1));
    assert_int_equal(hs_native_collect_foreign(&f->native, &err), HS_OK);
    assert_int_equal(f->native.roots.n_leaves, 2); /* no runtime is known */
    assert_int_equal(collect_foreign(f), HS_OK);
    const struct hs_root_leaf *leaves = f->native.roots.leaves;
    assert_int_equal(leaves[0].root.tier, HS_TIER_DOUBTFUL);
    assert_int_equal(leaves[0].root.reason, HS_REASON_UNREAD_HEAP);
    assert_int_equal(leaves[1].root.tier, HS_TIER_FIRM);
    assert_int_equal(n_unclaimed(f, A_AT) + n_unclaimed(f, A_AT + (1 << 20)), 2);
    const struct hs_root_leaf *leaf = fake_native_leaf(f, "heap of Ruby+0x100000");
    assert_non_null(leaf);
    assert_int_equal(leaf->root.tier, HS_TIER_RUNTIME);
    assert_string_equal(fake_native_text(f, leaf->group_variable), "heap of Ruby");
    assert_true(f->native.is_blind);
    assert_int_equal(hs_heap_map_resolve(&f->dump.heaps.map, A_AT, &piece), HS_POINTER_START);
    assert_true(hs_native_is_foreign(&f->native, &piece));
    hs_native_foreign_fini(&f->native.foreign);
    fake_native_free(f);
}

static void every_allocation_of_it_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 3) {
        struct fake_native *f = with_mappings();
        root_to(f, A_AT);
        (void)FAIL_EACH_TRY(each, collect_foreign(f));
        hs_native_foreign_fini(&f->native.foreign);
        fake_native_free(f);
    }
}

static void every_allocation_may_fail(void **state)
{
    FAIL_EACH (each, .at_least = 3) {
        struct fake_native *f = with_mappings();
        a[5] = fake_native_block(1);
        (void)FAIL_EACH_TRY(each, hs_native_collect_unclaimed(&f->native, &err));
        fake_native_free(f);
    }
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(what_nothing_leads_to_is_a_root),
        cmocka_unit_test(what_a_root_reaches_through_the_heap_is_none),
        cmocka_unit_test(one_mapping_may_keep_another),
        cmocka_unit_test(without_a_pointer_to_a_block_no_heap_is_marked),
        cmocka_unit_test(the_heap_of_a_runtime_is_one_owner),
        cmocka_unit_test(every_allocation_of_it_may_fail),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
