/* links: hs_target hs_symbols */
#include "unit.h"

#include <errno.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "live_child.h"
#include "page_kinds.h"
#include "seeds.h"
#include "target/copy/copy_private.h"
#include "target/procfs.h"

#define PAGE ((size_t)4096)
#define N_PAGES ((size_t)64)
#define AREA_BYTES (N_PAGES * PAGE)
#define CYCLES HS_SEEDS(25)

static struct hs_error err;

static void open_target(struct hs_target *target, pid_t pid)
{
    if (hs_target_open(pid, target, &err) != HS_OK)
        fail_msg("open: %s", err.message);
}

static void freeze_target(struct hs_target *target)
{
    if (hs_target_stop(target, &err) != HS_OK)
        fail_msg("stop: %s", err.message);
    if (hs_target_freeze(target, &err) != HS_OK)
        fail_msg("freeze: %s", err.message);
}

static void freeze_by_copy(struct hs_target *target)
{
    freeze_target(target);
    if (target->report.way != HS_WAY_COPY)
        fail_msg("no copy: %s", target->report.why_no_copy);
    assert_false(target->is_stopped);
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

/* Children of the main thread, zombies included. */
static void assert_no_children(pid_t pid)
{
    char path[96];
    hs_auto_free char *text = NULL;
    size_t n;

    snprintf(path, sizeof path, "/proc/%d/task/%d/children", pid, pid);
    if (access(path, R_OK) != 0)
        return; /* CONFIG_PROC_CHILDREN */
    assert_int_equal(hs_proc_read(path, &text, &n, &err), HS_OK);
    assert_string_equal(text, "");
}

static uint8_t *map_area(struct live_shared *shared)
{
    uint8_t *area =
        mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (area == MAP_FAILED)
        _exit(1);
    atomic_store(&shared->begin, (uint64_t)(uintptr_t)area);
    atomic_store(&shared->end, (uint64_t)(uintptr_t)area + AREA_BYTES);
    return area;
}

/* ---- what is read */

/* Both halves of the area hold the number of the round, but for the moment of a change. */
static void body_write(struct live_shared *shared)
{
    volatile uint64_t *words = (volatile uint64_t *)map_area(shared);
    size_t half = AREA_BYTES / 2 / sizeof *words;

    live_child_ready(shared);
    for (uint64_t round = 1;; round++) {
        for (size_t i = 0; i < half; i += 64) {
            words[i] = round;
            words[half + i] = round;
        }
        atomic_store(&shared->counters[0], round);
    }
}

static void count_torn(const uint64_t *words, uint64_t *ret_torn, uint64_t *ret_wild)
{
    size_t half = AREA_BYTES / 2 / sizeof *words;

    *ret_torn = *ret_wild = 0;
    for (size_t i = 0; i < half; i += 64) {
        *ret_torn += words[i] != words[half + i];
        *ret_wild += words[i] - words[half + i] > 1 || words[0] - words[i] > 1;
    }
}

static void reads_see_one_moment_while_the_process_writes_on(void **state)
{
    struct live_child child = live_child_start(body_write);
    struct hs_target target;
    uint64_t *first = malloc(AREA_BYTES), *second = malloc(AREA_BYTES), n_torn, n_wild;
    hs_addr begin = atomic_load(&child.shared->begin);

    assert_non_null(first);
    assert_non_null(second);
    open_target(&target, child.pid);
    for (int i = 0; i < CYCLES; i++) {
        freeze_by_copy(&target);
        assert_int_equal(hs_target_read(&target, begin, first, AREA_BYTES, &err), HS_OK);
        assert_true(live_child_progresses(&child, 0, 2));
        assert_int_equal(hs_target_read(&target, begin, second, AREA_BYTES, &err), HS_OK);
        assert_memory_equal(first, second, AREA_BYTES);
        count_torn(first, &n_torn, &n_wild);
        assert_true(n_torn <= 1 && n_wild == 0);
        assert_true(target.pause_ns > 0 && target.report.copying_ns > 0);
        assert_true(target.report.predicted_ns > 0);
        hs_target_resume(&target);
        assert_null(target.copy);
    }
    assert_true(target.report.growth_bytes > 0);
    assert_no_children(child.pid);
    assert_true(live_runs_free(child.pid));
    hs_target_close(&target);
    live_child_end(&child);
    free(first);
    free(second);
}

/* ---- what is left behind */

static void body_sleep(struct live_shared *shared)
{
    memset(map_area(shared), 0x5a, AREA_BYTES);
    live_child_ready(shared);
    for (;;)
        pause();
}

static const struct hs_mapping *stack_of(const struct hs_target *target)
{
    for (size_t i = 0; i < target->n_mappings; i++)
        if (strcmp(hs_mapping_path(target, &target->mappings[i]), "[stack]") == 0)
            return &target->mappings[i];
    fail_msg("no stack");
    return NULL;
}

static uint8_t *read_stack(struct hs_target *target, size_t *ret_n)
{
    const struct hs_mapping *stack = stack_of(target);
    uint8_t *bytes = malloc(stack->end - stack->begin);

    assert_non_null(bytes);
    *ret_n = stack->end - stack->begin;
    assert_int_equal(hs_target_read(target, stack->begin, bytes, *ret_n, &err), HS_OK);
    return bytes;
}

/* The first copy may need a page of a page table for its frame, where the stack pointer is hardly
 * above what one maps, and one for code of libc that this child of ours has never run; no further
 * copy needs any. */
#define FIRST_TABLES_KILOBYTES 12

static void leaves_no_trace(void **state)
{
    const enum hs_copy_variant *variant = *state;
    struct live_child child = live_child_start(body_sleep);
    struct hs_target target;
    size_t n, n_after;

    assert_true(live_wait_state(child.pid, 'S'));
    open_target(&target, child.pid);
    uint64_t tables_before = status_number(child.pid, "VmPTE", 10), tables = 0;
    uint64_t mask = status_number(child.pid, "SigBlk", 16);
    uint8_t *before = read_stack(&target, &n);
    hs_copy_force = *variant;
    for (int i = 0; i < CYCLES; i++) {
        freeze_by_copy(&target);
        uint8_t *copied = read_stack(&target, &n_after);
        assert_int_equal(n, n_after);
        assert_memory_equal(before, copied, n);
        free(copied);
        hs_target_resume(&target);
        assert_int_equal(status_number(child.pid, "SigBlk", 16), mask);
        assert_no_children(child.pid);
        assert_true(live_wait_state(child.pid, 'S'));
        if (i == 0)
            tables = status_number(child.pid, "VmPTE", 10);
    }
    hs_copy_force = HS_COPY_NONE;
    assert_true(tables <= tables_before + FIRST_TABLES_KILOBYTES);
    uint8_t *after = read_stack(&target, &n_after);
    assert_int_equal(n, n_after);
    assert_memory_equal(before, after, n);
    assert_int_equal(status_number(child.pid, "VmPTE", 10), tables);
    hs_target_close(&target);
    live_child_end(&child);
    free(before);
    free(after);
}

/* A program that waits for children of its own must not meet ours. */
static void body_wait(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;) {
        if (waitpid(-1, NULL, WNOHANG) >= 0 || errno != ECHILD)
            atomic_fetch_add(&shared->counters[1], 1);
        atomic_fetch_add(&shared->counters[0], 1);
        live_sleep_us(100);
    }
}

static void body_wait_as_subreaper(struct live_shared *shared)
{
    prctl(PR_SET_CHILD_SUBREAPER, 1);
    body_wait(shared);
}

static void check_waits(live_body *body, enum hs_copy_variant variant)
{
    struct live_child child = live_child_start(body);
    struct hs_target target;

    open_target(&target, child.pid);
    for (int i = 0; i < CYCLES; i++) {
        freeze_by_copy(&target);
        assert_int_equal(target.copy->variant, variant);
        assert_true(live_child_progresses(&child, 0, 5));
        hs_target_resume(&target);
        assert_true(live_child_progresses(&child, 0, 5));
    }
    assert_int_equal(atomic_load(&child.shared->counters[1]), 0);
    assert_no_children(child.pid);
    hs_target_close(&target);
    live_child_end(&child);
}

static void wait_never_sees_the_copy(void **state)
{
    check_waits(body_wait, HS_COPY_MIDDLE);
}

static void a_subreaper_makes_its_copy_itself(void **state)
{
    check_waits(body_wait_as_subreaper, HS_COPY_DIRECT);
}

/* ---- states of the calling thread */

#define FILL_REGISTERS                                                     \
    "pcmpeqd %%xmm7, %%xmm7\n\tpsrlq $3, %%xmm7\n\tmovq %%xmm7, %%r15\n\t" \
    "movq %%r15, %%r14\n\tnot %%r14\n\t"

/* Holds patterns in registers for a long time and counts when one has changed. */
static void body_registers(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;) {
        uint64_t general, inverse, vector;
        __asm__ volatile(FILL_REGISTERS "mov $2000000, %%rcx\n\t"
                                        "1: dec %%rcx\n\tjnz 1b\n\t"
                                        "movq %%xmm7, %2\n\tmov %%r15, %0\n\tmov %%r14, %1\n\t"
                         : "=&r"(general), "=&r"(inverse), "=&r"(vector)
                         :
                         : "rcx", "r14", "r15", "xmm7", "cc");
        if (general != vector || inverse != ~general || general != UINT64_MAX >> 3)
            atomic_fetch_add(&shared->counters[1], 1);
        atomic_fetch_add(&shared->counters[0], 1);
    }
}

static void registers_survive(void **state)
{
    struct live_child child = live_child_start(body_registers);
    struct hs_target target;

    open_target(&target, child.pid);
    for (int i = 0; i < CYCLES; i++) {
        freeze_by_copy(&target);
        hs_target_resume(&target);
        assert_true(live_child_progresses(&child, 0, 1));
    }
    assert_int_equal(atomic_load(&child.shared->counters[1]), 0);
    hs_target_close(&target);
    live_child_end(&child);
}

/* A sleep that is interrupted many times in a row still ends in time, and without EINTR. */
static void body_nap(struct live_shared *shared)
{
    live_child_ready(shared);
    for (;;) {
        struct timespec nap = {.tv_nsec = 50000000};
        if (nanosleep(&nap, NULL) != 0)
            atomic_fetch_add(&shared->counters[1], 1);
        atomic_fetch_add(&shared->counters[0], 1);
    }
}

static void body_signal_wait(struct live_shared *shared)
{
    sigset_t set;

    sigemptyset(&set);
    sigaddset(&set, SIGUSR1);
    sigprocmask(SIG_BLOCK, &set, NULL);
    live_child_ready(shared);
    for (;;) {
        if (sigwaitinfo(&set, NULL) < 0)
            atomic_fetch_add(&shared->counters[1], 1);
        atomic_fetch_add(&shared->counters[0], 1);
    }
}

static void a_sleep_goes_on(void **state)
{
    struct live_child child = live_child_start(body_nap);
    struct hs_target target;

    open_target(&target, child.pid);
    for (int i = 0; i < 4 * CYCLES; i++) {
        freeze_by_copy(&target);
        hs_target_resume(&target);
    }
    assert_true(live_child_progresses(&child, 0, 2));
    assert_int_equal(atomic_load(&child.shared->counters[1]), 0);
    hs_target_close(&target);
    live_child_end(&child);
}

static void a_wait_for_signals_goes_on(void **state)
{
    struct live_child child = live_child_start(body_signal_wait);
    struct hs_target target;

    open_target(&target, child.pid);
    for (int i = 0; i < CYCLES; i++) {
        assert_true(live_wait_state(child.pid, 'S'));
        freeze_by_copy(&target);
        hs_target_resume(&target);
        uint64_t before = atomic_load(&child.shared->counters[0]);
        kill(child.pid, SIGUSR1);
        assert_true(live_child_reaches(&child, 0, before + 1));
    }
    assert_int_equal(atomic_load(&child.shared->counters[1]), 0);
    hs_target_close(&target);
    live_child_end(&child);
}

/* ---- what a copy lacks */

static void body_kept(struct live_shared *shared)
{
    uint8_t *kept = map_area(shared);
    uint8_t *wiped =
        mmap(NULL, AREA_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);

    if (wiped == MAP_FAILED || madvise(kept, AREA_BYTES, MADV_DONTFORK) != 0 ||
        madvise(wiped, AREA_BYTES, MADV_WIPEONFORK) != 0)
        _exit(1);
    memset(kept + 2 * PAGE, 0x11, 3 * PAGE); /* all else stays untouched */
    memset(wiped + 5 * PAGE, 0x22, 2 * PAGE);
    atomic_store(&shared->end, (uint64_t)(uintptr_t)wiped);
    live_child_ready(shared);
    live_sleep_us(100000000);
}

static void assert_bytes(const uint8_t *bytes, size_t begin, size_t end, uint8_t value)
{
    for (size_t i = begin; i < end; i++)
        if (bytes[i] != value)
            fail_msg("byte %zu is %#x, not %#x", i, bytes[i], value);
}

static void what_a_copy_lacks_is_read_before(void **state)
{
    struct live_child child = live_child_start(body_kept);
    struct hs_target target;
    static uint8_t bytes[AREA_BYTES];
    uint64_t pages[N_PAGES];

    open_target(&target, child.pid);
    freeze_by_copy(&target);
    hs_addr kept = atomic_load(&child.shared->begin), wiped = atomic_load(&child.shared->end);
    assert_int_equal(hs_target_read(&target, kept, bytes, AREA_BYTES, &err), HS_OK);
    assert_bytes(bytes, 0, 2 * PAGE, 0);
    assert_bytes(bytes, 2 * PAGE, 5 * PAGE, 0x11);
    assert_bytes(bytes, 5 * PAGE, AREA_BYTES, 0);
    assert_int_equal(hs_target_read(&target, wiped, bytes, AREA_BYTES, &err), HS_OK);
    assert_bytes(bytes, 0, 5 * PAGE, 0);
    assert_bytes(bytes, 5 * PAGE, 7 * PAGE, 0x22);
    assert_bytes(bytes, 7 * PAGE, AREA_BYTES, 0);
    assert_int_equal(hs_target_read(&target, wiped + 7 * PAGE - 3, bytes, 5, &err), HS_OK);
    assert_bytes(bytes, 0, 3, 0x22);
    assert_bytes(bytes, 3, 5, 0);
    assert_int_equal(page_kinds(&target, kept, pages, N_PAGES), N_PAGES);
    for (size_t i = 0; i < N_PAGES; i++)
        assert_int_equal(pages[i], i >= 2 && i < 5 ? HS_PAGES_PRESENT : 0);
    hs_target_close(&target);
    live_child_end(&child);
}

/* ---- limits and refusals */

static void reading_is_a_choice(void **state)
{
    struct live_child child = live_child_start(body_write);
    struct hs_target target;

    open_target(&target, child.pid);
    target.options.mode = HS_STOP_READ;
    assert_false(hs_copy_is_expected(&target));
    freeze_target(&target);
    assert_int_equal(target.report.way, HS_WAY_READ);
    assert_string_equal(target.report.why_no_copy, "");
    assert_true(target.is_stopped);
    hs_target_close(&target);
    live_child_end(&child);
}

static void a_long_pause_is_refused_before_it(void **state)
{
    struct live_child child = live_child_start(body_write);
    struct hs_target target;

    open_target(&target, child.pid);
    target.options = (struct hs_stop_options){.mode = HS_STOP_READ, .max_pause_ns = 1000};
    assert_int_equal(hs_target_stop(&target, &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "allowed"));
    assert_non_null(strstr(err.hint, "--max-pause"));
    assert_false(target.is_stopped);
    assert_int_equal(target.report.stopping_ns, 0); /* it was not even begun */

    /* beside the stop itself */
    target.options.max_pause_ns = UINT64_C(5000000000);
    assert_int_equal(hs_target_stop(&target, &err), HS_OK);
    target.copy_plan->outlook.read_pause_ns = UINT64_C(5000000000);
    assert_int_equal(hs_target_freeze(&target, &err), HS_LIMIT);
    assert_non_null(strstr(err.message, "allowed"));
    hs_target_resume(&target);
    assert_true(live_child_progresses(&child, 0, 1));
    hs_target_close(&target);
    live_child_end(&child);
}

static void a_pause_that_becomes_too_long_ends(void **state)
{
    struct live_child child = live_child_start(body_write);
    struct hs_target target;
    struct hs_page_run run;
    char *text;
    size_t n;
    uint64_t word;

    open_target(&target, child.pid);
    target.options.mode = HS_STOP_READ;
    freeze_target(&target);
    hs_addr begin = atomic_load(&child.shared->begin), told = 0;
    assert_int_equal(hs_target_page_runs(&target, begin, begin + 4096, &run, 1, &told), 1);
    target.options.max_pause_ns = 1; /* over by now: also where nothing is read */
    assert_int_equal(hs_target_page_runs(&target, begin, begin + 4096, &run, 1, &told), 0);
    assert_true(told == begin);
    assert_int_equal(hs_target_proc(&target, "smaps", &text, &n, &err), HS_LIMIT);
    assert_int_equal(hs_target_read(&target, begin, &word, sizeof word, &err), HS_LIMIT);
    assert_false(target.is_stopped);
    assert_true(live_child_progresses(&child, 0, 1));
    assert_int_equal(hs_target_read(&target, begin, &word, sizeof word, &err), HS_LIMIT);
    hs_target_resume(&target);
    target.options.max_pause_ns = 0;
    freeze_target(&target);
    assert_int_equal(hs_target_read(&target, begin, &word, sizeof word, &err), HS_OK);
    hs_target_close(&target);
    live_child_end(&child);
}

/* Reads until it fails, or for so long that it would have. */
static hs_status read_until_failure(struct hs_target *target, hs_addr begin)
{
    uint64_t word;
    hs_status status = HS_OK;

    for (int i = 0; i < 5000 && status == HS_OK; i++) {
        status = hs_target_read(target, begin, &word, sizeof word, &err);
        live_sleep_us(1000);
    }
    return status;
}

static void a_copy_that_costs_too_much_is_given_up(void **state)
{
    struct live_child child = live_child_start(body_write);
    struct hs_target target;
    uint64_t word;

    open_target(&target, child.pid);
    target.options.max_growth_bytes = 16 * PAGE;
    freeze_by_copy(&target);
    hs_addr begin = atomic_load(&child.shared->begin);
    assert_int_equal(read_until_failure(&target, begin), HS_LIMIT);
    assert_non_null(strstr(err.message, "grow"));
    assert_true(target.report.growth_bytes > 0);
    assert_int_equal(read_until_failure(&target, begin), HS_LIMIT);
    assert_no_children(child.pid);
    assert_true(live_child_progresses(&child, 0, 1));
    assert_true(hs_freeze_falls_back(&target, HS_LIMIT));
    assert_null(target.copy);
    freeze_target(&target); /* from now on it is read stopped */
    assert_int_equal(target.report.way, HS_WAY_READ);
    assert_non_null(strstr(target.report.why_no_copy, "grow"));
    assert_int_equal(hs_target_read(&target, begin, &word, sizeof word, &err), HS_OK);
    assert_false(hs_freeze_falls_back(&target, HS_LIMIT));
    hs_target_resume(&target);
    assert_true(live_child_progresses(&child, 0, 1));
    hs_target_close(&target);
    live_child_end(&child);
}

static void an_end_while_reading_is_told(void **state)
{
    struct live_child child = live_child_start(body_write);
    struct hs_target target;

    open_target(&target, child.pid);
    freeze_by_copy(&target);
    kill(child.pid, SIGKILL);
    assert_int_equal(read_until_failure(&target, atomic_load(&child.shared->begin)), HS_TARGET);
    assert_non_null(strstr(err.message, "ended"));
    hs_target_resume(&target);
    hs_target_close(&target);
    live_child_end(&child);
}

static void body_exec(struct live_shared *shared)
{
    map_area(shared);
    live_child_ready(shared);
    while (atomic_load(&shared->counters[0]) == 0)
        live_sleep_us(1000);
    execl("/bin/sleep", "sleep", "100", (char *)NULL);
}

static void another_program_while_reading_is_told(void **state)
{
    struct live_child child = live_child_start(body_exec);
    struct hs_target target;

    open_target(&target, child.pid);
    freeze_by_copy(&target);
    atomic_store(&child.shared->counters[0], 1);
    assert_int_equal(read_until_failure(&target, atomic_load(&child.shared->begin)), HS_TARGET);
    assert_non_null(strstr(err.message, "another program"));
    hs_target_close(&target);
    live_child_end(&child);
}

static void body_no_processes(struct live_shared *shared)
{
    struct rlimit none = {1, 1};

    if (setrlimit(RLIMIT_NPROC, &none) != 0 || setresgid(65534, 65534, 65534) != 0 ||
        setresuid(65534, 65534, 65534) != 0)
        _exit(1);
    prctl(PR_SET_DUMPABLE, 1);
    body_write(shared);
}

static void without_processes_left_it_is_read(void **state)
{
    if (geteuid() != 0)
        skip();
    struct live_child child = live_child_start(body_no_processes);
    struct hs_target target;

    open_target(&target, child.pid);
    freeze_target(&target);
    assert_int_equal(target.report.way, HS_WAY_READ);
    assert_non_null(strstr(target.report.why_no_copy, "RLIMIT_NPROC"));
    assert_true(target.is_stopped);
    hs_target_resume(&target);
    assert_int_equal(status_number(child.pid, "SigBlk", 16), 0);
    assert_true(live_child_progresses(&child, 0, 1));
    target.options.mode = HS_STOP_COPY;
    assert_int_equal(hs_target_stop(&target, &err), HS_OK);
    assert_int_equal(hs_target_freeze(&target, &err), HS_TARGET);
    assert_non_null(strstr(err.message, "RLIMIT_NPROC"));
    assert_non_null(strstr(err.hint, "--stop read"));
    hs_target_close(&target);
    assert_true(live_child_progresses(&child, 0, 1));
    live_child_end(&child);
}

static void one_that_its_user_stopped_is_read(void **state)
{
    struct live_child child = live_child_start(body_write);
    struct hs_target target;

    open_target(&target, child.pid);
    kill(child.pid, SIGSTOP);
    assert_true(live_wait_state(child.pid, 'T'));
    assert_int_equal(hs_target_stop(&target, &err), HS_OK);
    target.options.max_pause_ns = 1;
    assert_int_equal(hs_target_freeze(&target, &err), HS_OK);
    assert_int_equal(target.report.way, HS_WAY_STOPPED);
    hs_target_close(&target);
    assert_true(live_wait_state(child.pid, 'T'));
    live_child_end(&child);
}

int main(void)
{
    static enum hs_copy_variant middle = HS_COPY_MIDDLE, direct = HS_COPY_DIRECT;
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(reads_see_one_moment_while_the_process_writes_on),
        cmocka_unit_test_prestate(leaves_no_trace, &middle),
        cmocka_unit_test_prestate(leaves_no_trace, &direct),
        cmocka_unit_test(wait_never_sees_the_copy),
        cmocka_unit_test(a_subreaper_makes_its_copy_itself),
        cmocka_unit_test(registers_survive),
        cmocka_unit_test(a_sleep_goes_on),
        cmocka_unit_test(a_wait_for_signals_goes_on),
        cmocka_unit_test(what_a_copy_lacks_is_read_before),
        cmocka_unit_test(reading_is_a_choice),
        cmocka_unit_test(a_long_pause_is_refused_before_it),
        cmocka_unit_test(a_pause_that_becomes_too_long_ends),
        cmocka_unit_test(a_copy_that_costs_too_much_is_given_up),
        cmocka_unit_test(an_end_while_reading_is_told),
        cmocka_unit_test(another_program_while_reading_is_told),
        cmocka_unit_test(without_processes_left_it_is_read),
        cmocka_unit_test(one_that_its_user_stopped_is_read),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
