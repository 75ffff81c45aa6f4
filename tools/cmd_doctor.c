/* doctor: why a process can or cannot be dumped, and what to do. */
#include "commands.h"
#include "dump_run.h"
#include "native/native_diagnosis.h"
#include "tool.h"

enum { CHECK_COLUMN, VERDICT_COLUMN, FOUND_COLUMN, HINT_COLUMN, N_COLUMNS };

static const struct hs_column columns[N_COLUMNS] = {
    {"name", "CHECK", HS_COLUMN_STRING, 0},
    {"verdict", "VERDICT", HS_COLUMN_STRING, 0},
    {"found", "FOUND", HS_COLUMN_STRING, 0},
    {"hint", "HINT", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
};

static void put_row(struct hs_sheet *sheet, const char *name, const char *verdict,
                    const char *found, const char *hint)
{
    hs_sheet_string(sheet, name);
    hs_sheet_string(sheet, verdict);
    hs_sheet_string(sheet, found);
    hs_sheet_string(sheet, hint);
}

/* In a table a hint stands in a row of its own below: lines of both side by side fit no screen. */
static void put_checks(struct hs_sheet *sheet, const struct hs_diagnosis *diagnosis, bool is_table)
{
    for (size_t i = 0; i < diagnosis->n_checks; i++) {
        const struct hs_check *check = &diagnosis->checks[i];
        const char *hint = check->hint[0] != '\0' ? check->hint : NULL;
        put_row(sheet, check->name, hs_verdict_name(check->verdict), check->found,
                is_table ? NULL : hint);
        if (is_table && hint != NULL)
            put_row(sheet, "", "hint", hint, NULL);
    }
}

static hs_status print_json(struct hs_tool *tool, struct hs_sheet *sheet,
                            const struct hs_diagnosis *diagnosis, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.doctor/1");
    hs_json_u64(&json, "pid", (uint64_t)diagnosis->pid);
    hs_json_bool(&json, "can_dump", hs_diagnosis_refusal(diagnosis) == NULL);
    HS_TRY(hs_sheet_write_rows(sheet, &json, "checks", err));
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static hs_status print_checks(struct hs_tool *tool, const struct hs_invocation *inv,
                              const struct hs_diagnosis *diagnosis, struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    struct hs_sheet sheet;
    options.no_total = true;
    options.limit = 0;
    HS_TRY(hs_sheet_init(&sheet, columns, N_COLUMNS, &options, err));
    put_checks(&sheet, diagnosis, options.format == HS_SHEET_TABLE);
    hs_status status = hs_tool_format(inv) == HS_FORMAT_JSON
                           ? print_json(tool, &sheet, diagnosis, err)
                           : hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

hs_status hs_cmd_doctor(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    const char *debug_dirs[HS_MAX_REPEATED];
    struct hs_dump_options options = {
        .debug_dirs = debug_dirs,
        .n_debug_dirs = hs_repeated(inv, HS_OPT_DEBUG_PATH, debug_dirs),
        .tool_version = HS_TOOL_VERSION,
        .progress = &tool->progress,
        .budget = hs_tool_budget(tool),
    };
    struct hs_diagnosis diagnosis;
    HS_TRY(hs_pid_parse(inv->arguments[0], &options.pid, err));
    HS_TRY(hs_diagnose_dump(&options, &diagnosis, err));
    HS_TRY(print_checks(tool, inv, &diagnosis, err));
    if (hs_diagnosis_refusal(&diagnosis) == NULL)
        return HS_OK;
    /* What was asked for is printed; that no dump is possible is the exit code. */
    HS_TRY(hs_tool_commit(tool, err));
    return hs_diagnosis_error(&diagnosis, err);
}
