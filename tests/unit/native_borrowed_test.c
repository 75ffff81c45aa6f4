/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "fake_ctypes.h"
#include "fake_native.h"
#include "native/borrowed.h"

static struct fake_native *f;

static int set_up(void **state)
{
    f = fake_native_new();
    fake_native_seal(f);
    f->native.ctypes = fake_ctypes();
    return 0;
}

static int tear_down(void **state)
{
    fake_native_free(f);
    return 0;
}

static bool borrows(hs_ctype type, bool is_argument, bool is_outer, bool is_c, uint64_t word)
{
    const struct hs_native_frame_label label = {.n_outer = is_outer, .is_c = is_c};
    const struct hs_local local = {.type = type, .is_argument = is_argument};
    uint8_t by;
    return hs_native_borrowed(&f->native, &label, &local, 0, word, &by) == HS_BORROWED;
}

/* Of a variable of C++ of a call of main's, or of one further in. */
static enum hs_borrowed borrowed_in(hs_ctype type, bool is_outer, uint64_t offset, uint64_t word)
{
    const struct hs_native_frame_label label = {.n_outer = is_outer};
    const struct hs_local local = {.type = type};
    uint8_t by;
    return hs_native_borrowed(&f->native, &label, &local, offset, word, &by);
}

static void pointers(void **state)
{
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
    hs_addr start = fake_native_block(3);
    for (uint8_t n_outer = 0; n_outer < 3; n_outer++)
        for (uint8_t n_inlined = 0; n_inlined < 3; n_inlined++) {
            const struct hs_native_frame_label label = {.n_outer = n_outer};
            const struct hs_local local = {.type = FAKE_NODE_P, .n_inlined = n_inlined};
            uint8_t by;
            enum hs_borrowed is = hs_native_borrowed(&f->native, &label, &local, 0, start, &by);
            assert_int_equal(is, n_inlined >= n_outer ? HS_BORROWED : HS_SHARED);
        }
}

static void what_the_type_says(void **state)
{
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
    hs_addr start = fake_native_block(3);
    assert_false(borrows(FAKE_NODE, false, true, true, start));
    assert_false(borrows(FAKE_NODES, false, true, true, start));
    assert_true(borrows(FAKE_NODE, false, false, true, start));
    assert_true(borrows(FAKE_NODE, false, true, true, start + 8));
    assert_false(borrows(0, false, false, true, start)); /* of which nothing is known */
}

/* What locks, leads to or looks into the middle of somebody else's object. */
static void records_with_pointers(void **state)
{
    hs_addr start = fake_native_block(3);
    for (int is_outer = 0; is_outer < 2; is_outer++)
        for (uint64_t into = 0; into < 16; into += 8) {
            bool is_mains = is_outer && into == 0;
            hs_addr word = start + into;
            assert_int_equal(borrowed_in(FAKE_LOCK, is_outer, 0, word), HS_BORROWED);
            assert_int_equal(borrowed_in(FAKE_HOLDER, is_outer, 8, word), HS_BORROWED);
            assert_int_equal(borrowed_in(FAKE_CLOSURE, is_outer, 8, word), HS_BORROWED);
            assert_int_equal(borrowed_in(FAKE_HOLDER, is_outer, 0, word),
                             is_mains ? HS_SHARED : HS_MAYBE_OWNED);
            assert_int_equal(borrowed_in(FAKE_CLOSURE, is_outer, 0, word),
                             is_mains ? HS_SHARED : HS_MAYBE_OWNED);
            fake_named = "std::unique_ptr<node>";
            assert_int_equal(borrowed_in(FAKE_NAMED, is_outer, 0, word), HS_OWNED);
            fake_named = "boost::intrusive_ptr<node>";
            assert_int_equal(borrowed_in(FAKE_NAMED, is_outer, 0, word), HS_SHARED);
        }
}

/* Names that end as those of guards and views do, and are none. */
static void names_that_borrow(void **state)
{
    static const struct {
        const char *name;
        bool is_borrower;
    } all[] = {
        {"boost::asio::detail::conditionally_enabled_mutex::scoped_lock", true},
        {"std::__1::lock_guard<std::__1::mutex>", true},
        {"std::sync::poison::rwlock::RwLockReadGuard<app::Cache>", true},
        {"QMutexLocker", true},
        {"core::cell::Ref<alloc::vec::Vec<app::Item>>", true},
        {"hashbrown::raw::RawIter<(u64, app::Item)>", true},
        {"alloc::vec::into_iter::IntoIter<app::Item>", false},
        {"app::Block", false},
        {"app::text_block", false},
        {"app::Clock", false},
        {"app::Cache<std::unique_lock<std::mutex> >", false},
    };
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fake_named = all[i].name;
        assert_int_equal(borrowed_in(FAKE_NAMED, true, 0, fake_native_block(3)) == HS_BORROWED,
                         all[i].is_borrower);
    }
}

/* What goes along when a variable of Rust is moved. */
static void what_owns_in_rust(void **state)
{
    static const struct {
        const char *name;
        enum hs_owning owning;
    } all[] = {
        {"alloc::boxed::Box<app::Item>", HS_OWNING_ALONE},
        {"alloc::raw_vec::RawVecInner<alloc::alloc::Global>", HS_OWNING_ALONE},
        {"hashbrown::raw::RawTable<(u64, app::Item)>", HS_OWNING_ALONE},
        {"alloc::sync::Arc<app::Cache>", HS_OWNING_COUNTED},
        {"alloc::rc::Rc<app::Cache>", HS_OWNING_COUNTED},
        {"std::sync::mpmc::Sender<app::Event>", HS_OWNING_SENDER},
        {"std::sync::mpmc::Receiver<app::Event>", HS_OWNING_RECEIVER},
        {"alloc::sync::Weak<app::Cache>", HS_OWNING_NOT},
        {"std::shared_ptr<app::Cache>", HS_OWNING_NOT},
    };
    uint8_t depth;
    for (size_t i = 0; i < sizeof all / sizeof *all; i++) {
        fake_named = all[i].name;
        assert_int_equal(hs_native_owning(&f->native, FAKE_NAMED, 0, &depth), all[i].owning);
    }
    fake_named = "alloc::boxed::Box<app::Item>"; /* a reference in it */
    assert_int_equal(hs_native_owning(&f->native, FAKE_NAMED, 8, &depth), HS_OWNING_NOT);
    assert_int_equal(hs_native_owning(&f->native, 0, 0, &depth), HS_OWNING_NOT);
}

static void without_debug_information(void **state)
{
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
        TEST(records_with_pointers),
        TEST(names_that_borrow),
        TEST(what_owns_in_rust),
        TEST(without_debug_information),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
