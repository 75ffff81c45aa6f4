/* Finds why a thread does not stop when it is interrupted: it waits in the kernel where neither a
 * signal nor a tracer reaches it. Looked at only where one is late. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>

#include "base/alloc.h"
#include "base/units.h"
#include "target/procfs.h"
#include "target_private.h"

#define STUCK_VFORK UINT64_C(0x4000) /* CLONE_VFORK, linux/sched.h */

/* A file of /proc/PID/task/TID without its newline. */
static bool stuck_text(pid_t pid, pid_t tid, const char *name, char *ret, size_t n)
{
    struct hs_error ignored = HS_ERROR_INIT;
    char path[HS_PROC_PATH_BYTES];
    hs_auto_free char *text = NULL;
    size_t got;

    ret[0] = '\0';
    snprintf(path, sizeof path, "/proc/%d/task/%d/%s", pid, tid, name);
    if (hs_proc_read(path, &text, &got, &ignored) != HS_OK)
        return false;
    text[strcspn(text, "\n")] = '\0';
    snprintf(ret, n, "%s", text);
    return true;
}

/* ---- control groups that are frozen: admin-guide/cgroup-v2.rst, cgroup-v1/freezer-subsystem.rst
 */

/* The group of a process in the hierarchy of v2, or in that of the v1 freezer. */
static bool stuck_group(const char *groups, bool is_v1, char *ret, size_t n)
{
    for (const char *line = groups; line != NULL && *line != '\0';) {
        const char *end = strchrnul(line, '\n');
        const char *first = memchr(line, ':', (size_t)(end - line));
        const char *second =
            first == NULL ? NULL : memchr(first + 1, ':', (size_t)(end - first - 1));
        const char *freezer = first == NULL ? NULL : strstr(first, "freezer");
        bool found = second != NULL && (is_v1 ? freezer != NULL && freezer < second
                                              : *line == '0' && second == first + 1);
        if (found && (size_t)(end - second) <= n) {
            memcpy(ret, second + 1, (size_t)(end - second) - 1);
            ret[end - second - 1] = '\0';
            return true;
        }
        line = *end == '\n' ? end + 1 : NULL;
    }
    return false;
}

/* Reads where a hierarchy is mounted, by a line of mountinfo: "ID ID NUMBERS ROOT POINT OPTIONS...
 * - TYPE SOURCE OPTIONS". Of a mount that shows a part of it, what is below that part is found. */
static bool stuck_mount(const char *line, bool is_v1, char *root, char *point)
{
    const char *end = strchrnul(line, '\n');
    const char *type = strstr(line, " - ");

    if (type == NULL || type > end || sscanf(line, "%*s %*s %*s %4095s %4095s", root, point) != 2)
        return false;
    type += 3;
    if (!is_v1)
        return strncmp(type, "cgroup2 ", 8) == 0;
    const char *freezer = strstr(type, "freezer");
    return strncmp(type, "cgroup ", 7) == 0 && freezer != NULL && freezer < end;
}

static bool stuck_says_frozen(const char *directory, bool is_v1)
{
    struct hs_error ignored = HS_ERROR_INIT;
    char path[2 * PATH_MAX + 32];
    hs_auto_free char *text = NULL;
    size_t n;

    snprintf(path, sizeof path, "%s/%s", directory, is_v1 ? "freezer.state" : "cgroup.events");
    if (hs_proc_read(path, &text, &n, &ignored) != HS_OK)
        return false;
    return is_v1 ? strncmp(text, "THAWED", 6) != 0 : strstr(text, "frozen 1") != NULL;
}

/* Any mount of the hierarchy that shows the group will do. */
static bool stuck_group_is_frozen(const char *mounts, const char *group, bool is_v1)
{
    char root[PATH_MAX], point[PATH_MAX], directory[2 * PATH_MAX];

    for (const char *line = mounts; line != NULL && *line != '\0';) {
        if (stuck_mount(line, is_v1, root, point)) {
            size_t n_root = strcmp(root, "/") == 0 ? 0 : strlen(root);
            bool is_below = strncmp(group, root, n_root) == 0;
            snprintf(directory, sizeof directory, "%s%s", point, is_below ? group + n_root : "");
            if (stuck_says_frozen(directory, is_v1))
                return true;
        }
        line = strchr(line, '\n');
        line += line != NULL;
    }
    return false;
}

bool hs_stuck_is_frozen(pid_t pid, char *ret_group, size_t n, bool *ret_is_v1)
{
    struct hs_error ignored = HS_ERROR_INIT;
    hs_auto_free char *groups = NULL;
    hs_auto_free char *mounts = NULL;
    size_t n_groups, n_mounts;

    if (hs_proc_read_of(pid, "cgroup", &groups, &n_groups, &ignored) != HS_OK ||
        hs_proc_read("/proc/self/mountinfo", &mounts, &n_mounts, &ignored) != HS_OK)
        return false;
    for (int is_v1 = 0; is_v1 < 2; is_v1++)
        if (stuck_group(groups, is_v1 != 0, ret_group, n) &&
            stuck_group_is_frozen(mounts, ret_group, is_v1 != 0)) {
            *ret_is_v1 = is_v1 != 0;
            return true;
        }
    return false;
}

/* ---- threads in state D */

static char stuck_state(pid_t pid, pid_t tid)
{
    struct hs_error ignored = HS_ERROR_INIT;
    struct hs_proc_stat stat;

    return hs_proc_stat_of(pid, tid, &stat, &ignored) == HS_OK ? stat.state : '?';
}

bool hs_stuck_is_blocked(pid_t pid, pid_t tid)
{
    return stuck_state(pid, tid) == 'D';
}

/* Tells whether the thread is in vfork, or a clone like it, by /proc/TID/syscall: "NUMBER
 * 0xARGUMENT...", or "running". */
static bool stuck_is_vfork(const struct hs_target *target, pid_t tid)
{
    char text[256], *at = text;
    struct hs_memory memory = target->live;
    uint64_t flags;

    if (!stuck_text(target->pid, tid, "syscall", text, sizeof text) || *at < '0' || *at > '9')
        return false;
    long number = strtol(at, &at, 10);
    uint64_t first = strtoull(at, NULL, 16);
#ifdef SYS_vfork
    if (number == SYS_vfork)
        return true;
#endif
    if (number == SYS_clone)
        return (first & STUCK_VFORK) != 0;
    return number == SYS_clone3 &&
           hs_memory_read(&memory, first, &flags, sizeof flags) == sizeof flags &&
           (flags & STUCK_VFORK) != 0;
}

/* The last that it made: it made no other since. 0 when the kernel does not list them. */
static pid_t stuck_child(pid_t pid, pid_t tid)
{
    char text[4096];
    pid_t child = 0;

    (void)stuck_text(pid, tid, "children", text, sizeof text);
    for (char *at = text; *at >= '0' && *at <= '9';) {
        child = (pid_t)strtol(at, &at, 10);
        at += strspn(at, " ");
    }
    return child;
}

static hs_status stuck_in_vfork(const struct hs_target *target, pid_t tid, struct hs_error *err)
{
    pid_t child = stuck_child(target->pid, tid);
    char name[24] = "";

    if (child != 0)
        snprintf(name, sizeof name, " %d", child);
    (void)hs_fail(err, HS_TARGET,
                  "cannot stop process '%d': its thread %d waits for its child%s, made by vfork "
                  "(state D), and can be stopped by nobody meanwhile; all others run again",
                  target->pid, tid, name);
    return hs_hint(err, "try again when the child has executed a program, or has ended");
}

static hs_status stuck_in_kernel(const struct hs_target *target, pid_t tid, struct hs_error *err)
{
    char channel[64];

    if (!stuck_text(target->pid, tid, "wchan", channel, sizeof channel) ||
        strcmp(channel, "0") == 0)
        snprintf(channel, sizeof channel, "a place that the kernel does not name");
    (void)hs_fail(err, HS_TARGET,
                  "cannot stop process '%d': its thread %d is in state D and cannot be stopped: it "
                  "waits in the kernel, in %s; all others run again",
                  target->pid, tid, channel);
    return hs_hint(err, "such a wait is for a device or file system, as a rule; try again later");
}

static hs_status stuck_frozen(pid_t pid, const char *group, struct hs_error *err)
{
    (void)hs_fail(err, HS_TARGET,
                  "cannot stop process '%d': its control group '%s' is frozen (cgroup v1)", pid,
                  group);
    return hs_hint(err, "thaw it first: write THAWED to the freezer.state of that group");
}

hs_status hs_stuck_explain(const struct hs_target *target, pid_t tid, uint64_t waited_ns,
                           struct hs_error *err)
{
    char group[PATH_MAX], waited[HS_UNIT_TEXT_BYTES];
    bool is_v1 = false;
    char state = stuck_state(target->pid, tid);

    if (hs_stuck_is_frozen(target->pid, group, sizeof group, &is_v1) && is_v1)
        return stuck_frozen(target->pid, group, err);
    if (state == 'D')
        return stuck_is_vfork(target, tid) ? stuck_in_vfork(target, tid, err)
                                           : stuck_in_kernel(target, tid, err);
    hs_format_duration(waited_ns, waited);
    (void)hs_fail(err, HS_LIMIT,
                  "cannot stop process '%d': its thread %d (of %zu, in state %c) had not stopped "
                  "after %s; all run again",
                  target->pid, tid, target->n_threads, state, waited);
    return hs_hint(err, "try again, or allow more with --max-pause");
}
