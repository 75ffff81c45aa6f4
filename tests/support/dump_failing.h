/* A dump whose allocations fail in turn: over a limit and no file, or a dump that is whole; the
 * target, built of a fixture, runs on every time. */
#ifndef HS_TEST_DUMP_FAILING_H
#define HS_TEST_DUMP_FAILING_H

#include "unit.h"

#include <dirent.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dump/dump.h"
#include "live_child.h"

enum { NO_COMPILER = 127, MAX_OPTIONS = 10 };

struct failing_dump {
    const char *const *compile; /* options of gcc, and the source; NULL ends them */
    const char *tell;           /* what the program wants to read first */
    const char *ready;          /* the line that it then says */
    struct hs_dump_options options;
    uint64_t most_dumps;
    bool both_ways;      /* each allocation fails alone and with all behind it; else in turn */
    bool may_be_inexact; /* what failed may be told of as missing */

    char work[64], program[96], out[96];
    pid_t target;
    FILE *to_target, *from_target;
    uint64_t n_blocks;
};

/* False when there is no compiler or the fixture cannot be built. */
static inline bool failing_compile(struct failing_dump *d)
{
    const char *words[MAX_OPTIONS + 4] = {"gcc", "-o", d->program};
    int status;
    for (size_t i = 0; i < MAX_OPTIONS && d->compile[i] != NULL; i++)
        words[i + 3] = d->compile[i];
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        execvp("gcc", (char *const *)words);
        _exit(NO_COMPILER);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static inline void failing_start(struct failing_dump *d)
{
    int in[2], back[2];
    char line[128];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(back), 0);
    d->target = fork();
    assert_true(d->target >= 0);
    if (d->target == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], STDIN_FILENO);
        dup2(back[1], STDOUT_FILENO);
        close(in[1]);
        close(back[0]);
        execl(d->program, d->program, (char *)NULL);
        _exit(NO_COMPILER);
    }
    close(in[0]);
    close(back[1]);
    d->to_target = fdopen(in[1], "w");
    d->from_target = fdopen(back[0], "r");
    fputs(d->tell, d->to_target);
    fflush(d->to_target);
    do
        assert_non_null(fgets(line, sizeof line, d->from_target));
    while (strcmp(line, d->ready) != 0);
}

static inline hs_status failing_run(struct failing_dump *d, struct hs_dump_report *ret,
                                    struct hs_error *err)
{
    struct hs_out file = {0};
    d->options.pid = d->target;
    d->options.tool_version = "test";
    hs_status status = hs_out_open_path(d->out, &file, err);
    if (status == HS_OK)
        status = hs_dump_process(&d->options, &file, ret, err);
    if (status == HS_OK)
        status = hs_out_commit(&file, err);
    hs_out_close(&file);
    return status;
}

static inline size_t failing_entries(const char *path)
{
    DIR *dir = opendir(path);
    size_t n = 0;
    assert_non_null(dir);
    while (readdir(dir) != NULL)
        n++;
    closedir(dir);
    return n - 2;
}

/* True when the dump was done in spite of it. */
static inline bool failing_at(struct failing_dump *d, uint64_t nth, bool sticky)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dump_report report = {0};
    size_t n_fds = failing_entries("/proc/self/fd");
    hs_alloc_fail_at(nth, sticky);
    hs_status status = failing_run(d, &report, &err);
    hs_alloc_fail_at(0, false);
    assert_int_equal(failing_entries("/proc/self/fd"), n_fds);
    assert_true(live_runs_free(d->target));
    if (status != HS_OK) {
        if (status != HS_LIMIT)
            fail_msg("allocation %llu: %s", (unsigned long long)nth, err.message);
        assert_int_equal(failing_entries(d->work), 1); /* the program */
        return false;
    }
    assert_int_equal(failing_entries(d->work), 2);
    assert_true((d->may_be_inexact && !report.is_exact) || report.totals.n_blocks == d->n_blocks);
    assert_int_equal(unlink(d->out), 0);
    return true;
}

static inline void failing_all(struct failing_dump *d, uint64_t before, uint64_t n)
{
    unsigned n_done = 0, n_dumps = 0;
    uint64_t step = getenv("HS_FAULTS_TIMES") != NULL ? 1 : 1 + n / d->most_dumps;
    for (uint64_t nth = 1 + before % step; nth <= n; nth += step)
        for (unsigned way = 0; way < (d->both_ways ? 2 : 1); way++, n_dumps++)
            n_done += failing_at(d, nth, d->both_ways ? way == 1 : (nth / step) % 2 == 1);
    assert_true(n_dumps > 20 && n_done < n_dumps);
    print_message("%llu allocations, every %lluth failed, %u of %u dumps were done in spite of "
                  "it\n",
                  (unsigned long long)n, (unsigned long long)step, n_done, n_dumps);
}

static inline void failing_dump(struct failing_dump *d)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dump_report reference = {0};
    int status;

    snprintf(d->work, sizeof d->work, "/tmp/heapsnap-failing-XXXXXX");
    assert_non_null(mkdtemp(d->work));
    snprintf(d->program, sizeof d->program, "%s/program", d->work);
    snprintf(d->out, sizeof d->out, "%s/heap.snap", d->work);
    if (!failing_compile(d)) {
        rmdir(d->work);
        skip();
    }
    failing_start(d);
    uint64_t before = hs_alloc_count();
    if (failing_run(d, &reference, &err) != HS_OK) {
        print_message("left out: %s\n", err.message); /* no right to trace, say */
        kill(d->target, SIGKILL);
        skip();
    }
    d->n_blocks = reference.totals.n_blocks;
    assert_int_equal(unlink(d->out), 0);
    failing_all(d, before, hs_alloc_count() - before);
    fclose(d->to_target);
    fclose(d->from_target);
    assert_int_equal(waitpid(d->target, &status, 0), d->target);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    unlink(d->program);
    assert_int_equal(rmdir(d->work), 0);
}

#endif
