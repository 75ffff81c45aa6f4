/* The resolved name of an output, and the mode and owner of its file.
 *
 * A name may lie in a directory that others can write to (/tmp, a project's directory), and we may
 * be root. So what others put there under our name leads us nowhere:
 *
 *   a link of ours or root's      is followed, and stays: the file it names is replaced
 *   a link of anybody else's      is refused
 *   a file                        is replaced by a new one, whoever owns it; its mode is forgotten
 *   a pipe of another user's      is refused: it would be told everything
 *   a device, a pipe, /dev/fd/N   is written in place
 *   a directory                   is refused
 *
 * The directories on the way are the caller's choice and are not judged. */
#ifndef HS_BASE_OUT_PATH_H
#define HS_BASE_OUT_PATH_H

#include <sys/stat.h>

#include "base/error.h"

/* The access to a new file. All zero: for its owner alone (0600), whatever the umask says. */
struct hs_out_access {
    bool has_mode, has_group;
    mode_t mode; /* up to 0777 */
    gid_t group; /* without a mode the file is 0640 */
};

/* Gives an open new file of ours to whom it is for; NULL: to its owner alone. HS_IO with a hint. A
 * file system that keeps no modes fails only what was asked for. */
hs_status hs_out_access_apply(int fd, const struct hs_out_access *access, const char *name,
                              struct hs_error *err);

struct hs_out_path {
    char *path;    /* owned: of the file that the name leads to */
    bool in_place; /* there is something that is written to, not replaced */
    dev_t device;  /* of what is written in place: what is opened has to be it */
    ino_t inode;
};

/* Resolves a name; `path` need not exist. HS_IO when it cannot be an output, HS_LIMIT. */
hs_status hs_out_path_find(const char *path, struct hs_out_path *ret, struct hs_error *err);
void hs_out_path_fini(struct hs_out_path *path);

#endif
