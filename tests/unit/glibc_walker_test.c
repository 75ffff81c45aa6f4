/* links: hs_heaps */
#include "unit.h"

#include "base/alloc.h"
#include "fail_each.h"
#include "fake_glibc.h"

static struct hs_error err;

/* Something of everything: two arenas, a hole, mapped blocks, a fast list. */
static struct fake_glibc *make(void)
{
    struct fake_glibc *fake = fake_glibc_new(0);
    struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
    hs_addr fast;

    for (unsigned i = 0; i < 200; i++) {
        fake_used(&pen, 32 + 16 * (i % 9));
        if (i % 5 == 2)
            fake_freed(&pen, 160);
    }
    fake_freed(&pen, 8192);
    fast = fake_used(&pen, 32);
    *fake_glibc_word(fake, fast) = fake_safe_link(fast, 0);
    *fake_glibc_word(fake, FAKE_ARENA_AT + fake->layout->fastbins) = fast - 16;
    fake_fence(&pen);
    pen.at += 0x340;
    fake_used(&pen, 4096);
    fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
    pen = fake_arena(fake, 48);
    for (unsigned i = 0; i < 50; i++)
        fake_used(&pen, 64);
    fake_top(&pen, FAKE_HEAP_AT + FAKE_HEAP_BYTES);
    *fake_glibc_word(fake, FAKE_MAP_AT + 8) = 0x3000 | GLIBC_IS_MMAPPED;
    *fake_glibc_word(fake, FAKE_MAP_AT + 0x3008) = 0x2000 | GLIBC_IS_MMAPPED;
    fake_params(fake, 2, 0x5000);
    return fake;
}

/* Every byte that malloc has is in one state, its main arena in the module's data included. */
static void test_ledger(void **state)
{
    struct fake_glibc *fake = make();
    struct hs_heap_iterator it = {.map = &fake->map};
    struct hs_heap_block block;
    uint64_t live = 0, sum = 0;
    assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
    assert_true(fake_glibc_proofs_hold(fake));
    while (hs_heap_map_next(&it, &block))
        live += block.n_bytes;
    assert_int_equal(fake->map.n_blocks, 200 + 1 + 50 + 2);
    assert_int_equal(fake_booked(fake, HS_MEMORY_LIVE), live);
    assert_int_equal(fake_booked(fake, HS_MEMORY_CACHED), 24);
    assert_int_equal(fake_booked(fake, HS_MEMORY_DAMAGED), 0);
    for (unsigned i = 0; i < HS_N_MEMORY_STATES; i++)
        sum += fake_booked(fake, i);
    assert_int_equal(sum, FAKE_BREAK_BYTES - 0x340 + FAKE_HEAP_BYTES + 0x5000 + fake->layout->bins +
                              GLIBC_STATE_TAIL);
    fake_glibc_free(fake);
}

/* A pool inside of a block cuts it; the rest of the segment stays as it is. */
static void test_pool_inside(void **state)
{
    for (unsigned shift = 0; shift < 6; shift++) {
        struct fake_glibc *fake = fake_glibc_new(0);
        struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
        hs_addr small[40];
        for (unsigned i = 0; i < 20 + shift; i++)
            small[i] = fake_used(&pen, 48);
        hs_addr big = fake_used(&pen, 8192);
        for (unsigned i = 20 + shift; i < 40; i++)
            small[i] = fake_used(&pen, 48);
        fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
        fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
        fake->findings.strings = &fake->strings;
        fake->process = (struct hs_process_copy){&fake->target,   &fake->image, &fake->objects,
                                                 &fake->findings, NULL,         NULL};
        hs_heap_map_init(&fake->map, &fake->image);
        hs_ledger_init(&fake->ledger, &fake->strings, &fake->image);
        assert_int_equal(hs_allocator_glibc.open(&fake->process, &fake->state, &err), HS_OK);
        assert_int_equal(hs_allocator_glibc.add_spans(fake->state, &fake->map, &fake->ledger, &err),
                         HS_OK);
        struct hs_heap_span pool = {.begin = big + 1024 + 8 * shift,
                                    .end = big + 2048 + 8 * shift,
                                    .unit_bytes = 64,
                                    .form = HS_SPAN_UNIFORM,
                                    .owner = HS_OWNER_cpython};
        uint64_t n_refused;
        assert_int_equal(hs_heap_map_add(&fake->map, &pool, &err), HS_OK);
        assert_int_equal(hs_heap_map_seal(&fake->map, &n_refused, &err), HS_OK);
        assert_int_equal(n_refused, 0);
        assert_int_equal(hs_allocator_glibc.mark(fake->state, &fake->map, &fake->ledger, &err),
                         HS_OK);
        assert_int_equal(hs_heap_map_index(&fake->map, &err), HS_OK);
        assert_int_equal(fake->map.n_blocks, 41);
        for (unsigned i = 0; i < 40; i++)
            assert_int_equal(fake_live(fake, small[i]), 40);
        assert_int_not_equal(fake_live(fake, big), 0);
        fake_glibc_free(fake);
    }
}

/* Each allocation failing once: told as such, nothing lost. */
static void test_exhausted(void **state)
{
    struct fake_glibc *fake = make();
    FAIL_EACH (each, .at_least = 10) {
        (void)FAIL_EACH_TRY(each, fake_glibc_run(fake, &err));
        fake_glibc_forget(fake);
        hs_strtab_fini(&fake->strings);
    }
    fake_glibc_free(fake);
}

static uint64_t draw(uint64_t *seed)
{
    *seed ^= *seed << 13;
    *seed ^= *seed >> 7;
    *seed ^= *seed << 17;
    return *seed;
}

/* Words overwritten at random, by likely values: every run ends, and blocks lie in their spans. */
static void test_random_damage(void **state)
{
    uint64_t seed = 88172645463325252u;
    for (unsigned round = 0; round < 400; round++) {
        struct fake_glibc *fake = make();
        hs_addr areas[] = {FAKE_DATA_AT + 0x1000, FAKE_BREAK_AT, FAKE_HEAP_AT, FAKE_MAP_AT};
        uint64_t values[] = {0,    1,    0x11, 0x21, 0x31, 0x1001, 0x1002, UINT64_MAX,
                             0x10, 0x20, 0x35, 64,   128,  0x8001, 0x20000};
        for (unsigned i = 0; i < 1 + round % 50; i++) {
            hs_addr at = areas[draw(&seed) % 4] + draw(&seed) % 0x1800 / 8 * 8;
            uint64_t value = values[draw(&seed) % 15];
            if (draw(&seed) % 3 == 0)
                value = areas[draw(&seed) % 4] + draw(&seed) % 0x1800 / 16 * 16;
            *fake_glibc_word(fake, at) = value;
        }
        assert_int_equal(fake_glibc_run(fake, &err), HS_OK);
        struct hs_heap_iterator it = {.map = &fake->map};
        struct hs_heap_block block;
        hs_addr end = 0;
        while (fake->state != NULL && hs_heap_map_next(&it, &block)) {
            assert_true(block.begin >= end && block.n_bytes > 0);
            end = block.begin;
            assert_true(block.begin + block.n_bytes <= block.span->end);
        }
        fake_glibc_free(fake);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_ledger),
        cmocka_unit_test(test_pool_inside),
        cmocka_unit_test(test_exhausted),
        cmocka_unit_test(test_random_damage),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
