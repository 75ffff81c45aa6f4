/* Small readers of /proc. */
#include "target/procfs.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/alloc.h"
#include "base/checked.h"
#include "base/progress.h"

/* The room for the first read, which doubles: most of these files are shorter, and hundreds are
 * read in a dump. maps of a process with tens of thousands of mappings has a few megabytes. */
#define PROC_READ_BYTES ((size_t)4 << 10)
#define PROC_LIMIT_BYTES ((size_t)1 << 30)

static hs_status proc_read_fd(int fd, const char *path, uint64_t deadline_ns, char **ret,
                              size_t *ret_n_bytes, struct hs_error *err)
{
    hs_auto_free char *text = NULL;
    size_t n = 0, capacity = 0;

    for (;;) {
        if (n > PROC_LIMIT_BYTES)
            return hs_fail(err, HS_LIMIT, "cannot read '%s': over %zu bytes", path, n);
        if (deadline_ns != 0 && hs_now_ns() > deadline_ns) {
            (void)hs_fail(err, HS_LIMIT, "cannot read '%s' in the time that is allowed", path);
            return hs_hint(err, "allow more with --max-pause");
        }
        HS_TRY(HS_GROW(&text, &capacity, n + PROC_READ_BYTES, err));
        ssize_t got = read(fd, text + n, capacity - n - 1);
        if (got < 0 && errno == EINTR)
            continue;
        if (got < 0)
            return hs_fail_errno(err, HS_TARGET, "cannot read '%s'", path);
        if (got == 0)
            break;
        n += (size_t)got;
    }
    text[n] = '\0';
    *ret = HS_STEAL(text);
    *ret_n_bytes = n;
    return HS_OK;
}

static hs_status proc_read(const char *path, uint64_t deadline_ns, char **ret, size_t *ret_n_bytes,
                           struct hs_error *err)
{
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_TARGET, "cannot open '%s'", path);
    hs_status status = proc_read_fd(fd, path, deadline_ns, ret, ret_n_bytes, err);
    close(fd);
    return status;
}

hs_status hs_proc_read(const char *path, char **ret, size_t *ret_n_bytes, struct hs_error *err)
{
    return proc_read(path, 0, ret, ret_n_bytes, err);
}

hs_status hs_proc_read_until(pid_t pid, const char *name, uint64_t deadline_ns, char **ret,
                             size_t *ret_n_bytes, struct hs_error *err)
{
    char path[HS_PROC_PATH_BYTES];
    snprintf(path, sizeof path, "/proc/%d/%s", pid, name);
    return proc_read(path, deadline_ns, ret, ret_n_bytes, err);
}

hs_status hs_proc_read_of(pid_t pid, const char *name, char **ret, size_t *ret_n_bytes,
                          struct hs_error *err)
{
    return hs_proc_read_until(pid, name, 0, ret, ret_n_bytes, err);
}

bool hs_proc_number(const char *status, const char *key, int base, uint64_t *ret)
{
    size_t n = strlen(key);

    for (const char *line = status; line != NULL && *line != '\0';) {
        if (strncmp(line, key, n) == 0 && line[n] == ':') {
            char *end;
            errno = 0;
            unsigned long long value = strtoull(line + n + 1, &end, base);
            if (end == line + n + 1 || errno != 0)
                return false;
            *ret = value;
            return true;
        }
        line = strchr(line, '\n');
        if (line != NULL)
            line++;
    }
    return false;
}

bool hs_proc_digits(const char **at, const char *end, unsigned base, uint64_t *ret)
{
    const char *begin = *at;
    uint64_t value = 0;

    for (; *at < end; ++*at) {
        char c = **at;
        unsigned digit = c >= '0' && c <= '9'                 ? (unsigned)(c - '0')
                         : base == 16 && c >= 'a' && c <= 'f' ? (unsigned)(c - 'a') + 10
                                                              : 99;
        if (digit == 99)
            break;
        if (!hs_mul_fits(value, base, &value) || !hs_add_fits(value, digit, &value))
            return false;
    }
    *ret = value;
    return *at != begin;
}

bool hs_proc_parse_stat(const char *text, struct hs_proc_stat *ret)
{
    /* proc(5): "pid (comm) state ppid ..."; comm is cut at 15 bytes but may hold parentheses. */
    const char *at = strrchr(text, ')');
    struct hs_proc_stat stat = {0};

    if (at == NULL || at[1] != ' ' || at[2] == '\0' || at[3] != ' ')
        return false;
    stat.state = at[2];
    at += 3;
    for (int field = 4; field <= 28; field++) {
        char *end;
        unsigned long long value = strtoull(at, &end, 10); /* a negative one wraps: not used */
        if (end == at)
            return false;
        at = end;
        if (field == 9)
            stat.flags = value;
        else if (field == 10)
            stat.n_faults = value;
        else if (field == 22)
            stat.start_time = value;
        else if (field == 26)
            stat.code_begin = value;
        else if (field == 28)
            stat.stack_begin = value;
    }
    *ret = stat;
    return true;
}

hs_status hs_proc_stat_of(pid_t pid, pid_t tid, struct hs_proc_stat *ret, struct hs_error *err)
{
    char path[HS_PROC_PATH_BYTES];
    hs_auto_free char *text = NULL;
    size_t n;

    if (tid == 0)
        snprintf(path, sizeof path, "/proc/%d/stat", pid);
    else
        snprintf(path, sizeof path, "/proc/%d/task/%d/stat", pid, tid);
    HS_TRY(hs_proc_read(path, &text, &n, err));
    if (!hs_proc_parse_stat(text, ret))
        return hs_fail(err, HS_TARGET, "cannot understand '%s'", path);
    return HS_OK;
}
