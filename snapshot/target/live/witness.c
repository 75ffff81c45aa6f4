#include "witness.h"

#include <errno.h>
#include <limits.h>
#include <poll.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/budget.h"
#include "base/progress.h"
#include "target/procfs.h"
#include "target_private.h"

#define WITNESS_LOOK_MS 50
#define WITNESS_LOOK_MIN_MS 3
#define WITNESS_ROOM_NS ((uint64_t)45000000) /* this look takes longer than the others */
#define WITNESS_LATE_NS ((uint64_t)20000000) /* the timer's turn is before it */

/* Shared by both. */
struct witness_page {
    _Atomic uint64_t kill_at_ns, late_ns, hold_ns, seized_ns, continued_at_ns, room_bytes;
    _Atomic int look_ms;
    _Atomic pid_t held;
    char text[HS_WITNESS_TEXT_BYTES];
};

static struct {
    struct witness_page *page;
    pid_t of, pid; /* whose it is: a child of ours has none; its own */
    int pidfd;
} witness = {.pidfd = -1};

/* ---- in the witness */

struct witness_looks {
    uint64_t last_ns; /* the one before this */
    uint64_t room_ns; /* the last one for memory */
    uint64_t idle_ns; /* the last one that saw us run while it was seized; 0: this saw us run */
};

static void witness_keep_only(int fd)
{
    (void)close(STDIN_FILENO);
    (void)close(STDOUT_FILENO);
    if (fd > STDERR_FILENO + 1)
        (void)close_range(STDERR_FILENO + 1, (unsigned)fd - 1, 0);
    (void)close_range((unsigned)fd + 1, ~0U, 0);
}

static bool witness_is_due(uint64_t after_ns)
{
    uint64_t kill_at_ns = atomic_load(&witness.page->kill_at_ns);
    return kill_at_ns != 0 && hs_now_ns() >= kill_at_ns + after_ns;
}

/* Since when it is held by us alone: its user has let it go on, which Linux keeps for later. */
static bool witness_sees_continue(void)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *text = NULL;
    size_t n;
    uint64_t shared = 0;

    return hs_proc_read_of(atomic_load(&witness.page->held), "status", &text, &n, &ignored) ==
               HS_OK &&
           hs_proc_number(text, "ShdPnd", 16, &shared) && (shared >> (SIGCONT - 1) & 1) != 0;
}

/* We may have let go between any two of these lines: what counts is read last. */
static bool witness_is_held_on(uint64_t last_look_ns)
{
    bool is_held = atomic_load(&witness.page->hold_ns) != 0 && witness_sees_continue();
    uint64_t none = 0, now_ns = hs_now_ns();

    if (!is_held)
        return false;
    (void)atomic_compare_exchange_strong(&witness.page->continued_at_ns, &none, last_look_ns);
    uint64_t since_ns = atomic_load(&witness.page->continued_at_ns);
    uint64_t hold_ns = atomic_load(&witness.page->hold_ns);
    return hold_ns != 0 && now_ns - since_ns >= hold_ns;
}

static bool witness_is_stopped(pid_t parent)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_proc_stat stat;
    char group[PATH_MAX];
    bool is_v1;

    return hs_proc_stat_of(parent, 0, &stat, &ignored) == HS_OK &&
           (stat.state == 'T' || hs_stuck_is_frozen(parent, group, sizeof group, &is_v1));
}

/* The copy of a stopped dump grows while nobody looks. */
static bool witness_has_no_room(pid_t parent, struct witness_looks *looks)
{
    uint64_t room_bytes = atomic_load(&witness.page->room_bytes), now_ns = hs_now_ns();

    if (now_ns - looks->room_ns < WITNESS_ROOM_NS)
        return false;
    looks->room_ns = now_ns;
    return room_bytes != 0 &&
           hs_memory_available_to(atomic_load(&witness.page->held)) < room_bytes &&
           witness_is_stopped(parent) && atomic_load(&witness.page->room_bytes) != 0;
}

/* Tells whether we have been stopped for too long while the target is seized and runs: it stands by
 * the next signal that comes, and nobody would let it go on. */
static bool witness_sees_idle(pid_t parent, struct witness_looks *looks)
{
    if (atomic_load(&witness.page->seized_ns) == 0 || !witness_is_stopped(parent)) {
        looks->idle_ns = 0;
        return false;
    }
    if (looks->idle_ns == 0)
        looks->idle_ns = looks->last_ns;
    uint64_t seized_ns = atomic_load(&witness.page->seized_ns);
    return seized_ns != 0 && hs_now_ns() - looks->idle_ns >= seized_ns;
}

static void witness_say(const char *format)
{
    snprintf(witness.page->text, sizeof witness.page->text, format,
             atomic_load(&witness.page->held));
}

/* True when it ends us. */
static bool witness_look(pid_t parent, int pidfd, struct witness_looks *looks)
{
    static const char short_of[] = "cannot dump process '%d': little memory was left beside its "
                                   "copy, and heapsnap itself was stopped; both have been ended\n"
                                   "the process runs as before";
    static const char idle[] = "cannot dump process '%d': heapsnap itself was stopped when it was "
                               "about to stop it, and has been ended; the process runs as before\n"
                               "let heapsnap run (no control-Z, no frozen control group) while it "
                               "dumps";
    bool is_due =
        witness_is_due(atomic_load(&witness.page->late_ns)) || witness_is_held_on(looks->last_ns);

    if (witness_has_no_room(parent, looks))
        witness_say(short_of);
    else if (!is_due && witness_sees_idle(parent, looks))
        witness_say(idle);
    else if (!is_due)
        return false;
    return syscall(SYS_pidfd_send_signal, pidfd, SIGKILL, NULL, 0) == 0;
}

/* Never returns. */
static void witness_be(pid_t parent, void (*say)(const char *text, size_t n_bytes))
{
    struct pollfd ended = {.events = POLLIN};
    bool is_ours = false; /* its end */
    struct witness_looks looks = {.last_ns = hs_now_ns()};
    sigset_t all;

    sigfillset(&all);
    (void)sigprocmask(SIG_SETMASK, &all, NULL);
    ended.fd = (int)syscall(SYS_pidfd_open, parent, 0);
    if (ended.fd < 0 || getppid() != parent) /* it has ended before */
        _exit(0);
    (void)setsid();
    (void)chdir("/");
    (void)prctl(PR_SET_NAME, "heapsnap-guard");
    witness_keep_only(ended.fd);
    hs_priority_lend(0); /* or a busy machine would make it late */
    while (poll(&ended, 1, atomic_load(&witness.page->look_ms)) != 1) {
        uint64_t now_ns = hs_now_ns();
        is_ours |= witness_look(parent, ended.fd, &looks);
        looks.last_ns = now_ns;
    }
    if (is_ours || witness_is_due(0))
        say(witness.page->text, strnlen(witness.page->text, sizeof witness.page->text));
    _exit(0);
}

/* ---- in us */

static bool witness_page_map(void)
{
    if (witness.page != NULL && witness.of == getpid())
        return true;
    void *page =
        mmap(NULL, sizeof *witness.page, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    if (page == MAP_FAILED)
        return false;
    witness.page = page;
    atomic_store(&witness.page->look_ms, WITNESS_LOOK_MIN_MS);
    witness.of = getpid();
    witness.pid = 0;
    witness.pidfd = -1;
    return true;
}

void hs_witness_start(void (*say)(const char *text, size_t n_bytes))
{
    if (!witness_page_map() || witness.pid != 0)
        return;
    pid_t self = getpid(), pid = fork();
    if (pid == 0)
        witness_be(self, say);
    if (pid < 0)
        return;
    witness.pid = pid;
    witness.pidfd = (int)syscall(SYS_pidfd_open, pid, 0);
}

void hs_witness_end(void)
{
    if (witness.pid == 0 || witness.of != getpid())
        return;
    if (witness.pidfd >= 0) {
        (void)syscall(SYS_pidfd_send_signal, witness.pidfd, SIGKILL, NULL, 0);
        while (waitpid(witness.pid, NULL, 0) < 0 && errno == EINTR)
            ;
        (void)close(witness.pidfd);
    }
    witness.pid = 0;
    witness.pidfd = -1;
}

void hs_witness_words(pid_t held, const char *text)
{
    if (witness.page == NULL || witness.of != getpid())
        return;
    atomic_store(&witness.page->held, held);
    snprintf(witness.page->text, sizeof witness.page->text, "%s", text);
}

void hs_witness_look_each(uint64_t ns)
{
    uint64_t ms = ns / 1000000;

    if (ms == 0 && ns != 0)
        ms = WITNESS_LOOK_MIN_MS;
    if (ms == 0 || ms > WITNESS_LOOK_MS)
        ms = WITNESS_LOOK_MS;
    if (witness.page != NULL && witness.of == getpid())
        atomic_store(&witness.page->look_ms,
                     ms < WITNESS_LOOK_MIN_MS ? WITNESS_LOOK_MIN_MS : (int)ms);
}

void hs_witness_tell(uint64_t kill_at_ns, bool has_timer)
{
    if (witness.page != NULL && witness.of == getpid()) {
        atomic_store(&witness.page->late_ns, has_timer ? WITNESS_LATE_NS : 0);
        atomic_store(&witness.page->kill_at_ns, kill_at_ns);
        atomic_store(&witness.page->hold_ns, 0);
        atomic_store(&witness.page->seized_ns, 0);
    }
}

void hs_witness_seized(uint64_t most_ns)
{
    if (witness.page != NULL && witness.of == getpid())
        atomic_store(&witness.page->seized_ns, most_ns);
}

void hs_witness_attend(uint64_t hold_ns)
{
    if (witness.page == NULL || witness.of != getpid())
        return;
    atomic_store(&witness.page->continued_at_ns, 0);
    atomic_store(&witness.page->hold_ns, hold_ns);
}

uint64_t hs_witness_continued_at(void)
{
    return witness.page != NULL && witness.of == getpid()
               ? atomic_load(&witness.page->continued_at_ns)
               : 0;
}

void hs_witness_guard_room(uint64_t room_bytes)
{
    if (witness.page != NULL && witness.of == getpid())
        atomic_store(&witness.page->room_bytes, room_bytes);
}
