#include "log.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "names.h"
#include "report/text.h"
#include "tool.h"

/* ---- lines ---- */

/* Puts all of " key=value", or nothing when it does not fit. */
static void put_value(struct hs_watch_line *line, const char *key, const char *value, size_t n)
{
    size_t n_key = strlen(key);
    size_t room = sizeof line->text - 1 - line->n_bytes; /* one is the newline's */
    bool is_first = line->n_bytes == 0;

    if (n_key + n + 2 > room)
        return;
    char *at = line->text + line->n_bytes;
    if (!is_first)
        *at++ = ' ';
    memcpy(at, key, n_key);
    at += n_key;
    *at++ = '=';
    memcpy(at, value, n);
    at += n;
    line->n_bytes = (size_t)(at - line->text);
}

void hs_watch_line_begin(struct hs_watch_line *line, int64_t unix_s, const char *event)
{
    char time[HS_WATCH_TIME_BYTES];
    line->n_bytes = 0;
    hs_watch_time_format(unix_s, time);
    put_value(line, "time", time, strlen(time));
    put_value(line, "event", event, strlen(event));
}

/* A quoted value is cut where it no longer fits. */
static void put_quoted(struct hs_watch_line *line, const char *key, const char *text, size_t n_text)
{
    char quoted[HS_WATCH_LINE_BYTES];
    size_t n = 0;

    quoted[n++] = '"';
    for (size_t i = 0; i < n_text && n + 3 <= sizeof quoted; i++) {
        if (text[i] == '"' || text[i] == '\\')
            quoted[n++] = '\\';
        quoted[n++] = text[i];
    }
    quoted[n++] = '"';
    put_value(line, key, quoted, n);
}

void hs_watch_line_text(struct hs_watch_line *line, const char *key, const char *value)
{
    struct hs_error ignored = HS_ERROR_INIT; /* out of memory: the line lacks a value */
    struct hs_buffer clean = {0};

    if (hs_text_sanitise(value, strlen(value), HS_TEXT_TERMINAL, &clean, &ignored) == HS_OK &&
        hs_buffer_reserve(&clean, 1, &ignored) == HS_OK) {
        hs_buffer_put_u8(&clean, 0);
        const char *text = (const char *)clean.bytes;
        size_t n = clean.n_bytes - 1;
        if (n != 0 && strcspn(text, " \"\\=") == n)
            put_value(line, key, text, n);
        else
            put_quoted(line, key, text, n);
    }
    hs_buffer_fini(&clean);
}

void hs_watch_line_u64(struct hs_watch_line *line, const char *key, uint64_t value)
{
    char text[24];
    int n = snprintf(text, sizeof text, "%llu", (unsigned long long)value);
    put_value(line, key, text, (size_t)n);
}

/* ---- the file ---- */

/* A descriptor, or -1 with errno. Never through a link, never into a pipe that waits, nor into a
 * file of somebody else's that was linked here. */
static int log_open(int dir_fd, struct stat *ret_about)
{
    int fd = openat(dir_fd, HS_WATCH_LOG,
                    O_WRONLY | O_APPEND | O_CREAT | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC, 0600);
    if (fd < 0)
        return -1;
    if (fstat(fd, ret_about) == 0 && S_ISREG(ret_about->st_mode) &&
        ret_about->st_uid == geteuid() && ret_about->st_nlink == 1)
        return fd;
    (void)close(fd);
    errno = EINVAL;
    return -1;
}

hs_status hs_watch_log_init(int dir_fd, bool is_quiet, struct hs_watch_log *ret,
                            struct hs_error *err)
{
    struct stat about;
    int fd = log_open(dir_fd, &about);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot write '%s'", HS_WATCH_LOG);
    (void)close(fd);
    *ret = (struct hs_watch_log){
        .dir_fd = dir_fd, .is_quiet = is_quiet, .max_bytes = HS_WATCH_LOG_BYTES};
    return HS_OK;
}

static bool log_append(const struct hs_watch_log *log, const char *text, size_t n)
{
    struct stat about;
    int fd = log_open(log->dir_fd, &about);
    if (fd >= 0 && about.st_size != 0 && (uint64_t)about.st_size + n > log->max_bytes &&
        renameat(log->dir_fd, HS_WATCH_LOG, log->dir_fd, HS_WATCH_LOG_OLD) == 0) {
        (void)close(fd);
        fd = log_open(log->dir_fd, &about);
    }
    if (fd < 0)
        return false;
    ssize_t done = write(fd, text, n);
    bool is_whole = done == (ssize_t)n;
    if (done > 0 && !is_whole) {
        (void)!ftruncate(fd, about.st_size); /* half a line would spoil the next one */
        errno = ENOSPC;
    }
    (void)close(fd);
    return is_whole;
}

void hs_watch_log_put(struct hs_watch_log *log, struct hs_watch_line *line)
{
    line->text[line->n_bytes] = '\n';
    if (!log->is_quiet)
        (void)fwrite(line->text, 1, line->n_bytes + 1, stderr);
    bool is_written = log_append(log, line->text, line->n_bytes + 1);
    if (!is_written && !log->is_broken)
        hs_talk("cannot write '%s': %s", HS_WATCH_LOG, strerror(errno));
    log->is_broken = !is_written;
}
