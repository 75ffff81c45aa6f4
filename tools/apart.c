#include "apart.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/spill.h"

/* Work that looks at the clock itself ends at its time, and says so better. */
#define GRACE_NS ((uint64_t)300 * 1000000)
enum { LOOK_MS = 50 };

/* Written at once: less than PIPE_BUF. */
struct news {
    enum { CLOCK_RUNS, CLOCK_STOPS, ENDED } what;
    struct hs_error err; /* of ENDED */
};

/* ---- in the child */

static void tell(const struct hs_apart *apart, const struct news *news)
{
    (void)!write(apart->fd, news, sizeof *news); /* nobody reads it: nobody waits for the rest */
}

void hs_apart_clock(void *context, bool runs)
{
    const struct hs_apart *apart = context;
    tell(apart, &(struct news){.what = runs ? CLOCK_RUNS : CLOCK_STOPS});
}

/* A connection that the parent closes ends for its peer when no copy of it is left. */
static void close_sockets(void)
{
    struct stat about;
    DIR *directory = opendir("/proc/self/fd");
    for (const struct dirent *entry; directory != NULL && (entry = readdir(directory)) != NULL;) {
        int fd = (int)strtol(entry->d_name, NULL, 10);
        if (fd > STDERR_FILENO && fstat(fd, &about) == 0 && S_ISSOCK(about.st_mode))
            (void)close(fd);
    }
    if (directory != NULL)
        (void)closedir(directory);
}

static hs_status work_into(struct hs_tool *tool, const struct hs_apart *apart, int fd,
                           struct hs_error *err)
{
    tool->out = (struct hs_out){.fd = -1};
    HS_TRY(hs_out_open_fd(fd, "the answer", &tool->out, err));
    HS_TRY(apart->work(tool, apart->context, err));
    return hs_out_commit(&tool->out, err);
}

static _Noreturn void be_child(struct hs_tool *tool, struct hs_apart *apart, int answer,
                               pid_t parent)
{
    struct news news = {.what = ENDED, .err = HS_ERROR_INIT};
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent)
        _exit(1);
    close_sockets();
    news.err.status = work_into(tool, apart, answer, &news.err);
    tell(apart, &news);
    _exit(0);
}

/* ---- in the parent */

static hs_status is_late(const struct hs_apart *apart, struct hs_error *err)
{
    (void)hs_fail(err, HS_LIMIT, "the query takes longer than %.3g s",
                  (double)apart->timeout_ns / 1e9);
    return hs_hint(err, "what one function of it is given may be too long");
}

/* Waits until the child has ended, and is so told. */
static hs_status await(const struct hs_apart *apart, int fd, struct hs_error *err)
{
    uint64_t deadline_ns = UINT64_MAX;
    for (;;) {
        struct pollfd wait = {.fd = fd, .events = POLLIN};
        struct news news;
        if (poll(&wait, 1, LOOK_MS) <= 0) {
            HS_TRY(hs_progress_tell(&apart->goes_on, "running the query", 0, 0, err));
            if (hs_tool_interrupted() != 0)
                return hs_fail(err, HS_LIMIT, "interrupted");
            if (hs_now_ns() > deadline_ns)
                return is_late(apart, err);
            continue;
        }
        ssize_t n = read(fd, &news, sizeof news);
        if (n < 0 && errno == EINTR)
            continue;
        if (n != (ssize_t)sizeof news)
            return hs_fail(err, HS_IO, "the process of the query ended before it had an answer");
        if (news.what == ENDED) {
            if (news.err.status != HS_OK)
                *err = news.err;
            return news.err.status;
        }
        deadline_ns = UINT64_MAX;
        if (news.what == CLOCK_RUNS && apart->timeout_ns != 0)
            deadline_ns = hs_now_ns() + apart->timeout_ns + GRACE_NS;
    }
}

static hs_status pass_on(struct hs_tool *tool, int answer, struct hs_error *err)
{
    struct hs_map printed;
    if (lseek(answer, 0, SEEK_SET) != 0)
        return hs_fail_errno(err, HS_IO, "cannot read an answer");
    HS_TRY(hs_map_open_fd(answer, "an answer", &printed, err));
    hs_status status = hs_out_write(&tool->out, printed.bytes, printed.n_bytes, err);
    hs_map_close(&printed);
    return status;
}

static hs_status run_child(struct hs_tool *tool, struct hs_apart *apart, int answer,
                           struct hs_error *err)
{
    int ends[2];
    pid_t parent = getpid();
    if (pipe2(ends, O_CLOEXEC) != 0)
        return hs_fail_errno(err, HS_LIMIT, "cannot begin a process");
    apart->fd = ends[1];
    pid_t child = fork();
    if (child == 0) {
        (void)close(ends[0]);
        be_child(tool, apart, answer, parent);
    }
    (void)close(ends[1]);
    hs_status status = child < 0 ? hs_fail_errno(err, HS_LIMIT, "cannot begin a process")
                                 : await(apart, ends[0], err);
    (void)close(ends[0]);
    if (child > 0) {
        (void)kill(child, SIGKILL);
        while (waitpid(child, NULL, 0) < 0 && errno == EINTR) {
        }
    }
    return status;
}

hs_status hs_apart_run(struct hs_tool *tool, struct hs_apart *apart, struct hs_error *err)
{
    struct hs_spill answer = {0};
    HS_TRY(hs_spill_open(hs_tool_budget(tool), "an answer", &answer, err));
    hs_status status = run_child(tool, apart, answer.fd, err);
    if (status == HS_OK)
        status = pass_on(tool, answer.fd, err);
    hs_spill_close(&answer);
    return status;
}
