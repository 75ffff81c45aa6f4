/* links: hs_heaps */
#include "unit.h"

#include "fake_glibc.h"

/* Somebody else moved the break: the hole is nobody's, and what comes behind it is found, whether
 * the rest before the fencepost was freed (a clear PREV_INUSE) or not. */
static void test_hole(void **state)
{
    for (unsigned freed = 0; freed < 2; freed++) {
        struct fake_glibc *fake = fake_glibc_new(0);
        struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
        hs_addr a = fake_used(&pen, 64), hole_begin, hole_end, rest_begin, rest_end;
        if (freed)
            fake_freed(&pen, 96);
        fake_fence(&pen);
        hole_begin = pen.at;
        for (hs_addr p = pen.at; p < pen.at + 3000; p += 8)
            *fake_glibc_word(fake, p) = p % 128 == 8 ? 0x31 : 0x5a5a5a5a5a5a5a5a;
        pen.at = hole_end = pen.at + 3008;
        hs_addr b = fake_used(&pen, 64), c = fake_used(&pen, 128);
        fake_freed(&pen, 80);
        hs_addr d = fake_used(&pen, 96);
        fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
        fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES);
        fake_glibc_must_run(fake);
        assert_int_equal(fake_live(fake, a), 56);
        assert_int_equal(fake_live(fake, b), 56);
        assert_int_equal(fake_live(fake, c), 120);
        assert_int_equal(fake_live(fake, d), 88);
        assert_int_equal(fake->map.n_blocks, 4);
        assert_true(fake_glibc_proofs_hold(fake));
        assert_int_equal(fake->findings.n_torn, 0);
        assert_true(hs_ledger_next_unclaimed(&fake->ledger, FAKE_BREAK_AT,
                                             FAKE_BREAK_AT + FAKE_BREAK_BYTES, &rest_begin,
                                             &rest_end));
        assert_int_equal(rest_begin, hole_begin);
        assert_int_equal(rest_end, hole_end);
        fake_glibc_free(fake);
    }
}

/* A static program's TLS comes first in the break: chunks begin where mp_ says. */
static void test_late_begin(void **state)
{
    struct fake_glibc *fake = fake_glibc_new(0);
    struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT + 0xd40);
    *fake_glibc_word(fake, FAKE_PARAMS_AT + 96) = FAKE_BREAK_AT + 0xd38;
    hs_addr a = fake_used(&pen, 64), rest_begin, rest_end;
    fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES - 0xd38);
    fake_glibc_must_run(fake);
    assert_int_equal(fake_live(fake, a), 56);
    assert_true(fake_glibc_proofs_hold(fake));
    assert_true(hs_ledger_next_unclaimed(&fake->ledger, FAKE_BREAK_AT,
                                         FAKE_BREAK_AT + FAKE_BREAK_BYTES, &rest_begin, &rest_end));
    assert_int_equal(rest_end, FAKE_BREAK_AT + 0xd38);
    fake_glibc_free(fake);
}

/* Without mp_ the first chain in the break is taken; that its begin is not proved is told. */
static void test_no_params(void **state)
{
    struct fake_glibc *fake = fake_glibc_new(0);
    struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT + 0x700);
    memset(fake_glibc_word(fake, FAKE_PARAMS_AT), 0, 160);
    hs_addr a = fake_used(&pen, 64), b = fake_used(&pen, 64);
    fake_top(&pen, FAKE_BREAK_AT + FAKE_BREAK_BYTES);
    fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES - 0x700);
    fake_glibc_must_run(fake);
    assert_int_equal(fake_live(fake, a), 56);
    assert_int_equal(fake_live(fake, b), 56);
    assert_true(fake_glibc_proofs_hold(fake));
    assert_true(fake_glibc_has_note(fake, "counters of glibc's malloc were not found"));
    fake_glibc_free(fake);
}

/* The kernel refused brk: the arena goes on in mappings, several in one, a fencepost of two or
 * three headers behind each but the one with the top, which need not be the last. */
static void test_refused(void **state)
{
    for (unsigned n_extra = 0; n_extra < 2; n_extra++) {
        struct fake_glibc *fake = fake_glibc_new(0);
        struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
        hs_addr map = FAKE_MAP_AT + 0x2000;
        hs_addr a = fake_used(&pen, FAKE_BREAK_BYTES - 32);
        fake_fence(&pen);
        pen = fake_pen_main(fake, map);
        hs_addr b = fake_used(&pen, 64);
        fake_top(&pen, map + 0x3000);
        pen = fake_pen_main(fake, map + 0x3000);
        hs_addr c = fake_used(&pen, 0x2000 - 32 - 16 * n_extra);
        if (n_extra)
            *fake_glibc_word(fake, pen.at + 8) = GLIBC_FENCE | GLIBC_PREV_INUSE, pen.at += 16;
        fake_fence(&pen);
        assert_int_equal(pen.at, map + 0x5000);
        pen = fake_pen_main(fake, map + 0x6000);
        hs_addr d = fake_used(&pen, 0x800);
        fake_freed(&pen, 0x800 - 32);
        fake_fence(&pen);
        *fake_glibc_word(fake, FAKE_ARENA_AT) = (uint64_t)GLIBC_NONCONTIGUOUS << 32;
        fake_system_mem(fake, FAKE_ARENA_AT, FAKE_BREAK_BYTES + 0x3000 + 0x2000 + 0x1000);
        fake_glibc_must_run(fake);
        assert_int_equal(fake_live(fake, a), FAKE_BREAK_BYTES - 40);
        assert_int_equal(fake_live(fake, b), 56);
        assert_int_equal(fake_live(fake, c), 0x2000 - 40 - 16 * n_extra);
        assert_int_equal(fake_live(fake, d), 0x800 - 8);
        assert_int_equal(fake->map.n_blocks, 4);
        assert_true(fake_glibc_proofs_hold(fake));
        assert_int_equal(fake->findings.n_torn, 0);
        fake_glibc_free(fake);
    }
}

/* Pages full of headers that lead into each other but never to an end: none is taken, soon. */
static void test_refused_hostile(void **state)
{
    struct fake_glibc *fake = fake_glibc_new(0);
    struct fake_pen pen = fake_pen_main(fake, FAKE_BREAK_AT);
    fake_used(&pen, FAKE_BREAK_BYTES - 32);
    fake_fence(&pen);
    for (size_t k = 1; k < FAKE_MAP_BYTES / 8; k += 2)
        fake->maps[k] = 0x21;
    *fake_glibc_word(fake, FAKE_ARENA_AT) = (uint64_t)GLIBC_NONCONTIGUOUS << 32;
    *fake_glibc_word(fake, FAKE_ARENA_AT + fake->layout->top) = FAKE_DATA_AT + 64;
    fake_glibc_must_run(fake);
    assert_int_equal(fake->map.n_blocks, 1);
    assert_true(fake->findings.n_torn > 0);
    fake_glibc_free(fake);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_hole),
        cmocka_unit_test(test_late_begin),
        cmocka_unit_test(test_no_params),
        cmocka_unit_test(test_refused),
        cmocka_unit_test(test_refused_hostile),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
