/* links: hs_native hs_heaps hs_runtimes hs_process hs_symbols hs_base */
#include "unit.h"

#include "fake_native.h"
#include "native/frames.h"

/* The fake program has no frame tables: by frame pointers and guesses. Calls end at these. */
#define RETURN_A (FAKE_N_TEXT_AT + 0x100)
#define RETURN_B (FAKE_N_TEXT_AT + 0x200)

static hs_addr at(size_t word)
{
    return FAKE_N_STACK_AT + word * HS_WORD_BYTES;
}

static struct fake_native *with_calls(void)
{
    struct fake_native *f = fake_native_new();
    f->text[0x100 - 5] = 0xe8;                      /* call rel32 */
    memcpy(f->text + 0x200 - 3, "\xff\x55\x08", 3); /* call *8(%rbp) */
    fake_native_seal(f);
    struct hs_thread *t = fake_native_thread(f, FAKE_N_PID);
    t->regs.rip = FAKE_N_TEXT_AT + 0x50;
    t->regs.rsp = at(100);
    return f;
}

static void follows_frame_pointers(void **state)
{
    struct fake_native *f = with_calls();
    struct hs_frames frames;
    f->threads[0].regs.rbp = at(104);
    f->stack[104] = at(110);
    f->stack[105] = RETURN_A;
    f->stack[110] = 0; /* the outermost */
    f->stack[111] = RETURN_B;
    hs_frames_begin(&f->native, &f->threads[0], &frames);
    assert_true(hs_frames_next(&frames));
    assert_int_equal(frames.number, 1);
    assert_int_equal(frames.method, HS_FRAME_BY_POINTER);
    assert_false(frames.is_return_address);
    assert_true(frames.low == at(100) - 128 && frames.high == at(106)); /* with the red zone */
    assert_true(frames.step.saved_at[HS_RBP] == at(104));
    assert_int_equal(hs_frames_left(&frames), 1);
    assert_true(hs_frames_next(&frames));
    assert_true(frames.is_return_address && frames.r.value[HS_RIP] == RETURN_A);
    assert_true(frames.r.value[HS_RBP] == at(110));
    assert_true(frames.low == at(106) && frames.high == at(112));
    assert_false(hs_frames_next(&frames)); /* rbp 0, and nothing above looks like a return */
    assert_true(frames.end == at(112) && !frames.is_whole);
    fake_native_free(f);
}

static void guesses_where_no_pointer_leads(void **state)
{
    struct fake_native *f = with_calls();
    struct hs_frames frames;
    f->stack[103] = FAKE_N_TEXT_AT + 0x300; /* code, but no call before it */
    f->stack[107] = RETURN_B;
    hs_frames_begin(&f->native, &f->threads[0], &frames);
    assert_true(hs_frames_next(&frames));
    assert_int_equal(frames.method, HS_FRAME_BY_GUESS);
    assert_true(frames.high == at(108) && frames.step.caller.value[HS_RIP] == RETURN_B);
    assert_false(hs_frames_next(&frames));
    assert_true(frames.end == at(108));
    fake_native_free(f);
}

static void damaged_chains_end(void **state)
{
    static const uint64_t saved[] = {1, UINT64_MAX, FAKE_N_STACK_AT, FAKE_N_DATA_AT};
    for (size_t i = 0; i < sizeof saved / sizeof *saved; i++) {
        struct fake_native *f = with_calls();
        struct hs_frames frames;
        unsigned n = 0;
        f->threads[0].regs.rbp = at(104);
        f->stack[104] = i == 2 ? at(104) : saved[i]; /* itself: does not rise */
        f->stack[105] = RETURN_A;
        hs_frames_begin(&f->native, &f->threads[0], &frames);
        while (hs_frames_next(&frames))
            n++;
        assert_true(n <= 2);
        fake_native_free(f);
    }
}

/* A jump to nowhere: the word at the top is where it came from. */
static void a_call_of_null_is_looked_through(void **state)
{
    struct fake_native *f = with_calls();
    struct hs_frames frames;
    f->threads[0].regs.rip = 0;
    f->stack[100] = RETURN_A;
    hs_frames_begin(&f->native, &f->threads[0], &frames);
    assert_true(hs_frames_next(&frames));
    assert_true(frames.step.caller.value[HS_RIP] == RETURN_A && frames.high == at(101));
    fake_native_free(f);
}

static void without_a_frame_the_stack_is_left_over(void **state)
{
    struct fake_native *f = with_calls();
    struct hs_frames frames;
    hs_frames_begin(&f->native, &f->threads[0], &frames);
    assert_false(hs_frames_next(&frames));
    assert_true(frames.end == at(100) - 128);      /* used, but by no frame known */
    f->threads[0].regs.rsp = fake_native_block(4); /* a coroutine: all of its own stack may be */
    hs_frames_begin(&f->native, &f->threads[0], &frames);
    assert_false(hs_frames_next(&frames));
    assert_true(frames.end == at(0) && frames.has_extent);
    f->threads[0].regs.rsp = 64; /* nowhere */
    f->threads[0].tid = 8;
    hs_frames_begin(&f->native, &f->threads[0], &frames);
    assert_false(frames.has_extent || hs_frames_next(&frames));
    fake_native_free(f);
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(follows_frame_pointers),
        cmocka_unit_test(guesses_where_no_pointer_leads),
        cmocka_unit_test(damaged_chains_end),
        cmocka_unit_test(a_call_of_null_is_looked_through),
        cmocka_unit_test(without_a_frame_the_stack_is_left_over),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
