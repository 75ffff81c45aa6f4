/* links: hs_native hs_heaps hs_ocaml hs_runtimes hs_process hs_symbols hs_base */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fake_ctypes.h"
#include "fake_native.h"
#include "native/borrowed.h"

static struct fake_native *f;

static int set_up(void **state)
{
    (void)state;
    f = fake_native_new();
    fake_native_seal(f);
    f->native.ctypes = fake_ctypes();
    return 0;
}

static int tear_down(void **state)
{
    (void)state;
    fake_native_free(f);
    return 0;
}

static bool borrows(hs_ctype type, bool is_argument, bool is_outer, bool is_c, uint64_t word)
{
    const struct hs_native_frame_label label = {.n_outer = is_outer, .is_c = is_c};
    const struct hs_local local = {.type = type, .is_argument = is_argument};
    return hs_native_is_borrowed(&f->native, &label, &local, word);
}

static void pointers(void **state)
{
    (void)state;
    hs_addr start = fake_native_block(3);
    for (int is_c = 0; is_c < 2; is_c++) {
        assert_false(borrows(FAKE_NODE_P, false, true, is_c, start)); /* main's own */
        assert_true(borrows(FAKE_NODE_P, false, true, is_c, start + 8));
        assert_true(borrows(FAKE_NODE_P, true, true, is_c, start));
        assert_true(borrows(FAKE_NODE_P, false, false, is_c, start));
        assert_true(borrows(FAKE_VOID_P, true, false, is_c, start));
    }
}

/* main's frame holds what it has called, too, where that was inlined. */
static void inlined_calls(void **state)
{
    (void)state;
    hs_addr start = fake_native_block(3);
    for (uint8_t n_outer = 0; n_outer < 3; n_outer++)
        for (uint8_t n_inlined = 0; n_inlined < 3; n_inlined++) {
            const struct hs_native_frame_label label = {.n_outer = n_outer};
            const struct hs_local local = {.type = FAKE_NODE_P, .n_inlined = n_inlined};
            assert_int_equal(hs_native_is_borrowed(&f->native, &label, &local, start),
                             n_inlined >= n_outer);
        }
}

static void what_the_type_says(void **state)
{
    (void)state;
    hs_addr start = fake_native_block(3);
    for (int is_outer = 0; is_outer < 2; is_outer++) {
        assert_true(borrows(FAKE_NODE_REF, false, is_outer, false, start));
        assert_true(borrows(FAKE_NODE_BORROW, false, is_outer, false, start));
        assert_true(borrows(FAKE_ITERATOR, false, is_outer, false, start));
        for (int is_argument = 0; is_argument < 2; is_argument++) {
            assert_false(borrows(FAKE_NODE_BOX, is_argument, is_outer, false, start));
            assert_false(borrows(FAKE_NODE, is_argument, is_outer, false, start));
            assert_false(borrows(FAKE_LIST, is_argument, is_outer, false, start));
            assert_false(borrows(0, is_argument, is_outer, false, start));
        }
    }
}

/* No type of C says who owns. */
static void records_of_c(void **state)
{
    (void)state;
    hs_addr start = fake_native_block(3);
    assert_false(borrows(FAKE_NODE, false, true, true, start));
    assert_false(borrows(FAKE_NODES, false, true, true, start));
    assert_true(borrows(FAKE_NODE, false, false, true, start));
    assert_true(borrows(FAKE_NODE, false, true, true, start + 8));
    assert_false(borrows(0, false, false, true, start)); /* of which nothing is known */
}

static void without_debug_information(void **state)
{
    (void)state;
    f->native.ctypes = NULL;
    assert_false(borrows(FAKE_NODE_P, true, false, true, fake_native_block(3)));
}

int main(void)
{
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
    const struct CMUnitTest tests[] = {
        TEST(pointers),
        TEST(inlined_calls),
        TEST(what_the_type_says),
        TEST(records_of_c),
        TEST(without_debug_information),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
