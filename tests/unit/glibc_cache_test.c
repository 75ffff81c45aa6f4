/* links: hs_heaps */
#include "unit.h"

#include "fake_glibc.h"

static void finish(struct fake_pen *pen)
{
    fake_top(pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    fake_system_mem(pen->fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
}

/* Chunks in fast lists are in use by their headers, yet free; links are plain before 2.32. */
static void test_fastbins(void **state)
{
    for (unsigned i = 0; i < 4; i++) {
        struct fake_glibc *fake = fake_glibc_new(i / 2);
        struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
        hs_addr blocks[6], links[3];
        for (unsigned k = 0; k < 6; k++)
            blocks[k] = fake_used(&pen, 48);
        finish(&pen);
        bool safe = i % 2 == 1;
        for (unsigned k = 0; k < 3; k++) { /* 1 -> 3 -> 5 */
            links[k] = k < 2 ? blocks[2 * k + 3] - 16 : 0;
            *fake_glibc_word(fake, blocks[2 * k + 1]) =
                safe ? fake_safe_link(blocks[2 * k + 1], links[k]) : links[k];
        }
        *fake_glibc_word(fake, FAKE_ARENA_AT + fake->layout->fastbins + 8) = blocks[1] - 16;
        fake_glibc_must_run(fake);
        for (unsigned k = 0; k < 6; k++)
            assert_int_equal(fake_live(fake, blocks[k]), k % 2 == 0 ? 40 : 0);
        assert_true(fake_glibc_proofs_hold(fake));
        assert_int_equal(fake->findings.n_torn, 0);
        assert_int_equal(fake_booked(fake, HS_MEMORY_CACHED), 3 * 40);
        fake_glibc_free(fake);
    }
}

/* Lists without end, into nowhere, of another size. */
static void test_fastbins_hostile(void **state)
{
    for (unsigned i = 0; i < 5; i++) {
        struct fake_glibc *fake = fake_glibc_new(0);
        struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
        hs_addr a = fake_used(&pen, 48), b = fake_used(&pen, 48), c = fake_used(&pen, 64);
        finish(&pen);
        hs_addr to[] = {a - 16, b - 8, 0x123450, c - 16, UINT64_MAX & ~UINT64_C(15)};
        *fake_glibc_word(fake, a) = fake_safe_link(a, b - 16);
        *fake_glibc_word(fake, b) = fake_safe_link(b, to[i]);
        *fake_glibc_word(fake, FAKE_ARENA_AT + fake->layout->fastbins + 8) = a - 16;
        fake_glibc_must_run(fake);
        assert_int_equal(fake_live(fake, a), 0);
        assert_int_equal(fake_live(fake, b), 0);
        assert_int_equal(fake_live(fake, c), 56);
        assert_true(fake->findings.n_torn > 0);
        assert_false(fake_glibc_proofs_hold(fake));
        fake_glibc_free(fake);
    }
}

/* A free chunk that is in no list, a list that runs in a circle, one that names a used chunk. */
static void test_bins(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        struct fake_glibc *fake = fake_glibc_new(0);
        struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
        hs_addr a = fake_freed(&pen, 160), u = fake_used(&pen, 48), b = fake_freed(&pen, 160);
        hs_addr v = fake_used(&pen, 48), head = FAKE_ARENA_AT + fake->layout->bins - 16;
        finish(&pen);
        if (i == 0) { /* taken out of the list by a thread that was stopped then */
            *fake_glibc_word(fake, head + 16) = a;
            *fake_glibc_word(fake, a + 24) = head;
        } else { /* head -> b -> ... */
            *fake_glibc_word(fake, b + 16) = i == 1 ? b : u - 16;
        }
        fake_glibc_must_run(fake);
        assert_int_equal(fake_live(fake, u), 40);
        assert_int_equal(fake_live(fake, v), 40);
        assert_int_equal(fake->map.n_blocks, 2);
        assert_false(fake_glibc_proofs_hold(fake));
        assert_true(fake->findings.n_torn > 0);
        fake_glibc_free(fake);
    }
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_fastbins),
        cmocka_unit_test(test_fastbins_hostile),
        cmocka_unit_test(test_bins),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
