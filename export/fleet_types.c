/* The tables `types` and `leaks`: what memory is made of, and what nothing keeps. */
#include "analysis/leak_report.h"
#include "analysis/type_rows.h"
#include "fleet_sheet.h"

static const struct hs_parquet_column type_columns[] = {
    {"type", HS_PARQUET_TEXT},
    {"form", HS_PARQUET_TEXT},
    {"known", HS_PARQUET_TRUTH},
    {"objects", HS_PARQUET_NUMBER},
    {"words", HS_PARQUET_NUMBER},
    {"static_words", HS_PARQUET_NUMBER},
    {"retained_words", HS_PARQUET_NUMBER},
};

static hs_status put_type(const struct hs_view *view, const struct hs_type_row *row,
                          struct fleet_sheet *sheet, struct hs_error *err)
{
    const struct hs_type *type = hs_snap_type(view->snap, row->type);
    fleet_text(sheet, hs_view_string(view, type->name));
    fleet_text(sheet, hs_type_form_name(type->form));
    fleet_number(sheet, hs_type_is_known(view, row->type));
    fleet_number(sheet, row->shallow.objects);
    fleet_number(sheet, row->shallow.words);
    fleet_number(sheet, row->shallow.static_words);
    fleet_number(sheet, row->retained_words);
    return fleet_row(sheet, err);
}

static hs_status write_types(struct hs_view *view, struct fleet_sheet *sheet, struct hs_error *err)
{
    struct hs_type_query query = {.sort = HS_TYPE_BY_RETAINED, .max_rows = UINT64_MAX};
    struct hs_type_rows rows = {0};
    hs_status status = hs_type_rows_select(view, &query, &rows, err);
    for (size_t i = 0; i < rows.n_rows && status == HS_OK; i++)
        status = put_type(view, &rows.rows[i], sheet, err);
    hs_type_rows_fini(&rows);
    return status;
}

const struct fleet_table fleet_types = {
    .name = "types",
    .schema = "heapsnap.types/1",
    FLEET_COLUMNS(type_columns),
    .write = write_types,
};

/* ---- leaks */

static const struct hs_parquet_column leak_columns[] = {
    {"certainty", HS_PARQUET_TEXT},        {"reason", HS_PARQUET_TEXT},
    {"is_garbage", HS_PARQUET_TRUTH},      {"type", HS_PARQUET_TEXT},
    {"words_each", HS_PARQUET_NUMBER},     {"objects", HS_PARQUET_NUMBER},
    {"words", HS_PARQUET_NUMBER},          {"heads", HS_PARQUET_NUMBER},
    {"held_words", HS_PARQUET_NUMBER},     {"first", HS_PARQUET_NUMBER},
    {"first_address", HS_PARQUET_ADDRESS},
};

static hs_status put_leak(const struct hs_leak_report *report, size_t at, struct fleet_sheet *sheet,
                          struct hs_error *err)
{
    const struct hs_leak_group *group = &report->groups.groups[at];
    const char *reason = hs_leak_reason_text(report, group);
    fleet_text(sheet, hs_leak_certainty_name(group->certainty));
    fleet_text(sheet, reason != NULL ? reason : "");
    fleet_number(sheet, hs_leak_is_garbage(report->view));
    fleet_text(sheet, hs_leak_type_name(report, group));
    fleet_number(sheet, group->words_each);
    fleet_number(sheet, group->count);
    fleet_number(sheet, group->words);
    fleet_number(sheet, group->heads);
    fleet_number(sheet, group->held_words);
    fleet_number(sheet, group->first);
    fleet_address(sheet, report->facts[2 * at].address);
    return fleet_row(sheet, err);
}

static hs_status write_leaks(struct hs_view *view, struct fleet_sheet *sheet, struct hs_error *err)
{
    const struct hs_suppressions none = {0};
    struct hs_leak_query query = {.suppressions = &none,
                                  .certainties = (1U << HS_N_LEAK_CERTAINTIES) - 1,
                                  .max_rows = UINT64_MAX};
    struct hs_leak_report report = {0};
    hs_status status = hs_leak_report_find(view, &query, &report, err);
    for (size_t i = 0; status == HS_OK && i < report.groups.n_groups; i++)
        status = put_leak(&report, i, sheet, err);
    hs_leak_report_fini(&report);
    return status;
}

const struct fleet_table fleet_leaks = {
    .name = "leaks",
    .schema = "heapsnap.leaks/1",
    FLEET_COLUMNS(leak_columns),
    .write = write_leaks,
};
