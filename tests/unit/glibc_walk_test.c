/* links: hs_heaps */
#include "unit.h"

#include "fake_glibc.h"

/* Used and free chunks are told apart, and every byte is somebody's, in each layout. */
static void test_plain(void **state)
{
    for (unsigned layout = 0; layout < GLIBC_N_LAYOUTS; layout++) {
        struct fake_glibc *fake = fake_glibc_new(layout);
        struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
        hs_addr a = fake_used(&pen, 32), f = fake_freed(&pen, 1040), b = fake_used(&pen, 48);
        hs_addr c = fake_used(&pen, 4096), g = fake_freed(&pen, 64), d = fake_used(&pen, 32);
        fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
        fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
        fake_glibc_must_run(fake);
        assert_int_equal(fake_live(fake, a), 24);
        assert_int_equal(fake_live(fake, b), 40);
        assert_int_equal(fake_live(fake, c), 4088);
        assert_int_equal(fake_live(fake, d), 24);
        assert_int_equal(fake_live(fake, f + 16), 0);
        assert_int_equal(fake_live(fake, g + 16), 0);
        assert_int_equal(fake->map.n_blocks, 4);
        assert_true(fake_glibc_proofs_hold(fake));
        assert_int_equal(fake->findings.n_torn, 0);
        assert_int_equal(fake_booked(fake, HS_MEMORY_LIVE), 24 + 40 + 4088 + 24);
        uint64_t top = FAKE_BREAK_AT + FAKE_BREAK_BYTES - (d + 16);
        assert_int_equal(fake_booked(fake, HS_MEMORY_FREE), 1032 + 56 + top - 16);
        assert_int_equal(fake_booked(fake, HS_MEMORY_INTERNAL),
                         6 * 8 + 16 + fake->layout->bins + GLIBC_STATE_TAIL);
        fake_glibc_free(fake);
    }
}

/* One overwritten size costs its block, and those around it stay. */
static void test_damage(void **state)
{
    static const uint64_t sizes[] = {0,          8,
                                     16,         0x41 | GLIBC_IS_MMAPPED,
                                     0x49,       0x4141414141414141,
                                     UINT64_MAX, FAKE_BREAK_BYTES | 1};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct fake_glibc *fake = fake_glibc_new(0);
        struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
        hs_addr blocks[20];
        for (unsigned k = 0; k < 20; k++)
            blocks[k] = fake_used(&pen, 32 + 16 * k);
        fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
        fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
        *fake_glibc_word(fake, blocks[10] - 8) = sizes[i];
        fake_glibc_must_run(fake);
        for (unsigned k = 0; k < 20; k++)
            if (k != 10 && (k != 9 || (sizes[i] & GLIBC_PREV_INUSE) != 0))
                assert_int_equal(fake_live(fake, blocks[k]), 24 + 16 * k);
        assert_int_equal(fake_live(fake, blocks[10]), 0);
        assert_true(fake->findings.n_torn > 0);
        assert_true(fake_glibc_has_note(fake, "damaged in 1 place"));
        assert_int_equal(fake_booked(fake, HS_MEMORY_DAMAGED), 32 + 16 * 10);
        fake_glibc_free(fake);
    }
}

/* What cannot be picked up again is damaged to the end of the segment. */
static void test_damage_to_the_end(void **state)
{
    struct fake_glibc *fake = fake_glibc_new(0);
    struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
    hs_addr a = fake_used(&pen, 64), b = fake_used(&pen, 64);
    fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    *fake_glibc_word(fake, b - 8) = 1;
    *fake_glibc_word(fake, FAKE_ARENA_AT + fake->layout->top) = FAKE_DATA_AT;
    fake_glibc_must_run(fake);
    assert_int_equal(fake_live(fake, a), 56);
    assert_int_equal(fake->map.n_blocks, 1);
    assert_int_equal(fake_booked(fake, HS_MEMORY_DAMAGED), FAKE_BREAK_BYTES - 64 - 8);
    assert_true(fake->findings.n_torn > 0);
    fake_glibc_free(fake);
}

/* A footer that disagrees with its chunk is told, and nothing is lost. */
static void test_footer(void **state)
{
    struct fake_glibc *fake = fake_glibc_new(0);
    struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
    hs_addr f = fake_freed(&pen, 160), a = fake_used(&pen, 64);
    fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
    *fake_glibc_word(fake, f + 160) = 48;
    fake_glibc_must_run(fake);
    assert_int_equal(fake_live(fake, a), 56);
    assert_false(fake_glibc_proofs_hold(fake));
    assert_int_equal(fake->findings.n_torn, 1);
    fake_glibc_free(fake);
}

/* Headers made to be picked up again and again: the walk ends, and soon. */
static void test_hostile_fill(void **state)
{
    static const uint64_t fills[] = {0x21, 0x20, 0x31, 0x11, 0x10021, 0x8001, 0x61, 0x71};
    for (size_t i = 0; i < sizeof fills / sizeof fills[0]; i++) {
        struct fake_glibc *fake = fake_glibc_new(0);
        for (size_t k = 0; k < FAKE_BREAK_BYTES / 8; k++)
            fake->brk[k] = k % 64 < 60 || i % 2 == 0 ? fills[i] : k;
        *fake_glibc_word(fake, FAKE_ARENA_AT + fake->layout->top) =
            FAKE_BREAK_AT + FAKE_BREAK_BYTES - 8;
        fake_glibc_must_run(fake);
        assert_true(fake->findings.n_torn > 0);
        fake_glibc_free(fake);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_plain),
        cmocka_unit_test(test_damage),
        cmocka_unit_test(test_damage_to_the_end),
        cmocka_unit_test(test_footer),
        cmocka_unit_test(test_hostile_fill),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
