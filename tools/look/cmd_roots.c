/* roots: reachable and retained words of every root, or of every group of roots. */
#include <string.h>

#include "analysis/field_path.h"
#include "commands.h"
#include "open_view.h"
#include "root_json.h"
#include "root_sites_print.h"
#include "sampled_whole_print.h"
#include "site_print.h"

struct listing {
    struct hs_view view;
    struct hs_root_query query;
    struct hs_root_rows rows;
    bool has_sites; /* of --sites */
    struct hs_sample_join join;
    struct hs_root_sites sites;
};

struct line {
    const char *kind, *name, *place;
    uint64_t retained_words, reachable_words, id;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, WORDS, retained_words, "RETAINED", HS_COLUMN_SUMMED | HS_COLUMN_WEIGHS),
    HS_COLUMN_AS("retained_percent", 2, PERCENT, retained_words, "%",
                 HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY),
    HS_COLUMN(3, WORDS, reachable_words, "REACHABLE", HS_COLUMN_WEIGHS),
    HS_COLUMN(4, NODE, id, "ID", 0),
    HS_COLUMN(5, STRING, kind, "KIND", HS_COLUMN_SPARE(1)),
    HS_COLUMN(6, STRING, name, "ROOT", HS_COLUMN_FLEXIBLE),
    HS_COLUMN(7, STRING, place, "WHERE", HS_COLUMN_SHRINKS | HS_COLUMN_PATH),
};
static const struct hs_record record = HS_RECORD(fields);

/* In JSON a root has more to say than columns have room for. */
static hs_status put_object(struct hs_sink *sink, struct listing *listing, size_t at,
                            struct hs_error *err)
{
    hs_root_json_begin(sink->json, NULL, &listing->view, &listing->rows.rows[at]);
    if (listing->has_sites)
        HS_TRY(hs_root_sites_json(sink->json, &listing->join, &listing->sites, at, err));
    hs_json_end_object(sink->json);
    return HS_OK;
}

static hs_status put_row(struct hs_sink *sink, const struct hs_view *view,
                         const struct hs_root_row *row, struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(view->snap, row->node);
    char place[512];
    hs_root_place(view, root, place, sizeof place);
    struct line line = {
        .retained_words = row->retained.words,
        .reachable_words = row->reachable.words,
        .id = row->node,
        .kind = hs_root_kind_name(root->kind),
        .name = hs_view_string(view, root->name),
        .place = hs_or_null(sink->is_table ? hs_file_short(place) : place),
    };
    if (sink->is_table && line.place != NULL && strcmp(line.place, line.name) == 0)
        line.place = NULL; /* the symbol that gave the name */
    return hs_sink_row(sink, &line, err);
}

/* A line that belongs to the sum and is no root. */
static void put_closing(struct hs_sink *sink, const char *name, uint64_t words)
{
    hs_sink_close(sink, &(struct line){.name = name,
                                       .retained_words = words,
                                       .reachable_words = HS_UNKNOWN,
                                       .id = HS_UNKNOWN});
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct listing *listing = context;
    const struct hs_root_rows *rows = &listing->rows;
    for (size_t i = 0; i < rows->n_rows; i++)
        HS_TRY(sink->json != NULL ? put_object(sink, listing, i, err)
                                  : put_row(sink, &listing->view, &rows->rows[i], err));
    hs_sink_others(sink, rows->n_others, &(struct line){.retained_words = rows->others_words});
    put_closing(sink, "[shared: kept by several roots]", rows->shared_words);
    put_closing(sink, "[unreached]", hs_index_unreached_total(listing->view.index).words);
    return HS_OK;
}

static hs_status print_list(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct listing *listing, struct hs_error *err)
{
    const struct hs_view *view = &listing->view;
    const struct hs_root_rows *rows = &listing->rows;
    struct hs_sizes reached = hs_index_reached_total(view->index);
    struct hs_sizes unreached = hs_index_unreached_total(view->index);
    const struct hs_list list = {.record = &record, .each = put_rows, .context = listing};
    const struct hs_list samplers = {.each = hs_sampled_wholes_rows, .context = &listing->join};
    const struct hs_pair *sampled =
        listing->has_sites
            ? HS_PAIRS(HS_TEXT("trace", listing->join.path), HS_ROWS("samplers", &samplers))
            : (const struct hs_pair[]){HS_PAIRS_END};
    const struct hs_listing all = {
        .rows = &list,
        .word_bytes = view->facts->word_bytes,
        .whole = view->totals->heap_words,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.roots/1"), HS_TEXT("snapshot", view->path),
            HS_COUNT("pid", view->facts->pid), HS_COUNT("word_bytes", view->facts->word_bytes),
            HS_BLOCK("heap"),
            HS_COUNT("objects", view->totals->n_blocks - view->totals->n_static_blocks),
            HS_COUNT("words", view->totals->heap_words),
            HS_COUNT("reachable_objects", reached.objects),
            HS_COUNT("reachable_words", reached.words),
            HS_COUNT("unreached_objects", unreached.objects),
            HS_COUNT("unreached_words", unreached.words),
            HS_COUNT("static_words", view->totals->static_words), HS_END, HS_SPLICE(sampled),
            HS_ROWS("roots", &list), HS_OBJECT("shared"),
            HS_COUNT("retained_words", rows->shared_words), HS_END, HS_OBJECT("others"),
            HS_COUNT("count", rows->n_others), HS_COUNT("retained_words", rows->others_words),
            HS_END, HS_OBJECT("unreached"), HS_COUNT("words", unreached.words), HS_END),
    };
    return hs_tool_list(tool, inv, &all, err);
}

/* The bit set of a comma-separated list that the parser has accepted. */
static uint64_t kinds_of(const struct hs_invocation *inv)
{
    if (!hs_given(inv, HS_OPT_KIND))
        return UINT64_MAX;
    uint64_t kinds = 0;
    for (const char *at = inv->text[HS_OPT_KIND];;) {
        size_t n = strcspn(at, ",");
        int kind = hs_choice_at(hs_options[HS_OPT_KIND].choices, at, n);
        kinds |= kind >= 0 ? HS_BIT(kind) : 0;
        if (at[n] == 0)
            return kinds;
        at += n + 1;
    }
}

static hs_status print_rows(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct listing *listing, struct hs_error *err)
{
    enum hs_format format = hs_tool_format(inv);
    if (listing->has_sites && format == HS_FORMAT_TABLE)
        HS_TRY(hs_sampled_wholes_print(tool, &listing->join, err));
    if (listing->has_sites && (format == HS_FORMAT_TABLE || format == HS_FORMAT_TSV))
        return hs_root_sites_sheet(tool, inv, &listing->join, &listing->rows, &listing->sites, err);
    return print_list(tool, inv, listing, err);
}

/* When the table answers little, what to ask next: who keeps it is a group of roots, or an object
 * below several of them. */
static void talk_shared(struct hs_tool *tool, const struct hs_view *view,
                        const struct hs_root_query *query, const struct hs_root_rows *rows)
{
    if (rows->shared_words <= view->totals->heap_words / 2)
        return;
    if (query->group_by == HS_BY_ROOT)
        hs_tool_hint(tool,
                     "most of the heap is kept by several roots together: ask --sort reachable, "
                     "--group-by module or thread, or 'heapsnap dominators %s'",
                     view->path);
    else
        hs_tool_hint(tool,
                     "most of the heap is kept by several of these together: 'heapsnap dominators "
                     "%s' shows below what",
                     view->path);
}

static hs_status find_sites(const struct hs_invocation *inv, struct listing *listing,
                            struct hs_error *err)
{
    const char *trace = hs_given(inv, HS_OPT_TRACE) ? inv->text[HS_OPT_TRACE] : NULL;
    HS_TRY(hs_sample_join_open(&listing->view, trace, /* id= */ NULL, &listing->join, err));
    return hs_root_sites_find(&listing->join, &listing->query, &listing->rows, &listing->sites,
                              err);
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct listing *listing,
                     struct hs_error *err)
{
    HS_TRY(hs_root_rows_select(&listing->view, &listing->query, &listing->rows, err));
    if (listing->has_sites)
        HS_TRY(find_sites(inv, listing, err));
    HS_TRY(print_rows(tool, inv, listing, err));
    if (hs_tool_format(inv) == HS_FORMAT_TABLE)
        talk_shared(tool, &listing->view, &listing->query, &listing->rows);
    if (listing->has_sites)
        hs_sample_join_talk(tool, &listing->join);
    return HS_OK;
}

hs_status hs_cmd_roots(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct listing listing = {
        .query =
            {
                .group_by = (enum hs_group_by)inv->number[HS_OPT_GROUP_BY],
                .sort = (enum hs_root_sort)inv->number[HS_OPT_ROOT_SORT],
                .kinds = kinds_of(inv),
                .max_rows = hs_tool_rows(inv),
            },
        .has_sites = hs_given(inv, HS_OPT_SITES) || hs_given(inv, HS_OPT_TRACE),
    };
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &listing.view, err));
    listing.query.min_words = hs_tool_min_words(inv, listing.view.facts->word_bytes);
    hs_status status = run(tool, inv, &listing, err);
    hs_root_sites_fini(&listing.sites);
    hs_sample_join_close(&listing.join);
    hs_root_rows_fini(&listing.rows);
    return hs_view_finish(&listing.view, status, err);
}
