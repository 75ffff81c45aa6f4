/* links: hs_target hs_symbols */
#include "unit.h"

#include <errno.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "live_child.h"
#include "seeds.h"
#include "target/copy/copy_private.h"
#include "target/procfs.h"

#define ROUNDS HS_SEEDS(2) /* at every point; more of them in tests/live/stop_kills.sh */

static struct hs_error err;
static int kill_at;

static void kill_there(int point)
{
    if (point == kill_at)
        kill(getpid(), SIGKILL);
}

/* A tool of its own. Ends with 0 when it has come to the end. */
static void run_tool(pid_t pid, enum hs_copy_variant variant, int point, int *ret_report)
{
    fflush(NULL);
    pid_t tool = fork();
    assert_true(tool >= 0);
    if (tool == 0) {
        struct hs_target target;
        hs_copy_point = kill_there;
        hs_copy_force = variant;
        kill_at = point;
        if (hs_target_open(pid, &target, &err) != HS_OK || hs_target_stop(&target, &err) != HS_OK ||
            hs_target_freeze(&target, &err) != HS_OK || target.report.way != HS_WAY_COPY)
            _exit(3);
        hs_target_close(&target);
        _exit(0);
    }
    assert_true(waitpid(tool, ret_report, 0) == tool);
}

static uint64_t status_number(pid_t pid, const char *key, int base)
{
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t value = 0;

    assert_int_equal(hs_proc_read_of(pid, "status", &text, &n, &err), HS_OK);
    assert_true(hs_proc_number(text, key, base, &value));
    return value;
}

/* Number of children that are not yet zombies. */
static int running_children(pid_t pid)
{
    char path[96];
    hs_auto_free char *text = NULL;
    size_t n;
    int n_running = 0;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    if (access(path, R_OK) != 0)
        return 0;
    assert_int_equal(hs_proc_read(path, &text, &n, &err), HS_OK);
    for (char *at = text; *at != '\0';) {
        long child = strtol(at, &at, 10);
        n_running += child > 0 && live_state_of((pid_t)child, (pid_t)child) != 'Z' &&
                     live_state_of((pid_t)child, (pid_t)child) != '?';
        while (*at == ' ')
            at++;
    }
    return n_running;
}

static bool children_end(pid_t pid)
{
    for (int i = 0; i < 5000; i++) {
        if (running_children(pid) == 0)
            return true;
        live_sleep_us(1000);
    }
    return false;
}

/* ---- one that computes with registers, and is in system calls in between */

static void *tick(void *counter)
{
    for (;;) {
        live_sleep_us(200);
        atomic_fetch_add((_Atomic uint64_t *)counter, 1);
    }
    return NULL;
}

static void body_compute(struct live_shared *shared)
{
    live_thread(tick, &shared->counters[2]);
    live_child_ready(shared);
    for (;;) {
        uint64_t general, vector;
        struct timespec nap = {.tv_nsec = 100000};
        __asm__ volatile("pcmpeqd %%xmm7, %%xmm7\n\tpsrlq $3, %%xmm7\n\tmovq %%xmm7, %%r15\n\t"
                         "mov $200000, %%rcx\n\t"
                         "1: dec %%rcx\n\tjnz 1b\n\t"
                         "movq %%xmm7, %1\n\tmov %%r15, %0\n\t"
                         : "=&r"(general), "=&r"(vector)
                         :
                         : "rcx", "r15", "xmm7", "cc");
        if (general != vector || general != UINT64_MAX >> 3)
            atomic_fetch_add(&shared->counters[1], 1);
        if (nanosleep(&nap, NULL) != 0 || waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
            atomic_fetch_add(&shared->counters[3], 1);
        atomic_fetch_add(&shared->counters[0], 1);
    }
}

static void assert_unharmed(const struct live_child *child)
{
    assert_true(live_child_progresses(child, 0, 2));
    assert_true(live_child_progresses(child, 2, 2));
    assert_true(live_runs_free(child->pid));
    assert_int_equal(status_number(child->pid, "SigBlk", 16), 0);
    assert_int_equal(atomic_load(&child->shared->counters[1]), 0);
    assert_int_equal(atomic_load(&child->shared->counters[3]), 0);
    assert_true(children_end(child->pid));
}

static bool point_is_passed(enum hs_copy_variant variant, int point)
{
    if (point == HS_COPY_AT_COPIED || point == HS_COPY_AT_ENDED || point == HS_COPY_AT_REAPED)
        return variant == HS_COPY_MIDDLE;
    if (point == HS_COPY_AT_SECOND || point == HS_COPY_AT_COLLECTED)
        return variant == HS_COPY_DIRECT;
    return true;
}

static void death_at_every_point_is_harmless(void **state)
{
    const enum hs_copy_variant variant = *(const enum hs_copy_variant *)*state;
    struct live_child child = live_child_start(body_compute);

    for (int i = 0; i < ROUNDS; i++)
        for (int point = 1; point < HS_COPY_POINTS_END; point += HS_EVERY(4)) {
            int report = 0;
            run_tool(child.pid, variant, point, &report);
            if (!point_is_passed(variant, point)) {
                assert_true(WIFEXITED(report) && WEXITSTATUS(report) == 0);
            } else if (!WIFSIGNALED(report) || WTERMSIG(report) != SIGKILL) {
                fail_msg("point %s was not passed: %x", hs_copy_point_name(point), report);
            }
            assert_unharmed(&child);
        }
    live_child_end(&child);
}

/* Many tools one after the other, each dead in the middle: the next one comes while the thread is
 * on its way back. */
static void tools_on_the_heels_of_dead_ones(void **state)
{
    static const int points[] = {HS_COPY_AT_ARMED, HS_COPY_AT_BORN, HS_COPY_AT_RETURNED};
    struct live_child child = live_child_start(body_compute);

    for (int i = 0; i < HS_SEEDS(60); i++) {
        int report = 0;
        run_tool(child.pid, HS_COPY_DIRECT, points[i % 3], &report);
        assert_true(WIFSIGNALED(report));
    }
    assert_unharmed(&child);
    live_child_end(&child);
}

/* ---- seccomp */

static void filter_clone(uint32_t action)
{
    struct sock_filter code[] = {
        BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, nr)),
        BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, SYS_clone, 0, 1),
        BPF_STMT(BPF_RET | BPF_K, action),
        BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW),
    };
    struct sock_fprog program = {.len = sizeof code / sizeof *code, .filter = code};

    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 ||
        prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program) != 0)
        _exit(1);
}

static void body_count(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;) {
        live_sleep_us(100);
        atomic_fetch_add(&shared->counters[0], 1);
    }
}

static void body_clone_kills(struct live_shared *shared)
{
    filter_clone(SECCOMP_RET_KILL_PROCESS);
    body_count(shared);
}

static void body_clone_fails(struct live_shared *shared)
{
    filter_clone(SECCOMP_RET_ERRNO | EPERM);
    body_count(shared);
}

static void check_filtered(live_body *body)
{
    struct live_child child = live_child_start(body);
    struct hs_target target;

    for (int i = 0; i < 10; i++) {
        assert_int_equal(hs_target_open(child.pid, &target, &err), HS_OK);
        assert_int_equal(hs_target_stop(&target, &err), HS_OK);
        assert_int_equal(hs_target_freeze(&target, &err), HS_OK);
        if (target.report.way != HS_WAY_COPY)
            assert_non_null(strstr(target.report.why_no_copy, "seccomp"));
        hs_target_close(&target);
        assert_true(live_child_progresses(&child, 0, 2));
        assert_int_equal(status_number(child.pid, "Seccomp", 10), 2);
    }
    assert_true(live_runs_free(child.pid));
    live_child_end(&child);
}

static void a_filter_is_suspended_or_respected(void **state)
{
    check_filtered(body_clone_kills);
    check_filtered(body_clone_fails);
}

/* ---- pid 1 of a namespace */

static void body_first(struct live_shared *shared)
{
    if (unshare(CLONE_NEWPID) != 0)
        return; /* never ready, but this is seen: it ends */
    pid_t first = fork();
    if (first == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        atomic_store(&shared->begin, 1);
        live_child_ready(shared);
        for (;;) {
            if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
                atomic_fetch_add(&shared->counters[1], 1);
            atomic_fetch_add(&shared->counters[0], 1);
            live_sleep_us(100);
        }
    }
    waitpid(first, NULL, 0);
}

static void body_try_unshare(struct live_shared *shared)
{
    atomic_store(&shared->begin, unshare(CLONE_NEWPID) == 0);
    live_child_ready(shared);
}

static pid_t only_child(pid_t pid)
{
    char path[96];
    hs_auto_free char *text = NULL;
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    assert_int_equal(hs_proc_read(path, &text, &n, &err), HS_OK);
    return (pid_t)strtol(text, NULL, 10);
}

static void the_first_of_a_namespace_makes_its_copy_itself(void **state)
{
    struct live_child probe = live_child_start(body_try_unshare);
    bool may_unshare = atomic_load(&probe.shared->begin);
    live_child_end(&probe);
    if (!may_unshare)
        skip();
    struct live_child child = live_child_start(body_first);
    pid_t first = only_child(child.pid);
    struct hs_target target;

    for (int i = 0; i < 10; i++) {
        assert_int_equal(hs_target_open(first, &target, &err), HS_OK);
        assert_int_equal(hs_target_stop(&target, &err), HS_OK);
        assert_int_equal(hs_target_freeze(&target, &err), HS_OK);
        assert_int_equal(target.report.way, HS_WAY_COPY);
        assert_int_equal(target.copy->variant, HS_COPY_DIRECT);
        assert_true(target.copy->inner_pid != target.copy->memory.pid);
        hs_target_close(&target);
        assert_true(live_child_progresses(&child, 0, 2));
        assert_int_equal(only_child(first), 0);
    }
    assert_int_equal(atomic_load(&child.shared->counters[1]), 0);
    kill(first, SIGKILL);
    live_child_end(&child);
}

int main(void)
{
    static enum hs_copy_variant middle = HS_COPY_MIDDLE, direct = HS_COPY_DIRECT;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_prestate(death_at_every_point_is_harmless, &middle),
        cmocka_unit_test_prestate(death_at_every_point_is_harmless, &direct),
        cmocka_unit_test(tools_on_the_heels_of_dead_ones),
        cmocka_unit_test(a_filter_is_suspended_or_respected),
        cmocka_unit_test(the_first_of_a_namespace_makes_its_copy_itself),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
