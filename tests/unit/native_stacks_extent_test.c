/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "fake_native.h"
#include "native/stacks_extent.h"

#define GUARD_AT UINT64_C(0x7f5000000000)
#define STACK_AT (GUARD_AT + 0x1000)
enum { STACK_WORDS = 2048, TCB = STACK_WORDS - 304, BLOCK = 210 };
#define TCB_AT (STACK_AT + TCB * HS_WORD_BYTES)
#define STACK_END (STACK_AT + STACK_WORDS * HS_WORD_BYTES)

static uint64_t words[STACK_WORDS];

/* A pthread's stack of 16 KiB above a guard page, with its control block at the top. */
static struct fake_native *with_pthread(void)
{
    struct fake_native *f = fake_native_new();
    memset(words, 0, sizeof words);
    words[TCB] = words[TCB + 2] = TCB_AT;
    words[TCB + BLOCK] = GUARD_AT;
    words[TCB + BLOCK + 1] = STACK_END - GUARD_AT;
    words[TCB + BLOCK + 2] = 0x1000;
    fake_native_map(f, GUARD_AT, NULL, 0x1000, "---p", "");
    fake_native_map(f, STACK_AT, words, sizeof words, "rw-p", "");
    fake_native_seal(f);
    f->of_object.tls_offset = 0x40;
    return f;
}

static void a_control_block_tells_its_stack(void **state)
{
    struct fake_native *f = with_pthread();
    struct hs_native_tcb tcb;
    assert_true(hs_native_read_tcb(&f->native, TCB_AT, &tcb));
    assert_true(tcb.tls_begin == TCB_AT - 0x40);
    assert_true(tcb.stack_begin == STACK_AT && tcb.stack_end == STACK_END);
    assert_true(tcb.end > TCB_AT + 0x200 && tcb.end <= STACK_END);
    words[TCB + BLOCK + 1] = UINT64_MAX - 1; /* wraps */
    assert_true(hs_native_read_tcb(&f->native, TCB_AT, &tcb));
    assert_true(tcb.stack_begin == 0 && tcb.stack_end == 0);
    assert_false(hs_native_read_tcb(&f->native, TCB_AT + 8, &tcb));
    assert_false(hs_native_read_tcb(&f->native, TCB_AT + 1, &tcb));
    assert_false(hs_native_read_tcb(&f->native, 0, &tcb));
    assert_false(hs_native_read_tcb(&f->native, UINT64_MAX - 7, &tcb));
    fake_native_free(f);
}

static void a_stack_is_used_from_its_pointer(void **state)
{
    struct fake_native *f = with_pthread();
    struct hs_thread *t = fake_native_thread(f, 42);
    struct hs_stack_extent extent;
    hs_addr begin, end;
    t->regs.fs_base = TCB_AT;
    t->regs.rsp = STACK_AT + 0x800;
    assert_true(hs_native_stack_extent(&f->native, t, &extent));
    assert_true(extent.mapping_begin == STACK_AT && extent.begin == STACK_AT + 0x800 &&
                extent.end == TCB_AT - 0x40);
    assert_true(hs_native_static_tls(&f->native, t, &begin, &end));
    assert_true(begin == TCB_AT - 0x40 && end <= STACK_END);
    t->regs.rsp = FAKE_N_DATA_AT; /* on a handler's stack: its own may be in use anywhere */
    assert_true(hs_native_stack_extent(&f->native, t, &extent));
    assert_true(extent.begin == STACK_AT && extent.end == TCB_AT - 0x40);
    t->regs.fs_base = 0; /* no thread library: where it runs, unless that is a variable */
    assert_false(hs_native_stack_extent(&f->native, t, &extent));
    assert_false(hs_native_static_tls(&f->native, t, &begin, &end));
    t->regs.rsp = STACK_AT + 0x10;
    assert_true(hs_native_stack_extent(&f->native, t, &extent));
    assert_true(extent.begin == STACK_AT + 0x10 && extent.end == STACK_END);
    t->regs.rsp = 1;
    assert_false(hs_native_stack_extent(&f->native, t, &extent));
    fake_native_free(f);
}

static void the_first_thread_has_the_kernels_stack(void **state)
{
    struct fake_native *f = with_pthread();
    struct hs_thread *t = fake_native_thread(f, FAKE_N_PID);
    struct hs_stack_extent extent;
    t->regs.rsp = FAKE_N_STACK_AT + 0x100;
    assert_true(hs_native_stack_extent(&f->native, t, &extent));
    assert_true(extent.begin == FAKE_N_STACK_AT + 0x100 &&
                extent.end == FAKE_N_STACK_AT + sizeof f->stack);
    t->regs.rsp = fake_native_block(3); /* a coroutine in malloc memory */
    assert_true(hs_native_stack_extent(&f->native, t, &extent));
    assert_true(extent.begin == FAKE_N_STACK_AT);
    t->tid = 8; /* another thread there: an allocator owns that memory */
    assert_false(hs_native_stack_extent(&f->native, t, &extent));
    fake_native_free(f);
}

static void stacks_of_ended_threads_are_known_by_their_control_block(void **state)
{
    struct fake_native *f = with_pthread();
    struct hs_native_tcb tcb;
    size_t at = 0;
    assert_true(hs_native_next_ended(&f->native, &at, &tcb));
    assert_true(tcb.tcb == TCB_AT && tcb.stack_begin == STACK_AT && tcb.stack_end == STACK_END);
    assert_false(hs_native_next_ended(&f->native, &at, &tcb));
    struct hs_thread *t = fake_native_thread(f, 42);
    t->regs.fs_base = TCB_AT; /* alive */
    at = 0;
    assert_false(hs_native_next_ended(&f->native, &at, &tcb));
    f->dump.target.n_threads = 0;
    words[TCB + BLOCK] = GUARD_AT + 0x1000; /* does not begin with the guard */
    at = 0;
    assert_false(hs_native_next_ended(&f->native, &at, &tcb));
    fake_native_free(f);
}

static void a_thread_that_nobody_has_joined_awaits_it(void **state)
{
    const struct hs_thread_result places = {.tid = 720, .joinid = 1600, .result = 1608};
    struct fake_native *f = with_pthread();

    words[TCB + 1608 / 8] = 4711;
    assert_true(hs_native_awaits_join(&f->native, &places, TCB_AT));
    words[TCB + 1600 / 8] = FAKE_N_TCB_AT; /* another one waits for it */
    assert_true(hs_native_awaits_join(&f->native, &places, TCB_AT));
    words[TCB + 1600 / 8] = TCB_AT; /* it is detached */
    assert_false(hs_native_awaits_join(&f->native, &places, TCB_AT));
    words[TCB + 1600 / 8] = 0;
    words[TCB + 720 / 8] = UINT32_MAX; /* it was joined */
    assert_false(hs_native_awaits_join(&f->native, &places, TCB_AT));
    assert_false(hs_native_awaits_join(&f->native, &places, UINT64_MAX - 800));
    const struct hs_thread_result untold = hs_native_thread_result(&f->native);
    assert_true(untold.result == 0 && untold.tid == 0); /* there is no libc */
    assert_true(hs_native_awaits_join(&f->native, &untold, TCB_AT));
    fake_native_free(f);
}

static hs_addr seen_begin, seen_end;
static unsigned n_seen;

static void see(void *context, hs_addr begin, hs_addr end)
{
    seen_begin = begin;
    seen_end = end;
    n_seen++;
}

static void the_linkers_memory_is_the_pages_around_the_first_thread(void **state)
{
    struct fake_native *f = fake_native_new();
    fake_native_seal(f);
    struct hs_thread *t = fake_native_thread(f, FAKE_N_PID);
    f->of_object.tls_offset = 0x40;
    t->regs.fs_base = FAKE_N_TCB_AT;
    f->tls[512] = f->tls[514] = FAKE_N_TCB_AT;
    n_seen = 0;
    hs_native_each_loader_range(&f->native, see, NULL);
    assert_int_equal(n_seen, 1);
    assert_true(seen_begin == FAKE_N_TLS_AT && seen_end == FAKE_N_TLS_AT + sizeof f->tls);
    t->tid = 8;
    hs_native_each_loader_range(&f->native, see, NULL);
    assert_int_equal(n_seen, 1);
    fake_native_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_control_block_tells_its_stack),
        cmocka_unit_test(a_stack_is_used_from_its_pointer),
        cmocka_unit_test(the_first_thread_has_the_kernels_stack),
        cmocka_unit_test(stacks_of_ended_threads_are_known_by_their_control_block),
        cmocka_unit_test(a_thread_that_nobody_has_joined_awaits_it),
        cmocka_unit_test(the_linkers_memory_is_the_pages_around_the_first_thread),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
