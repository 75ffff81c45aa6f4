/* links: hs_heaps */
#include "unit.h"

#include "fake_glibc.h"

/* One heap, then a second one that took over: both sizes of heap_info, all forms of its end. */
static void test_heaps(void **state)
{
    for (unsigned i = 0; i < 6; i++) {
        uint64_t info = i % 2 == 0 ? 32 : 48;
        struct fake_glibc *fake = fake_glibc_with_main(i / 2);
        struct fake_pen pen = fake_arena(fake, info);
        hs_addr end = FAKE_HEAP_AT + FAKE_HEAP_BYTES, a = fake_used(&pen, 96);
        fake_freed(&pen, 160);
        hs_addr b = fake_used(&pen, end - pen.at - 32);
        if (i / 2 == 1)
            *fake_glibc_word(fake, pen.at + 8) = 32 | GLIBC_PREV_INUSE, pen.at += 32;
        if (i / 2 == 1) { /* then it is the last 16 bytes of the block before */
            *fake_glibc_word(fake, b - 8) -= 16;
            *fake_glibc_word(fake, pen.at - 48 + 8) = 32 | GLIBC_PREV_INUSE;
            *fake_glibc_word(fake, pen.at - 16 + 8) = GLIBC_PREV_INUSE;
        } else {
            fake_heap_fence(&pen);
        }
        uint64_t b_bytes = (*fake_glibc_word(fake, b - 8) & ~7ul) - 8;
        pen = fake_second_heap(fake, info);
        hs_addr c = fake_used(&pen, 48);
        fake_top(&pen, FAKE_HEAP_AT + FAKE_HEAP_MAX + FAKE_HEAP_BYTES);
        fake_glibc_must_run(fake);
        assert_int_equal(fake_live(fake, a), 88);
        assert_int_equal(fake_live(fake, b), b_bytes);
        assert_int_equal(fake_live(fake, c), 40);
        assert_int_equal(fake->map.n_blocks, 4);
        assert_true(fake_glibc_proofs_hold(fake));
        assert_int_equal(fake->findings.n_torn, 0);
        fake_glibc_free(fake);
    }
}

/* A heap that names itself, or the other one, as its predecessor: the search ends. */
static void test_cycle(void **state)
{
    for (unsigned i = 0; i < 3; i++) {
        struct fake_glibc *fake = fake_glibc_with_main(0);
        struct fake_pen pen = fake_arena(fake, 48);
        fake_used(&pen, 96);
        fake_heap_fence(&pen);
        pen = fake_second_heap(fake, 48);
        hs_addr c = fake_used(&pen, 48);
        fake_top(&pen, FAKE_HEAP_AT + FAKE_HEAP_MAX + FAKE_HEAP_BYTES);
        hs_addr second = FAKE_HEAP_AT + FAKE_HEAP_MAX;
        *fake_glibc_word(fake, second + 8) = i == 0 ? second : i == 1 ? second + 64 : 0;
        fake_glibc_must_run(fake);
        assert_true(fake->findings.n_torn > 0);
        assert_int_equal(fake_live(fake, c), 40);
        fake_glibc_free(fake);
    }
}

/* Sizes of a heap that cannot be. */
static void test_sizes(void **state)
{
    static const uint64_t sizes[] = {
        0, 8, 4095, FAKE_HEAP_MAX * 1000, UINT64_MAX, UINT64_MAX - 4095, 4096};
    for (size_t i = 0; i < sizeof sizes / sizeof sizes[0]; i++) {
        struct fake_glibc *fake = fake_glibc_with_main(0);
        struct fake_pen pen = fake_arena(fake, 48);
        fake_used(&pen, 96);
        fake_top(&pen, FAKE_HEAP_AT + FAKE_HEAP_BYTES);
        *fake_glibc_word(fake, FAKE_HEAP_AT + 16) = sizes[i];
        fake_glibc_must_run(fake);
        assert_false(fake_glibc_proofs_hold(fake));
        assert_true(fake->findings.n_torn > 0);
        fake_glibc_free(fake);
    }
}

/* Two arenas on the ring that claim one heap: it is walked once. */
static void test_shared_heap(void **state)
{
    struct fake_glibc *fake = fake_glibc_with_main(0);
    struct fake_pen pen = fake_arena(fake, 48);
    hs_addr a = fake_used(&pen, 96), next = fake->layout->bins + GLIBC_NEXT;
    fake_top(&pen, FAKE_HEAP_AT + FAKE_HEAP_BYTES);
    *fake_glibc_word(fake, FAKE_HEAP_AT + 32 + next) = FAKE_ARENA_AT;
    *fake_glibc_word(fake, FAKE_HEAP_AT + 48 + next) = FAKE_HEAP_AT + 32;
    fake_glibc_must_run(fake);
    assert_int_equal(fake_live(fake, a), 88);
    assert_int_equal(fake->map.n_blocks, 2);
    fake_glibc_free(fake);
}

int main(void)
{
    static const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_heaps),
        cmocka_unit_test(test_cycle),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_shared_heap),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
