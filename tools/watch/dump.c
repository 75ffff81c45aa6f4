#include "dump.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "after.h"
#include "base/progress.h"
#include "dump_run.h"
#include "look/memory_report.h"
#include "target/target.h"
#include "tool.h"

/* A message of the dump to its watch: written at once, smaller than a pipe's promise (PIPE_BUF).
 * Once when the snapshot is whole or has failed, and again when what is made of it is done: then
 * the second holds. */
struct message {
    hs_status status;
    struct hs_error error;
    struct hs_dump_report report;
    uint64_t ended_ns; /* when the snapshot was whole */
    bool is_over;      /* nothing more comes */
    char warning[HS_WATCH_WARNING_BYTES];
};
_Static_assert(sizeof(struct message) <= 4096, "one write to a pipe");

static const char descriptor_path[] = "/proc/self/fd/";

/* ---- in the new process ---- */

/* The tool's handlers serve once, then the next signal kills; whoever ends a whole service sends
 * one to us and one through our watch. */
static void take_signals_often(void)
{
    static const int numbers[] = {SIGINT, SIGTERM};
    sigset_t none;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct sigaction action;
        if (sigaction(numbers[i], NULL, &action) != 0)
            continue;
        action.sa_flags &= ~(int)SA_RESETHAND;
        (void)sigaction(numbers[i], &action, NULL);
    }
    (void)sigemptyset(&none);
    (void)sigprocmask(SIG_SETMASK, &none, NULL);
}

/* Offers this process to the out-of-memory killer: better us than the process that is watched.
 * Refused at most where it does not matter. */
static void offer_to_oom_killer(void)
{
    int fd = open("/proc/self/oom_score_adj", O_WRONLY | O_CLOEXEC);
    if (fd < 0)
        return;
    (void)!write(fd, "1000", 4);
    (void)close(fd);
}

static hs_status check_target(const struct hs_invocation *inv, int target_pidfd,
                              struct hs_error *err)
{
    struct pollfd ended = {.fd = target_pidfd, .events = POLLIN};
    if (poll(&ended, 1, 0) == 1)
        return hs_fail(err, HS_TARGET, "cannot dump process '%s': it has ended", inv->arguments[0]);
    return HS_OK;
}

static void say_message(const struct message *message, int report_fd)
{
    (void)!write(report_fd, message, sizeof *message);
}

struct work {
    const struct hs_invocation *inv;
    const char *path;
    int target_pidfd, report_fd, profile_fd;
};

static hs_status run_dump(const struct work *work, struct message *message)
{
    struct hs_error *err = &message->error;
    const struct hs_invocation *inv = work->inv;
    const char *path = work->path;
    struct hs_tool tool = {0};
    struct hs_invocation dump = *inv;
    char directory[PATH_MAX];

    (void)snprintf(directory, sizeof directory, "%.*s", (int)(strrchr(path, '/') - path), path);
    dump.command = hs_find_command("dump");
    hs_give_only(&dump, dump.command);
    dump.given[HS_OPT_OUTPUT] = true;
    dump.text[HS_OPT_OUTPUT] = path;
    hs_status status = hs_tool_init(&tool, &dump, err);
    tool.progress_when = HS_PROGRESS_NEVER;
    take_signals_often();
    if (status == HS_OK)
        status = check_target(inv, work->target_pidfd, err);
    if (status == HS_OK)
        status = hs_dump_run(&tool, &dump, &message->report, err);
    message->ended_ns = hs_now_ns();
    if (status == HS_OK && hs_watch_after_is_wanted(inv)) {
        say_message(message, work->report_fd);
        hs_watch_after_dump(&(struct hs_watch_made){&tool, inv, directory, path, work->profile_fd},
                            message->warning, sizeof message->warning);
    }
    hs_tool_fini(&tool);
    if (tool.is_verbose)
        hs_talk_memory_report(&tool.budget);
    return status;
}

/* Does the work of the dump's process, and never returns. */
static void be_dump(const struct work *work)
{
    struct message message = {.error = HS_ERROR_INIT};

    (void)prctl(PR_SET_NAME, "heapsnap-dump");
    offer_to_oom_killer();
    message.status = run_dump(work, &message);
    message.is_over = true;
    say_message(&message, work->report_fd);
    (void)fflush(NULL);
    _exit(hs_exit_code(message.status));
}

/* ---- in the watch ---- */

/* Gives up a dump: without a descriptor its end would not be seen. */
static hs_status give_up(struct hs_watch_dump *dump, struct hs_error *err)
{
    hs_status status = hs_fail_errno(err, HS_IO, "cannot begin a dump");
    (void)kill(dump->pid, SIGKILL);
    (void)waitpid(dump->pid, NULL, 0);
    (void)close(dump->report_fd);
    dump->pid = 0;
    return status;
}

hs_status hs_watch_dump_start(const struct hs_invocation *inv, int dir_fd, int target_pidfd,
                              struct hs_watch_dump *dump, struct hs_error *err)
{
    char path[sizeof descriptor_path + HS_WATCH_NAME_BYTES + 16];
    int ends[2];
    pid_t watch = getpid();

    (void)snprintf(path, sizeof path, "%s%d/%s", descriptor_path, dir_fd, dump->name);
    if (pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0)
        return hs_fail_errno(err, HS_IO, "cannot begin a dump");
    (void)fflush(NULL);
    pid_t pid = fork();
    if (pid == 0) {
        (void)prctl(PR_SET_PDEATHSIG, SIGTERM);
        if (getppid() != watch)
            _exit(hs_exit_code(HS_LIMIT)); /* killed in between: nobody waits for this dump */
        (void)close(ends[0]);
        be_dump(&(struct work){.inv = inv,
                               .path = path,
                               .target_pidfd = target_pidfd,
                               .report_fd = ends[1],
                               .profile_fd = dump->profile_fd});
    }
    hs_status status =
        pid < 0 ? hs_fail_errno(err, HS_IO, "cannot begin a dump: no process") : HS_OK;
    (void)close(ends[1]);
    if (status != HS_OK) {
        (void)close(ends[0]);
        return status;
    }
    dump->pid = pid;
    dump->report_fd = ends[0];
    dump->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return dump->pidfd < 0 ? give_up(dump, err) : HS_OK;
}

void hs_watch_dump_signal(const struct hs_watch_dump *dump, int number)
{
    if (dump->pid != 0)
        (void)kill(dump->pid, number); /* not collected yet: the number is still its own */
}

/* Reads one message; the dump has ended, so all that it said is there; others that it began may
 * still hold the pipe. */
static bool hear_one(int fd, struct message *ret)
{
    size_t n = 0;
    while (n < sizeof *ret) {
        ssize_t got = read(fd, (char *)ret + n, sizeof *ret - n);
        if (got < 0 && errno == EINTR)
            continue;
        if (got <= 0)
            return false;
        n += (size_t)got;
    }
    return true;
}

/* The last that it said. */
static bool hear(int fd, struct message *ret)
{
    struct message next;
    bool has_any = false;
    while (hear_one(fd, &next)) {
        *ret = next;
        has_any = true;
    }
    return has_any;
}

static void explain_end(int wait_status, struct hs_watch_outcome *ret)
{
    ret->status = HS_BUG;
    if (WIFSIGNALED(wait_status)) {
        ret->signal = WTERMSIG(wait_status);
        (void)hs_fail(&ret->error, HS_BUG, "the dump was ended by signal %d (%s)", ret->signal,
                      strsignal(ret->signal));
        return;
    }
    if (WEXITSTATUS(wait_status) == hs_exit_code(HS_LIMIT)) { /* target/deadman.h: said already */
        ret->status = HS_LIMIT;
        (void)hs_fail(&ret->error, HS_LIMIT, "it stood still for longer than is allowed");
        return;
    }
    (void)hs_fail(&ret->error, HS_BUG, "the dump ended with %d and said nothing",
                  WEXITSTATUS(wait_status));
}

/* The snapshot is whole, and what was to be made of it is not. */
static void explain_cut(int wait_status, struct hs_watch_outcome *ret)
{
    ret->is_cut = true;
    if (WIFSIGNALED(wait_status))
        (void)snprintf(ret->warning, sizeof ret->warning,
                       "nothing was made of this dump: ended by signal %d (%s)",
                       WTERMSIG(wait_status), strsignal(WTERMSIG(wait_status)));
    else
        (void)snprintf(ret->warning, sizeof ret->warning,
                       "nothing was made of this dump: it ended with %d and said nothing",
                       WEXITSTATUS(wait_status));
}

void hs_watch_dump_collect(struct hs_watch_dump *dump, struct hs_watch_outcome *ret)
{
    struct message message;
    int wait_status = 0;

    while (waitpid(dump->pid, &wait_status, 0) < 0 && errno == EINTR)
        ;
    *ret = (struct hs_watch_outcome){.error = HS_ERROR_INIT};
    if (hear(dump->report_fd, &message)) {
        ret->status = message.status;
        ret->error = message.error;
        ret->report = message.report;
        ret->ended_ns = message.ended_ns;
        memcpy(ret->warning, message.warning, sizeof ret->warning);
        if (!message.is_over)
            explain_cut(wait_status, ret);
        hs_watch_dump_plain(ret->warning);
    } else {
        explain_end(wait_status, ret);
    }
    hs_watch_dump_plain(ret->error.message);
    (void)close(dump->report_fd);
    if (dump->pidfd >= 0)
        (void)close(dump->pidfd);
    dump->pid = 0;
}

void hs_watch_dump_plain(char *message)
{
    char *at;
    while ((at = strstr(message, descriptor_path)) != NULL) {
        char *rest = at + sizeof descriptor_path - 1;
        rest += strspn(rest, "0123456789");
        rest += *rest == '/';
        memmove(at, rest, strlen(rest) + 1);
    }
}
