#include "after.h"

#include <limits.h>
#include <stdio.h>
#include <unistd.h>

#include "analysis/key_file.h"
#include "base/append.h"
#include "dump_run.h"
#include "export/exporters.h"
#include "export/fleet_options.h"
#include "look/memory_report.h"
#include "look/open_view.h"

enum { NICER = 10 }; /* nobody waits for it */

/* The tables by which a fleet usually asks; blocks are for the one process that somebody looks at.
 */
#define USUAL_TABLES                                                                               \
    (1u << HS_FLEET_SNAPSHOTS | 1u << HS_FLEET_KEYS | 1u << HS_FLEET_ROOTS | 1u << HS_FLEET_SETS | \
     1u << HS_FLEET_TYPES)

struct after {
    const struct hs_watch_made *made;
    const struct hs_invocation *inv;
    struct hs_session session;
};

bool hs_watch_after_is_wanted(const struct hs_invocation *inv)
{
    return !hs_given(inv, HS_OPT_NO_KEYS) || hs_given(inv, HS_OPT_WATCH_EXPORT) ||
           hs_given(inv, HS_OPT_PUSH);
}

static hs_status keep_keys(const struct after *after, struct hs_error *err)
{
    struct hs_snap_keys keys;
    pid_t pid;
    HS_TRY(hs_pid_parse(after->inv->arguments[0], &pid, err));
    const struct hs_key_file_options options = {.session = &after->session,
                                                .available_bytes = hs_memory_available_to(pid)};
    HS_TRY(hs_key_file_of(after->made->path, &options, &keys, NULL, err));
    hs_snap_keys_fini(&keys);
    return HS_OK;
}

static hs_status write_tables(const struct after *after, struct hs_error *err)
{
    struct hs_fleet_options options = hs_fleet_options_of(after->inv);
    struct hs_view view;
    if (!hs_given(after->inv, HS_OPT_TABLES))
        options.tables = USUAL_TABLES;
    HS_TRY(hs_view_open(&after->session, after->made->path, HS_VIEW_INDEX, &view, err));
    return hs_view_finish(&view, hs_fleet_write(&view, after->made->directory, &options, NULL, err),
                          err);
}

/* Writes the figures of the last dump for a collector, who sees the old file or the new one. */
static hs_status write_metrics(const struct after *after, struct hs_error *err)
{
    struct hs_fleet_options options = hs_fleet_options_of(after->inv);
    struct hs_out out;
    const struct hs_export_target target = {.out = &out, .fleet = &options};
    struct hs_view view;
    char path[PATH_MAX];

    int n = snprintf(path, sizeof path, "%s/" HS_WATCH_METRICS, after->made->directory);
    if (n < 0 || (size_t)n >= sizeof path)
        return hs_fail(err, HS_USAGE, "the name '%.80s...' is too long", path);
    HS_TRY(hs_view_open(&after->session, after->made->path, HS_VIEW_INDEX, &view, err));
    hs_status status = hs_out_open_path_as(path, &after->made->tool->access, &out, err);
    if (status == HS_OK) {
        status = hs_export_view(&hs_exporter_prometheus, &view, &target, err);
        status = hs_view_check(&view, status, err);
        if (status == HS_OK)
            status = hs_out_commit(&out, err);
        hs_out_close(&out);
    }
    hs_view_close(&view);
    return status;
}

static hs_status write_profile_of(struct hs_view *view, int fd, struct hs_error *err)
{
    struct hs_out out;
    const struct hs_export_target target = {.out = &out};
    HS_TRY(hs_out_open_fd(fd, "the profile", &out, err));
    hs_status status = hs_export_view(&hs_exporter_pprof, view, &target, err);
    status = hs_view_check(view, status, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    return status;
}

/* Writes the profile. When only half of one would be sent, there is none. */
static hs_status write_profile(const struct after *after, struct hs_error *err)
{
    struct hs_view view;
    int fd = after->made->profile_fd;
    HS_TRY(hs_view_open(&after->session, after->made->path, HS_VIEW_INDEX, &view, err));
    hs_status status = write_profile_of(&view, fd, err);
    hs_view_close(&view);
    if (status != HS_OK)
        (void)!ftruncate(fd, 0);
    return status;
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

void hs_watch_after_dump(const struct hs_watch_made *made, char *warning, size_t n_warning)
{
    struct after after = {.made = made, .inv = made->inv};
    char index[PATH_MAX];
    warning[0] = '\0';
    (void)!nice(NICER);
    after.session = hs_tool_session(made->tool, made->path);
    after.session.say = NULL;
    after.session.before_index = NULL;
    if (!hs_given(made->inv, HS_OPT_NO_KEYS)) {
        struct hs_error err = HS_ERROR_INIT;
        note(keep_keys(&after, &err), "keys", &err, warning, n_warning);
    }
    if (hs_given(made->inv, HS_OPT_WATCH_EXPORT)) {
        struct hs_error err = HS_ERROR_INIT;
        if (made->inv->number[HS_OPT_WATCH_EXPORT] == HS_WATCH_PROMETHEUS)
            note(write_metrics(&after, &err), "figures", &err, warning, n_warning);
        else
            note(write_tables(&after, &err), "tables", &err, warning, n_warning);
    }
    if (made->profile_fd >= 0) {
        struct hs_error err = HS_ERROR_INIT;
        note(write_profile(&after, &err), "profile", &err, warning, n_warning);
    }
    for (unsigned i = 0; i < 2; i++) { /* what answers leave, beside the keys */
        (void)snprintf(index, sizeof index, "%s%s", made->path, i == 0 ? ".idx" : ".types");
        (void)unlink(index);
    }
}
