#include "run.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "tool.h"

enum { QUEUE_BYTES = 64 << 20, POLL_MS = 400, PACKETS_AT_ONCE = 64 };

/* ---- signals ---- */

static volatile sig_atomic_t forward_to, wants_end;

/* Passes a signal to the program, which gets those of a terminal anyway; what somebody sends to us
 * is meant for it. */
static void on_signal(int number, siginfo_t *info, void *context)
{
    int was = errno;
    (void)context;
    if (info->si_code <= 0 && forward_to > 0)
        (void)kill((pid_t)forward_to, number);
    if (forward_to <= 0)
        wants_end = 1;
    errno = was;
}

static void take_signals(pid_t pid)
{
    static const int numbers[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP, SIGUSR1, SIGUSR2, SIGALRM};
    struct sigaction action = {.sa_sigaction = on_signal, .sa_flags = (int)SA_SIGINFO};
    forward_to = pid;
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++)
        (void)sigaction(numbers[i], &action, NULL);
}

/* ---- files ---- */

static void complain(void *context, const char *text)
{
    struct hs_recording *r = context;
    r->is_failed = true;
    hs_talk("%s", text);
}

/* Opens the file of another process or another program: the first one's name with a number. */
static hs_status open_file(void *context, const struct hs_packet *info, unsigned number,
                           struct hs_record_file *ret, struct hs_error *err)
{
    struct hs_recording *r = context;
    char name[PATH_MAX];
    bool is_first = info->pid == (uint64_t)r->pid && r->first.fd >= 0;
    if (is_first) {
        *ret = r->first;
        r->first = (struct hs_record_file){.fd = -1};
        return HS_OK;
    }
    if (r->output == NULL) {
        (void)snprintf(name, sizeof name, "heapsnap.%lu", (unsigned long)info->pid);
        return hs_record_file_new(AT_FDCWD, name, r->access, ret, err);
    }
    int n = snprintf(name, sizeof name, "%s", r->output);
    if (info->pid != (uint64_t)r->pid && n < PATH_MAX)
        n += snprintf(name + n, sizeof name - (size_t)n, ".%lu", (unsigned long)info->pid);
    if (number != 0 && n < PATH_MAX)
        n += snprintf(name + n, sizeof name - (size_t)n, ".%u", number + 1);
    if (n >= PATH_MAX)
        return hs_fail(err, HS_IO, "cannot write '%.80s...': its name is too long", r->output);
    return hs_record_file_open(name, r->access, ret, err);
}

/* The first file is there before the program: what cannot be written is told in time. */
static hs_status open_first(struct hs_recording *r, struct hs_error *err)
{
    char name[32];
    if (!r->keeps_file)
        return HS_OK;
    if (r->output != NULL)
        return hs_record_file_open(r->output, r->access, &r->first, err);
    (void)snprintf(name, sizeof name, "heapsnap.%d", r->pid);
    return hs_record_file_new(AT_FDCWD, name, r->access, &r->first, err);
}

/* Goes on without the trace: whoever starts a service through us wants the service. */
static void go_without(struct hs_recording *r, struct hs_error *why)
{
    r->is_failed = true;
    r->keeps_file = false;
    hs_talk_error(why);
    if (r->sender == NULL)
        hs_talk("'%s' runs all the same; nothing is recorded", r->program);
    *why = (struct hs_error)HS_ERROR_INIT;
}

/* ---- packets ---- */

static hs_status take_packet(struct hs_recording *r, const uint8_t *bytes, size_t n_bytes,
                             struct hs_error *err)
{
    struct hs_packet packet;
    const uint8_t *out;
    size_t n_out;
    bool is_info;
    HS_TRY(hs_packet_open(bytes, n_bytes, &packet, err));
    r->has_heard = true;
    if (packet.pid != (uint64_t)r->pid && !r->with_children) {
        r->n_foreign++;
        return HS_OK;
    }
    if (!r->keeps_file && r->sender == NULL)
        return HS_OK;
    HS_TRY(hs_translate(&r->translator, &packet, &out, &n_out, &is_info, err));
    if (n_out == 0)
        return HS_OK;
    if (r->keeps_file) /* what the file cannot take is said there */
        HS_TRY(hs_record_files_put(&r->files, &packet, is_info, out, n_out, err));
    if (r->sender != NULL && !hs_sender_put(r->sender, out, n_out))
        hs_translate_undo(&r->translator, packet.pid);
    return HS_OK;
}

static void say_once(struct hs_recording *r, const struct hs_error *err)
{
    r->is_failed = true;
    if (r->n_damaged++ == 0)
        hs_talk("%s", err->message);
}

static void take_held(void *context, const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    if (take_packet(context, bytes, n_bytes, &err) != HS_OK)
        say_once(context, &err);
}

/* Takes the packets that are there. False: there was nothing. */
static bool take_packets(struct hs_recording *r, bool *ret_has_ended)
{
    static uint8_t bytes[HS_PACKET_MAX_BYTES];
    for (int i = 0; i < PACKETS_AT_ONCE; i++) {
        struct hs_error err = HS_ERROR_INIT;
        struct hs_packet_sent sent;
        size_t n = hs_packet_queue_take(&r->queue, bytes, &sent, ret_has_ended);
        if (sent.fd >= 0)
            hs_held_add(&r->held, sent.fd, sent.pid);
        else if (n == 0)
            return false;
        if (n != 0 && take_packet(r, bytes, n, &err) != HS_OK)
            say_once(r, &err);
    }
    return true;
}

/* ---- the program ---- */

static void reap(struct hs_recording *r)
{
    int status;
    if (r->has_ended || waitpid(r->pid, &status, WNOHANG) != r->pid)
        return;
    r->has_ended = true;
    forward_to = 0;
    if (WIFSIGNALED(status))
        r->exit_signal = WTERMSIG(status);
    else
        r->exit_code = WEXITSTATUS(status);
    if (!r->with_children && r->queue.is_started)
        hs_packet_queue_finish(&r->queue);
}

/* A program may close its end and go on: then only its own end is waited for. */
static void wait_for_more(struct hs_recording *r, bool has_ended)
{
    struct pollfd waits[3] = {
        {.fd = has_ended ? -1 : r->queue.ready_fd, .events = POLLIN},
        {.fd = r->has_ended ? -1 : r->pid_fd, .events = POLLIN},
        {.fd = -1},
    };
    if (r->sender != NULL)
        waits[2].fd = hs_sender_poll(r->sender, &waits[2].events);
    (void)poll(waits, 3, POLL_MS); /* interrupted, or not: all is looked at */
}

static void follow(struct hs_recording *r)
{
    for (bool has_ended = !r->queue.is_started; !has_ended || !r->has_ended;) {
        if (!r->queue.is_started || !take_packets(r, &has_ended)) {
            hs_held_look(&r->held); /* what was sent before is taken */
            wait_for_more(r, has_ended);
        }
        reap(r);
        if (r->sender != NULL)
            hs_sender_work(r->sender);
        if (wants_end && r->queue.is_started)
            hs_packet_queue_finish(&r->queue);
    }
    hs_held_finish(&r->held);
}

/* Was there an exec? The pipe tells the errno of one that failed, and closes with one that did not.
 */
static hs_status let_go(struct hs_recording *r, int go, int trouble, struct hs_error *err)
{
    int why = 0;
    ssize_t n = 0;
    hs_status status = HS_OK;
    if (write(go, "", 1) != 1)
        status = hs_fail_errno(err, HS_IO, "cannot start '%s'", r->program);
    (void)close(go); /* a pipe */
    if (status == HS_OK)
        while ((n = read(trouble, &why, sizeof why)) < 0 && errno == EINTR)
            ;
    (void)close(trouble); /* a pipe */
    if (status == HS_OK && n == (ssize_t)sizeof why) {
        errno = why;
        status = hs_fail_errno(err, HS_TARGET, "cannot start '%s'", r->program);
    }
    if (status != HS_OK)
        (void)waitpid(r->pid, NULL, 0); /* it has ended, or does so now */
    return status;
}

hs_status hs_recording_run(struct hs_recording *r, struct hs_error *err)
{
    int go, trouble;
    r->socket = r->pid_fd = r->first.fd = r->queue.ready_fd = -1;
    r->files.open = open_file;
    r->files.complain = complain;
    r->files.context = r;
    r->held.take = take_held;
    r->held.context = r;
    r->translator.namer = r->namer;
    r->translator.is_live = true;
    HS_TRY(hs_recording_start(r, &go, &trouble, err));
    if (open_first(r, err) != HS_OK)
        go_without(r, err);
    if (hs_packet_queue_open(r->socket, QUEUE_BYTES, &r->queue, err) != HS_OK) {
        r->sender = NULL; /* it has nothing to send */
        go_without(r, err);
    }
    take_signals(r->pid);
    HS_TRY(let_go(r, go, trouble, err));
    follow(r);
    if (r->sender != NULL)
        hs_sender_finish(r->sender);
    hs_record_files_close(&r->files);
    return HS_OK;
}

void hs_recording_fini(struct hs_recording *r)
{
    hs_packet_queue_close(&r->queue);
    if (r->socket > 0)
        (void)close(r->socket);
    if (r->pid_fd > 0)
        (void)close(r->pid_fd);
    if (r->first.name != NULL)
        (void)close(r->first.fd); /* nothing was written */
    hs_free(r->first.name);
    hs_record_files_fini(&r->files);
    hs_translator_fini(&r->translator);
}
