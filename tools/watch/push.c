#include "push.h"

#include <ctype.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#define NS_PER_MS ((uint64_t)1000000)
enum { TIMEOUT_LEAST_MS = 1000, TIMEOUT_MOST_MS = 30000, KEPT_FDS = HS_PUSH_REQUEST_FD + 1 };

/* ---- the URL ---- */

static hs_status wrong(const char *why, struct hs_error *err)
{
    (void)hs_fail(err, HS_USAGE, "--push: %s", why);
    return hs_hint(err, "for example http://localhost:4040/ingest (Pyroscope) or "
                        "http://localhost:7070/profiles/writeraw (Parca)");
}

/* Checks a URL; `place` gets its scheme, host and path alone. */
static hs_status check_url(const char *url, char *place, size_t n_place, struct hs_error *err)
{
    size_t scheme = strncasecmp(url, "http://", 7) == 0    ? 7
                    : strncasecmp(url, "https://", 8) == 0 ? 8
                                                           : 0;
    if (scheme == 0)
        return wrong("the URL does not begin with http:// or https://", err);
    for (const char *at = url; *at != '\0'; at++)
        if (!isgraph((unsigned char)*at))
            return wrong("there are spaces or other characters in the URL that it cannot have",
                         err);
    size_t n_host = strcspn(url + scheme, "/?#");
    const char *path = url + scheme + n_host, *host = url + scheme;
    for (const char *at = path; at-- > url + scheme;)
        if (*at == '@') {
            host = at + 1;
            break;
        }
    if (host == path || *host == ':')
        return wrong("the URL names no host", err);
    size_t n_path = strcspn(path, "?#");
    if (n_path < 2)
        return wrong("the URL names no door: there is no path behind the host", err);
    (void)snprintf(place, n_place, "%.*s%.*s%.*s", (int)scheme, url, (int)(path - host), host,
                   (int)n_path, path);
    return HS_OK;
}

/* Writes a name that every profiler takes as the value of a label. */
static void plain_name(const char *name, char text[HS_PUSH_NAME_BYTES])
{
    size_t n = 0;
    for (; name[n] != '\0' && name[n] != '\n' && n + 1 < HS_PUSH_NAME_BYTES; n++) {
        bool is_plain = isalnum((unsigned char)name[n]) || strchr("_-.", name[n]) != NULL;
        text[n] = is_plain ? name[n] : '_';
    }
    text[n] = '\0';
}

hs_status hs_watch_push_init(const char *url, const char *service, const char *host,
                             uint64_t every_ns, struct hs_watch_push *ret, struct hs_error *err)
{
    struct hs_watch_push push = {.url = url, .pidfd = -1, .answer_fd = -1};
    HS_TRY(check_url(url, push.place, sizeof push.place, err));
    if (strlen(url) >= sizeof push.request.url)
        return wrong("the URL is too long", err);
    memcpy(push.request.url, url, strlen(url) + 1);
    plain_name(service, push.request.service);
    plain_name(host, push.request.host);
    uint64_t ms = every_ns / NS_PER_MS;
    push.request.timeout_ms = ms > TIMEOUT_MOST_MS    ? TIMEOUT_MOST_MS
                              : ms < TIMEOUT_LEAST_MS ? TIMEOUT_LEAST_MS
                                                      : ms;
    *ret = push;
    return HS_OK;
}

/* Finds the program beside our own. */
static bool find_program(char *path, size_t n_path)
{
    ssize_t n = readlink("/proc/self/exe", path, n_path - 1);
    if (n <= 0)
        return false;
    path[n] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash + 1 - path) + sizeof HS_PUSH_PROGRAM > n_path)
        return false;
    memcpy(slash + 1, HS_PUSH_PROGRAM, sizeof HS_PUSH_PROGRAM);
    return true;
}

hs_status hs_watch_push_check(struct hs_error *err)
{
    char path[PATH_MAX];
    if (find_program(path, sizeof path) && access(path, X_OK) == 0)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "--push: there is no " HS_PUSH_PROGRAM " beside heapsnap");
    return hs_hint(err,
                   "build heapsnap with libcurl (-DHS_WITH_PUSH=ON), or install " HS_PUSH_PROGRAM);
}

/* ---- saying ---- */

static void say(struct hs_watch_push *push, const char *event, const char *why)
{
    struct hs_watch_line line;
    char text[2 * HS_PUSH_ANSWER_BYTES + 32];
    (void)snprintf(text, sizeof text, "cannot push to '%s': %s", push->place, why);
    hs_watch_line_begin(&line, (int64_t)time(NULL), event);
    hs_watch_line_text(&line, "why", strcmp(event, "warn") == 0 ? text : why);
    hs_watch_log_put(push->log, &line);
}

static void say_once(struct hs_watch_push *push, const char *why)
{
    push->was_taken = false;
    for (size_t i = 0; i < push->n_said; i++)
        if (strcmp(push->said[i], why) == 0)
            return;
    if (push->n_said == HS_PUSH_SAID_MOST)
        return; /* a server that invents reasons */
    (void)snprintf(push->said[push->n_said++], HS_PUSH_ANSWER_BYTES, "%s", why);
    say(push, "warn", why);
}

/* ---- sending ---- */

int hs_watch_push_file(const struct hs_watch_push *push)
{
    return push->url == NULL ? -1 : memfd_create("heapsnap-profile", MFD_CLOEXEC);
}

/* Becomes the program that pushes, and never returns. All that it may have is descriptors 0 to
 * 3. */
static void be_push(int profile_fd, int answer_fd, int request_fd)
{
    char path[PATH_MAX];
    char *const arguments[] = {(char *)HS_PUSH_PROGRAM, NULL};
    sigset_t none;
    /* Above the numbers that they shall have. */
    int profile = fcntl(profile_fd, F_DUPFD, KEPT_FDS),
        answer = fcntl(answer_fd, F_DUPFD, KEPT_FDS);
    int request = fcntl(request_fd, F_DUPFD, KEPT_FDS);
    if (find_program(path, sizeof path) && dup2(profile, STDIN_FILENO) == STDIN_FILENO &&
        dup2(answer, STDOUT_FILENO) == STDOUT_FILENO &&
        dup2(request, HS_PUSH_REQUEST_FD) == HS_PUSH_REQUEST_FD) {
        (void)close_range(KEPT_FDS, ~0U, 0);
        (void)sigemptyset(&none);
        (void)sigprocmask(SIG_SETMASK, &none, NULL);
        (void)setpgid(0, 0); /* a terminal's signals are the watch's to answer */
        (void)execv(path, arguments);
    }
    static const char text[] = "cannot start " HS_PUSH_PROGRAM;
    (void)!write(STDOUT_FILENO, text, sizeof text - 1);
    _exit(1);
}

static bool begin(struct hs_watch_push *push, int profile_fd, int answer[2], int request[2])
{
    pid_t pid = -1;
    if (write(request[1], &push->request, sizeof push->request) == (ssize_t)sizeof push->request)
        pid = fork();
    if (pid == 0)
        be_push(profile_fd, answer[1], request[0]);
    if (pid < 0)
        return false;
    push->pid = pid;
    push->pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
    return true;
}

void hs_watch_push_start(struct hs_watch_push *push, int profile_fd, uint64_t now_s)
{
    struct stat about;
    int answer[2] = {-1, -1}, request[2] = {-1, -1};
    uint64_t last_s = push->last_s;
    if (profile_fd < 0 || fstat(profile_fd, &about) != 0 || about.st_size == 0)
        return; /* why there is none was said */
    if (push->pid != 0) {
        say_once(push, "the profile before is still on the way, this one is not sent");
        return;
    }
    push->request.parent = (uint64_t)getpid();
    push->request.from_s = last_s != 0 && last_s < now_s ? last_s : now_s - 1;
    push->request.until_s = push->last_s = now_s;
    bool is_good = pipe2(answer, O_CLOEXEC | O_NONBLOCK) == 0 && pipe2(request, O_CLOEXEC) == 0 &&
                   begin(push, profile_fd, answer, request);
    if (!is_good)
        say_once(push, "there is no process for it");
    else
        push->answer_fd = answer[0];
    int *const spare[] = {is_good ? &answer[1] : &answer[0], &answer[1], &request[0], &request[1]};
    for (size_t i = is_good; i < sizeof spare / sizeof *spare; i++)
        if (*spare[i] >= 0)
            (void)close(*spare[i]);
}

int hs_watch_push_fd(const struct hs_watch_push *push)
{
    return push->pid == 0 ? -1 : push->pidfd;
}

/* Tells the outcome of a push that has ended; what it said is there. */
static void tell(struct hs_watch_push *push, int wait_status)
{
    char why[HS_PUSH_ANSWER_BYTES];
    ssize_t n = read(push->answer_fd, why, sizeof why - 1);
    why[n > 0 ? n : 0] = '\0';
    if (WIFEXITED(wait_status) && WEXITSTATUS(wait_status) == 0) {
        if (!push->was_taken)
            say(push, "push", push->n_said == 0 ? "the first profile was taken" : "taken again");
        push->was_taken = true;
        push->n_said = 0;
        return;
    }
    if (why[0] == '\0' && WIFSIGNALED(wait_status))
        (void)snprintf(why, sizeof why, HS_PUSH_PROGRAM " was ended by signal %d",
                       WTERMSIG(wait_status));
    say_once(push, why[0] != '\0' ? why : HS_PUSH_PROGRAM " ended and said nothing");
}

static void reap(struct hs_watch_push *push, int flags)
{
    int wait_status;
    pid_t pid;
    while ((pid = waitpid(push->pid, &wait_status, flags)) < 0 && errno == EINTR)
        ;
    if (pid != push->pid)
        return;
    push->pid = 0;
    tell(push, wait_status);
    (void)close(push->answer_fd);
    if (push->pidfd >= 0)
        (void)close(push->pidfd);
    push->pidfd = push->answer_fd = -1;
}

void hs_watch_push_collect(struct hs_watch_push *push)
{
    if (push->pid != 0)
        reap(push, WNOHANG);
}

void hs_watch_push_end(struct hs_watch_push *push, int patience_ms, int signal_fd)
{
    struct pollfd events[] = {{.fd = push->pidfd, .events = POLLIN},
                              {.fd = signal_fd, .events = POLLIN}};
    if (push->pid == 0)
        return;
    while (poll(events, 2, patience_ms) < 0 && errno == EINTR)
        ;
    if (events[0].revents == 0) {
        (void)kill(push->pid, SIGKILL);
        if (patience_ms > 0)
            say_once(push, "it was still on the way at the end");
        push->n_said = HS_PUSH_SAID_MOST; /* and nothing of the signal */
    }
    reap(push, 0);
}
