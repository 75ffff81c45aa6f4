/* Runs the helper: no shell, as the target's owner, within limits, and never waiting without end.
 */
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "private.h"

#define RUN_OUTPUT_BYTES ((size_t)256 << 20)
#define RUN_READ_BYTES ((size_t)64 << 10)
#define RUN_MEMORY_BYTES ((rlim_t)4 << 30)
#define RUN_CPU_SECONDS 60

struct run_files {
    int program, input, output[2];
};

/* In the child: only calls that are safe after fork. Does not return. */
_Noreturn static void run_child(const struct hs_names_process *process,
                                const struct run_files *files, char *const environment[])
{
    char *const arguments[] = {(char *)"heapsnap-ocaml-names", NULL};
    const struct rlimit memory = {RUN_MEMORY_BYTES, RUN_MEMORY_BYTES}, core = {0, 0};
    const struct rlimit cpu = {RUN_CPU_SECONDS, RUN_CPU_SECONDS};
    int null = open("/dev/null", O_WRONLY);

    if (dup2(files->input, 0) < 0 || dup2(files->output[1], 1) < 0 || dup2(null, 2) < 0)
        _exit(126);
    if (geteuid() == 0 && process->uid != 0 &&
        (setgroups(0, NULL) != 0 || setresgid(process->gid, process->gid, process->gid) != 0 ||
         setresuid(process->uid, process->uid, process->uid) != 0))
        _exit(126);
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    setrlimit(RLIMIT_AS, &memory);
    setrlimit(RLIMIT_CPU, &cpu);
    setrlimit(RLIMIT_CORE, &core);
    fcntl(files->program, F_SETFD, 0); /* an interpreter would have to open it */
    fexecve(files->program, arguments, environment);
    _exit(127);
}

/* Reads until end, limit or deadline; false when it had to be cut. */
static hs_status run_collect(int fd, uint64_t deadline_ns, struct hs_buffer *out, char *note,
                             size_t note_bytes, struct hs_error *err)
{
    for (;;) {
        uint64_t now = hs_now_ns();
        struct pollfd poll_fd = {.fd = fd, .events = POLLIN};
        if (now >= deadline_ns) {
            snprintf(note, note_bytes, "the search for source names took too long and was ended");
            return HS_OK;
        }
        uint64_t wait_ms = (deadline_ns - now) / 1000000 + 1;
        if (poll(&poll_fd, 1, wait_ms > INT32_MAX ? INT32_MAX : (int)wait_ms) <= 0)
            continue;
        HS_TRY(hs_buffer_reserve(out, RUN_READ_BYTES, err));
        ssize_t n = read(fd, out->bytes + out->n_bytes, RUN_READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return HS_OK;
        out->n_bytes += (size_t)n;
        if (out->n_bytes > RUN_OUTPUT_BYTES) {
            snprintf(note, note_bytes, "the search for source names said too much and was ended");
            return HS_OK;
        }
    }
}

/* Waits until the helper has ended; false at the deadline. */
static bool run_wait(pid_t child, uint64_t deadline_ns, int *ret_report)
{
    const struct timespec nap = {.tv_nsec = 1000000};

    for (;;) {
        pid_t found = waitpid(child, ret_report, WNOHANG);
        if (found == child || (found < 0 && errno != EINTR))
            return true;
        if (hs_now_ns() >= deadline_ns)
            return false;
        nanosleep(&nap, NULL);
    }
}

/* Ends the helper if it still runs, and says how it ended unless a note already does. It may have
 * closed its output and go on. */
static void run_finish(pid_t child, bool is_done, uint64_t deadline_ns, char *note,
                       size_t note_bytes)
{
    int report = 0;

    if (!is_done || !run_wait(child, deadline_ns, &report)) {
        if (is_done)
            snprintf(note, note_bytes, "the search for source names did not end and was ended");
        kill(child, SIGKILL);
        while (waitpid(child, &report, 0) < 0 && errno == EINTR)
            ;
    }
    if (note[0] != '\0')
        return;
    if (WIFSIGNALED(report))
        snprintf(note, note_bytes, "the search for source names died early (signal %d)",
                 WTERMSIG(report));
    else if (WEXITSTATUS(report) == 126 || WEXITSTATUS(report) == 127)
        snprintf(note, note_bytes, "the search for source names could not be started");
    else if (WEXITSTATUS(report) != 0)
        snprintf(note, note_bytes, "the search for source names failed (exit status %d)",
                 WEXITSTATUS(report));
}

static hs_status run_write_input(const struct hs_names_process *process, int fd,
                                 struct hs_error *err)
{
    const char *at = process->input;
    size_t left = process->n_input_bytes;

    while (left > 0) {
        ssize_t n = write(fd, at, left);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return hs_fail_errno(err, HS_IO, "cannot write a request for source names");
        at += n;
        left -= (size_t)n;
    }
    if (lseek(fd, 0, SEEK_SET) != 0)
        return hs_fail_errno(err, HS_IO, "cannot write a request for source names");
    return HS_OK;
}

static hs_status run_open(const struct hs_names_process *process, struct run_files *files,
                          struct hs_error *err)
{
    files->program = open(process->program, O_RDONLY | O_CLOEXEC);
    if (files->program < 0)
        return hs_fail_errno(err, HS_IO, "cannot open '%s'", process->program);
    files->input = memfd_create("heapsnap-names", MFD_CLOEXEC);
    if (files->input < 0 || pipe2(files->output, O_CLOEXEC) != 0)
        return hs_fail_errno(err, HS_IO, "cannot open a pipe to '%s'", process->program);
    return run_write_input(process, files->input, err);
}

static hs_status run_start(const struct hs_names_process *process, const struct run_files *files,
                           pid_t *ret_child, struct hs_error *err)
{
    char findlib_path[4096];
    char *environment[] = {(char *)"LC_ALL=C", (char *)"PATH=/usr/bin:/bin", NULL, NULL};
    const char *path = getenv("OCAMLPATH");

    if (path != NULL && strlen(path) < sizeof findlib_path - 16) {
        snprintf(findlib_path, sizeof findlib_path, "OCAMLPATH=%s", path);
        environment[2] = findlib_path;
    }
    pid_t child = fork();
    if (child < 0)
        return hs_fail_errno(err, HS_IO, "cannot start '%s'", process->program);
    if (child == 0)
        run_child(process, files, environment);
    *ret_child = child;
    return HS_OK;
}

static void run_close(int *fd)
{
    if (*fd >= 0)
        close(*fd);
    *fd = -1;
}

/* The helper reads files of the program's, and whoever wrote these could lead it. Root becomes the
 * program's user; anybody else who may dump another's process cannot. */
static hs_status run_may(const struct hs_names_process *process, struct hs_error *err)
{
    if (geteuid() == 0 || geteuid() == process->uid)
        return HS_OK;
    return hs_fail(err, HS_IO, "the program is another user's: its files are not read in our name");
}

hs_status hs_names_run(const struct hs_names_process *process, struct hs_buffer *out, char *note,
                       size_t note_bytes, struct hs_error *err)
{
    struct run_files files = {-1, -1, {-1, -1}};
    uint64_t deadline_ns = hs_now_ns() + process->timeout_ns;
    pid_t child;

    note[0] = '\0';
    HS_TRY(run_may(process, err));
    hs_status status = run_open(process, &files, err);
    if (status == HS_OK)
        status = run_start(process, &files, &child, err);
    run_close(&files.output[1]);
    if (status == HS_OK) {
        status = run_collect(files.output[0], deadline_ns, out, note, note_bytes, err);
        run_finish(child, status == HS_OK && note[0] == '\0', deadline_ns, note, note_bytes);
    }
    run_close(&files.program);
    run_close(&files.input);
    run_close(&files.output[0]);
    return status;
}
