/* Sources: symlink(7), open(2) on O_PATH, proc(5) on fs.protected_symlinks and /proc/PID/fd. */
#include "base/out_path.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/magic.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "base/alloc.h"

#define MAX_LINKS 16
#define OWNER_ONLY 0600
#define OWNER_AND_GROUP 0640

/* ---- for whom */

static mode_t access_mode(const struct hs_out_access *access)
{
    if (access == NULL)
        return OWNER_ONLY;
    if (access->has_mode)
        return access->mode;
    return access->has_group ? OWNER_AND_GROUP : OWNER_ONLY;
}

static hs_status access_mode_failed(const char *name, mode_t mode, struct hs_error *err)
{
    (void)hs_fail_errno(err, HS_IO, "cannot give '%s' the mode %04o", name, (unsigned)mode);
    return hs_hint(err, "the file system may keep no modes: without --mode it is not asked to");
}

hs_status hs_out_access_apply(int fd, const struct hs_out_access *access, const char *name,
                              struct hs_error *err)
{
    mode_t mode = access_mode(access);
    struct stat about;

    if (access != NULL && access->has_group && fchown(fd, (uid_t)-1, access->group) != 0) {
        (void)hs_fail_errno(err, HS_IO, "cannot give '%s' to group %u", name,
                            (unsigned)access->group);
        return hs_hint(err, "a file can be given to a group that one is in: 'id' lists them");
    }
    bool is_asked = access != NULL && (access->has_mode || access->has_group);
    if (fchmod(fd, mode) != 0)
        return is_asked ? access_mode_failed(name, mode, err) : HS_OK;
    if (is_asked && (fstat(fd, &about) != 0 || (about.st_mode & 07777) != mode)) {
        errno = EOPNOTSUPP; /* it was taken and not done */
        return access_mode_failed(name, mode, err);
    }
    return HS_OK;
}

/* ---- where */

static bool owner_is_trusted(const struct stat *about)
{
    return about->st_uid == 0 || about->st_uid == geteuid();
}

/* Joins a link's text with the directory that the link lies in. False with errno. */
static bool link_join(const char *link, const char *text, char joined[PATH_MAX])
{
    const char *slash = text[0] == '/' ? NULL : strrchr(link, '/');
    int directory = slash == NULL ? 0 : (int)(slash - link) + 1;
    int n = snprintf(joined, PATH_MAX, "%.*s%s", directory, link, text);
    if (n > 0 && n < PATH_MAX)
        return true;
    errno = ENAMETOOLONG;
    return false;
}

/* A descriptor by its name (/dev/stdout, /dev/fd/N). It was given to us open, so whose it is does
 * not matter. A file that still has a name is replaced as any other; all else is written to. */
static hs_status find_descriptor(const char *at, const char *text, struct hs_out_path *found,
                                 char next[PATH_MAX], struct hs_error *err)
{
    struct stat about, named;

    if (stat(at, &about) != 0)
        return hs_fail_errno(err, HS_IO, "cannot write '%s'", at);
    bool has_name = text[0] == '/' && S_ISREG(about.st_mode) && lstat(text, &named) == 0 &&
                    named.st_dev == about.st_dev && named.st_ino == about.st_ino;
    (void)snprintf(next, PATH_MAX, "%s", has_name ? text : at);
    found->in_place = !has_name;
    found->device = about.st_dev;
    found->inode = about.st_ino;
    return HS_OK;
}

static hs_status find_through_link(int fd, const char *at, struct hs_out_path *found,
                                   char next[PATH_MAX], struct hs_error *err)
{
    char text[PATH_MAX];
    struct statfs place;

    ssize_t n = readlinkat(fd, "", text, sizeof text - 1);
    if (n < 0)
        return hs_fail_errno(err, HS_IO, "cannot write '%s'", at);
    text[n] = '\0';
    bool is_told = text[0] == '/' || strchr(text, ':') != NULL; /* "pipe:[4711]": names nothing */
    if (is_told && fstatfs(fd, &place) == 0 && place.f_type == PROC_SUPER_MAGIC)
        return find_descriptor(at, text, found, next, err);
    if (!link_join(at, text, next))
        return hs_fail_errno(err, HS_IO, "cannot write '%s'", at);
    return HS_OK;
}

static hs_status find_refuse(const char *path, const char *what, struct hs_error *err)
{
    (void)hs_fail(err, HS_IO, "cannot write '%s': it is another user's %s", path, what);
    return hs_hint(err, "give another name, in a directory of your own");
}

/* Opens one step of a name by an O_PATH descriptor, so that it cannot be exchanged meanwhile. With
 * *ret_again it is a link, which leads to `next`. */
static hs_status find_step(int fd, const char *path, const char *at, struct hs_out_path *found,
                           char next[PATH_MAX], bool *ret_again, struct hs_error *err)
{
    struct stat about;

    *ret_again = false;
    if (fstat(fd, &about) != 0)
        return hs_fail_errno(err, HS_IO, "cannot write '%s'", path);
    if (S_ISDIR(about.st_mode))
        return hs_fail(err, HS_IO, "cannot write '%s': it is a directory", path);
    if (S_ISLNK(about.st_mode)) {
        if (!owner_is_trusted(&about))
            return find_refuse(path, "link", err);
        HS_TRY(find_through_link(fd, at, found, next, err));
        *ret_again = !found->in_place;
        return HS_OK;
    }
    if (S_ISFIFO(about.st_mode) && !owner_is_trusted(&about))
        return find_refuse(path, "pipe", err);
    found->in_place = !S_ISREG(about.st_mode);
    found->device = about.st_dev;
    found->inode = about.st_ino;
    return HS_OK;
}

static hs_status path_find(const char *path, struct hs_out_path *found, char at[PATH_MAX],
                           struct hs_error *err)
{
    char next[PATH_MAX];
    bool again = true;

    for (int i = 0; again; i++) {
        int fd = open(at, O_PATH | O_NOFOLLOW | O_CLOEXEC);
        if (fd < 0)
            return HS_OK; /* a new file; or else making it tells why not */
        hs_status status = find_step(fd, path, at, found, next, &again, err);
        (void)close(fd);
        HS_TRY(status);
        if (again && i == MAX_LINKS) {
            errno = ELOOP;
            return hs_fail_errno(err, HS_IO, "cannot write '%s'", path);
        }
        if (again)
            memcpy(at, next, PATH_MAX);
    }
    return HS_OK;
}

hs_status hs_out_path_find(const char *path, struct hs_out_path *ret, struct hs_error *err)
{
    struct hs_out_path found = {0};
    char at[PATH_MAX];

    if (path[0] == '\0' || path[strlen(path) - 1] == '/')
        return hs_fail(err, HS_IO, "cannot write '%s': it names no file", path);
    if (snprintf(at, sizeof at, "%s", path) >= (int)sizeof at) {
        errno = ENAMETOOLONG;
        return hs_fail_errno(err, HS_IO, "cannot write '%.80s'", path);
    }
    HS_TRY(path_find(path, &found, at, err));
    HS_TRY(hs_strdup(at, &found.path, err));
    *ret = found;
    return HS_OK;
}

void hs_out_path_fini(struct hs_out_path *path)
{
    hs_free(path->path);
    *path = (struct hs_out_path){0};
}
