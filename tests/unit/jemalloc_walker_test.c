/* links: hs_heaps */
/* The allocator and the thread caches: blocks, what is cached, what is jemalloc's own, the ledger.
 */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_jemalloc.h"

static struct fake_jemalloc fake;
static struct hs_heap_map map;
static struct hs_ledger ledger;
static void *allocator;
static uint64_t n_resident;

/* Extents of the standard heap, by number. */
enum { SMALL, SPARSE, LARGE, STACKS, UNUSED, LAST };

static void set_up_quantum(unsigned bits, bool is_52, uint8_t lg_quantum)
{
    unsigned shift = lg_quantum == 3 ? 3 : 0; /* so many classes more below 64 bytes */

    static const uint64_t full[8] = {UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX,
                                     UINT64_MAX, UINT64_MAX, UINT64_MAX, UINT64_MAX};
    static const uint64_t sparse[8] = {0x8000000000000005, 0x1, 0, 0xc000000000000000};

    fake_jemalloc_init(&fake, bits, is_52);
    fake.lg_quantum = lg_quantum;
    fake_jemalloc_slab(&fake, 1, 1, full);                    /* 256 regions of 16 */
    fake_jemalloc_slab(&fake, 3, shift != 0 ? 5 : 3, sparse); /* 6 of 256 regions of 48 */
    fake_jemalloc_extent(&fake, 6, 37 + shift, false, JEMALLOC_ACTIVE);
    fake_jemalloc_extent(&fake, 8, 39 + shift, false, JEMALLOC_ACTIVE);
    fake_jemalloc_extent(&fake, 4, 232 + shift, false, JEMALLOC_DIRTY);
    fake_jemalloc_extent(&fake, 2, 232 + shift, false, JEMALLOC_RETAINED);
}

static void set_up_layout(unsigned bits, bool is_52)
{
    set_up_quantum(bits, is_52, 4);
}

static void forget(void)
{
    hs_allocator_jemalloc.close(allocator);
    allocator = NULL;
    hs_heap_map_fini(&map);
    hs_ledger_fini(&ledger);
    hs_findings_fini(&fake.findings);
    memset(&fake.findings, 0, sizeof fake.findings);
    fake.findings.strings = &fake.strings;
}

static void tear_down(void)
{
    forget();
    fake_jemalloc_fini(&fake);
}

static hs_status walk(struct hs_error *err)
{
    uint64_t n_refused;

    hs_heap_map_init(&map, &fake.image);
    hs_ledger_init(&ledger, &fake.strings, &fake.image);
    HS_TRY(hs_allocator_jemalloc.open(&fake.process, &allocator, err));
    if (allocator == NULL)
        return HS_OK;
    HS_TRY(hs_allocator_jemalloc.add_spans(allocator, &map, &ledger, err));
    hs_ledger_seal(&ledger);
    HS_TRY(hs_heap_map_seal(&map, &n_refused, err));
    HS_TRY(hs_allocator_jemalloc.mark(allocator, &map, &ledger, err));
    HS_TRY(hs_ledger_close(&ledger, &fake.process, NULL, &n_resident, err));
    return hs_heap_map_index(&map, err);
}

static void run(void)
{
    struct hs_error err = HS_ERROR_INIT;

    assert_int_equal(walk(&err), HS_OK);
    assert_non_null(allocator);
}

static uint64_t booked(enum hs_memory_state state, bool blocks)
{
    for (size_t i = 0; i < ledger.n_rows; i++)
        if (ledger.rows[i].state == state &&
            strcmp(hs_strtab_get(&fake.strings, ledger.rows[i].owner), "jemalloc") == 0)
            return blocks ? ledger.rows[i].n_blocks : ledger.rows[i].n_bytes;
    return 0;
}

static bool holds(void)
{
    bool all = fake.findings.n_proofs == 2;
    for (size_t i = 0; i < fake.findings.n_proofs; i++)
        all &= fake.findings.proofs[i].holds;
    return all;
}

static unsigned n_gaps(void)
{
    unsigned n = 0;
    for (size_t i = 0; i < fake.findings.n_notes; i++)
        n += fake.findings.notes[i].is_gap;
    return n;
}

static void blocks_and_sums_without_caches(void **state)
{
    for (unsigned layout = 0; layout < 8; layout++) {
        set_up_quantum(layout & 1 ? 57 : 48, (layout & 2) != 0, layout & 4 ? 3 : 4);
        run();
        assert_string_equal(hs_allocator_jemalloc.version(allocator), layout & 2 ? "5.2" : "5.3");
        assert_int_equal(map.n_blocks, 256 + 6 + 2);
        assert_true(holds());
        assert_int_equal(n_gaps(), 1); /* there is no thread cache */
        assert_int_equal(fake.findings.n_torn, 0);
        hs_addr begin = fake_jemalloc_begin(&fake, SPARSE);
        assert_true(hs_heap_map_is_set(&map, begin));
        assert_false(hs_heap_map_is_set(&map, begin + 48));
        assert_true(hs_heap_map_is_set(&map, begin + 2 * 48));
        assert_true(hs_heap_map_is_set(&map, begin + 63 * 48));
        assert_true(hs_heap_map_is_set(&map, begin + 64 * 48));
        assert_true(hs_heap_map_is_set(&map, begin + 255 * 48));
        assert_int_equal(booked(HS_MEMORY_LIVE, false), 4096 + 6 * 48 + 20480 + 28672);
        assert_int_equal(booked(HS_MEMORY_DIRTY, false), 4 * 4096);
        assert_int_equal(booked(HS_MEMORY_FREE, false), 3 * 4096 - 6 * 48 + 2 * 4096);
        assert_int_equal(booked(HS_MEMORY_FREE, true), 250);
        assert_int_equal(booked(HS_MEMORY_INTERNAL, false),
                         2 * 4096 + FAKE_JE_BASE_BYTES + (fake.bits == 48 ? 1 << 21 : 1 << 18));
        tear_down();
    }
}

/* Caches of all threads: the first holds two regions of SPARSE. */
static void add_caches(void)
{
    hs_addr sparse = fake_jemalloc_begin(&fake, SPARSE), stack = fake_jemalloc_begin(&fake, STACKS);
    hs_addr cached[] = {sparse, sparse + 64 * 48};
    unsigned szind = fake.lg_quantum == 3 ? 5 : 3;

    fake_jemalloc_cache(&fake, 0, stack, szind, cached, 2);
    fake_jemalloc_cache(&fake, 1, stack + 5120, 3, NULL, 0);
    fake_jemalloc_cache(&fake, 2, stack + 10240, 3, NULL, 0);
}

static void caches_are_taken_out(void **state)
{
    for (unsigned layout = 0; layout < 4; layout++) {
        set_up_quantum(48, (layout & 1) != 0, layout & 2 ? 3 : 4);
        add_caches();
        run();
        hs_addr begin = fake_jemalloc_begin(&fake, SPARSE);
        assert_int_equal(n_gaps(), 0);
        assert_true(holds());
        assert_int_equal(fake.findings.n_torn, 0);
        assert_int_equal(map.n_blocks, 256 + 4 + 1);
        assert_false(hs_heap_map_is_set(&map, begin));
        assert_false(hs_heap_map_is_set(&map, begin + 64 * 48));
        assert_true(hs_heap_map_is_set(&map, begin + 63 * 48));
        assert_false(hs_heap_map_is_set(&map, fake_jemalloc_begin(&fake, STACKS)));
        assert_int_equal(booked(HS_MEMORY_CACHED, false), 2 * 48);
        assert_int_equal(booked(HS_MEMORY_CACHED, true), 2);
        assert_int_equal(booked(HS_MEMORY_LIVE, false), 4096 + 4 * 48 + 20480);
        tear_down();
    }
}

/* Built without statistics, as tikv-jemalloc-sys of Rust is, a tcache_slow_t is in no ring and does
 * not lead to the bins, but to the tcache_t before them. */
static void caches_without_statistics(void **state)
{
    set_up_layout(48, false);
    add_caches();
    for (unsigned i = 0; i < FAKE_JE_THREADS; i++) {
        hs_addr bins = fake.threads[i].regs.fs_base - FAKE_JE_CACHE_OFFSET;
        uint8_t *slow = fake_jemalloc_tls(&fake, bins - 0x200);
        fake_put(slow, 0, 0);
        fake_put(slow, 32, 0);
        fake_put(slow, 168, bins - 8);
    }
    run();
    assert_int_equal(booked(HS_MEMORY_CACHED, true), 2);
    assert_int_equal(fake.findings.n_torn, 0);
    assert_int_equal(map.n_blocks, 256 + 4 + 1);
    tear_down();
}

static void a_thread_in_the_middle_is_outvoted(void **state)
{
    set_up_layout(48, false);
    add_caches();
    hs_addr bins = fake.threads[1].regs.fs_base - FAKE_JE_CACHE_OFFSET;
    fake_put(fake_jemalloc_tls(&fake, bins), 0, 0x123); /* bin 0 makes no sense */
    /* and something that looks like a cache at another distance in one thread */
    hs_addr other = fake.threads[2].regs.fs_base - 0x3000;
    fake_put(fake_jemalloc_tls(&fake, other - 8), 0, other - 0x100);
    fake_put(fake_jemalloc_tls(&fake, other - 0x100), 32, other);
    run();
    assert_int_equal(booked(HS_MEMORY_CACHED, true), 2);
    assert_int_equal(fake.findings.n_torn, 1);
    tear_down();
}

static void cached_pointers_are_checked(void **state)
{
    set_up_layout(48, false);
    hs_addr sparse = fake_jemalloc_begin(&fake, SPARSE), small = fake_jemalloc_begin(&fake, SMALL);
    hs_addr stack = fake_jemalloc_begin(&fake, STACKS);
    hs_addr cached[] = {sparse, sparse, sparse + 48, sparse + 65,
                        small,  0,      UINT64_MAX,  FAKE_JE_TLS_AT};
    add_caches();
    fake_jemalloc_cache(&fake, 0, stack, 3, cached, 8);
    run();
    /* once; the same again and a free one are being flushed; no start, another class, nowhere */
    assert_int_equal(booked(HS_MEMORY_CACHED, true), 1);
    assert_int_equal(fake.findings.n_torn, 5);
    assert_true(hs_heap_map_is_set(&map, small));
    tear_down();
}

static void rings_may_be_hostile(void **state)
{
    set_up_layout(48, false);
    add_caches();
    hs_addr slow = fake.threads[0].regs.fs_base - FAKE_JE_CACHE_OFFSET - 0x200;
    /* from the first cache to one that no thread has and that is its own next */
    hs_addr own = fake.threads[0].regs.fs_base - 0x3800, own_slow = own - 0x100;
    fake_put(fake_jemalloc_tls(&fake, slow), 0, own_slow);
    fake_put(fake_jemalloc_tls(&fake, own_slow), 0, own_slow);
    fake_put(fake_jemalloc_tls(&fake, own_slow), 32, own);
    fake_put(fake_jemalloc_tls(&fake, own - 8), 0, own_slow);
    run();
    assert_int_equal(booked(HS_MEMORY_CACHED, true), 2);
    forget();
    static const uint64_t ends[] = {0, 8, UINT64_MAX, UINT64_C(0x7fffffffffff), 0x1001};
    for (size_t i = 0; i < sizeof ends / sizeof ends[0]; i++) {
        fake_put(fake_jemalloc_tls(&fake, slow), 0, ends[i]);
        fake.threads[1].regs.fs_base = ends[i];
        run();
        assert_int_equal(booked(HS_MEMORY_CACHED, true), 2);
        forget();
    }
    tear_down();
}

static void a_slab_that_disagrees_is_told(void **state)
{
    set_up_layout(48, false);
    add_caches();
    uint8_t *edata = fake_jemalloc_edata(&fake, SPARSE);
    fake_put(edata, 0, hs_load_u64(edata) + (UINT64_C(1) << 28));
    run();
    assert_false(holds());
    assert_int_equal(fake.findings.n_torn, 1);
    assert_int_equal(map.n_blocks, 256 + 4 + 1); /* the bitmap is believed */
    tear_down();

    set_up_layout(48, false);
    add_caches();
    fake_put(fake_jemalloc_edata(&fake, LARGE), 16, 4096);
    run();
    assert_int_equal(n_gaps(), 1);
    assert_int_equal(booked(HS_MEMORY_DAMAGED, false), 2 * 4096);
    assert_int_equal(map.n_blocks, 256 + 4);
    tear_down();
}

static void another_pool_inside_a_block(void **state)
{
    struct hs_error err = HS_ERROR_INIT;
    uint64_t n_refused;

    set_up_layout(48, false);
    hs_heap_map_init(&map, &fake.image);
    hs_ledger_init(&ledger, &fake.strings, &fake.image);
    assert_int_equal(hs_allocator_jemalloc.open(&fake.process, &allocator, &err), HS_OK);
    assert_int_equal(hs_allocator_jemalloc.add_spans(allocator, &map, &ledger, &err), HS_OK);
    hs_addr large = fake_jemalloc_begin(&fake, LARGE), small = fake_jemalloc_begin(&fake, SMALL);
    struct hs_heap_span pool = {.begin = large + 4096,
                                .end = large + 8192,
                                .unit_bytes = 64,
                                .form = HS_SPAN_UNIFORM,
                                .owner = HS_OWNER_registered};
    assert_int_equal(hs_heap_map_add(&map, &pool, &err), HS_OK);
    pool.begin = small + 32;
    pool.end = small + 48;
    pool.unit_bytes = 16;
    assert_int_equal(hs_heap_map_add(&map, &pool, &err), HS_OK);
    hs_ledger_seal(&ledger);
    assert_int_equal(hs_heap_map_seal(&map, &n_refused, &err), HS_OK);
    assert_int_equal(hs_allocator_jemalloc.mark(allocator, &map, &ledger, &err), HS_OK);
    assert_int_equal(hs_heap_map_index(&map, &err), HS_OK);
    assert_true(holds());
    assert_true(hs_heap_map_is_set(&map, large));
    assert_true(hs_heap_map_is_set(&map, small + 48));
    assert_false(hs_heap_map_is_set(&map, large + 4096));
    tear_down();
}

static void unused_in_other_programs(void **state)
{
    struct hs_error err = HS_ERROR_INIT;

    fake_jemalloc_init(&fake, 48, false);
    assert_int_equal(walk(&err), HS_OK);
    assert_null(allocator);
    assert_string_equal(hs_allocator_jemalloc.version(NULL), "");
    tear_down();
}

static void every_allocation_may_fail(void **state)
{
    struct hs_error err = HS_ERROR_INIT;

    set_up_layout(48, false);
    add_caches();
    FAIL_EACH (each, .at_least = 10, .keeps = true) {
        if (FAIL_EACH_TRY(each, walk(&err)) != HS_OK)
            forget();
    }
    assert_true(holds());
    tear_down();
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(blocks_and_sums_without_caches),
        cmocka_unit_test(caches_are_taken_out),
        cmocka_unit_test(a_thread_in_the_middle_is_outvoted),
        cmocka_unit_test(cached_pointers_are_checked),
        cmocka_unit_test(rings_may_be_hostile),
        cmocka_unit_test(caches_without_statistics),
        cmocka_unit_test(a_slab_that_disagrees_is_told),
        cmocka_unit_test(another_pool_inside_a_block),
        cmocka_unit_test(unused_in_other_programs),
        cmocka_unit_test(every_allocation_may_fail),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
