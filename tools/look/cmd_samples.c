/* samples: the sampled allocations that were alive, where each was allocated, and who keeps it; or
 * summed by site, root and type. */
#include <string.h>

#include "analysis/sample_rows.h"
#include "commands.h"
#include "open_view.h"
#include "root_json.h"
#include "sample_groups_print.h"
#include "sampled_whole_print.h"
#include "site_print.h"

struct line {
    const char *type, *sampler, *state, *root, *keeper, *join, *place;
    uint64_t sample, id, address, words, n_samples, estimated_words, error_words;
    uint64_t retained_words, reached, root_id;
    const struct hs_list *site;
};

enum { FIELD_SAMPLER = 6, N_FIELDS = 18 };
#define HS_ROW struct line
static const struct hs_field all_fields[N_FIELDS] = {
    HS_COLUMN(1, NUMBER, sample, "SAMPLE", 0),
    HS_FIELD(NODE, id),
    HS_COLUMN(7, ADDRESS, address, "ADDRESS", HS_COLUMN_SPARE(2)),
    HS_COLUMN(9, STRING, type, "TYPE", HS_COLUMN_SHRINKS | HS_COLUMN_NARROW(1)),
    HS_COLUMN(4, WORDS, words, "WORDS", HS_COLUMN_SPARE(1)),
    HS_COLUMN(5, COUNT, n_samples, "SAMPLES", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(2, STRING, sampler, "SAMPLER", 0), /* in a table only when there are several */
    HS_COLUMN(6, WORDS, estimated_words, "STANDS FOR", HS_COLUMN_DATA_ONLY),
    HS_FIELD(WORDS, error_words),
    HS_COLUMN(8, STRING, state, "STATE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(3, WORDS, retained_words, "RETAINED", 0),
    HS_FIELD(BOOL, reached),
    HS_FIELD(STRING, root),
    HS_FIELD(NODE, root_id),
    HS_FIELD(STRING, join),
    HS_FIELD(LIST, site),
    HS_COLUMN_AS("root", 10, STRING, keeper, "RETAINED BY", HS_COLUMN_SHRINKS | HS_COLUMN_NOT_JSON),
    HS_COLUMN(11, STRING, place, "SITE", HS_COLUMN_FLEXIBLE),
};

struct listing {
    struct hs_sample_join *join;
    const struct hs_sample_rows *rows;
};

static hs_status put_row(struct hs_sink *sink, const struct listing *listing,
                         const struct hs_sample_row *row, struct hs_error *err)
{
    struct hs_sample_join *join = listing->join;
    const struct hs_view *view = join->view;
    const struct hs_sampler *sampler = hs_sample_join_sampler(join, row->sample);
    struct hs_site_of of = {join, join->sites[row->at]};
    const struct hs_list site = {.each = hs_site_frames, .context = &of, .is_line = true};
    bool is_known = sampler->period_words > 0;
    struct hs_estimate estimate = {0};
    char place[HS_FRAME_BYTES];
    hs_estimate_add(&estimate, sampler, row->sample);
    HS_TRY(hs_sample_join_site_text(join, of.site, place, sizeof place, err));
    struct line line = {
        .sample = row->sample->id,
        .id = row->sample->node,
        .address = row->sample->node != HS_NO_NODE ? row->facts.address : HS_UNKNOWN,
        .type = hs_or_null(row->facts.label),
        .words = row->sample->words,
        .n_samples = row->sample->n_samples,
        .sampler = hs_sampler_kind_name(sampler->kind),
        .estimated_words = is_known ? hs_estimate_words(&estimate) : HS_UNKNOWN,
        .error_words = is_known ? hs_estimate_error_words(&estimate) : HS_UNKNOWN,
        .state = hs_sample_state_name(row->sample->state),
        .retained_words = row->retained_words,
        .reached = hs_sample_is_reached(view, row),
        .root = hs_sample_root_name(view, row),
        .root_id = row->root,
        .join = hs_sample_join_case_name(join->cases[row->at]),
        .site = of.site != HS_NO_SITE ? &site : NULL,
        .keeper = hs_keeper_text(view, hs_keeper_of(view, row->sample, row->root), row->root),
        .place = hs_or_null(place),
    };
    return hs_sink_row(sink, &line, err);
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    for (size_t i = 0; i < listing->rows->n; i++)
        HS_TRY(put_row(sink, listing, &listing->rows->rows[i], err));
    hs_sink_others(sink, listing->rows->n_others, &(struct line){0});
    return HS_OK;
}

/* How many samples the process and the trace have in common; nothing without a trace. */
static hs_status put_cases(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_sample_join *join = context;
    const uint64_t *n = join->n_in_case;
    if (!hs_sample_join_has_trace(join))
        return HS_OK;
    return hs_sink_pairs(sink,
                         HS_PAIRS(HS_COUNT("in_both", n[HS_SAMPLE_JOIN_BOTH]),
                                  HS_COUNT("process_only", n[HS_SAMPLE_JOIN_UNFLUSHED]),
                                  HS_COUNT("trace_only", join->n_gone),
                                  HS_COUNT("lost", n[HS_SAMPLE_JOIN_LOST]),
                                  HS_COUNT("mismatches", n[HS_SAMPLE_JOIN_MISMATCH])),
                         err);
}

static hs_status print_rows(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_sample_join *join, const struct hs_sample_rows *rows,
                            struct hs_error *err)
{
    struct hs_field fields[N_FIELDS];
    const struct hs_record record = HS_RECORD(fields);
    struct listing listing = {.join = join, .rows = rows};
    const struct hs_list list = {.record = &record, .each = put_rows, .context = &listing};
    const struct hs_list cases = {.each = put_cases, .context = join};
    const struct hs_list samplers = {.each = hs_sampled_wholes_rows, .context = join};
    const struct hs_listing all = {
        .rows = &list,
        .no_total = true,
        .word_bytes = join->view->facts->word_bytes,
        .document =
            HS_PAIRS(HS_TEXT("schema", "heapsnap.samples/1"), HS_TEXT("snapshot", join->view->path),
                     HS_TEXT("trace", join->path), HS_ONE("join", &cases),
                     HS_ROWS("samplers", &samplers), HS_ROWS("samples", &list), HS_OBJECT("others"),
                     HS_COUNT("count", rows->n_others), HS_END),
    };
    memcpy(fields, all_fields, sizeof fields);
    fields[FIELD_SAMPLER].cell.flags = join->has_several ? 0 : HS_COLUMN_DATA_ONLY;
    if (hs_tool_format(inv) == HS_FORMAT_TABLE)
        HS_TRY(hs_sampled_wholes_print(tool, join, err));
    return hs_tool_list(tool, inv, &all, err);
}

static hs_status list_samples(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_sample_join *join, struct hs_error *err)
{
    struct hs_sample_rows rows = {0};
    hs_status status =
        hs_sample_rows_select(join->view, hs_tool_min_words(inv, join->view->facts->word_bytes),
                              hs_tool_rows(inv), &rows, err);
    if (status == HS_OK)
        status = print_rows(tool, inv, join, &rows, err);
    hs_sample_rows_fini(&rows);
    return status;
}

/* The bit set of a comma-separated list that the parser has accepted. */
static unsigned keys_of(const struct hs_invocation *inv)
{
    unsigned keys = 0;
    for (const char *at = inv->text[HS_OPT_SAMPLE_GROUP_BY];; at++) {
        size_t n = strcspn(at, ",");
        int key = hs_choice_at(hs_options[HS_OPT_SAMPLE_GROUP_BY].choices, at, n);
        keys |= key >= 0 ? 1u << key : 0;
        at += n;
        if (*at == 0)
            return keys;
    }
}

hs_status hs_cmd_samples(struct hs_tool *tool, const struct hs_invocation *inv,
                         struct hs_error *err)
{
    struct hs_view view = {0};
    struct hs_sample_join join = {0};
    const char *trace = hs_given(inv, HS_OPT_TRACE) ? inv->text[HS_OPT_TRACE] : NULL;
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    hs_status status = hs_sample_join_open(&view, trace, /* id= */ NULL, &join, err);
    if (status == HS_OK && hs_given(inv, HS_OPT_SAMPLE_GROUP_BY))
        status = hs_sample_groups_print(tool, inv, &join, keys_of(inv), err);
    else if (status == HS_OK)
        status = list_samples(tool, inv, &join, err);
    if (status == HS_OK)
        hs_sample_join_talk(tool, &join);
    if (status == HS_OK && view.totals->n_samples == 0)
        hs_talk("the program was not sampling its allocations (Gc.Memprof, memtrace)");
    hs_sample_join_close(&join);
    return hs_view_finish(&view, status, err);
}
