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
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/progress.h"
#include "private.h"

#define RUN_OUTPUT_BYTES ((size_t)256 << 20)
#define RUN_READ_BYTES ((size_t)64 << 10)
#define RUN_MEMORY_BYTES ((rlim_t)4 << 30)
#define RUN_CPU_SECONDS 60
#define RUN_LAST_NS ((uint64_t)1000000000)  /* from the moment that it is listened to */
#define RUN_LATER_NS ((uint64_t)5000000000) /* more, when it is asked something then */

struct run_files {
    int program, input, output[2];
};

/* Executes the helper in the child: only calls that are safe after fork. Does not return. */
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

/* Sends the helper as much of what is left to be asked as it takes; that is over when all is said,
 * or when the helper does not listen. */
static void run_ask(const struct hs_names_running *running, struct hs_names_later *later)
{
    ssize_t n = 0;

    if (later->n_bytes != 0)
        n = send(running->output, later->bytes, later->n_bytes, MSG_NOSIGNAL | MSG_DONTWAIT);
    if (n < 0 && (errno == EINTR || errno == EAGAIN))
        return;
    if (n > 0) {
        later->bytes += n;
        later->n_bytes -= (size_t)n;
    }
    later->is_over = n < 0 || later->n_bytes == 0;
    if (later->is_over)
        shutdown(running->output, SHUT_WR);
}

/* Reads until end, limit or deadline, when it has to be cut. */
static hs_status run_collect(const struct hs_names_running *running, struct hs_names_later *later,
                             struct hs_buffer *out, char *note, size_t note_bytes,
                             struct hs_error *err)
{
    for (;;) {
        uint64_t now = hs_now_ns();
        struct pollfd poll_fd = {.fd = running->output,
                                 .events = (short)(later->is_over ? POLLIN : POLLIN | POLLOUT)};
        if (now >= running->deadline_ns) {
            snprintf(note, note_bytes,
                     "the search for %s took too long and was ended; --names-timeout gives it more",
                     running->what);
            return HS_OK;
        }
        uint64_t wait_ms = (running->deadline_ns - now) / 1000000 + 1;
        if (poll(&poll_fd, 1, wait_ms > INT32_MAX ? INT32_MAX : (int)wait_ms) <= 0)
            continue;
        if (!later->is_over && (poll_fd.revents & POLLOUT) != 0)
            run_ask(running, later);
        if ((poll_fd.revents & ~POLLOUT) == 0)
            continue;
        HS_TRY(hs_buffer_reserve(out, RUN_READ_BYTES, err));
        ssize_t n = read(running->output, out->bytes + out->n_bytes, RUN_READ_BYTES);
        if (n < 0 && errno == EINTR)
            continue;
        if (n <= 0)
            return HS_OK;
        out->n_bytes += (size_t)n;
        if (out->n_bytes > RUN_OUTPUT_BYTES) {
            snprintf(note, note_bytes, "the search for %s said too much and was ended",
                     running->what);
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
static void run_finish(const struct hs_names_running *running, bool is_done, char *note,
                       size_t note_bytes)
{
    int report = 0;

    if (!is_done || !run_wait(running->child, running->deadline_ns, &report)) {
        if (is_done)
            snprintf(note, note_bytes, "the search for %s did not end and was ended",
                     running->what);
        kill(running->child, SIGKILL);
        while (waitpid(running->child, &report, 0) < 0 && errno == EINTR)
            ;
    }
    if (note[0] != '\0')
        return;
    if (WIFSIGNALED(report))
        snprintf(note, note_bytes, "the search for %s died early (signal %d)", running->what,
                 WTERMSIG(report));
    else if (WEXITSTATUS(report) == 126 || WEXITSTATUS(report) == 127)
        snprintf(note, note_bytes, "the search for %s could not be started", running->what);
    else if (WEXITSTATUS(report) != 0)
        snprintf(note, note_bytes, "the search for %s failed (exit status %d)", running->what,
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
            return hs_fail_errno(err, HS_IO, "cannot write a request for %s", process->what);
        at += n;
        left -= (size_t)n;
    }
    if (lseek(fd, 0, SEEK_SET) != 0)
        return hs_fail_errno(err, HS_IO, "cannot write a request for %s", process->what);
    return HS_OK;
}

static hs_status run_open(const struct hs_names_process *process, struct run_files *files,
                          struct hs_error *err)
{
    files->program = open(process->program, O_RDONLY | O_CLOEXEC);
    if (files->program < 0)
        return hs_fail_errno(err, HS_IO, "cannot open '%s'", process->program);
    files->input = memfd_create("heapsnap-names", MFD_CLOEXEC);
    if (files->input < 0 || socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, files->output) != 0)
        return hs_fail_errno(err, HS_IO, "cannot open a socket to '%s'", process->program);
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

/* Tells whether the helper may run: it reads files of the program's, and whoever wrote these could
 * lead it. Root becomes the program's user; anybody else who may dump another's process cannot. */
static hs_status run_may(const struct hs_names_process *process, struct hs_error *err)
{
    if (geteuid() == 0 || geteuid() == process->uid)
        return HS_OK;
    return hs_fail(err, HS_IO, "the program is another user's: its files are not read in our name");
}

hs_status hs_names_start(const struct hs_names_process *process, struct hs_names_running *ret,
                         struct hs_error *err)
{
    struct run_files files = {-1, -1, {-1, -1}};
    pid_t child = 0;

    HS_TRY(run_may(process, err));
    hs_status status = run_open(process, &files, err);
    if (status == HS_OK)
        status = run_start(process, &files, &child, err);
    run_close(&files.output[1]);
    run_close(&files.program);
    run_close(&files.input);
    if (status != HS_OK) {
        run_close(&files.output[0]);
        return status;
    }
    *ret = (struct hs_names_running){.child = child,
                                     .output = files.output[0],
                                     .deadline_ns = hs_now_ns() + process->timeout_ns,
                                     .timeout_ns = process->timeout_ns,
                                     .what = process->what};
    return HS_OK;
}

void hs_names_abandon(struct hs_names_running *running)
{
    char note[8] = "";

    if (running->child == 0)
        return;
    run_finish(running, /* is_done= */ false, note, sizeof note);
    run_close(&running->output);
    *running = (struct hs_names_running){0};
}

hs_status hs_names_collect(struct hs_names_running *running, struct hs_names_later later,
                           struct hs_buffer *out, char *note, size_t note_bytes,
                           struct hs_error *err)
{
    uint64_t least_ns = hs_now_ns() + RUN_LAST_NS;

    note[0] = '\0';
    if (later.n_bytes != 0)
        least_ns += running->timeout_ns < RUN_LATER_NS ? running->timeout_ns : RUN_LATER_NS;
    if (running->deadline_ns < least_ns)
        running->deadline_ns = least_ns; /* it may have waited for us */
    hs_status status = run_collect(running, &later, out, note, note_bytes, err);
    run_finish(running, status == HS_OK && note[0] == '\0', note, note_bytes);
    run_close(&running->output);
    *running = (struct hs_names_running){0};
    return status;
}

hs_status hs_names_run(const struct hs_names_process *process, struct hs_buffer *out, char *note,
                       size_t note_bytes, struct hs_error *err)
{
    struct hs_names_running running;

    note[0] = '\0';
    HS_TRY(hs_names_start(process, &running, err));
    return hs_names_collect(&running, (struct hs_names_later){0}, out, note, note_bytes, err);
}
