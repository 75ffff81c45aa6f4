/* Measures what this machine takes now for the parts of a pause, on memory of our own: copying the
 * page tables of small pages, a child's way to life and back, reading from another process. */
#include "forecast.h"

#include <errno.h>
#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/budget.h"
#include "base/progress.h"

#define PROBE_BYTES ((size_t)4 << 20)
/* The probe may take at most one part in so many of the memory that is left to us: we may live
 * under the same limit as the process. */
#define PROBE_SHARE 4
#define PROBE_REQUEST_BYTES ((size_t)1 << 20)
#define PROBE_PAGE ((size_t)4096)
#define PROBE_FRESH_NS ((uint64_t)10000000000) /* measured again when it is older */
#define PROBE_PAGES_PER_MIB 256
enum { PROBE_TURNS = 3 };

/* The costs of a quiet machine, where trying is not possible. */
static const struct hs_copy_costs probe_defaults = {
    .page_ns = 60, .child_ns = 300000, .mib_read_ns = 180000};

struct probe {
    uint8_t *bytes;
    uint64_t fork_ns[2][PROBE_TURNS]; /* without the memory, and with it */
    uint64_t child_ns[PROBE_TURNS];
};

/* Returns how many ns clone itself took, 0 when there is no child; *ret_child_ns is how long it
 * then took until the child's end was seen. The child ends without SIGCHLD, for the sake of
 * whatever program we are part of. */
static uint64_t probe_clone(uint64_t *ret_child_ns)
{
    uint64_t begun_ns = hs_now_ns();
    long child = syscall(SYS_clone, CLONE_FILES, NULL, NULL, NULL, 0);

    if (child == 0)
        syscall(SYS_exit_group, 0);
    uint64_t made_ns = hs_now_ns();
    if (child < 0)
        return 0;
    while (waitpid((pid_t)child, NULL, __WALL) < 0 && errno == EINTR)
        ;
    *ret_child_ns = hs_now_ns() - made_ns;
    return made_ns - begun_ns;
}

/* Returns the least of the times: the one that other programs have lengthened least. */
static uint64_t probe_least(const uint64_t *times, int n)
{
    uint64_t least = times[0];

    for (int i = 1; i < n; i++)
        if (times[i] < least)
            least = times[i];
    return least;
}

/* All is written before it is copied: a page that was written to since the last copy takes half as
 * long again as one that was not, and most processes that one looks at have not been copied before.
 * What the kernel has of a page is no longer in the nearest cache then, as it is not for a large
 * process. */
static bool probe_forks(struct probe *probe)
{
    for (int turn = 0; turn < PROBE_TURNS; turn++)
        for (int is_with = 0; is_with < 2; is_with++) {
            if (is_with)
                memset(probe->bytes, turn, PROBE_BYTES);
            (void)madvise(probe->bytes, PROBE_BYTES, is_with ? MADV_DOFORK : MADV_DONTFORK);
            probe->fork_ns[is_with][turn] = probe_clone(&probe->child_ns[turn]);
            if (probe->fork_ns[is_with][turn] == 0)
                return false;
        }
    return true;
}

/* Measures a read of our own memory as another process's is read, from one half to the other, four
 * MiB at a time. 0 when it cannot be. */
static uint64_t probe_read(const struct probe *probe)
{
    uint64_t times[PROBE_BYTES / 2 / PROBE_REQUEST_BYTES];
    int n = 0;

    for (size_t at = 0; at < PROBE_BYTES / 2; at += PROBE_REQUEST_BYTES) {
        struct iovec to = {probe->bytes + PROBE_BYTES / 2 + at, PROBE_REQUEST_BYTES};
        struct iovec from = {probe->bytes + at, PROBE_REQUEST_BYTES};
        uint64_t begun_ns = hs_now_ns();
        if (process_vm_readv(getpid(), &to, 1, &from, 1, 0) != (ssize_t)PROBE_REQUEST_BYTES)
            return 0;
        times[n++] = hs_now_ns() - begun_ns;
    }
    return probe_least(times, n);
}

static void probe_run(struct probe *probe, struct hs_copy_costs *ret)
{
    uint64_t read_ns = probe_read(probe);
    struct hs_priority saved;

    if (read_ns != 0)
        ret->mib_read_ns = read_ns / (PROBE_REQUEST_BYTES >> 20);
    hs_priority_raise(&saved); /* as the copy is made */
    bool is_tried = probe_forks(probe);
    hs_priority_restore(&saved);
    if (!is_tried)
        return;
    uint64_t without = probe_least(probe->fork_ns[0], PROBE_TURNS);
    uint64_t with = probe_least(probe->fork_ns[1], PROBE_TURNS);
    if (with > without)
        ret->page_ns = (with - without) / (PROBE_BYTES / PROBE_PAGE);
    if (ret->page_ns > ret->mib_read_ns / PROBE_PAGES_PER_MIB)
        ret->page_ns =
            ret->mib_read_ns / PROBE_PAGES_PER_MIB; /* others ran: it is less than a read */
    ret->child_ns = without + probe_least(probe->child_ns, PROBE_TURNS);
}

void hs_copy_costs_probe(struct hs_copy_costs *ret)
{
    static struct hs_copy_costs known;
    static uint64_t known_at_ns;
    struct probe probe = {0};

    if (known_at_ns == 0 || hs_now_ns() - known_at_ns > PROBE_FRESH_NS) {
        known = probe_defaults;
        *ret = known;
        if (hs_memory_available_bytes() / PROBE_SHARE < PROBE_BYTES)
            return;
        probe.bytes =
            mmap(NULL, PROBE_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
        if (probe.bytes != MAP_FAILED) {
            (void)madvise(probe.bytes, PROBE_BYTES, MADV_NOHUGEPAGE);
            memset(probe.bytes, 1, PROBE_BYTES);
            probe_run(&probe, &known);
            (void)munmap(probe.bytes, PROBE_BYTES);
        }
        known_at_ns = hs_now_ns();
    }
    *ret = known;
}
