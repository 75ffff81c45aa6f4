/* Stops a process, reads all of its private memory, lets it go, as a dump does; and misbehaves at a
 * chosen moment of that. What the stop_*.sh tests run.
 *
 *   stop_driver PID [key=value...]
 *
 * mode=auto|copy|read; cycles=N; threads=N (to read a copy by); max_pause_ns=N, max_growth=N;
 * alarm_ms=N (of the dead-man timer); interrupted=1 (calls are left so); nap_us=N after every
 * request; die_us=N (SIGKILL so long after the first step); stop_us=N (SIGSTOP);
 * arrays=FIRST,SECOND,N,STRIDE (hexadecimal, decimal), unlocked=1 (of these alone, without a stop);
 * blind=1 (reads holes, too); empty=1 (reads nothing); at=POINT with
 * act=kill|term|int|stop|hang|ask.
 *
 * A point is one of the copy's own (copy_private.h), or 101 stopped, 102 frozen, 103 half of the
 * mappings read, 104 read, 105 let go. To ask is to print "POINT n" and to wait for a line.
 *
 * Prints lines "key value"; ends with the exit code of the tool. */
#include <inttypes.h>
#include <limits.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "target/copy/copy_private.h"
#include "target/deadman.h"
#include "target/target_private.h"

enum { PAGE = 4096, REQUEST_BYTES = 1 << 20, N_POINTS = 128, OVER_LIMIT = 6 };
enum { AT_STOPPED = 101, AT_FROZEN, AT_HALF, AT_READ, AT_RESUMED };

static struct {
    uint64_t threads, cycles, nap_us, die_us, stop_us, alarm_ms, at;
    uint64_t first, second, n_pairs, stride_bytes;
    bool is_unlocked, is_blind, is_empty;
    const char *mode, *act;
    struct hs_stop_options stop;
} plan = {.cycles = 1, .mode = "auto", .act = "kill"};

static bool seen_points[N_POINTS];
static struct {
    uint64_t pause_ns, letting_go_ns, n_torn, n_wild;
} worst;
static uint64_t began_ns, frozen_ns;

static void act(void)
{
    char line[64];

    if (strcmp(plan.act, "kill") == 0)
        kill(getpid(), SIGKILL);
    else if (strcmp(plan.act, "term") == 0)
        kill(getpid(), SIGTERM);
    else if (strcmp(plan.act, "int") == 0)
        kill(getpid(), SIGINT);
    else if (strcmp(plan.act, "stop") == 0)
        (void)kill(getpid(), SIGSTOP);
    if (strcmp(plan.act, "stop") == 0)
        return; /* somebody made us go on */
    while (strcmp(plan.act, "hang") == 0)
        pause();
    printf("POINT %" PRIu64 "\n", plan.at);
    fflush(stdout);
    if (fgets(line, sizeof line, stdin) == NULL)
        exit(70);
}

static void on_point(int point)
{
    if (point > 0 && point < N_POINTS)
        seen_points[point] = true;
    if (plan.at != 0 && (uint64_t)point == plan.at)
        act();
}

/* ---- reading */

static void nap(uint64_t us)
{
    struct timespec t = {(time_t)(us / 1000000), (long)(us % 1000000 * 1000)};
    if (us != 0)
        nanosleep(&t, NULL);
}

static hs_status read_pages(struct hs_target *target, hs_addr begin, hs_addr end,
                            struct hs_error *err)
{
    static uint8_t bytes[REQUEST_BYTES];

    for (size_t got; begin < end; begin += got) {
        size_t n = end - begin < sizeof bytes ? (size_t)(end - begin) : sizeof bytes;
        HS_TRY(hs_target_read_some(target, begin, bytes, n, &got, err));
        if (got == 0)
            return HS_OK;
        nap(plan.nap_us);
    }
    return HS_OK;
}

/* The present pages. */
static hs_status read_mapping(struct hs_target *target, const struct hs_mapping *mapping,
                              struct hs_error *err)
{
    struct hs_page_run runs[256];
    hs_addr told;

    for (hs_addr at = mapping->begin; at < mapping->end; at = told) {
        told = at;
        size_t n =
            plan.is_blind ? 0 : hs_target_page_runs(target, at, mapping->end, runs, 256, &told);
        if (told <= at)
            return read_pages(target, at, mapping->end, err);
        for (size_t i = 0; i < n; i++)
            if (runs[i].kind & HS_PAGES_PRESENT)
                HS_TRY(read_pages(target, runs[i].begin, runs[i].end, err));
    }
    return HS_OK;
}

static hs_status read_all(struct hs_target *target, struct hs_error *err)
{
    for (size_t i = 0; i < target->n_mappings; i++) {
        const struct hs_mapping *mapping = &target->mappings[i];
        if (i == target->n_mappings / 2)
            on_point(AT_HALF);
        if (mapping->readable && mapping->writable && !mapping->shared)
            HS_TRY(read_mapping(target, mapping, err));
    }
    return HS_OK;
}

/* How many pairs differ, and by more than one. */
static hs_status read_arrays(struct hs_target *target, struct hs_error *err)
{
    static uint64_t first[REQUEST_BYTES / 8], second[REQUEST_BYTES / 8];
    uint64_t n_bytes = plan.n_pairs * plan.stride_bytes, n_torn = 0, n_wild = 0;

    for (uint64_t at = 0; at < n_bytes; at += sizeof first) {
        size_t n = n_bytes - at < sizeof first ? (size_t)(n_bytes - at) : sizeof first;
        HS_TRY(hs_target_read(target, plan.first + at, first, n, err));
        HS_TRY(hs_target_read(target, plan.second + at, second, n, err));
        for (size_t i = 0; i < n / 8; i += plan.stride_bytes / 8) {
            n_torn += first[i] != second[i];
            n_wild += first[i] - second[i] > 1;
        }
        nap(plan.nap_us);
    }
    worst.n_torn = n_torn > worst.n_torn ? n_torn : worst.n_torn;
    worst.n_wild = n_wild > worst.n_wild ? n_wild : worst.n_wild;
    return HS_OK;
}

/* ---- one dump */

static hs_status run_steps(struct hs_target *target, struct hs_error *err)
{
    if (plan.is_unlocked)
        return read_arrays(target, err);
    HS_TRY(hs_target_stop(target, err));
    on_point(AT_STOPPED);
    HS_TRY(hs_target_freeze(target, err));
    frozen_ns = hs_now_ns();
    on_point(AT_FROZEN);
    target->read_bytes = 0;
    if (!plan.is_empty)
        HS_TRY(plan.n_pairs != 0 ? read_arrays(target, err) : read_all(target, err));
    on_point(AT_READ);
    return HS_OK;
}

static hs_status run_once(pid_t pid, struct hs_target *target, struct hs_error *err)
{
    HS_TRY(hs_target_open(pid, target, err));
    target->options = plan.stop;
    target->options.n_threads = (unsigned)plan.threads;
    hs_status status = run_steps(target, err);
    uint64_t resumed_ns = hs_now_ns() - target->stopped_at_ns;
    hs_target_resume(target);
    if (target->pause_ns > resumed_ns + worst.letting_go_ns)
        worst.letting_go_ns = target->pause_ns - resumed_ns;
    on_point(AT_RESUMED);
    if (target->pause_ns > worst.pause_ns)
        worst.pause_ns = target->pause_ns;
    return status;
}

static void tell(const struct hs_target *target)
{
    static const char *ways[] = {"none", "read", "copy", "core", "stopped"};
    const struct hs_stop_report *report = &target->report;

    printf("way %s\nwhole_ns %" PRIu64 "\nuntil_frozen_ns %" PRIu64 "\n", ways[report->way],
           hs_now_ns() - began_ns, frozen_ns - began_ns);
    printf("pause_ns %" PRIu64 "\nworst_pause_ns %" PRIu64 "\n", target->pause_ns, worst.pause_ns);
    printf("predicted_ns %" PRIu64 "\nstopping_ns %" PRIu64 "\ncopying_ns %" PRIu64 "\n",
           report->predicted_ns, report->stopping_ns, report->copying_ns);
    printf("reading_ns %" PRIu64 "\n", report->reading_ns);
    printf("letting_go_ns %" PRIu64 "\n", worst.letting_go_ns);
    printf("read_bytes %" PRIu64 "\ngrowth_bytes %" PRIu64 "\nrestarted %" PRIu64 "\n",
           target->read_bytes, report->growth_bytes, report->n_restarted);
    printf("shortened %" PRIu64 "\nbroken_off %" PRIu64 "\n", report->n_shortened,
           report->n_broken_off);
    printf("late %" PRIu64 "\n", report->n_late);
    printf("unsent %" PRIu64 "\n", report->n_unsent);
    printf("cut %" PRIu64 "\nanew %" PRIu64 "\n", report->n_cut, report->n_anew);
    printf("exposed %" PRIu64 "\nexposed_ns %" PRIu64 "\nexposed_most_ns %" PRIu64 "\n",
           report->n_exposed, report->exposed_ns, report->exposed_most_ns);
    printf("torn %" PRIu64 "\nwild %" PRIu64 "\nwhy %s\npoints", worst.n_torn, worst.n_wild,
           report->why_no_copy);
    for (int i = 1; i < N_POINTS; i++)
        if (seen_points[i])
            printf(" %d", i);
    printf("\n");
}

static int fail(const struct hs_error *err)
{
    static const int codes[HS_N_STATUS] = {[HS_USAGE] = 2, [HS_TARGET] = 3, [HS_FORMAT] = 4,
                                           [HS_IO] = 5,    [HS_LIMIT] = 6,  [HS_BUG] = 70};
    fprintf(stderr, "stop_driver: %s\n", err->message);
    if (err->hint[0] != '\0')
        fprintf(stderr, "hint: %s\n", err->hint);
    return codes[err->status];
}

/* ---- the command line */

static bool take_number(const char *word)
{
    const struct {
        const char *key;
        uint64_t *number;
    } numbers[] = {
        {"cycles=", &plan.cycles},
        {"nap_us=", &plan.nap_us},
        {"die_us=", &plan.die_us},
        {"stop_us=", &plan.stop_us},
        {"alarm_ms=", &plan.alarm_ms},
        {"at=", &plan.at},
        {"max_pause_ns=", &plan.stop.max_pause_ns},
        {"max_growth=", &plan.stop.max_growth_bytes},
        {"threads=", &plan.threads},
    };
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        if (strncmp(word, numbers[i].key, strlen(numbers[i].key)) == 0) {
            *numbers[i].number = strtoull(word + strlen(numbers[i].key), NULL, 10);
            return true;
        }
    return false;
}

static bool take_word(const char *word)
{
    if (strncmp(word, "mode=", 5) == 0)
        plan.mode = word + 5;
    else if (strncmp(word, "act=", 4) == 0)
        plan.act = word + 4;
    else if (strcmp(word, "interrupted=1") == 0)
        plan.stop.leaves_interrupted = true;
    else if (strcmp(word, "empty=1") == 0)
        plan.is_empty = true;
    else if (strcmp(word, "blind=1") == 0)
        plan.is_blind = true;
    else if (strcmp(word, "unlocked=1") == 0)
        plan.is_unlocked = true;
    else if (strncmp(word, "arrays=", 7) == 0)
        return sscanf(word + 7, "%" SCNx64 ",%" SCNx64 ",%" SCNu64 ",%" SCNu64, &plan.first,
                      &plan.second, &plan.n_pairs, &plan.stride_bytes) == 4;
    else
        return take_number(word);
    return true;
}

static void say_last(const char *text, size_t n_bytes)
{
    (void)!write(STDERR_FILENO, "stop_driver: ", 13);
    (void)!write(STDERR_FILENO, text, n_bytes);
}

static void signal_later(int number, uint64_t us)
{
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = number};
    struct itimerspec when = {.it_value.tv_sec = (time_t)(us / 1000000),
                              .it_value.tv_nsec = (long)(us % 1000000 * 1000)};
    timer_t timer;

    if (us != 0 && (timer_create(CLOCK_MONOTONIC, &event, &timer) != 0 ||
                    timer_settime(timer, 0, &when, NULL) != 0))
        exit(70);
}

int main(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_target target = {.pidfd = -1};
    hs_status status = HS_OK;

    for (int i = 2; i < argc; i++)
        if (!take_word(argv[i]))
            return 2;
    if (argc < 2)
        return 2;
    plan.stop.mode = strcmp(plan.mode, "copy") == 0   ? HS_STOP_COPY
                     : strcmp(plan.mode, "read") == 0 ? HS_STOP_READ
                                                      : HS_STOP_AUTO;
    hs_deadman_speak(&(struct hs_deadman_voice){say_last, OVER_LIMIT});
    if (plan.alarm_ms != 0)
        hs_deadman_limit(plan.alarm_ms * 1000000);
    hs_copy_point = on_point;
    signal_later(SIGKILL, plan.die_us);
    signal_later(SIGSTOP, plan.stop_us);
    began_ns = hs_now_ns();
    for (uint64_t i = 0; status == HS_OK && i < plan.cycles; i++) {
        hs_target_close(&target);
        status = run_once((pid_t)strtol(argv[1], NULL, 10), &target, &err);
    }
    tell(&target);
    hs_target_close(&target);
    return status == HS_OK ? 0 : fail(&err);
}
