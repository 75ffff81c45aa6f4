#include "after.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "analysis/key_file.h"
#include "base/append.h"
#include "dump_run.h"
#include "look/memory_report.h"
#include "look/open_view.h"

enum { NICER = 10 }; /* nobody waits for it */

struct after {
    struct hs_tool *tool;
    const struct hs_invocation *inv;
    const char *path;
    struct hs_session session;
};

bool hs_watch_after_is_wanted(const struct hs_invocation *inv)
{
    return !hs_given(inv, HS_OPT_NO_KEYS);
}

static hs_status keep_keys(const struct after *after, struct hs_error *err)
{
    struct hs_snap_keys keys;
    pid_t pid;
    HS_TRY(hs_pid_parse(after->inv->arguments[0], &pid, err));
    const struct hs_key_file_options options = {.session = &after->session,
                                                .available_bytes = hs_memory_available_to(pid)};
    HS_TRY(hs_key_file_of(after->path, &options, &keys, NULL, err));
    hs_snap_keys_fini(&keys);
    return HS_OK;
}

static void note(hs_status status, const char *what, const struct hs_error *error, char *warning,
                 size_t n_warning)
{
    char text[sizeof error->message + 40];
    if (status == HS_OK)
        return;
    (void)snprintf(text, sizeof text, "no %s of this dump: %s", what, error->message);
    hs_append_item(warning, n_warning, "; ", text);
}

void hs_watch_after_dump(struct hs_tool *tool, const struct hs_invocation *inv, const char *path,
                         char *warning, size_t n_warning)
{
    struct after after = {.tool = tool, .inv = inv, .path = path};
    char index[PATH_MAX];
    warning[0] = '\0';
    (void)!nice(NICER);
    after.session = hs_tool_session(tool, path);
    after.session.say = NULL;
    after.session.before_index = NULL;
    if (!hs_given(inv, HS_OPT_NO_KEYS)) {
        struct hs_error err = HS_ERROR_INIT;
        note(keep_keys(&after, &err), "keys", &err, warning, n_warning);
    }
    (void)snprintf(index, sizeof index, "%s.idx", path);
    (void)unlink(index);
}
