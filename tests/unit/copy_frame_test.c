/* links: hs_arch */

#include "base/load.h"

#include "unit.h"

#include <errno.h>
#include <sys/syscall.h>
#include <ucontext.h>

#include "arch/sigframe.h"

#define BEGIN ((hs_addr)0x7ffc00021000)
#define TABLE ((hs_addr)2 << 20) /* mapped by one page of the page table */

/* ---- the place */

static void the_place_lies_low_and_aligned(void **state)
{
    struct hs_sigframe_place place;

    for (size_t n = 576; n < 11 << 10; n += 61) {
        assert_true(hs_sigframe_choose(BEGIN, BEGIN + HS_SIGFRAME_STACK_BYTES, n, &place));
        assert_true(place.frame >= BEGIN + HS_SIGFRAME_BELOW);
        assert_int_equal((place.frame + 8) % 64, 0); /* the stack pointer behind the return */
        assert_int_equal(place.xstate % 64, 0);
        assert_int_equal(place.child_stack % 16, 0);
        assert_true(place.frame + 440 <= place.xstate);
        assert_true(place.xstate + n + 4 <= place.child_stack);
        assert_true(place.child_stack + 8 <= place.scratch && place.scratch + 8 <= place.end);
        assert_true(place.end < BEGIN + HS_SIGFRAME_STACK_BYTES - 128); /* the red zone */
    }
}

static void a_small_stack_has_no_place(void **state)
{
    struct hs_sigframe_place place;

    assert_false(hs_sigframe_choose(BEGIN, BEGIN + HS_SIGFRAME_STACK_BYTES - 8, 832, &place));
    assert_false(hs_sigframe_choose(BEGIN, BEGIN - 8, 832, &place));
    assert_false(hs_sigframe_choose(BEGIN, BEGIN + (1 << 20), HS_SIGFRAME_BYTES_MAX, &place));
}

static void no_page_table_is_needed(void **state)
{
    struct hs_sigframe_place place;
    hs_addr sp = BEGIN + 5 * TABLE + 4 * HS_SIGFRAME_STACK_BYTES;

    assert_true(hs_sigframe_choose(BEGIN, sp, 832, &place));
    assert_int_equal(place.frame / TABLE, sp / TABLE);
    sp = (BEGIN / TABLE + 3) * TABLE + HS_SIGFRAME_STACK_BYTES / 2; /* too near to the border */
    assert_true(hs_sigframe_choose(BEGIN, sp, 832, &place));
    assert_true(place.end < sp - 128);
}

static void a_thread_in_a_frame_is_known(void **state)
{
    struct hs_sigframe_place place;
    static const hs_addr depths[] = {HS_SIGFRAME_STACK_BYTES, 1 << 20, 3 << 20, 7 << 20};

    for (size_t i = 0; i < sizeof depths / sizeof *depths; i++) {
        hs_addr sp = BEGIN + depths[i];
        assert_true(hs_sigframe_choose(BEGIN, sp, 832, &place));
        assert_true(hs_sigframe_is_taken(BEGIN, place.frame));
        assert_true(hs_sigframe_is_taken(BEGIN, place.frame + 8));
        assert_false(hs_sigframe_is_taken(BEGIN, place.frame + 16));
        assert_false(hs_sigframe_is_taken(BEGIN, sp));
    }
    assert_false(hs_sigframe_is_taken(BEGIN, BEGIN - 8));
    assert_false(hs_sigframe_is_taken(BEGIN, 0));
}

/* ---- registers */

static struct hs_regs regs_in(uint64_t number, int64_t result)
{
    return (struct hs_regs){
        .rip = 0x401002, .orig_rax = number, .rax = (uint64_t)result, .rsp = 0x7000};
}

static void calls_broken_off_start_again(void **state)
{
    static const int results[] = {-512, -513, -514, -516};

    for (size_t i = 0; i < sizeof results / sizeof *results; i++) {
        struct hs_regs regs = regs_in(SYS_futex, results[i]);
        struct hs_regs found = hs_sigframe_regs(&regs, NULL, 0);
        assert_int_equal(found.rip, 0x401000);
        assert_int_equal(found.rax, SYS_futex);
        assert_int_equal(found.rsp, 0x7000);
    }
    struct hs_regs ended = regs_in(SYS_futex, -EINTR), outside = regs_in(UINT64_MAX, -512);
    assert_int_equal(hs_sigframe_regs(&ended, NULL, 0).rip, 0x401002);
    assert_int_equal(hs_sigframe_regs(&outside, NULL, 0).rip, 0x401002);
}

static void a_call_restarted_before_gets_its_own_number(void **state)
{
    uint8_t code[7] = {0xb8, SYS_clock_nanosleep, 0, 0, 0, 0x0f, 0x05};
    struct hs_regs regs = regs_in(SYS_restart_syscall, -516);

    assert_int_equal(hs_sigframe_regs(&regs, code, 0).rax, SYS_clock_nanosleep);
    assert_int_equal(hs_sigframe_regs(&regs, NULL, 0).rax, SYS_restart_syscall);
    assert_int_equal(hs_sigframe_regs(&regs, NULL, SYS_poll).rax, SYS_poll);
    code[1] = SYS_write; /* is never restarted like this: the code says something else */
    assert_int_equal(hs_sigframe_regs(&regs, code, 0).rax, SYS_restart_syscall);
    code[1] = SYS_poll;
    code[0] = 0xb9;
    assert_int_equal(hs_sigframe_regs(&regs, code, 0).rax, SYS_restart_syscall);
}

/* ---- bytes */

static void make_xstate(uint8_t *bytes, size_t n, uint64_t features, uint64_t used)
{
    memset(bytes, 0x77, n);
    memcpy(bytes + 464, &features, sizeof features);
    memcpy(bytes + 512, &used, sizeof used);
}

static uint32_t word_at(const uint8_t *bytes, size_t at)
{
    return hs_load_u32(bytes + at);
}

static void extended_state_gets_both_magic_words(void **state)
{
    uint8_t bytes[1024];
    size_t n = 832;

    make_xstate(bytes, n, 7, 3);
    assert_true(hs_sigframe_state(bytes, &n, sizeof bytes));
    assert_int_equal(n, 832);
    assert_int_equal(word_at(bytes, 464), 0x46505853);
    assert_int_equal(word_at(bytes, 468), 836);
    assert_int_equal(word_at(bytes, 472), 7);
    assert_int_equal(word_at(bytes, 480), 832);
    assert_int_equal(word_at(bytes, 832), 0x46505845);
}

static void extended_state_that_is_none_is_refused(void **state)
{
    uint8_t bytes[1024];
    size_t n = 512;

    make_xstate(bytes, sizeof bytes, 7, 3);
    assert_false(hs_sigframe_state(bytes, &n, sizeof bytes)); /* the old form alone */
    n = 1023;
    assert_false(hs_sigframe_state(bytes, &n, sizeof bytes)); /* no room for the end */
    n = 832;
    make_xstate(bytes, sizeof bytes, 3, 7); /* uses what it does not have */
    assert_false(hs_sigframe_state(bytes, &n, sizeof bytes));
}

static void the_frame_is_that_of_the_kernel(void **state)
{
    uint8_t xstate[1024], area[HS_SIGFRAME_BYTES_MAX];
    size_t n = 832;
    struct hs_sigframe frame = {
        .regs = {.rip = 1, .rsp = 2, .rax = 3, .r15 = 4, .eflags = 0x246, .cs = 0x33, .ss = 0x2b},
        .signal_mask = UINT64_C(0x8000000000000001),
        .sigreturn = 0x1111,
        .leave = 0x2222,
        .xstate = xstate};
    ucontext_t context;
    uint64_t word;

    make_xstate(xstate, sizeof xstate, 7, 3);
    assert_true(hs_sigframe_state(xstate, &n, sizeof xstate));
    frame.xstate_bytes = n;
    assert_true(hs_sigframe_choose(BEGIN, BEGIN + (1 << 17), n, &frame.place));
    hs_sigframe_build(&frame, area);

    memcpy(&word, area, sizeof word);
    assert_int_equal(word, 0x1111);
    memcpy(&context, area + 8, 304); /* the part that libc and kernel have in common */
    assert_int_equal(context.uc_mcontext.gregs[REG_RIP], 1);
    assert_int_equal(context.uc_mcontext.gregs[REG_RSP], 2);
    assert_int_equal(context.uc_mcontext.gregs[REG_RAX], 3);
    assert_int_equal(context.uc_mcontext.gregs[REG_R15], 4);
    assert_int_equal(context.uc_mcontext.gregs[REG_EFL], 0x246);
    assert_int_equal(context.uc_mcontext.gregs[REG_CSGSFS], UINT64_C(0x2b) << 48 | 0x33);
    assert_int_equal((hs_addr)(uintptr_t)context.uc_mcontext.fpregs, frame.place.xstate);
    assert_int_equal(context.uc_flags, 7);
    memcpy(&word, &context.uc_sigmask, sizeof word);
    assert_int_equal(word, frame.signal_mask);
    memcpy(&word, area + (frame.place.child_stack - frame.place.frame), sizeof word);
    assert_int_equal(word, 0x2222);
    assert_memory_equal(area + (frame.place.xstate - frame.place.frame), xstate, n + 4);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_place_lies_low_and_aligned),
        cmocka_unit_test(a_small_stack_has_no_place),
        cmocka_unit_test(no_page_table_is_needed),
        cmocka_unit_test(a_thread_in_a_frame_is_known),
        cmocka_unit_test(calls_broken_off_start_again),
        cmocka_unit_test(a_call_restarted_before_gets_its_own_number),
        cmocka_unit_test(extended_state_gets_both_magic_words),
        cmocka_unit_test(extended_state_that_is_none_is_refused),
        cmocka_unit_test(the_frame_is_that_of_the_kernel),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
