/* links: hs_arch */
/* Which calls may have done part of their work, and which have. */
#include "unit.h"

#include <errno.h>
#include <sys/ioctl.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "arch/calls.h"

static struct hs_partial_call call;

static bool is_partial(uint64_t number, const uint64_t arguments[6])
{
    memset(&call, 0, sizeof call);
    return hs_call_is_partial(number, arguments, &call);
}

static void writes_have_parts(void **state)
{
    assert_true(is_partial(SYS_write, (uint64_t[6]){7, 0x1000, 100}));
    assert_int_equal(call.fd, 7);
    assert_int_equal(call.n_asked, 100);
    assert_true(call.is_write);
    assert_false(call.leaves_error);
    assert_false(is_partial(SYS_write, (uint64_t[6]){7, 0x1000, 1}));
    assert_true(is_partial(SYS_writev, (uint64_t[6]){7, 0x1000, 1}));
    assert_int_equal(call.n_asked, 0);
    assert_true(is_partial(SYS_splice, (uint64_t[6]){3, 0, 4, 0, 65536, 0}));
    assert_int_equal(call.fd, 4);
}

static void reads_have_them_only_when_told_to_wait(void **state)
{
    assert_true(is_partial(SYS_recvfrom, (uint64_t[6]){7, 0x1000, 100, MSG_WAITALL}));
    assert_false(call.by_file);
    assert_true(is_partial(SYS_recvmsg, (uint64_t[6]){7, 0x1000, MSG_WAITALL | MSG_PEEK}));
    assert_false(call.by_file);
}

static void or_when_their_file_waits(void **state)
{
    static const struct {
        uint64_t number, arguments[6], n_asked;
    } reads[] = {
        {SYS_read, {7, 0x1000, 100}, 100},
        {SYS_readv, {7, 0x1000, 1}, 0},
        {SYS_recvfrom, {7, 0x1000, 100, 0}, 100},
        {SYS_recvmsg, {7, 0x1000, MSG_PEEK}, 0},
    };
    for (size_t i = 0; i < sizeof reads / sizeof *reads; i++) {
        assert_true(is_partial(reads[i].number, reads[i].arguments));
        assert_true(call.by_file);
        assert_int_equal(call.fd, 7);
        assert_int_equal(call.n_asked, reads[i].n_asked);
        assert_int_equal(call.n_done, 0);
    }
    assert_false(is_partial(SYS_read, (uint64_t[6]){7, 0x1000, 1}));
    assert_false(is_partial(SYS_recvfrom, (uint64_t[6]){7, 0x1000, 100, MSG_DONTWAIT}));
}

static void of_many_messages_some_may_have_come(void **state)
{
    assert_true(is_partial(SYS_recvmmsg, (uint64_t[6]){7, 0x1000, 6, 0}));
    assert_true(call.leaves_error);
    assert_false(is_partial(SYS_recvmmsg, (uint64_t[6]){7, 0x1000, 1, 0}));
    assert_false(is_partial(SYS_recvmmsg, (uint64_t[6]){7, 0x1000, 6, MSG_WAITFORONE}));
    assert_true(is_partial(SYS_io_getevents, (uint64_t[6]){7, 2, 9}));
    assert_int_equal(call.fd, -1);
    assert_false(is_partial(SYS_io_getevents, (uint64_t[6]){7, 1, 9}));
}

#if defined __x86_64__
static struct hs_regs regs_of(uint64_t number, int64_t result, uint64_t n_asked)
{
    return (struct hs_regs){.orig_rax = number, .rax = (uint64_t)result, .rdi = 7, .rdx = n_asked};
}

static void cut_is_more_than_nothing_and_less_than_all(void **state)
{
    static const struct {
        int64_t result;
        bool is_cut;
    } of_100[] = {{-4, false}, {-512, false}, {0, false}, {1, true}, {99, true}, {100, false}};
    for (size_t i = 0; i < sizeof of_100 / sizeof *of_100; i++) {
        struct hs_regs regs = regs_of(SYS_write, of_100[i].result, 100);
        assert_int_equal(hs_regs_call_is_cut(&regs, &call), of_100[i].is_cut);
    }
    struct hs_regs regs = regs_of(SYS_writev, 5, 1);
    assert_true(hs_regs_call_is_cut(&regs, &call));
    assert_int_equal(call.fd, 7);
    regs = regs_of(SYS_read, 5, 100);
    assert_true(hs_regs_call_is_cut(&regs, &call));
    assert_true(call.by_file);
    assert_int_equal(call.n_done, 5);
    regs = regs_of(UINT64_MAX, 5, 100);
    assert_false(hs_regs_call_is_cut(&regs, &call));
}

static void reads_that_the_kernel_starts_again(void **state)
{
    struct hs_regs regs = regs_of(SYS_read, -512, 1);
    assert_true(hs_regs_read_begins_anew(&regs));
    regs = regs_of(SYS_read, 1, 1);
    assert_false(hs_regs_read_begins_anew(&regs));
    regs = regs_of(SYS_write, -512, 1);
    assert_false(hs_regs_read_begins_anew(&regs));
}
#endif

/* Of a call that a stop broke off. */
static bool is_made_again(uint64_t number, uint64_t second, uint64_t third)
{
    struct hs_regs regs = {
        .orig_rax = number, .rax = (uint64_t)-EINTR, .rsi = second, .rdx = third};

    return hs_regs_call_restart(&regs) && regs.rax != (uint64_t)-EINTR;
}

static void what_has_undone_its_work_is_made_again(void **state)
{
    assert_true(is_made_again(SYS_fallocate, 0, 0));
    assert_true(is_made_again(SYS_ioctl, TCSBRK, 1));  /* tcdrain */
    assert_false(is_made_again(SYS_ioctl, TCSBRK, 0)); /* tcsendbreak */
    assert_false(is_made_again(SYS_ioctl, TCSBRKP, 1));
    assert_false(is_made_again(SYS_close, 0, 0));
}

static void what_closes_has_returned_without_its_data_being_sent(void **state)
{
    struct hs_regs regs = {.orig_rax = SYS_close, .rax = 0};

    assert_true(hs_call_closes(SYS_dup2));
    assert_false(hs_call_closes(SYS_read));
    assert_true(hs_regs_call_has_closed(&regs));
    regs.rax = (uint64_t)-EBADF;
    assert_false(hs_regs_call_has_closed(&regs));
}

int main(void)
{
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(writes_have_parts),
        cmocka_unit_test(reads_have_them_only_when_told_to_wait),
        cmocka_unit_test(or_when_their_file_waits),
        cmocka_unit_test(of_many_messages_some_may_have_come),
#if defined __x86_64__
        cmocka_unit_test(cut_is_more_than_nothing_and_less_than_all),
        cmocka_unit_test(reads_that_the_kernel_starts_again),
#endif
        cmocka_unit_test(what_has_undone_its_work_is_made_again),
        cmocka_unit_test(what_closes_has_returned_without_its_data_being_sent),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
