/* Roots with sites as table, TSV and JSON. */
#include "root_sites_print.h"

#include <stdio.h>

#include "analysis/field_path.h"
#include "options.h"
#include "root_json.h"
#include "site_print.h"

static void put_estimate(struct hs_json *json, const struct hs_sample_join *join,
                         const char *words_key, const char *error_key,
                         const struct hs_estimate *estimate)
{
    if (join->is_weighted) {
        hs_json_u64(json, words_key, hs_estimate_words(estimate));
        hs_json_u64(json, error_key, hs_estimate_error_words(estimate));
    } else {
        hs_json_null(json, words_key);
        hs_json_null(json, error_key);
    }
    hs_json_u64(json, "n_samples", estimate->n_samples);
}

static hs_status put_site(struct hs_json *json, struct hs_sample_join *join,
                          const struct hs_root_site *site, struct hs_error *err)
{
    const struct hs_frame *frames;
    size_t n = 0;
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    put_estimate(json, join, "estimated_words", "error_words", &site->estimate);
    if (site->site != HS_NO_SITE)
        HS_TRY(hs_sample_join_frames(join, site->site, &frames, &n, err));
    if (n != 0)
        hs_frame_json(json, "site", &frames[hs_site_frame_at(frames, n)]);
    else
        hs_json_null(json, "site");
    hs_json_end_object(json);
    return HS_OK;
}

hs_status hs_root_sites_json(struct hs_json *json, struct hs_sample_join *join,
                             const struct hs_root_sites *sites, size_t row, struct hs_error *err)
{
    put_estimate(json, join, "sampled_words", "sampled_error_words", &sites->totals[row]);
    hs_json_begin_array(json, "sites", HS_JSON_LINE);
    for (size_t i = sites->begin[row]; i < sites->begin[row + 1]; i++)
        HS_TRY(put_site(json, join, &sites->sites[i], err));
    hs_json_end_array(json);
    return HS_OK;
}

/* Exact and sampled figures stand in columns of their own, so that nobody adds them up. */
static const struct hs_column columns[] = {
    {"retained_words", "RETAINED (EXACT)", HS_COLUMN_WORDS, HS_COLUMN_SUMMED},
    {"retained_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY},
    {"sampled_words", "SAMPLED", HS_COLUMN_WORDS, 0},
    {"sampled_error_words", "+-", HS_COLUMN_WORDS, 0},
    {"n_samples", "SAMPLES", HS_COLUMN_COUNT, 0},
    {"id", "ID", HS_COLUMN_NODE, 0},
    {"kind", "KIND", HS_COLUMN_STRING, 0},
    {"name", "ROOT, AND WHO ALLOCATED WHAT IT RETAINS", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
    {"site", "SITE", HS_COLUMN_STRING, HS_COLUMN_DATA_ONLY},
    {"place", "WHERE", HS_COLUMN_STRING, 0},
};

static void put_sampled(struct hs_sheet *sheet, const struct hs_sample_join *join,
                        const struct hs_estimate *estimate)
{
    if (join->is_weighted) {
        hs_sheet_u64(sheet, hs_estimate_words(estimate));
        hs_sheet_u64(sheet, hs_estimate_error_words(estimate));
    } else {
        hs_sheet_null(sheet);
        hs_sheet_null(sheet);
    }
    hs_sheet_u64(sheet, estimate->n_samples);
}

static void put_root(struct hs_sheet *sheet, const struct hs_sample_join *join,
                     const struct hs_root_row *row, const struct hs_estimate *estimate)
{
    const struct hs_view *view = join->view;
    const struct hs_root *root = hs_snap_root(view->snap, row->node);
    char place[512];
    hs_root_place(view, root, place, sizeof place);
    bool is_table = sheet->options.format == HS_SHEET_TABLE;
    hs_sheet_u64(sheet, row->retained.words);
    hs_sheet_u64(sheet, row->retained.words);
    put_sampled(sheet, join, estimate);
    hs_sheet_u64(sheet, row->node);
    hs_sheet_string(sheet, hs_root_kind_name(root->kind));
    hs_sheet_string(sheet, hs_view_string(view, root->name));
    hs_sheet_null(sheet);
    hs_sheet_string(sheet, hs_or_null(is_table ? hs_file_short(place) : place));
}

static void put_site_row(struct hs_sheet *sheet, const struct hs_sample_join *join,
                         const struct hs_root_row *row, const char *site,
                         const struct hs_estimate *estimate)
{
    const struct hs_root *root = hs_snap_root(join->view->snap, row->node);
    bool is_table = sheet->options.format == HS_SHEET_TABLE;
    char text[HS_FRAME_BYTES + 4];
    (void)snprintf(text, sizeof text, "  %s", site);
    hs_sheet_null(sheet);
    hs_sheet_null(sheet);
    put_sampled(sheet, join, estimate);
    if (is_table)
        hs_sheet_null(sheet);
    else
        hs_sheet_u64(sheet, row->node);
    hs_sheet_null(sheet);
    hs_sheet_string(sheet, is_table ? text : hs_view_string(join->view, root->name));
    hs_sheet_string(sheet, site);
    hs_sheet_null(sheet);
}

static void put_sites(struct hs_sheet *sheet, const struct hs_sample_join *join,
                      const struct hs_root_row *row, const struct hs_root_sites *sites, size_t at)
{
    size_t begin = sites->begin[at], end = sites->begin[at + 1];
    bool is_table = sheet->options.format == HS_SHEET_TABLE;
    size_t shown =
        is_table && end - begin > HS_ROOT_SITES_SHOWN ? begin + HS_ROOT_SITES_SHOWN : end;
    struct hs_estimate others = {0};
    char text[64];
    for (size_t i = begin; i < shown; i++)
        put_site_row(sheet, join, row, hs_sample_join_place_text(join, sites->sites[i].place),
                     &sites->sites[i].estimate);
    for (size_t i = shown; i < end; i++)
        hs_estimate_join(&others, &sites->sites[i].estimate);
    (void)snprintf(text, sizeof text, "[%zu other sites]", end - shown);
    if (shown < end)
        put_site_row(sheet, join, row, text, &others);
}

static void put_closing(struct hs_sheet *sheet, const char *name, uint64_t words)
{
    hs_sheet_u64(sheet, words);
    hs_sheet_u64(sheet, words);
    for (unsigned i = 2; i < 7; i++)
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, name);
    hs_sheet_null(sheet);
    hs_sheet_null(sheet);
}

hs_status hs_root_sites_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_sample_join *join, const struct hs_root_rows *rows,
                              const struct hs_root_sites *sites, struct hs_error *err)
{
    const struct hs_view *view = join->view;
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, view->totals->heap_words);
    options.word_bytes = view->facts->word_bytes;
    options.limit = 0; /* the rows are chosen already */
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    for (size_t i = 0; i < rows->n_rows; i++) {
        put_root(&sheet, join, &rows->rows[i], &sites->totals[i]);
        put_sites(&sheet, join, &rows->rows[i], sites, i);
    }
    uint64_t sums[sizeof columns / sizeof *columns] = {rows->others_words, rows->others_words};
    if (rows->n_others != 0)
        hs_sheet_fold(&sheet, rows->n_others, sums);
    hs_sheet_close_rows(&sheet);
    put_closing(&sheet, "[shared: kept by several roots]", rows->shared_words);
    put_closing(&sheet, "[unreached]", hs_index_unreached_total(view->index).words);
    hs_status status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}
