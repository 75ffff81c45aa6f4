/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "base/alloc.h"
#include "fake_ctypes.h"
#include "fake_joined.h"
#include "fake_native.h"
static struct hs_error err;
static struct hs_registered_root ranges[4];
static size_t n_ranges;
static hs_str pool_name;

/* The registry of the test instead of the allocator's: nothing else of heaps/ is asked. */
static hs_str name_of_pool(const void *state, uint32_t tag)
{
    return tag == 3 ? pool_name : 0;
}
static const struct hs_registered_root *list_ranges(const void *state, size_t *ret_n)
{
    *ret_n = n_ranges;
    return ranges;
}
const struct hs_allocator hs_allocator_registered = {
    .name = "registered", .roots = list_ranges, .pool_name = name_of_pool};

static hs_addr data_at(size_t word)
{
    return FAKE_N_DATA_AT + word * HS_WORD_BYTES;
}

static struct fake_native *with_ranges(void)
{
    struct fake_native *f = fake_native_new();
    f->dump.heaps.states[HS_OWNER_registered] = f;
    fake_native_seal(f);
    ranges[0] =
        (struct hs_registered_root){.begin = data_at(10), .end = data_at(14), .object = &f->object};
    assert_int_equal(hs_strtab_add(&f->dump.strings, "my pool", &ranges[0].name, &err), HS_OK);
    ranges[1] =
        (struct hs_registered_root){.begin = data_at(20), .end = data_at(21), .is_precise = true};
    n_ranges = 2;
    f->data[10] = fake_native_block(1);
    f->data[13] = fake_native_block(2) + 8;
    f->data[14] = fake_native_block(3); /* behind it */
    return f;
}

static void words_of_a_range_are_roots(void **state)
{
    struct fake_native *f = with_ranges();
    f->data[20] = fake_native_block(4);
    assert_int_equal(hs_native_collect_registered(&f->native, &err), HS_OK);
    assert_int_equal(f->native.roots.n_leaves, 3);
    const struct hs_root_leaf *leaf = fake_native_leaf(f, "my pool+0x18");
    assert_non_null(leaf);
    assert_int_equal(leaf->root.kind, HS_ROOT_REGISTERED);
    assert_int_equal(leaf->root.certainty, HS_CONSERVATIVE);
    assert_int_equal(leaf->root.edge_class, HS_EDGE_INTERIOR);
    assert_string_equal(fake_native_text(f, leaf->group_module), "prog");
    assert_string_equal(fake_native_text(f, leaf->group_variable), "my pool");
    leaf = fake_native_leaf(f, "(unnamed)");
    assert_non_null(leaf);
    assert_int_equal(leaf->root.certainty, HS_EXACT);
    assert_int_equal(leaf->group_variable, 0);
    fake_native_free(f);
}

static void a_precise_range_has_pointers_to_starts_alone(void **state)
{
    struct fake_native *f = with_ranges();
    f->data[20] = fake_native_block(4) + 8;
    assert_int_equal(hs_native_collect_registered(&f->native, &err), HS_OK);
    assert_null(fake_native_leaf(f, "(unnamed)"));
    fake_native_free(f);
}

static void globals_leave_registered_ranges_out(void **state)
{
    struct fake_native *f = with_ranges();
    f->data[20] = fake_native_block(4);
    assert_int_equal(hs_native_collect_globals(&f->native, &err), HS_OK);
    assert_int_equal(f->native.roots.n_leaves, 1);
    assert_true(f->native.roots.leaves[0].target == fake_native_block(3));
    fake_native_free(f);
}

static struct hs_heap_span pool_span(hs_addr begin, hs_addr end)
{
    return (struct hs_heap_span){.begin = begin,
                                 .end = end,
                                 .unit_bytes = 16,
                                 .tag = 3,
                                 .form = HS_SPAN_UNIFORM,
                                 .owner = HS_OWNER_registered};
}

/* A pool carved out of a block keeps what is left of the block in front of it; a pool that begins
 * with its block leaves nothing, and one in memory of its own has nothing around it. */
static void a_pool_keeps_the_block_that_it_was_carved_out_of(void **state)
{
    struct fake_native *f = fake_native_new();
    f->dump.heaps.states[HS_OWNER_registered] = f;
    const hs_addr ends = fake_native_block(FAKE_N_BLOCKS);
    const struct hs_heap_span spans[] = {
        pool_span(fake_native_block(5) + 32, fake_native_block(6)),
        pool_span(fake_native_block(9), fake_native_block(10)),
        pool_span(ends + 4096, ends + 8192),
        pool_span(ends + 0x10000 + 4096, ends + 0x10000 + 8192),
        pool_span(ends + 0x20000 + 4096, ends + 0x20000 + 8192),
    };
    /* Large blocks: one is cut by the fourth pool, one ends where the fifth one begins. */
    const struct hs_heap_span large[] = {
        {.begin = ends + 0x10000,
         .end = ends + 0x10000 + 0x8000,
         .form = HS_SPAN_SINGLE,
         .owner = HS_OWNER_jemalloc},
        {.begin = ends + 0x20000,
         .end = ends + 0x20000 + 4096,
         .form = HS_SPAN_SINGLE,
         .owner = HS_OWNER_jemalloc},
    };
    n_ranges = 0;
    fake_native_open(f);
    assert_int_equal(hs_strtab_add(&f->dump.strings, "arena", &pool_name, &err), HS_OK);
    for (size_t i = 0; i < 5; i++)
        assert_int_equal(hs_heap_map_add(&f->dump.heaps.map, &spans[i], &err), HS_OK);
    for (size_t i = 0; i < 2; i++)
        assert_int_equal(hs_heap_map_add(&f->dump.heaps.map, &large[i], &err), HS_OK);
    assert_int_equal(hs_ledger_claim(&f->dump.heaps.ledger, "jemalloc", HS_MEMORY_LIVE,
                                     large[0].begin, spans[4].end, 2, &err),
                     HS_OK);
    assert_int_equal(hs_ledger_claim(&f->dump.heaps.ledger, "registered", HS_MEMORY_LIVE,
                                     spans[2].begin, spans[2].end, 0, &err),
                     HS_OK);
    hs_ledger_seal(&f->dump.heaps.ledger);
    uint64_t n_refused;
    assert_int_equal(hs_heap_map_seal(&f->dump.heaps.map, &n_refused, &err), HS_OK);
    assert_int_equal(n_refused, 0);
    for (size_t i = 0; i < FAKE_N_BLOCKS; i++)
        hs_heap_map_set(&f->dump.heaps.map, fake_native_block(i));
    for (size_t i = 0; i < 2; i++)
        assert_true(hs_heap_map_set(&f->dump.heaps.map, large[i].begin));
    assert_int_equal(hs_heap_map_index(&f->dump.heaps.map, &err), HS_OK);
    assert_int_equal(hs_native_collect_registered(&f->native, &err), HS_OK);
    assert_int_equal(f->native.roots.n_leaves, 2);
    assert_true(f->native.roots.leaves[1].target == large[0].begin);
    const struct hs_root_leaf *leaf = fake_native_leaf(f, "arena");
    assert_non_null(leaf);
    assert_true(leaf->target == fake_native_block(5));
    assert_int_equal(leaf->root.kind, HS_ROOT_REGISTERED);
    assert_int_equal(leaf->root.certainty, HS_EXACT);
    assert_string_equal(fake_native_text(f, leaf->group_unit), "registered pools");
    fake_native_free(f);
}

static void hostile_ranges_cost_nothing(void **state)
{
    struct fake_native *f = with_ranges();
    ranges[0].begin = 1; /* all there is */
    ranges[0].end = UINT64_MAX;
    ranges[1].begin = 100; /* ends before it begins */
    ranges[1].end = 8;
    assert_int_equal(hs_native_collect_registered(&f->native, &err), HS_OK);
    assert_int_equal(f->native.roots.n_leaves, 3);
    fake_native_free(f);
}

int main(void)
{
    (void)fake_ctypes;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(words_of_a_range_are_roots),
        cmocka_unit_test(a_precise_range_has_pointers_to_starts_alone),
        cmocka_unit_test(globals_leave_registered_ranges_out),
        cmocka_unit_test(a_pool_keeps_the_block_that_it_was_carved_out_of),
        cmocka_unit_test(hostile_ranges_cost_nothing),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
