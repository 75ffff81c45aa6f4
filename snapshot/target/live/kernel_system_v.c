/* Messages and shared memory of System V that the process may have written and is not attached to:
 * what is in them cannot be read without taking it. The kernel names who used one by pid alone, and
 * a pid is used again: one that was last used before the process began is another's. */
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/alloc.h"
#include "target/kernel_words.h"
#include "target/procfs.h"
#include "target_private.h"

enum { SYSTEM_V_COLUMNS = 14, SYSTEM_V_SLACK_S = 2 };

/* Reads the numbers of a line, and moves *text to the next; false when there are fewer. */
static bool system_v_line(const char **text, uint64_t ret[SYSTEM_V_COLUMNS])
{
    const char *end = strchrnul(*text, '\n'), *at = *text;
    size_t n = 0;

    for (; n < SYSTEM_V_COLUMNS; n++) {
        while (at < end && (*at == ' ' || *at == '-')) /* a key may be negative */
            at++;
        const char *digits = at;
        if (!hs_proc_digits(&at, end, 10, &ret[n]) || at == digits)
            break;
    }
    *text = *end == '\0' ? end : end + 1;
    return n == SYSTEM_V_COLUMNS;
}

/* Tells whether what was done at `at_s` was done before the process began. A time before the
 * machine's start was told by a clock that has been set since, and tells nothing. */
static bool is_before(const struct hs_lifetime *lifetime, uint64_t at_s)
{
    return at_s >= lifetime->boot_s && at_s + SYSTEM_V_SLACK_S < lifetime->began_s;
}

/* Columns of sysvipc/msg: key, msqid, perms, cbytes, qnum, lspid, lrpid, uid, gid, cuid, cgid,
 * stime, rtime, ctime (ipc/msg.c). */
void hs_kernel_words_of_msg(struct hs_target *target, const struct hs_lifetime *lifetime,
                            const char *text)
{
    enum { N_MESSAGES = 4, LAST_SENDER = 5, SENT_AT = 11 };

    while (*text != '\0') {
        uint64_t columns[SYSTEM_V_COLUMNS];
        if (system_v_line(&text, columns) && columns[N_MESSAGES] != 0 &&
            columns[LAST_SENDER] == (uint64_t)target->pid && !is_before(lifetime, columns[SENT_AT]))
            target->untold |= HS_UNTOLD_MESSAGES;
    }
}

static bool is_attached(const struct hs_target *target, uint64_t shmid)
{
    for (size_t i = 0; i < target->n_mappings; i++)
        if (target->mappings[i].inode == shmid &&
            strncmp(hs_mapping_path(target, &target->mappings[i]), "/SYSV", 5) == 0)
            return true;
    return false;
}

/* Columns of sysvipc/shm: key, shmid, perms, size, cpid, lpid, nattch, uid, gid, cuid, cgid, atime,
 * dtime, ctime (ipc/shm.c). Who has made a part or was the last to attach it or to let go may have
 * written there. */
void hs_kernel_words_of_shm(struct hs_target *target, const struct hs_lifetime *lifetime,
                            const char *text)
{
    enum { ID = 1, MAKER = 4, LAST = 5, ATTACHED_AT = 11, LEFT_AT = 12, MADE_AT = 13 };

    while (*text != '\0') {
        uint64_t columns[SYSTEM_V_COLUMNS];
        if (!system_v_line(&text, columns))
            continue;
        bool is_own =
            (columns[MAKER] == (uint64_t)target->pid && !is_before(lifetime, columns[MADE_AT])) ||
            (columns[LAST] == (uint64_t)target->pid &&
             !(is_before(lifetime, columns[ATTACHED_AT]) && is_before(lifetime, columns[LEFT_AT])));
        if (is_own && !is_attached(target, columns[ID]))
            target->untold |= HS_UNTOLD_DETACHED;
    }
}

/* Tells whether the kernel lists what the process has: those of our own namespace only. */
static bool is_listed(const struct hs_target *target)
{
    struct stat theirs, ours;
    char path[HS_PROC_PATH_BYTES];

    (void)snprintf(path, sizeof path, "/proc/%d/ns/ipc", target->live.pid);
    return stat(path, &theirs) == 0 && stat("/proc/self/ns/ipc", &ours) == 0 &&
           theirs.st_ino == ours.st_ino && theirs.st_dev == ours.st_dev;
}

static struct hs_lifetime lifetime_of(const struct hs_target *target)
{
    struct hs_lifetime lifetime = {0};
    struct timespec boot, now;
    long ticks_per_s = sysconf(_SC_CLK_TCK);

    if (ticks_per_s > 0 && clock_gettime(CLOCK_BOOTTIME, &boot) == 0 &&
        clock_gettime(CLOCK_REALTIME, &now) == 0 && boot.tv_sec >= 0 && now.tv_sec > boot.tv_sec) {
        lifetime.boot_s = (uint64_t)(now.tv_sec - boot.tv_sec);
        lifetime.began_s = lifetime.boot_s + target->identity.start_time / (uint64_t)ticks_per_s;
    }
    return lifetime;
}

void hs_kernel_words_of_system_v(struct hs_target *target)
{
    const struct hs_lifetime lifetime = lifetime_of(target);
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *messages = NULL, *memory = NULL;
    size_t n;

    if (target->n_mappings == 0 || !is_listed(target))
        return;
    if (hs_proc_read("/proc/sysvipc/msg", &messages, &n, &ignored) == HS_OK)
        hs_kernel_words_of_msg(target, &lifetime, messages);
    if (hs_proc_read("/proc/sysvipc/shm", &memory, &n, &ignored) == HS_OK)
        hs_kernel_words_of_shm(target, &lifetime, memory);
}
