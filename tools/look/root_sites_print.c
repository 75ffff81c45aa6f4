/* Roots with sites as table, TSV and JSON. */
#include "root_sites_print.h"

#include <stdio.h>

#include "analysis/field_path.h"
#include "analysis/root_name.h"
#include "analysis/unread.h"
#include "options.h"
#include "site_print.h"

static hs_status put_json_sites(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_root_sites_pairs *of = context;
    const struct hs_root_sites *sites = of->sites;
    for (size_t i = sites->begin[of->row]; i < sites->begin[of->row + 1]; i++) {
        const struct hs_estimate *estimate = &sites->sites[i].estimate;
        bool is_weighted = of->join->is_weighted;
        struct hs_site_of site_of = {of->join, sites->sites[i].site};
        const struct hs_list site = {.each = hs_site_frame, .context = &site_of};
        HS_TRY(hs_sink_pairs(
            sink,
            HS_PAIRS(
                HS_COUNT("estimated_words", is_weighted ? hs_estimate_words(estimate) : HS_UNKNOWN),
                HS_COUNT("error_words",
                         is_weighted ? hs_estimate_error_words(estimate) : HS_UNKNOWN),
                HS_COUNT("n_samples", estimate->n_samples), HS_ONE("site", &site)),
            err));
    }
    return HS_OK;
}

void hs_root_sites_pairs_init(struct hs_sample_join *join, const struct hs_root_sites *sites,
                              size_t row, struct hs_root_sites_pairs *ret)
{
    const struct hs_estimate *total = &sites->totals[row];
    bool is_weighted = join->is_weighted;
    *ret = (struct hs_root_sites_pairs){
        .join = join,
        .sites = sites,
        .row = row,
        .list = {.each = put_json_sites, .context = ret, .is_line = true},
        .members = {HS_COUNT("sampled_words", is_weighted ? hs_estimate_words(total) : HS_UNKNOWN),
                    HS_COUNT("sampled_error_words",
                             is_weighted ? hs_estimate_error_words(total) : HS_UNKNOWN),
                    HS_COUNT("n_samples", total->n_samples), HS_ROWS("sites", &ret->list),
                    HS_PAIRS_END},
    };
}

struct line {
    const char *kind, *name, *site, *place;
    uint64_t retained_words, sampled_words, sampled_error_words, n_samples, id;
};

/* Exact and sampled figures stand in columns of their own, so that nobody adds them up. */
#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, WORDS, retained_words, "RETAINED (EXACT)", HS_COLUMN_SUMMED),
    HS_COLUMN_AS("retained_percent", 2, PERCENT, retained_words, "%",
                 HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY | HS_COLUMN_SPARE(1)),
    HS_COLUMN(3, WORDS, sampled_words, "SAMPLED", 0),
    HS_COLUMN(4, WORDS, sampled_error_words, "+-", HS_COLUMN_NARROW(2)),
    HS_COLUMN(5, COUNT, n_samples, "SAMPLES", HS_COLUMN_SPARE(1)),
    HS_COLUMN(6, NODE, id, "ID", HS_COLUMN_NARROW(1)),
    HS_COLUMN(7, STRING, kind, "KIND", HS_COLUMN_SPARE(3)),
    HS_COLUMN(8, STRING, name, "ROOT, AND WHO ALLOCATED WHAT IT RETAINS", HS_COLUMN_FLEXIBLE),
    HS_COLUMN(9, STRING, site, "SITE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(10, STRING, place, "WHERE", HS_COLUMN_SHRINKS | HS_COLUMN_PATH | HS_COLUMN_SPARE(2)),
};
static const struct hs_record record = HS_RECORD(fields);

struct listing {
    struct hs_sample_join *join;
    const struct hs_root_rows *rows;
    const struct hs_root_sites *sites;
};

static struct line line_of(const struct hs_sample_join *join, const struct hs_estimate *estimate)
{
    return (struct line){
        .retained_words = HS_UNKNOWN,
        .sampled_words = join->is_weighted ? hs_estimate_words(estimate) : HS_UNKNOWN,
        .sampled_error_words = join->is_weighted ? hs_estimate_error_words(estimate) : HS_UNKNOWN,
        .n_samples = estimate->n_samples,
        .id = HS_UNKNOWN,
    };
}

static hs_status put_root(struct hs_sink *sink, const struct hs_sample_join *join,
                          const struct hs_root_row *row, const struct hs_estimate *estimate,
                          struct hs_error *err)
{
    const struct hs_view *view = join->view;
    const struct hs_root *root = hs_snap_root(view->snap, row->node);
    struct line line = line_of(join, estimate);
    char place[512];
    hs_root_place(view, root, place, sizeof place);
    line.retained_words = row->retained.words;
    line.id = row->node;
    line.kind = hs_root_kind_name(root->kind);
    line.name = hs_view_string(view, root->name);
    line.place = hs_or_null(sink->is_table ? hs_file_short(place) : place);
    return hs_sink_row(sink, &line, err);
}

static hs_status put_site_row(struct hs_sink *sink, const struct hs_sample_join *join,
                              const struct hs_root_row *row, const char *site,
                              const struct hs_estimate *estimate, struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(join->view->snap, row->node);
    struct line line = line_of(join, estimate);
    char text[HS_FRAME_BYTES + 4];
    (void)snprintf(text, sizeof text, "  %s", site);
    line.id = sink->is_table ? HS_UNKNOWN : row->node;
    line.name = sink->is_table ? text : hs_view_string(join->view, root->name);
    line.site = site;
    return hs_sink_row(sink, &line, err);
}

static hs_status put_sites(struct hs_sink *sink, const struct listing *listing, size_t at,
                           struct hs_error *err)
{
    const struct hs_sample_join *join = listing->join;
    const struct hs_root_row *row = &listing->rows->rows[at];
    const struct hs_root_sites *sites = listing->sites;
    size_t begin = sites->begin[at], end = sites->begin[at + 1];
    size_t shown =
        sink->is_table && end - begin > HS_ROOT_SITES_SHOWN ? begin + HS_ROOT_SITES_SHOWN : end;
    struct hs_estimate others = {0};
    char text[64];
    for (size_t i = begin; i < shown; i++)
        HS_TRY(put_site_row(sink, join, row, hs_sample_join_place_text(join, sites->sites[i].place),
                            &sites->sites[i].estimate, err));
    for (size_t i = shown; i < end; i++)
        hs_estimate_join(&others, &sites->sites[i].estimate);
    (void)snprintf(text, sizeof text, "[%zu other sites]", end - shown);
    return shown < end ? put_site_row(sink, join, row, text, &others, err) : HS_OK;
}

static void put_closing(struct hs_sink *sink, const char *name, uint64_t words)
{
    hs_sink_close(sink, &(struct line){.name = name,
                                       .retained_words = words,
                                       .sampled_words = HS_UNKNOWN,
                                       .sampled_error_words = HS_UNKNOWN,
                                       .n_samples = HS_UNKNOWN,
                                       .id = HS_UNKNOWN});
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    const struct hs_root_rows *rows = listing->rows;
    struct hs_unread unread;
    for (size_t i = 0; i < rows->n_rows; i++) {
        HS_TRY(put_root(sink, listing->join, &rows->rows[i], &listing->sites->totals[i], err));
        HS_TRY(put_sites(sink, listing, i, err));
    }
    hs_sink_others(sink, rows->n_others, &(struct line){.retained_words = rows->others_words});
    put_closing(sink, "[shared]", rows->shared_words);
    put_closing(sink, "[unreached]", hs_index_unreached_total(listing->join->view->index).words);
    hs_unread_find(listing->join->view, &unread);
    if (unread.counted_words != 0)
        put_closing(sink, "[not read]", unread.counted_words);
    return HS_OK;
}

hs_status hs_root_sites_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_sample_join *join, const struct hs_root_rows *rows,
                              const struct hs_root_sites *sites, struct hs_error *err)
{
    struct listing listing = {join, rows, sites};
    const struct hs_list list = {.record = &record, .each = put_rows, .context = &listing};
    const struct hs_listing all = {
        .rows = &list,
        .word_bytes = join->view->facts->word_bytes,
        .whole = hs_unread_whole(join->view),
    };
    return hs_tool_list(tool, inv, &all, err);
}
