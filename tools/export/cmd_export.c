/* export: a snapshot in the formats of other programs. */
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access.h"
#include "base/append.h"
#include "commands.h"
#include "export/exporters.h"
#include "fleet_options.h"
#include "look/open_view.h"

static hs_status directory_set_access(const struct hs_tool *tool, const char *directory,
                                      struct hs_error *err)
{
    struct hs_out_access access = tool->access;
    access.mode = hs_access_directory_mode(&access);
    access.has_mode = true;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot open the directory '%s'", directory);
    hs_status status = hs_out_access_apply(fd, &access, directory, err);
    (void)close(fd);
    return status;
}

/* Makes a directory; one that is there stays as it is. */
static hs_status make_directory(const struct hs_tool *tool, const char *directory,
                                struct hs_error *err)
{
    bool is_new = mkdir(directory, 0700) == 0;
    if (!is_new && errno != EEXIST)
        return hs_fail_errno(err, HS_IO, "cannot make the directory '%s'", directory);
    return is_new ? directory_set_access(tool, directory, err) : HS_OK;
}

static hs_status write_directory(struct hs_tool *tool, const struct hs_invocation *inv,
                                 const struct hs_exporter *exporter, struct hs_view *view,
                                 struct hs_error *err)
{
    const char *path = inv->text[HS_OPT_DIRECTORY];
    struct hs_fleet_options fleet = hs_fleet_options_of(inv);
    HS_TRY(make_directory(tool, path, err));
    return hs_export_view(exporter, view,
                          &(struct hs_export_target){.directory = path, .fleet = &fleet}, err);
}

static hs_status write_file(struct hs_tool *tool, const struct hs_invocation *inv,
                            const struct hs_exporter *exporter, struct hs_view *view,
                            struct hs_error *err)
{
    struct hs_out out = {.fd = -1};
    struct hs_fleet_options fleet = hs_fleet_options_of(inv);
    const struct hs_export_target target = {
        .out = &out, .of = inv->text[HS_OPT_OF], .fleet = &fleet};
    const char *path = inv->text[HS_OPT_DIRECTORY];
    bool is_standard = path == NULL || strcmp(path, "-") == 0;
    HS_TRY(is_standard ? hs_out_open_fd(STDOUT_FILENO, "standard output", &out, err)
                       : hs_out_open_path_as(path, &tool->access, &out, err));
    hs_status status = hs_export_view(exporter, view, &target, err);
    status = hs_view_check(view, status, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    return status;
}

static hs_status check_of(const struct hs_invocation *inv, const struct hs_exporter *exporter,
                          struct hs_error *err)
{
    if (!hs_given(inv, HS_OPT_OF) || exporter->takes_of)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "'export --to %s' writes all and does not take --of",
                  hs_exporter_names[inv->number[HS_OPT_EXPORT_TO]]);
    return hs_hint(err, "--to dot draws one neighbourhood");
}

/* Checks, before any work, what could not be written in the end. */
static hs_status check_output(const struct hs_tool *tool, const struct hs_invocation *inv,
                              const struct hs_exporter *exporter, struct hs_error *err)
{
    const char *path = hs_given(inv, HS_OPT_DIRECTORY) ? inv->text[HS_OPT_DIRECTORY] : "-";
    const char *name = hs_exporter_names[inv->number[HS_OPT_EXPORT_TO]];
    if (strcmp(path, "-") != 0)
        return HS_OK;
    if (exporter->makes_directory) {
        (void)hs_fail(err, HS_USAGE, "'export --to %s' writes several files and needs -o DIR",
                      name);
        return hs_hint(err, "heapsnap export %s --to %s -o DIR", HS_SHELL(inv->arguments[0]), name);
    }
    if (!exporter->is_binary || !tool->terminal.is_terminal)
        return HS_OK;
    (void)hs_fail(err, HS_USAGE, "cannot write %s to a terminal", name);
    return hs_hint(err, "heapsnap export %s --to %s -o FILE", HS_SHELL(inv->arguments[0]), name);
}

hs_status hs_cmd_export(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    if (!hs_given(inv, HS_OPT_EXPORT_TO)) {
        (void)hs_fail(err, HS_USAGE, "'export' needs --to FORMAT");
        return hs_hint(err, "heapsnap export %s --to graph -o DIR", HS_SHELL(inv->arguments[0]));
    }
    const struct hs_exporter *exporter = hs_exporters[inv->number[HS_OPT_EXPORT_TO]];
    struct hs_view view = {0};
    HS_TRY(check_output(tool, inv, exporter, err));
    HS_TRY(check_of(inv, exporter, err));
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], exporter->needs, &view, err));
    hs_status status = exporter->makes_directory ? write_directory(tool, inv, exporter, &view, err)
                                                 : write_file(tool, inv, exporter, &view, err);
    return hs_view_finish(&view, status, err);
}
