#include "place.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <strings.h>
#include <unistd.h>

/* The longest name that a file system takes. */
enum { NAME_BYTES = 255 };

static bool is_plain(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || c == '-' ||
           c == '_' || c == '.';
}

/* Words by which an engine calls a value that is none, and a dot at the front, do not stand as they
 * are. */
static bool is_special(const char *value)
{
    return value[0] == '.' || value[0] == '_' || strcasecmp(value, "null") == 0;
}

hs_status place_add(struct place *place, unsigned level, const char *name, const char *value,
                    struct hs_error *err)
{
    char text[NAME_BYTES + 1];
    size_t n = (size_t)snprintf(text, sizeof text, "%s=", name);
    if (value[0] == 0) {
        (void)hs_fail(err, HS_USAGE, "the %s has no name", name);
        return hs_hint(err, "--%s NAME", name);
    }
    for (const char *at = value; *at != 0; at++) {
        bool is_kept = is_plain(*at) && !(at == value && is_special(value));
        if (n + (is_kept ? 1 : 3) >= sizeof text) {
            (void)hs_fail(err, HS_USAGE, "the %s's name is too long: %zu bytes", name,
                          strlen(value));
            return hs_hint(err,
                           "a directory is called by it: at most %d bytes, three for each "
                           "that is no letter, digit or one of -_.",
                           NAME_BYTES - (int)strlen(name) - 1);
        }
        n += (size_t)snprintf(text + n, sizeof text - n, is_kept ? "%c" : "%%%02X",
                              (unsigned char)*at);
    }
    size_t at = strlen(place->path);
    int length = snprintf(place->path + at, sizeof place->path - at, "/%s", text);
    if (at + (size_t)length >= sizeof place->path)
        return hs_fail(err, HS_USAGE, "the path '%.80s...' is too long", place->path);
    place->n_bytes[level] = at + (size_t)length;
    return HS_OK;
}

/* Gives the directory to those who may read the files. */
static hs_status give(const char *path, const struct hs_out_access *access, struct hs_error *err)
{
    struct hs_out_access own = *access;
    mode_t mode = access->has_mode ? access->mode : access->has_group ? 0640 : 0600;
    own.mode = mode | (mode & 0444) >> 2 | 0300;
    own.has_mode = true;
    int fd = open(path, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot open the directory '%s'", path);
    hs_status status = hs_out_access_apply(fd, &own, path, err);
    (void)close(fd);
    return status;
}

hs_status place_make(struct place *place, const struct hs_out_access *access, struct hs_error *err)
{
    for (unsigned i = 0; i < PLACE_LEVELS; i++) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%.*s", (int)place->n_bytes[i], place->path);
        place->is_new[i] = mkdir(path, 0700) == 0;
        if (!place->is_new[i] && errno != EEXIST)
            return hs_fail_errno(err, HS_IO, "cannot make the directory '%s'", path);
        if (place->is_new[i] && access != NULL)
            HS_TRY(give(path, access, err));
    }
    return HS_OK;
}

void place_undo(const struct place *place)
{
    for (unsigned i = PLACE_LEVELS; i-- > 0;) {
        char path[PATH_MAX];
        (void)snprintf(path, sizeof path, "%.*s", (int)place->n_bytes[i], place->path);
        if (place->is_new[i])
            (void)rmdir(path);
    }
}
