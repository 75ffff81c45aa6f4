/* links: hs_target hs_symbols */
#include "unit.h"

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <sys/epoll.h>
#include <sys/ipc.h>
#include <sys/prctl.h>
#include <sys/sem.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/progress.h"
#include "live_child.h"
#include "process/image.h"
#include "seeds.h"
#include "target/freeze.h"
#include "target/procfs.h"
#include "target/target.h"
#include "target/target_private.h"

static struct hs_error err;

static void open_target(struct hs_target *target, pid_t pid)
{
    if (hs_target_open(pid, target, &err) != HS_OK)
        fail_msg("open: %s", err.message);
}

static void stop_target(struct hs_target *target)
{
    if (hs_target_stop(target, &err) != HS_OK)
        fail_msg("stop: %s", err.message);
}

/* ---- a process that computes in several threads */

#define SPINNERS 6

static void *spin(void *counter)
{
    for (;;)
        atomic_fetch_add((_Atomic uint64_t *)counter, 1);
    return NULL;
}

static void body_spin(struct live_shared *shared)
{
    for (unsigned i = 1; i < SPINNERS; i++)
        live_thread(spin, &shared->counters[i]);
    live_child_ready(shared);
    spin(&shared->counters[0]);
}

static void stops_every_thread_and_reads_its_registers(void **state)
{
    struct live_child child = live_child_start(body_spin);
    struct hs_target target;
    uint64_t frozen[SPINNERS];

    open_target(&target, child.pid);
    stop_target(&target);
    assert_true(target.is_stopped);
    assert_false(target.was_stopped_already);
    assert_int_equal(target.n_threads, SPINNERS);
    for (size_t i = 0; i < target.n_threads; i++) {
        assert_true(i == 0 || target.threads[i - 1].tid < target.threads[i].tid);
        assert_true(target.threads[i].regs.rip != 0 && target.threads[i].regs.rsp != 0);
        const struct hs_mapping *stack = hs_target_mapping_at(&target, target.threads[i].regs.rsp);
        assert_true(stack != NULL && stack->readable && stack->writable);
        assert_int_equal(live_state_of(child.pid, target.threads[i].tid), 't');
    }
    for (unsigned i = 0; i < SPINNERS; i++)
        frozen[i] = atomic_load(&child.shared->counters[i]);
    live_sleep_us(20000);
    for (unsigned i = 0; i < SPINNERS; i++)
        assert_int_equal(frozen[i], atomic_load(&child.shared->counters[i]));
    hs_target_resume(&target);
    assert_false(target.is_stopped);
    assert_true(target.pause_ns >= 20000000);
    assert_true(live_runs_free(child.pid));
    for (unsigned i = 0; i < SPINNERS; i++)
        assert_true(live_child_progresses(&child, i, 1));
    hs_target_close(&target);
    live_child_end(&child);
}

/* As if time had gone by, at a good pace and at a bad one: that of 60 s allowed 10 are gone says
 * nothing, that a page took half of them does. */
static void a_read_that_cannot_end_in_time_is_given_up_early(void **state)
{
    struct live_child child = live_child_start(body_spin);
    const uint64_t second_ns = 1000000000;
    struct hs_target target;
    uint64_t word;
    uint8_t page[4096];

    open_target(&target, child.pid);
    target.options.mode = HS_STOP_READ;
    target.options.max_pause_ns = 60 * second_ns;
    stop_target(&target);
    assert_int_equal(hs_target_freeze(&target, &err), HS_OK);
    hs_addr sp = target.threads[0].regs.rsp;
    assert_int_equal(hs_target_read(&target, sp, &word, sizeof word, &err), HS_OK);
    assert_int_equal(target.pace_bytes, 0); /* single words are no pace */
    assert_int_equal(hs_target_read(&target, sp & -sizeof page, page, sizeof page, &err), HS_OK);
    assert_int_equal(target.pace_bytes, sizeof page);
    target.stopped_at_ns -= 10 * second_ns;
    target.pace_ns = 1000;
    target.pace_bytes = 4096;
    assert_int_equal(hs_target_read(&target, sp, &word, sizeof word, &err), HS_OK);
    target.pace_ns = 5 * second_ns;
    target.pace_bytes = 4096;
    assert_int_equal(hs_target_read(&target, sp, &word, sizeof word, &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "it is read so slowly"));
    assert_false(target.is_stopped);
    assert_true(live_runs_free(child.pid));
    assert_true(live_child_progresses(&child, 0, 1000));
    assert_int_equal(hs_target_read(&target, sp, &word, sizeof word, &err), HS_LIMIT);
    hs_target_close(&target);
    live_child_end(&child);
}

static void stops_a_spinning_process_200_times(void **state)
{
    struct live_child child = live_child_start(body_spin);
    struct hs_target target;

    open_target(&target, child.pid);
    for (int i = 0; i < 200; i++) {
        stop_target(&target);
        assert_int_equal(target.n_threads, SPINNERS);
        hs_target_resume(&target);
    }
    assert_true(live_runs_free(child.pid));
    assert_true(live_child_progresses(&child, 0, 1000));
    hs_target_close(&target);
    live_child_end(&child);
}

static void close_lets_a_stopped_process_go(void **state)
{
    struct live_child child = live_child_start(body_spin);
    struct hs_target target;

    open_target(&target, child.pid);
    stop_target(&target);
    hs_target_close(&target);
    assert_true(live_runs_free(child.pid));
    assert_true(live_child_progresses(&child, 0, 1000));
    live_child_end(&child);
}

/* ---- threads that come and go */

static void *storm_leaf(void *counter)
{
    atomic_fetch_add((_Atomic uint64_t *)counter, 1);
    return NULL;
}

static void *storm(void *counter)
{
    for (;;) {
        pthread_t threads[4];
        int n = 0;
        for (; n < 4 && pthread_create(&threads[n], NULL, storm_leaf, counter) == 0; n++)
            ;
        for (int i = 0; i < n; i++)
            pthread_join(threads[i], NULL);
    }
    return NULL;
}

static void body_storm(struct live_shared *shared)
{
    live_thread(storm, &shared->counters[0]);
    live_child_ready(shared);
    storm(&shared->counters[1]);
}

static void stops_while_threads_come_and_go(void **state)
{
    struct live_child child = live_child_start(body_storm);
    struct hs_target target;

    open_target(&target, child.pid);
    for (int i = 0; i < 100; i++) {
        stop_target(&target);
        uint64_t count = atomic_load(&child.shared->counters[0]);
        uint64_t other = atomic_load(&child.shared->counters[1]);
        live_sleep_us(500);
        assert_int_equal(count, atomic_load(&child.shared->counters[0]));
        assert_int_equal(other, atomic_load(&child.shared->counters[1]));
        hs_target_resume(&target);
        live_sleep_us(500);
    }
    assert_true(live_child_progresses(&child, 0, 10));
    hs_target_close(&target);
    live_child_end(&child);
}

/* ---- system calls that notice a mere stop */

enum {
    CALL_EPOLL,
    CALL_RECV,
    CALL_READ,
    CALL_ACCEPT,
    CALL_SEMOP,
    CALL_SIGWAIT,
    CALL_NAP,
    CALL_PIPE,
    N_CALLS
};
#define EINTRS 32 /* counters of calls that saw EINTR stand behind those of others */

static struct live_shared *calls_shared;
static int call_epoll, call_sockets[2], call_listener, call_semaphore, call_pipe[2];

static long call_once(int which)
{
    char byte;
    struct epoll_event event;
    struct sembuf down = {0, -1, 0};
    struct timespec hour = {.tv_sec = 3600};
    sigset_t set;

    switch (which) {
    case CALL_EPOLL:
        return epoll_wait(call_epoll, &event, 1, -1);
    case CALL_RECV:
        return recv(call_sockets[0], &byte, 1, 0);
    case CALL_READ:
        return read(call_sockets[1], &byte, 1);
    case CALL_ACCEPT:
        return accept(call_listener, NULL, NULL);
    case CALL_SEMOP:
        return semop(call_semaphore, &down, 1);
    case CALL_SIGWAIT:
        sigemptyset(&set);
        sigaddset(&set, SIGUSR2);
        return sigtimedwait(&set, NULL, &hour);
    case CALL_NAP:
        return nanosleep(&hour, NULL);
    default:
        return read(call_pipe[0], &byte, 1);
    }
}

static void *call_forever(void *number)
{
    int which = (int)(intptr_t)number;
    for (;;) {
        atomic_fetch_add(&calls_shared->counters[which], 1);
        if (call_once(which) < 0 && errno == EINTR)
            atomic_fetch_add(&calls_shared->counters[EINTRS + which], 1);
        else
            live_sleep_us(1000);
    }
    return NULL;
}

static void body_calls(struct live_shared *shared)
{
    struct timeval hour = {.tv_sec = 3600};
    sigset_t set;

    calls_shared = shared;
    sigemptyset(&set);
    sigaddset(&set, SIGUSR2);
    sigprocmask(SIG_BLOCK, &set, NULL);
    call_epoll = epoll_create1(0);
    call_listener = socket(AF_UNIX, SOCK_STREAM, 0);
    struct sockaddr name = {.sa_family = AF_UNIX}; /* bound to a name of the kernel's choice */
    call_semaphore = semget(IPC_PRIVATE, 1, 0600);
    if (socketpair(AF_UNIX, SOCK_STREAM, 0, call_sockets) != 0 || pipe(call_pipe) != 0 ||
        bind(call_listener, &name, sizeof name.sa_family) != 0 || listen(call_listener, 1) != 0)
        _exit(1);
    setsockopt(call_sockets[0], SOL_SOCKET, SO_RCVTIMEO, &hour, sizeof hour);
    setsockopt(call_sockets[1], SOL_SOCKET, SO_RCVTIMEO, &hour, sizeof hour);
    setsockopt(call_listener, SOL_SOCKET, SO_RCVTIMEO, &hour, sizeof hour);
    atomic_store(&shared->begin, (uint64_t)call_semaphore);
    for (intptr_t i = 0; i < N_CALLS; i++)
        live_thread(call_forever, (void *)i);
    live_sleep_us(50000);
    live_child_ready(shared);
    for (;;)
        pause();
}

static void no_blocked_call_sees_a_stop(void **state)
{
    struct live_child child = live_child_start(body_calls);
    struct hs_target target;
    uint64_t before[N_CALLS];

    for (int i = 0; i < N_CALLS; i++)
        before[i] = atomic_load(&child.shared->counters[i]);
    open_target(&target, child.pid);
    for (int i = 0; i < 25; i++) {
        stop_target(&target);
        hs_target_resume(&target);
        live_sleep_us(2000);
    }
    for (int i = 0; i < N_CALLS; i++) {
        assert_int_equal(atomic_load(&child.shared->counters[EINTRS + i]), 0);
        assert_int_equal(atomic_load(&child.shared->counters[i]), before[i]); /* still in it */
    }
    assert_true(target.report.n_restarted >= 25); /* the kernel would have told them */
    hs_target_close(&target);
    semctl((int)atomic_load(&child.shared->begin), 0, IPC_RMID);
    live_child_end(&child);
}

/* ---- signals */

static struct live_shared *signal_shared;

static void on_signal(int number)
{
    atomic_fetch_add(&signal_shared->counters[1], 1);
}

static void body_signals(struct live_shared *shared)
{
    struct sigaction action = {.sa_handler = on_signal};
    struct epoll_event event;

    signal_shared = shared;
    sigaction(SIGRTMIN, &action, NULL);
    int epoll = epoll_create1(0);
    live_child_ready(shared);
    for (;;)
        if (epoll_wait(epoll, &event, 1, -1) < 0 && errno == EINTR)
            atomic_fetch_add(&shared->counters[0], 1);
}

/* Real-time signals queue: each must arrive once, whatever stops come in between. */
static void signals_pass_through_stops(void **state)
{
    struct live_child child = live_child_start(body_signals);
    struct hs_target target;
    uint64_t n_sent = 0;

    open_target(&target, child.pid);
    for (int i = 0; i < 200; i++) {
        for (int k = 0; k < 3; k++)
            n_sent += sigqueue(child.pid, SIGRTMIN, (union sigval){0}) == 0;
        stop_target(&target);
        n_sent += sigqueue(child.pid, SIGRTMIN, (union sigval){0}) == 0;
        hs_target_resume(&target);
    }
    for (int ms = 0; ms < 5000 && atomic_load(&child.shared->counters[1]) < n_sent; ms++)
        live_sleep_us(1000);
    assert_int_equal(atomic_load(&child.shared->counters[1]), n_sent);
    hs_target_close(&target);
    live_child_end(&child);
}

static void a_signal_during_the_stop_still_interrupts_the_call(void **state)
{
    struct live_child child = live_child_start(body_signals);
    struct hs_target target;

    live_sleep_us(20000);
    open_target(&target, child.pid);
    stop_target(&target);
    kill(child.pid, SIGRTMIN);
    hs_target_resume(&target);
    assert_int_equal(target.report.n_restarted, 0);
    for (int ms = 0; ms < 5000 && atomic_load(&child.shared->counters[0]) == 0; ms++)
        live_sleep_us(1000);
    assert_int_equal(atomic_load(&child.shared->counters[0]), 1);
    assert_int_equal(atomic_load(&child.shared->counters[1]), 1);
    hs_target_close(&target);
    live_child_end(&child);
}

static void a_process_stopped_by_its_user_stays_stopped(void **state)
{
    struct live_child child = live_child_start(body_spin);
    struct hs_target target;

    kill(child.pid, SIGSTOP);
    assert_true(live_wait_state(child.pid, 'T'));
    open_target(&target, child.pid);
    for (int i = 0; i < 3; i++) {
        stop_target(&target);
        assert_true(target.was_stopped_already);
        assert_int_equal(target.n_threads, SPINNERS);
        live_sleep_us(1000);
        hs_target_resume(&target);
        assert_int_equal(target.pause_ns, 0);
        assert_true(live_wait_state(child.pid, 'T'));
    }
    kill(child.pid, SIGCONT);
    assert_true(live_child_progresses(&child, 1, 1000));
    stop_target(&target);
    assert_false(target.was_stopped_already);
    hs_target_resume(&target);
    assert_true(target.pause_ns > 0);
    hs_target_close(&target);
    live_child_end(&child);
}

/* ---- targets that end or become another program */

static void body_end_soon(struct live_shared *shared)
{
    for (unsigned i = 1; i < 4; i++)
        live_thread(spin, &shared->counters[i]);
    live_child_ready(shared);
    live_sleep_us(3000);
}

/* Gaps between the stops let a target of several threads get on with it on a busy machine. */
static hs_status stop_until_refused(struct hs_target *target, hs_status status)
{
    uint64_t deadline_ns = hs_now_ns() + 20000000000;
    for (unsigned i = 0; status == HS_OK && hs_now_ns() < deadline_ns; i++) {
        status = hs_target_stop(target, &err);
        hs_target_resume(target);
        live_sleep_us(i % 4 * 200);
    }
    return status;
}

static void a_process_that_ends_is_a_plain_error(void **state)
{
    for (int i = 0; i < 40; i++) {
        struct live_child child = live_child_start(body_end_soon);
        struct hs_target target = {0};
        hs_status status = hs_target_open(child.pid, &target, &err);
        status = stop_until_refused(&target, status);
        assert_int_equal(status, HS_TARGET);
        if (strstr(err.message, "ended") == NULL && strstr(err.message, "is ending") == NULL &&
            strstr(err.message, "no such") == NULL && strstr(err.message, "zombie") == NULL)
            fail_msg("%s", err.message);
        hs_target_close(&target);
        live_child_end(&child);
    }
}

static void *tell_and_end(void *argument)
{
    atomic_store((_Atomic uint64_t *)argument, (uint64_t)gettid());
    return NULL;
}

static void body_lose_a_thread(struct live_shared *shared)
{
    live_thread(tell_and_end, &shared->counters[1]);
    live_child_ready(shared);
    spin(&shared->counters[0]);
}

/* Threads end one after the other, and with each the files by which it was asked. */
static void another_thread_is_asked_when_one_has_ended(void **state)
{
    struct live_child child = live_child_start(body_lose_a_thread);
    struct hs_target target;

    assert_true(live_child_reaches(&child, 1, 1));
    pid_t tid = (pid_t)atomic_load(&child.shared->counters[1]);
    for (int ms = 0; ms < 60000 && live_state_of(child.pid, tid) != '?'; ms++)
        live_sleep_us(1000);
    open_target(&target, child.pid);
    hs_memory_close(&target.live);
    hs_memory_open(tid, &target.live);
    assert_int_equal(hs_mappings_refresh(&target, &err), HS_TARGET);
    assert_int_equal(hs_process_mappings(&target, &err), HS_OK);
    assert_int_equal(target.live.pid, child.pid);
    assert_true(target.n_mappings > 0);
    hs_memory_close(&target.live);
    hs_memory_open(tid, &target.live);
    live_child_end(&child);
    assert_int_equal(hs_process_mappings(&target, &err), HS_TARGET);
    assert_non_null(strstr(err.message, "is ending"));
    hs_target_close(&target);
}

static void body_exec_soon(struct live_shared *shared)
{
    for (unsigned i = 1; i < 4; i++)
        live_thread(spin, &shared->counters[i]);
    live_child_ready(shared);
    while (atomic_load(&shared->end) == 0)
        live_sleep_us(100);
    live_sleep_us((unsigned)atomic_load(&shared->end));
    execl("/bin/sleep", "sleep", "60", (char *)NULL);
}

static void a_process_that_executes_another_program_is_refused(void **state)
{
    for (int i = 0; i < 40; i++) {
        struct live_child child = live_child_start(body_exec_soon);
        struct hs_target target;
        open_target(&target, child.pid);
        atomic_store(&child.shared->end, 1 + (uint64_t)i * 50);
        assert_int_equal(stop_until_refused(&target, HS_OK), HS_TARGET);
        if (strstr(err.message, "executed another program") == NULL)
            fail_msg("%s", err.message);
        assert_string_equal(err.hint, "try again");
        hs_target_close(&target);
        live_sleep_us(1000);
        assert_true(live_runs_free(child.pid));
        live_child_end(&child);
    }
}

/* The same file: only the place of its stack tells. */
static void body_shell(struct live_shared *shared)
{
    static char script[] = "trap 'exec sh -c \"while :; do :; done\"' USR1; while :; do :; done";
    live_child_ready(shared);
    execl("/bin/sh", "sh", "-c", script, (char *)NULL);
}

static bool catches_usr1(pid_t pid)
{
    char *text = NULL;
    size_t n;
    uint64_t caught = 0;
    bool is_read = hs_proc_read_of(pid, "status", &text, &n, &err) == HS_OK &&
                   hs_proc_number(text, "SigCgt", 16, &caught);

    hs_free(text);
    return is_read && (caught & UINT64_C(1) << (SIGUSR1 - 1)) != 0;
}

static bool has_no_trap(pid_t pid)
{
    char *text = NULL;
    size_t n;
    bool is_so = hs_proc_read_of(pid, "cmdline", &text, &n, &err) == HS_OK && n > 0 &&
                 memmem(text, n, "trap", 4) == NULL;

    hs_free(text);
    return is_so;
}

static void await(bool (*is_so)(pid_t), pid_t pid)
{
    for (int ms = 0; ms < 60000 && !is_so(pid); ms++)
        live_sleep_us(1000);
    assert_true(is_so(pid));
}

static void a_process_that_executes_itself_is_told(void **state)
{
    struct live_child child = live_child_start(body_shell);
    struct hs_target target;

    await(catches_usr1, child.pid);
    open_target(&target, child.pid);
    stop_target(&target);
    hs_target_resume(&target);
    kill(child.pid, SIGUSR1);
    await(has_no_trap, child.pid);
    assert_int_equal(hs_target_stop(&target, &err), HS_TARGET);
    assert_non_null(strstr(err.message, "executed another program"));
    assert_true(live_runs_free(child.pid));
    hs_target_close(&target);
    live_child_end(&child);
}

/* ---- our own end */

static void stop_and_hold(pid_t pid, bool is_copying)
{
    struct hs_error tool_err;
    struct hs_target target;
    struct hs_image image = {0};

    if (hs_target_open(pid, &target, &tool_err) != HS_OK)
        _exit(3);
    for (;;) {
        if (hs_target_stop(&target, &tool_err) != HS_OK)
            _exit(4);
        for (size_t i = 0; is_copying && i < target.n_mappings; i++)
            (void)hs_image_copy(&image, &target, target.mappings[i].begin, target.mappings[i].end,
                                &tool_err);
        hs_image_fini(&image);
        live_sleep_us(300);
        hs_target_resume(&target);
    }
}

static void the_target_survives_our_death_at_any_moment(void **state)
{
    struct live_child child = live_child_start(body_spin);
    unsigned seed = 7;

    for (int i = 0; i < HS_SEEDS(100); i++) {
        pid_t tool = fork();
        assert_true(tool >= 0);
        if (tool == 0)
            stop_and_hold(child.pid, i % 2 == 0);
        seed = seed * 1103515245 + 12345;
        live_sleep_us(500 + seed / 65536 % 8000);
        kill(tool, SIGKILL);
        assert_int_equal(waitpid(tool, NULL, 0), tool);
        assert_true(live_child_progresses(&child, 0, 1));
        assert_true(live_runs_free(child.pid));
    }
    for (unsigned i = 0; i < SPINNERS; i++)
        assert_true(live_child_progresses(&child, i, 1));
    live_child_end(&child);
}

static void every_failed_allocation_lets_the_target_go(void **state)
{
    struct live_child child = live_child_start(body_spin);
    bool is_through = false;

    for (uint64_t n = 1; n < 100 && !is_through; n++) {
        struct hs_target target = {0};
        hs_alloc_fail_at(n, true);
        hs_status status = hs_target_open(child.pid, &target, &err);
        if (status == HS_OK) {
            status = hs_target_stop(&target, &err);
            hs_target_resume(&target);
        }
        hs_alloc_fail_at(0, false);
        assert_true(status == HS_OK || status == HS_LIMIT || status == HS_TARGET);
        is_through = status == HS_OK;
        hs_target_close(&target);
        assert_true(live_runs_free(child.pid));
    }
    assert_true(is_through);
    assert_true(live_child_progresses(&child, 0, 1));
    live_child_end(&child);
}

int main(void)
{
#ifdef __SANITIZE_THREAD__
    puts("skipped: the thread sanitizer adds threads of its own to the children, and slows them");
    return 77;
#endif
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(stops_every_thread_and_reads_its_registers),
        cmocka_unit_test(a_read_that_cannot_end_in_time_is_given_up_early),
        cmocka_unit_test(stops_a_spinning_process_200_times),
        cmocka_unit_test(close_lets_a_stopped_process_go),
        cmocka_unit_test(stops_while_threads_come_and_go),
        cmocka_unit_test(no_blocked_call_sees_a_stop),
        cmocka_unit_test(signals_pass_through_stops),
        cmocka_unit_test(a_signal_during_the_stop_still_interrupts_the_call),
        cmocka_unit_test(a_process_stopped_by_its_user_stays_stopped),
        cmocka_unit_test(a_process_that_ends_is_a_plain_error),
        cmocka_unit_test(another_thread_is_asked_when_one_has_ended),
        cmocka_unit_test(a_process_that_executes_another_program_is_refused),
        cmocka_unit_test(a_process_that_executes_itself_is_told),
        cmocka_unit_test(the_target_survives_our_death_at_any_moment),
        cmocka_unit_test(every_failed_allocation_lets_the_target_go),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
