/* names: adds the names of debug files to a snapshot. */
#include <limits.h>
#include <string.h>

#include "base/units.h"
#include "commands.h"
#include "names/names.h"
#include "rules/rules.h"
#include "symbol_server.h"
#include "tool.h"

static void talk_found(const struct hs_names_report *report)
{
    char bytes[HS_UNIT_TEXT_BYTES];

    if (report->n_served != 0) {
        hs_format_bytes(report->served_bytes, bytes);
        hs_talk("%lu file%s of %s from the symbol server", (unsigned long)report->n_served,
                report->n_served == 1 ? "" : "s", bytes);
    }
    if (report->note[0] != '\0')
        hs_talk("%s", report->note);
}

static void talk_report(const struct hs_names_report *report, const char *path)
{
    if (report->n_wanted == 0) {
        hs_talk("nothing to add: no binary of it has a build-id and lacks names");
        return;
    }
    if (report->n_found == 0) {
        hs_talk("nothing to add: no debug file was found of '%s'%s", report->missing,
                report->n_wanted > 1 ? " and others" : "");
        return;
    }
    hs_talk("names of %lu of %lu binaries that lacked some: %lu words of variables, %lu of calls, "
            "%lu blocks of a type",
            (unsigned long)report->n_found, (unsigned long)report->n_wanted,
            (unsigned long)report->n_slots, (unsigned long)report->n_functions,
            (unsigned long)report->n_typed);
    hs_talk("local variables, alternatives of unions and the parts of arrays in use are told by "
            "the process's memory alone: dump with the debug files to have them");
    hs_talk("who keeps the memory: heapsnap suspects %s", path);
}

static hs_status names_by_rules(const struct hs_invocation *inv, struct hs_names_options *options,
                                struct hs_out *out, struct hs_names_report *ret,
                                struct hs_error *err)
{
    const char *given[HS_MAX_REPEATED];
    struct hs_rules rules = {0};

    HS_TRY(hs_rules_load(given, hs_repeated(inv, HS_OPT_RULES, given), &rules, err));
    options->rules = &rules;
    hs_status status = hs_names_add(options, out, ret, err);
    hs_rules_fini(&rules);
    if (status != HS_OK)
        return hs_context(err, "cannot add names to '%s'", options->snapshot);
    return HS_OK;
}

/* Puts the new snapshot in the place of the old one, or leaves that as it is. */
static hs_status names_in_place(struct hs_tool *tool, const struct hs_invocation *inv,
                                struct hs_names_options *options, struct hs_names_report *ret,
                                struct hs_error *err)
{
    struct hs_out out = {0};

    HS_TRY(hs_out_open_path_as(options->snapshot, &tool->access, &out, err));
    hs_status status = names_by_rules(inv, options, &out, ret, err);
    if (status == HS_OK && ret->n_found != 0)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    return status;
}

hs_status hs_cmd_names(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    const char *debug_dirs[HS_MAX_REPEATED];
    char server[PATH_MAX];
    struct hs_names_options options = {
        .snapshot = inv->arguments[0],
        .debug_dirs = debug_dirs,
        .n_debug_dirs = hs_repeated(inv, HS_OPT_DEBUG_PATH, debug_dirs),
        .debug_server_ns =
            hs_given(inv, HS_OPT_DEBUGINFOD_TIMEOUT) ? inv->number[HS_OPT_DEBUGINFOD_TIMEOUT] : 0,
        .progress = &tool->progress,
        .budget = hs_tool_budget(tool),
    };
    struct hs_names_report report = {0};
    bool is_given = hs_given(inv, HS_OPT_OUTPUT) || strcmp(options.snapshot, "-") == 0;

    if (is_given && tool->terminal.is_terminal) {
        (void)hs_fail(err, HS_USAGE, "cannot write a snapshot to a terminal");
        return hs_hint(err, "give a file with -o heap.snap");
    }
    HS_TRY(hs_symbol_server(inv, server, &options.debug_server, err));
    if (is_given) {
        options.is_always = true;
        HS_TRY(names_by_rules(inv, &options, &tool->out, &report, err));
        HS_TRY(hs_tool_commit(tool, err));
    } else {
        HS_TRY(names_in_place(tool, inv, &options, &report, err));
    }
    talk_found(&report);
    talk_report(&report,
                hs_given(inv, HS_OPT_OUTPUT) ? inv->text[HS_OPT_OUTPUT] : options.snapshot);
    return HS_OK;
}
