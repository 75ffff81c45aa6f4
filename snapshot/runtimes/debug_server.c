#include "runtimes/debug_server.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/buffer.h"

enum { LINE_BYTES = 8192, TICK_MS = 100, LAST_MS = 2000, DEFAULT_S = 60 };
#define NS_PER_S ((uint64_t)1000000000)

hs_status hs_debug_answers_add(struct hs_debug_answers *answers, const char *build_id,
                               size_t object, struct hs_error *err)
{
    HS_TRY(HS_GROW(&answers->list, &answers->capacity, answers->n + 1, err));
    answers->list[answers->n++] = (struct hs_debug_answer){.build_id = build_id, .object = object};
    return HS_OK;
}

void hs_debug_answers_fini(struct hs_debug_answers *answers)
{
    for (size_t i = 0; i < answers->n; i++)
        hs_free(answers->list[i].path);
    hs_free(answers->list);
    *answers = (struct hs_debug_answers){0};
}

/* ---- what the helper says */

/* Takes one line: "at ID DONE TOTAL", "got ID PATH" or "not ID ERRNO". Others say nothing. */
static hs_status take_line(struct hs_debug_answers *answers, char *line, int *last_errno,
                           struct hs_error *err)
{
    char *id = strchr(line, ' '), *rest = id != NULL ? strchr(id + 1, ' ') : NULL;
    if (rest == NULL)
        return HS_OK;
    *id++ = '\0';
    *rest++ = '\0';
    for (size_t i = 0; i < answers->n; i++) {
        struct hs_debug_answer *answer = &answers->list[i];
        if (answer->is_answered || strcmp(answer->build_id, id) != 0)
            continue;
        if (strcmp(line, "at") == 0) {
            char *after;
            answer->done_bytes = strtoul(rest, &after, 10);
            answer->total_bytes = strtoul(after, NULL, 10);
            continue;
        }
        answer->is_answered = true;
        if (strcmp(line, "got") == 0 && rest[0] == '/')
            HS_TRY(hs_strdup(rest, &answer->path, err));
        else if (strcmp(line, "not") == 0 && strtol(rest, NULL, 10) != ENOENT)
            *last_errno = (int)strtol(rest, NULL, 10);
    }
    return HS_OK;
}

/* Takes the whole lines of what was read so far. */
static hs_status take_lines(struct hs_debug_answers *answers, struct hs_buffer *text,
                            int *last_errno, struct hs_error *err)
{
    size_t begin = 0;
    for (size_t i = 0; i < text->n_bytes; i++) {
        if (text->bytes[i] != '\n')
            continue;
        text->bytes[i] = '\0';
        HS_TRY(take_line(answers, (char *)text->bytes + begin, last_errno, err));
        begin = i + 1;
    }
    memmove(text->bytes, text->bytes + begin, text->n_bytes - begin);
    text->n_bytes -= begin;
    if (text->n_bytes >= LINE_BYTES)
        text->n_bytes = 0; /* a line that is none of ours */
    return HS_OK;
}

static hs_status tell(const struct hs_progress *progress, const struct hs_debug_answers *answers,
                      struct hs_error *err)
{
    uint64_t done = 0, total = 0;
    for (size_t i = 0; i < answers->n; i++) {
        uint64_t its = answers->list[i].total_bytes;
        done += answers->list[i].done_bytes < its ? answers->list[i].done_bytes : its;
        total += its;
    }
    return hs_progress_tell(progress, "fetching debug information", done, total, err);
}

/* Reads until the helper ends or time is up. */
static hs_status collect(int fd, uint64_t deadline_ns, const struct hs_progress *progress,
                         struct hs_debug_answers *answers, int *last_errno, bool *is_late,
                         struct hs_error *err)
{
    struct hs_buffer text = {0};
    hs_status status = HS_OK;

    while (status == HS_OK && !(*is_late = hs_now_ns() >= deadline_ns)) {
        struct pollfd one = {.fd = fd, .events = POLLIN};
        ssize_t n = 0;
        status = tell(progress, answers, err);
        if (status != HS_OK || poll(&one, 1, TICK_MS) <= 0)
            continue;
        status = hs_buffer_reserve(&text, LINE_BYTES, err);
        if (status == HS_OK)
            n = read(fd, text.bytes + text.n_bytes, LINE_BYTES);
        if (n == 0 || (n < 0 && errno != EINTR))
            break;
        if (n > 0) {
            text.n_bytes += (size_t)n;
            status = take_lines(answers, &text, last_errno, err);
        }
    }
    hs_buffer_fini(&text);
    return status;
}

/* ---- the helper */

/* Executes it in the child: only calls that are safe after fork. Does not return. */
_Noreturn static void run_child(const char *helper, int input, int output, char *const arguments[])
{
    const struct rlimit no_core = {0, 0};
    if (dup2(input, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0)
        _exit(126);
    (void)dup2(open("/dev/null", O_WRONLY), STDERR_FILENO);
    (void)prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    (void)prctl(PR_SET_PDEATHSIG, SIGKILL);
    (void)setrlimit(RLIMIT_CORE, &no_core);
    (void)execv(helper, arguments);
    _exit(127);
}

/* Writes the questions to a file without a name, from its start. */
static hs_status write_ids(const struct hs_debug_answers *answers, int *ret, struct hs_error *err)
{
    *ret = memfd_create("heapsnap-ids", MFD_CLOEXEC);
    for (size_t i = 0; i < answers->n && *ret >= 0; i++)
        if (dprintf(*ret, "%s\n", answers->list[i].build_id) < 0)
            return hs_fail_errno(err, HS_IO, "cannot write the questions to symbol servers");
    if (*ret < 0 || lseek(*ret, 0, SEEK_SET) != 0)
        return hs_fail_errno(err, HS_IO, "cannot write the questions to symbol servers");
    return HS_OK;
}

static hs_status start(const char *helper, const struct hs_debug_answers *answers, pid_t *ret_child,
                       int *ret_output, struct hs_error *err)
{
    char most[32];
    char *const arguments[] = {(char *)"heapsnap-debuginfod", most,
                               (char *)(answers->of_programs ? "executable" : "debuginfo"), NULL};
    int input = -1, output[2] = {-1, -1};

    (void)snprintf(most, sizeof most, "%llu", (unsigned long long)HS_DEBUG_SERVER_FILE_BYTES);
    hs_status status = write_ids(answers, &input, err);
    if (status == HS_OK && pipe2(output, O_CLOEXEC) != 0)
        status = hs_fail_errno(err, HS_IO, "cannot open a pipe to '%s'", helper);
    if (status == HS_OK) {
        *ret_child = fork();
        if (*ret_child == 0)
            run_child(helper, input, output[1], arguments);
        if (*ret_child < 0)
            status = hs_fail_errno(err, HS_IO, "cannot start '%s'", helper);
    }
    if (input >= 0)
        close(input);
    if (output[1] >= 0)
        close(output[1]);
    if (status != HS_OK && output[0] >= 0)
        close(output[0]);
    *ret_output = output[0];
    return status;
}

/* Ends the helper: first so that it takes half files out of the cache. Returns its report. */
static int finish(pid_t child)
{
    int report = 0;
    (void)kill(child, SIGTERM);
    for (int ms = 0; ms < LAST_MS; ms += TICK_MS / 10) {
        if (waitpid(child, &report, WNOHANG) != 0)
            return report;
        (void)poll(NULL, 0, TICK_MS / 10);
    }
    (void)kill(child, SIGKILL);
    while (waitpid(child, &report, 0) < 0 && errno == EINTR)
        ;
    return report;
}

static void note_end(struct hs_debug_answers *answers, bool is_late, uint64_t limit_ns,
                     int last_errno)
{
    size_t n_open = 0;
    for (size_t i = 0; i < answers->n; i++)
        n_open += !answers->list[i].is_answered;
    if (is_late && n_open != 0)
        (void)snprintf(answers->note, sizeof answers->note,
                       "names of %zu binaries are missing: symbol servers took more than %llu s "
                       "(--debuginfod-timeout gives them more)",
                       n_open, (unsigned long long)(limit_ns / NS_PER_S));
    else if (n_open != 0)
        (void)snprintf(answers->note, sizeof answers->note,
                       "names of %zu binaries are missing: heapsnap-debuginfod ended early",
                       n_open);
    else if (last_errno != 0)
        (void)snprintf(answers->note, sizeof answers->note,
                       "names are missing: a symbol server of DEBUGINFOD_URLS could not be asked: "
                       "%s",
                       strerror(last_errno));
}

hs_status hs_debug_server_ask(const char *helper, uint64_t limit_ns,
                              const struct hs_progress *progress, struct hs_debug_answers *answers,
                              struct hs_error *err)
{
    struct hs_error ignored = HS_ERROR_INIT;
    uint64_t most_ns = limit_ns != 0 ? limit_ns : DEFAULT_S * NS_PER_S;
    int output = -1, last_errno = 0;
    bool is_late = false;
    pid_t child = 0;

    if (start(helper, answers, &child, &output, &ignored) != HS_OK) {
        (void)snprintf(answers->note, sizeof answers->note, "symbol servers were not asked: %.400s",
                       ignored.message);
        return HS_OK;
    }
    uint64_t left_ns = answers->spent_ns < most_ns ? most_ns - answers->spent_ns : 0;
    hs_status status =
        collect(output, hs_now_ns() + left_ns, progress, answers, &last_errno, &is_late, err);
    close(output);
    (void)finish(child);
    if (status == HS_OK)
        note_end(answers, is_late, most_ns, last_errno);
    return status;
}
