/* The tables `roots` and `sets`: who keeps what, alone and together. */
#include "analysis/root_rows.h"
#include "fleet_sheet.h"
#include "set_names.h"

static const struct hs_parquet_column root_columns[] = {
    {"id", HS_PARQUET_NUMBER},
    {"kind", HS_PARQUET_TEXT},
    {"name", HS_PARQUET_TEXT},
    {"module", HS_PARQUET_TEXT},
    {"symbol", HS_PARQUET_TEXT},
    {"function", HS_PARQUET_TEXT},
    {"file", HS_PARQUET_TEXT},
    {"line", HS_PARQUET_NUMBER},
    {"thread", HS_PARQUET_NUMBER},
    {"frame", HS_PARQUET_NUMBER},
    {"certainty", HS_PARQUET_TEXT},
    {"tier", HS_PARQUET_TEXT},
    {"address", HS_PARQUET_ADDRESS},
    {"retained_words", HS_PARQUET_NUMBER},
    {"retained_objects", HS_PARQUET_NUMBER},
    {"static_retained_words", HS_PARQUET_NUMBER},
    {"reachable_words", HS_PARQUET_NUMBER},
    {"reachable_objects", HS_PARQUET_NUMBER},
    {"static_reachable_words", HS_PARQUET_NUMBER},
};

static hs_status put_root(const struct hs_view *view, const struct hs_root_row *row,
                          struct fleet_sheet *sheet, struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, row->node);
    const char *certainty = hs_certainty_name(root->certainty), *tier = hs_tier_name(root->tier);
    fleet_number(sheet, row->node);
    fleet_text(sheet, hs_root_kind_name(root->kind));
    fleet_text(sheet, hs_view_string(view, root->name));
    fleet_text(sheet, hs_view_string(view, root->module));
    fleet_text(sheet, hs_view_string(view, root->symbol));
    fleet_text(sheet, hs_view_string(view, root->function));
    fleet_text(sheet, hs_view_string(view, root->file));
    fleet_number(sheet, root->line);
    fleet_number(sheet, root->thread);
    fleet_number(sheet, root->frame);
    fleet_text(sheet, certainty != NULL ? certainty : "");
    fleet_text(sheet, tier != NULL ? tier : "");
    fleet_address(sheet, root->address);
    fleet_number(sheet, row->retained.words);
    fleet_number(sheet, row->retained.objects);
    fleet_number(sheet, row->retained.static_words);
    fleet_number(sheet, row->reachable.words);
    fleet_number(sheet, row->reachable.objects);
    fleet_number(sheet, row->reachable.static_words);
    return fleet_row(sheet, err);
}

static hs_status write_roots(struct hs_view *view, struct fleet_sheet *sheet, struct hs_error *err)
{
    struct hs_root_query query = {.kinds = UINT64_MAX, .max_rows = UINT64_MAX};
    struct hs_root_rows rows = {0};
    hs_status status = hs_root_rows_select(view, &query, &rows, err);
    for (size_t i = 0; i < rows.n_rows && status == HS_OK; i++)
        status = put_root(view, &rows.rows[i], sheet, err);
    hs_root_rows_fini(&rows);
    return status;
}

const struct fleet_table fleet_roots = {
    .name = "roots",
    .schema = "heapsnap.roots/1",
    FLEET_COLUMNS(root_columns),
    .write = write_roots,
};

/* ---- sets */

static const struct hs_parquet_column set_columns[] = {
    {"id", HS_PARQUET_NUMBER},
    {"n_roots", HS_PARQUET_NUMBER},
    {"roots", HS_PARQUET_TEXT},
    {"retained_words", HS_PARQUET_NUMBER},
    {"retained_objects", HS_PARQUET_NUMBER},
    {"static_retained_words", HS_PARQUET_NUMBER},
};
static hs_status put_set(struct fleet_sheet *sheet, uint64_t id, uint64_t n_roots,
                         const char *names, const struct hs_sizes *retained, struct hs_error *err)
{
    fleet_number(sheet, id);
    fleet_number(sheet, n_roots);
    fleet_text(sheet, names);
    fleet_number(sheet, retained->words);
    fleet_number(sheet, retained->objects);
    fleet_number(sheet, retained->static_words);
    return fleet_row(sheet, err);
}

/* Sets beyond those that the index tells apart are one row, so that the sum closes. */
static hs_status write_sets(struct hs_view *view, struct fleet_sheet *sheet, struct hs_error *err)
{
    char names[SET_NAMES_BYTES];
    struct hs_set_rows rows = {0};
    hs_status status = hs_set_rows_all(view, &rows, err);
    for (size_t i = 0; i < rows.n && status == HS_OK; i++) {
        set_names_put(view, rows.rows[i].id, names);
        status = put_set(sheet, rows.rows[i].id, rows.rows[i].n_members, names,
                         &rows.rows[i].retained, err);
    }
    if (status == HS_OK && rows.n_others != 0)
        status = put_set(sheet, 0, UINT64_MAX, "[others]", &rows.others, err);
    hs_set_rows_fini(&rows);
    return status;
}

const struct fleet_table fleet_sets = {
    .name = "sets",
    .schema = "heapsnap.sets/1",
    FLEET_COLUMNS(set_columns),
    .write = write_sets,
};
