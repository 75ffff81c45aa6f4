/* doctor: why a process can or cannot be dumped, and what to do. */
#include "commands.h"
#include "dump/diagnosis.h"
#include "dump_run.h"
#include "rules/rules.h"
#include "tool.h"

struct line {
    const char *name, *verdict, *found, *hint;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, STRING, name, "CHECK", 0),
    HS_COLUMN(2, STRING, verdict, "VERDICT", 0),
    HS_COLUMN(3, STRING, found, "FOUND", HS_COLUMN_FLEXIBLE | HS_COLUMN_WRAPS),
    HS_COLUMN(4, STRING, hint, "HINT", HS_COLUMN_DATA_ONLY),
};
static const struct hs_record record = HS_RECORD(fields);

/* Puts the checks. In a table a hint has a row of its own below its check: both side by side would
 * fit no screen. */
static hs_status put_checks(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_diagnosis *diagnosis = context;
    for (size_t i = 0; i < diagnosis->n_checks; i++) {
        const struct hs_check *check = &diagnosis->checks[i];
        const char *hint = check->hint[0] != '\0' ? check->hint : NULL;
        struct line line = {check->name, hs_verdict_name(check->verdict), check->found, hint};
        HS_TRY(hs_sink_row(sink, &line, err));
        if (sink->is_table && hint != NULL)
            HS_TRY(hs_sink_row(sink, &(struct line){"", "hint", hint, NULL}, err));
    }
    return HS_OK;
}

static hs_status print_checks(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_diagnosis *diagnosis, struct hs_error *err)
{
    const struct hs_list checks = {.record = &record, .each = put_checks, .context = diagnosis};
    bool can_dump = hs_diagnosis_refusal(diagnosis) == NULL;
    const struct hs_listing listing = {
        .rows = &checks,
        .no_total = true,
        .document = HS_PAIRS(HS_TEXT("schema", "heapsnap.doctor/1"),
                             HS_COUNT("pid", (uint64_t)diagnosis->pid),
                             HS_VALUE("can_dump", BOOL, can_dump), HS_ROWS("checks", &checks)),
    };
    return hs_tool_list(tool, inv, &listing, err);
}

hs_status hs_cmd_doctor(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    const char *debug_dirs[HS_MAX_REPEATED];
    struct hs_dump_options options = {
        .debug_dirs = debug_dirs,
        .n_debug_dirs = hs_repeated(inv, HS_OPT_DEBUG_PATH, debug_dirs),
        .tool_version = HS_VERSION,
        .progress = &tool->progress,
        .budget = hs_tool_budget(tool),
    };
    struct hs_diagnosis diagnosis;
    struct hs_rules rules = {0};
    hs_tool_go_first();
    HS_TRY(hs_pid_parse(inv->arguments[0], &options.pid, err));
    HS_TRY(hs_rules_load(NULL, 0, &rules, err));
    options.rules = &rules;
    hs_status status = hs_diagnose_dump(&options, &diagnosis, err);
    hs_rules_fini(&rules);
    HS_TRY(status);
    HS_TRY(print_checks(tool, inv, &diagnosis, err));
    if (hs_diagnosis_refusal(&diagnosis) == NULL)
        return HS_OK;
    /* The report was asked for and is printed; the exit code says that no dump is possible. */
    HS_TRY(hs_tool_commit(tool, err));
    if (hs_diagnosis_error(&diagnosis, err) == HS_OK)
        return HS_OK;
    return hs_context(err, "cannot dump process '%d'", options.pid);
}
