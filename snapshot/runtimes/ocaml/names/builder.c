/* Builds the helper of another compiler where that compiler is at hand: once, into the directory of
 * who runs heapsnap, with the compiler that this user's own PATH leads to. Nothing of the target is
 * run or read but the version that it states. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <signal.h>
#include <spawn.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/file.h"
#include "base/progress.h"
#include "private.h"

enum { SERIES_BYTES = 16, NAP_NS = 5000000 };
#define BUILD_NS ((uint64_t)60000000000)

extern char **environ;

/* Takes "5.3" of "5.3.0"; false where a text is no version. */
static bool series_of(const char *version, char *series, size_t n)
{
    size_t n_major = strspn(version, "0123456789");
    size_t n_minor = version[n_major] == '.' ? strspn(version + n_major + 1, "0123456789") : 0;

    if (n_major == 0 || n_minor == 0 || n_major + 1 + n_minor >= n)
        return false;
    memcpy(series, version, n_major + 1 + n_minor);
    series[n_major + 1 + n_minor] = '\0';
    return true;
}

/* Makes the path of the script, which lies beside the helpers. */
static bool script_path(const char *helper, char *path, size_t n)
{
    static const char name[] = "heapsnap-ocaml-helper";
    const char *slash = strrchr(helper, '/');
    size_t n_dir = slash == NULL ? 0 : (size_t)(slash + 1 - helper);

    if (n_dir == 0 || n_dir + sizeof name > n)
        return false;
    memcpy(path, helper, n_dir);
    memcpy(path + n_dir, name, sizeof name);
    return access(path, X_OK) == 0;
}

/* Waits for the script's end; at the deadline it is ended, with what it has started. */
static bool wait_for(pid_t child)
{
    const struct timespec nap = {.tv_nsec = NAP_NS};
    uint64_t deadline_ns = hs_now_ns() + BUILD_NS;
    int report = 0;

    for (;;) {
        pid_t found = waitpid(child, &report, WNOHANG);
        if (found == child)
            return WIFEXITED(report) && WEXITSTATUS(report) == 0;
        if (found < 0 && errno != EINTR)
            return false;
        if (hs_now_ns() >= deadline_ns)
            break;
        nanosleep(&nap, NULL);
    }
    kill(-child, SIGKILL);
    while (waitpid(child, &report, 0) < 0 && errno == EINTR)
        ;
    return false;
}

static bool run_script(char *script, char *series, char *directory)
{
    static char name[] = "heapsnap-ocaml-helper", for_series[] = "-s", into[] = "-o";
    char *const arguments[] = {name, for_series, series, into, directory, NULL};
    posix_spawn_file_actions_t files;
    posix_spawnattr_t how;
    pid_t child = 0;

    if (posix_spawn_file_actions_init(&files) != 0)
        return false;
    if (posix_spawnattr_init(&how) != 0) {
        posix_spawn_file_actions_destroy(&files);
        return false;
    }
    bool is_set = posix_spawnattr_setflags(&how, POSIX_SPAWN_SETPGROUP) == 0;
    for (int fd = 0; fd < 3 && is_set; fd++)
        is_set = posix_spawn_file_actions_addopen(&files, fd, "/dev/null",
                                                  fd == 0 ? O_RDONLY : O_WRONLY, 0) == 0;
    is_set = is_set && posix_spawn(&child, script, &files, &how, arguments, environ) == 0;
    posix_spawnattr_destroy(&how);
    posix_spawn_file_actions_destroy(&files);
    return is_set && wait_for(child);
}

bool hs_names_build_helper(const char *helper, const char *version, char *path, size_t n)
{
    char own[32] = "", series[SERIES_BYTES], own_series[SERIES_BYTES], script[PATH_MAX];
    char directory[PATH_MAX];

    if (!series_of(version, series, sizeof series) || !hs_cache_dir(directory, sizeof directory) ||
        !script_path(helper, script, sizeof script))
        return false;
    if (hs_names_version_of_file(helper, own, sizeof own) &&
        series_of(own, own_series, sizeof own_series) && strcmp(own_series, series) == 0)
        return false; /* it is the one that reads them */
    return run_script(script, series, directory) &&
           hs_names_cached_helper(helper, version, path, n);
}
