/* links: hs_dump hs_native hs_ocaml hs_heaps hs_runtimes hs_process hs_format hs_symbols */
/* A native dump whose allocations fail in turn: over a limit and no file, or a dump that is whole;
 * the target runs on every time. The target is tests/live/fixtures/native_basic.c, with types. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include <dirent.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "dump/dump.h"
#include "live_child.h"

enum { MAX_DUMPS = 400, NO_COMPILER = 127 };

static char work[64], program[96], out[96];
static pid_t target;
static FILE *to_target, *from_target;
static struct hs_dump_report reference;

/* False when there is no compiler or no static library. Static: no debug information of others. */
static bool compile(void)
{
    int status;
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (pid == 0) {
        (void)!freopen("/dev/null", "w", stderr);
        execlp("gcc", "gcc", "-O1", "-g", "-static", "-o", program,
               HS_SOURCE_DIR "/tests/live/fixtures/native_basic.c", (char *)NULL);
        _exit(NO_COMPILER);
    }
    assert_int_equal(waitpid(pid, &status, 0), pid);
    return WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static void start(void)
{
    int in[2], back[2];
    char line[128];
    assert_int_equal(pipe(in), 0);
    assert_int_equal(pipe(back), 0);
    target = fork();
    assert_true(target >= 0);
    if (target == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        dup2(in[0], STDIN_FILENO);
        dup2(back[1], STDOUT_FILENO);
        close(in[1]);
        close(back[0]);
        execl(program, program, (char *)NULL);
        _exit(NO_COMPILER);
    }
    close(in[0]);
    close(back[1]);
    to_target = fdopen(in[1], "w");
    from_target = fdopen(back[0], "r");
    do
        assert_non_null(fgets(line, sizeof line, from_target));
    while (strcmp(line, "READY\n") != 0);
}

static hs_status dump(struct hs_dump_report *ret, struct hs_error *err)
{
    struct hs_dump_options options = {.pid = target, .tool_version = "test"};
    struct hs_out file = {0};
    hs_status status = hs_out_open_path(out, &file, err);
    if (status == HS_OK)
        status = hs_dump_process(&options, &file, ret, err);
    if (status == HS_OK)
        status = hs_out_commit(&file, err);
    hs_out_close(&file);
    return status;
}

static size_t count_entries(const char *path)
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
static bool fail_at(uint64_t nth, bool sticky)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_dump_report report = {0};
    size_t n_fds = count_entries("/proc/self/fd");
    hs_alloc_fail_at(nth, sticky);
    hs_status status = dump(&report, &err);
    hs_alloc_fail_at(0, false);
    assert_int_equal(count_entries("/proc/self/fd"), n_fds);
    assert_true(live_runs_free(target));
    if (status != HS_OK) {
        if (status != HS_LIMIT)
            fail_msg("allocation %llu: %s", (unsigned long long)nth, err.message);
        assert_int_equal(count_entries(work), 1); /* the program */
        return false;
    }
    assert_int_equal(count_entries(work), 2);
    assert_int_equal(report.totals.n_blocks, reference.totals.n_blocks);
    assert_int_equal(unlink(out), 0);
    return true;
}

static void each_allocation(void **state)
{
    (void)state;
    struct hs_error err = HS_ERROR_INIT;
    unsigned n_done = 0, n_dumps = 0;
    snprintf(work, sizeof work, "/tmp/heapsnap-native-XXXXXX");
    assert_non_null(mkdtemp(work));
    snprintf(program, sizeof program, "%s/basic", work);
    snprintf(out, sizeof out, "%s/heap.snap", work);
    if (!compile()) {
        rmdir(work);
        skip();
    }
    start();
    uint64_t before = hs_alloc_count();
    if (dump(&reference, &err) != HS_OK) {
        print_message("left out: %s\n", err.message); /* no right to trace, say */
        kill(target, SIGKILL);
        skip();
    }
    uint64_t n = hs_alloc_count() - before;
    assert_int_equal(unlink(out), 0);
    const char *all = getenv("HS_FAULTS_TIMES");
    uint64_t step = all != NULL ? 1 : 1 + n / MAX_DUMPS;
    for (uint64_t nth = 1 + before % step; nth <= n; nth += step, n_dumps += 2) {
        n_done += fail_at(nth, false);
        n_done += fail_at(nth, true);
    }
    assert_true(n_dumps > 20 && n_done < n_dumps);
    print_message(
        "%llu allocations, every %lluth failed, %u of %u dumps were done in spite of it\n",
        (unsigned long long)n, (unsigned long long)step, n_done, n_dumps);
    fclose(to_target);
    fclose(from_target);
    int status;
    assert_int_equal(waitpid(target, &status, 0), target);
    assert_true(WIFEXITED(status) && WEXITSTATUS(status) == 0);
    unlink(program);
    assert_int_equal(rmdir(work), 0);
}

int main(void)
{
    const struct CMUnitTest tests[] = {cmocka_unit_test(each_allocation)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
