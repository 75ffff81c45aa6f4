#include "symbol_server.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

enum { ON, OFF, ASK }; /* as the choices of --debuginfod stand in the table */

const char *hs_tool_helper(const char *name, char path[PATH_MAX])
{
    ssize_t used = readlink("/proc/self/exe", path, PATH_MAX - 1);
    path[used > 0 ? used : 0] = '\0';
    char *slash = strrchr(path, '/');
    if (slash == NULL || (size_t)(slash + 1 - path) + strlen(name) + 1 > PATH_MAX)
        return NULL;
    (void)stpcpy(slash + 1, name);
    return access(path, X_OK) == 0 ? path : NULL;
}

/* Asks who sits there; anything but yes is no. */
static bool is_agreed(const char *urls)
{
    char line[64];
    (void)fprintf(stderr,
                  "heapsnap: fetch missing debug information from %s (--debuginfod on|off)? [y/N] ",
                  strchr(urls, ' ') != NULL ? "the servers of DEBUGINFOD_URLS" : urls);
    (void)fflush(stderr);
    return fgets(line, sizeof line, stdin) != NULL && (line[0] == 'y' || line[0] == 'Y');
}

hs_status hs_symbol_server(const struct hs_invocation *inv, char path[PATH_MAX], const char **ret,
                           struct hs_error *err)
{
    const char *urls = getenv("DEBUGINFOD_URLS");
    bool is_given = hs_given(inv, HS_OPT_DEBUGINFOD);
    bool has_person = isatty(STDIN_FILENO) && isatty(STDERR_FILENO);
    uint64_t when = is_given ? inv->number[HS_OPT_DEBUGINFOD] : has_person ? ASK : ON;
    bool is_wanted = is_given && when == ON;

    *ret = NULL;
    if (when == OFF || hs_given(inv, HS_OPT_NO_NAMES) || (when == ASK && !has_person))
        return HS_OK;
    if (urls == NULL || urls[strspn(urls, " ")] == '\0') {
        if (!is_wanted)
            return HS_OK;
        (void)hs_fail(err, HS_USAGE, "--debuginfod: DEBUGINFOD_URLS names no server");
        return hs_hint(err, "export DEBUGINFOD_URLS=https://debuginfod.debian.net, for example");
    }
    const char *helper = hs_tool_helper("heapsnap-debuginfod", path);
    if (helper == NULL && is_wanted) {
        (void)hs_fail(err, HS_USAGE, "--debuginfod: heapsnap-debuginfod is not installed");
        return hs_hint(err, "build heapsnap with -DHS_WITH_DEBUGINFOD=ON (libdebuginfod-dev)");
    }
    if (helper != NULL && (when == ON || is_agreed(urls)))
        *ret = helper;
    return HS_OK;
}
