#include "state.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/buffer.h"
#include "base/units.h"
#include "names.h"
#include "report/json.h"

#define STATE_SCHEMA "heapsnap.watch/1"
#define STATE_NEW ".watch.json.new"
enum { STATE_MAX_BYTES = 4096, VALUE_BYTES = 64 };

bool hs_watch_state_is_same(const struct hs_watch_state *a, const struct hs_watch_state *b)
{
    return a->pid == b->pid && a->start_time == b->start_time &&
           strcmp(a->boot_id, b->boot_id) == 0;
}

/* ---- reading: one member per line, as we write it ---- */

/* Reads the value behind `"key": `, up to the comma or the end of the line, without quotes. */
static bool member(const char *text, const char *key, char *value)
{
    char quoted[VALUE_BYTES];
    (void)snprintf(quoted, sizeof quoted, "\"%s\": ", key);
    const char *at = strstr(text, quoted);
    if (at == NULL)
        return false;
    at += strlen(quoted);
    at += *at == '"';
    size_t n = strcspn(at, "\",\n");
    if (n >= VALUE_BYTES)
        return false;
    memcpy(value, at, n);
    value[n] = '\0';
    return true;
}

static bool number(const char *text, const char *key, uint64_t *ret)
{
    struct hs_error ignored = HS_ERROR_INIT;
    char value[VALUE_BYTES];
    return member(text, key, value) && hs_parse_count(value, ret, &ignored) == HS_OK;
}

bool hs_watch_state_parse(const char *text, struct hs_watch_state *ret)
{
    struct hs_watch_state state = {0};
    char schema[VALUE_BYTES], boot_id[VALUE_BYTES];

    if (!member(text, "schema", schema) || strcmp(schema, STATE_SCHEMA) != 0 ||
        !member(text, "boot_id", boot_id) || strlen(boot_id) >= sizeof state.boot_id)
        return false;
    memcpy(state.boot_id, boot_id, strlen(boot_id) + 1);
    if (!number(text, "pid", &state.pid) || !number(text, "start_time", &state.start_time) ||
        !number(text, "first_number", &state.first_number) ||
        !number(text, "next_number", &state.next_number) ||
        !number(text, "last_ms", &state.last_ms) ||
        !number(text, "last_rss_bytes", &state.last_rss_bytes) ||
        !number(text, "last_file_bytes", &state.last_file_bytes))
        return false;
    if (state.first_number > state.next_number || state.next_number > HS_WATCH_MAX_NUMBER)
        return false;
    *ret = state;
    return true;
}

/* The whole of a small file; how many bytes, or -1 with errno. */
static ssize_t read_small(int fd, char *text, size_t room)
{
    size_t n = 0;
    while (n < room) {
        ssize_t got = read(fd, text + n, room - n);
        if (got < 0 && errno != EINTR)
            return -1;
        if (got == 0)
            break;
        n += got > 0 ? (size_t)got : 0;
    }
    return (ssize_t)n;
}

hs_status hs_watch_state_read(int dir_fd, struct hs_watch_state *ret, bool *ret_is_known,
                              const char **ret_why, struct hs_error *err)
{
    char text[STATE_MAX_BYTES];
    struct stat about;

    *ret_is_known = false;
    *ret_why = NULL;
    int fd = openat(dir_fd, HS_WATCH_STATE, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0 && errno == ENOENT)
        return HS_OK;
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot read '%s'", HS_WATCH_STATE);
    bool is_plain = fstat(fd, &about) == 0 && S_ISREG(about.st_mode);
    ssize_t n = is_plain ? read_small(fd, text, sizeof text) : 0;
    hs_status status =
        n < 0 ? hs_fail_errno(err, HS_IO, "cannot read '%s'", HS_WATCH_STATE) : HS_OK;
    (void)close(fd);
    if (status != HS_OK)
        return status;
    text[n < (ssize_t)sizeof text ? n : 0] = '\0';
    *ret_is_known = hs_watch_state_parse(text, ret);
    if (!*ret_is_known)
        *ret_why = HS_WATCH_STATE " cannot be understood";
    return HS_OK;
}

/* ---- writing ---- */

static hs_status state_text(const struct hs_watch_state *state, struct hs_buffer *b,
                            struct hs_error *err)
{
    struct hs_json json;
    hs_json_init_buffer(&json, b, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", STATE_SCHEMA);
    hs_json_u64(&json, "pid", state->pid);
    hs_json_u64(&json, "start_time", state->start_time);
    hs_json_string(&json, "boot_id", state->boot_id);
    hs_json_u64(&json, "first_number", state->first_number);
    hs_json_u64(&json, "next_number", state->next_number);
    hs_json_u64(&json, "last_ms", state->last_ms);
    hs_json_u64(&json, "last_rss_bytes", state->last_rss_bytes);
    hs_json_u64(&json, "last_file_bytes", state->last_file_bytes);
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

/* A few hundred bytes: one write, or a failure. */
static bool write_new(int dir_fd, const struct hs_buffer *b)
{
    (void)unlinkat(dir_fd, STATE_NEW, 0); /* of one that was killed */
    int fd = openat(dir_fd, STATE_NEW, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0600);
    if (fd < 0)
        return false;
    ssize_t done = write(fd, b->bytes, b->n_bytes);
    bool is_good = done == (ssize_t)b->n_bytes;
    if (done >= 0 && !is_good)
        errno = ENOSPC;
    is_good = is_good && fsync(fd) == 0;
    int saved = errno;
    is_good = close(fd) == 0 && is_good;
    errno = is_good ? errno : saved;
    return is_good;
}

hs_status hs_watch_state_write(int dir_fd, const struct hs_watch_state *state, struct hs_error *err)
{
    struct hs_buffer b = {0};
    hs_status status = state_text(state, &b, err);

    if (status == HS_OK &&
        (!write_new(dir_fd, &b) || renameat(dir_fd, STATE_NEW, dir_fd, HS_WATCH_STATE) != 0)) {
        status = hs_fail_errno(err, HS_IO, "cannot write '%s'", HS_WATCH_STATE);
        (void)unlinkat(dir_fd, STATE_NEW, 0);
    }
    hs_buffer_fini(&b);
    return status;
}
