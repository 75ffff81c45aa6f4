/* The process of the box: starting it, ending it, and what is to be told of it. */
#include "symbols/dwarf_box.h"
#include "base/append.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <spawn.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <sys/auxv.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "box_private.h"

#define BOX_MEMORY_BYTES (UINT64_C(2) << 30)
#define BOX_ANSWER_MS 30000

hs_status hs_dwarf_box_new(const struct hs_dwarf_box_options *options, struct hs_dwarf_box **ret,
                           struct hs_error *err)
{
    const struct hs_dwarf_box_options none = {0};
    hs_auto(hs_dwarf_box) *box = NULL;
    if (options == NULL)
        options = &none;
    HS_TRY(HS_ALLOC(&box, 1, err));
    box->socket = -1;
    box->memory_bytes = options->memory_bytes != 0 ? options->memory_bytes : BOX_MEMORY_BYTES;
    box->answer_ns =
        (options->answer_ms != 0 ? options->answer_ms : BOX_ANSWER_MS) * UINT64_C(1000000);
    if (options->program != NULL)
        HS_TRY(hs_strdup(options->program, &box->program, err));
    HS_TRY(hs_alloc(1, BOX_MAX_BYTES + 1, (void **)&box->answer, err));
    *ret = HS_STEAL(box);
    return HS_OK;
}

void hs_dwarf_box_free(struct hs_dwarf_box *box)
{
    if (box == NULL)
        return;
    hs_box_stop_(box);
    hs_free(box->program);
    hs_free(box->used);
    hs_free(box->answer);
    hs_free(box);
}

size_t hs_dwarf_box_n_notes(const struct hs_dwarf_box *box)
{
    return box == NULL ? 0 : box->n_notes;
}

const char *hs_dwarf_box_note(const struct hs_dwarf_box *box, size_t number)
{
    return box->notes[number];
}

void hs_dwarf_box_how(const struct hs_dwarf_box *box, char *text)
{
    static const struct {
        uint32_t how;
        const char *words;
    } all[] = {
        {BOX_HOW_NOBODY, "as nobody"},
        {BOX_HOW_PLAIN, "without capabilities"},
        {BOX_HOW_CALLS, "with few system calls"},
        {BOX_HOW_LIMITS, "under limits"},
    };
    text[0] = '\0';
    for (size_t i = 0; box != NULL && i < sizeof all / sizeof *all; i++)
        if ((box->how & all[i].how) != 0)
            hs_append_item(text, HS_DWARF_BOX_HOW_BYTES, ", ", all[i].words);
}

void hs_box_note_(struct hs_dwarf_box *box, const char *format, ...)
{
    va_list arguments;
    if (box->n_notes == sizeof(box->notes) / sizeof(box->notes[0]))
        return;
    va_start(arguments, format);
    (void)vsnprintf(box->notes[box->n_notes++], BOX_NOTE_BYTES, format, arguments);
    va_end(arguments);
}

/* Finds the helper, which lies beside our own program, or is a part of one that has no loader
 * (tools/static). */
static bool box_find(char *path, size_t n_path)
{
    if (getauxval(AT_BASE) == 0) {
        (void)snprintf(path, n_path, "/proc/self/exe");
        return true;
    }
    ssize_t used = readlink("/proc/self/exe", path, n_path - 1);
    if (used <= 0)
        return false;
    path[used] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash + 1 - path) + sizeof(BOX_PROGRAM) > n_path)
        return false;
    memcpy(slash + 1, BOX_PROGRAM, sizeof(BOX_PROGRAM));
    return true;
}

/* Sends to nowhere what is written there; closes it in a root without devices, which has no
 * /dev/null. */
static int box_silence(posix_spawn_file_actions_t *files, int fd)
{
    return access("/dev/null", W_OK) == 0
               ? posix_spawn_file_actions_addopen(files, fd, "/dev/null", O_WRONLY, 0)
               : posix_spawn_file_actions_addclose(files, fd);
}

/* Spawns the box in a group of its own, so that a signal from the terminal is ours alone to answer.
 * Not forked: this process may be large. */
static int box_spawn_with(posix_spawn_file_actions_t *files, posix_spawnattr_t *how,
                          const char *program, int socket, char *const arguments[], pid_t *ret)
{
    char *const environment[] = {(char *)"LC_ALL=C", NULL};
    sigset_t none, all;
    sigemptyset(&none);
    sigfillset(&all);
    int failed = posix_spawn_file_actions_adddup2(files, socket, 0);
    if (failed == 0)
        failed = box_silence(files, 1);
#ifndef HS_SANITIZED
    if (failed == 0)
        failed = box_silence(files, 2);
#endif
    if (failed == 0)
        failed = posix_spawnattr_setflags(how, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK |
                                                   POSIX_SPAWN_SETSIGDEF);
    if (failed == 0)
        failed = posix_spawnattr_setsigmask(how, &none);
    if (failed == 0)
        failed = posix_spawnattr_setsigdefault(how, &all);
    return failed != 0 ? failed : posix_spawn(ret, program, files, how, arguments, environment);
}

static int box_spawn(const char *program, int socket, char *const arguments[], pid_t *ret)
{
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    int failed = posix_spawn_file_actions_init(&files);
    if (failed != 0)
        return failed;
    failed = posix_spawnattr_init(&how);
    if (failed == 0) {
        failed = box_spawn_with(&files, &how, program, socket, arguments, ret);
        posix_spawnattr_destroy(&how);
    }
    posix_spawn_file_actions_destroy(&files);
    return failed;
}

static hs_status box_cannot_start(struct hs_dwarf_box *box, const char *program,
                                  struct hs_error *err)
{
    int why = errno;
    box->is_given_up = true;
    hs_box_note_(box,
                 "stacks and names from debug information are incomplete: '%.200s' cannot be "
                 "started (%s); install it beside heapsnap",
                 program, strerror(why));
    errno = why;
    (void)hs_fail_errno(err, HS_IO, "cannot start '%.200s'", program);
    return hs_hint(err, "install " BOX_PROGRAM " beside heapsnap");
}

hs_status hs_box_start_(struct hs_dwarf_box *box, struct hs_error *err)
{
    char beside[4096] = BOX_PROGRAM, memory[24];
    int sockets[2];
    pid_t pid;
    if (box->is_given_up)
        return hs_fail(err, HS_IO, "'%s' cannot be used", BOX_PROGRAM);
    if (box->pid != 0)
        return HS_OK;
    if (box->generation == BOX_MAX_STARTS) {
        box->is_given_up = true;
        hs_box_note_(box, "stacks and names from debug information are incomplete: their reader "
                          "ended again and again");
        return hs_fail(err, HS_IO, "'%s' cannot be used", BOX_PROGRAM);
    }
    const char *program = box->program;
    if (program == NULL) {
        (void)box_find(beside, sizeof(beside));
        program = beside;
    }
    (void)snprintf(memory, sizeof(memory), "%llu", (unsigned long long)box->memory_bytes);
    char *const arguments[] = {(char *)BOX_PROGRAM, memory, NULL};
    if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, sockets) != 0)
        return box_cannot_start(box, program, err);
    int failed = box_spawn(program, sockets[1], arguments, &pid);
    close(sockets[1]);
    if (failed == 0 && clock_getcpuclockid(pid, &box->clock) != 0)
        box->clock = CLOCK_MONOTONIC; /* then what is limited is time by the clock */
    if (failed != 0) {
        close(sockets[0]);
        errno = failed;
        return box_cannot_start(box, program, err);
    }
    box->pid = pid;
    box->socket = sockets[0];
    box->generation++;
    return HS_OK;
}

void hs_box_stop_(struct hs_dwarf_box *box)
{
    int report;
    if (box->socket >= 0)
        close(box->socket); /* an idle box ends by itself at this */
    box->socket = -1;
    if (box->pid == 0)
        return;
    /* It may have become another user, and we may not be allowed to kill; then it is not waited
     * for: it ends with us. */
    int flags = kill(box->pid, SIGKILL) == 0 ? 0 : WNOHANG;
    while (waitpid(box->pid, &report, flags) < 0 && errno == EINTR)
        ;
    box->pid = 0;
}
