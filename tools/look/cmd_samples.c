/* samples: the sampled allocations that were alive, where each was allocated, and who keeps it; or
 * summed by site, root and type. */
#include <string.h>

#include "analysis/sample_rows.h"
#include "commands.h"
#include "described.h"
#include "noun_fields.h"
#include "open_view.h"
#include "root_json.h"
#include "sample_groups_print.h"
#include "sampled_whole_print.h"
#include "site_print.h"

struct line {
    uint64_t cells[HS_SAMPLES_N];
    const char *join, *keeper;
    const struct hs_list *site;
};

#define HS_ROW struct line
static const struct hs_field all_fields[] = {
    /* In a table only when there are several. */
    HS_SHOWN(SAMPLES, sampler, 2, STRING, "SAMPLER", 0),
    HS_ROWS_SAMPLES(HS_NOUN_FIELD) HS_FIELD(STRING, join),
    HS_FIELD(LIST, site),
    HS_SHOWN(SAMPLES, sample, 1, NUMBER, "SAMPLE", 0),
    HS_SHOWN(SAMPLES, retained_words, 3, WORDS, "RETAINED", 0),
    HS_SHOWN(SAMPLES, words, 4, WORDS, "WORDS", HS_COLUMN_SPARE(1)),
    HS_SHOWN(SAMPLES, n_samples, 5, COUNT, "SAMPLES", HS_COLUMN_DATA_ONLY),
    HS_SHOWN(SAMPLES, estimated_words, 6, WORDS, "STANDS FOR", HS_COLUMN_DATA_ONLY),
    HS_SHOWN(SAMPLES, address, 7, ADDRESS, "ADDRESS", HS_COLUMN_SPARE(2)),
    HS_SHOWN(SAMPLES, state, 8, STRING, "STATE", HS_COLUMN_DATA_ONLY),
    HS_SHOWN(SAMPLES, type, 9, STRING, "TYPE", HS_COLUMN_SHRINKS | HS_COLUMN_NARROW(1)),
    HS_COLUMN_AS("root", 10, STRING, keeper, "RETAINED BY", HS_COLUMN_SHRINKS | HS_COLUMN_NOT_JSON),
    HS_SHOWN(SAMPLES, place, 11, STRING, "SITE", HS_COLUMN_FLEXIBLE),
};
const struct hs_record hs_samples_record = HS_RECORD(all_fields);
enum { FIELD_SAMPLER, N_FIELDS = sizeof all_fields / sizeof *all_fields };

struct listing {
    struct hs_sample_join *join;
    const struct hs_sample_rows *rows;
};

static hs_status put_row(struct hs_sink *sink, struct hs_rows *rows, uint64_t at,
                         struct hs_error *err)
{
    const struct hs_sample_list *of = rows->state;
    const struct hs_sample_row *row = &of->rows->rows[at];
    struct hs_site_of site_of = {of->join, of->join->sites[row->at]};
    const struct hs_list site = {.each = hs_site_frames, .context = &site_of, .is_line = true};
    struct line line = {
        .join = hs_sample_join_case_name(of->join->cases[row->at]),
        .site = site_of.site != HS_NO_SITE ? &site : NULL,
        .keeper =
            hs_keeper_text(rows->view, hs_keeper_of(rows->view, row->sample, row->root), row->root),
    };
    HS_TRY(hs_noun_load(rows, at, line.cells, err));
    return hs_sink_row(sink, &line, err);
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    struct hs_sample_list list = {listing->join, listing->rows};
    struct hs_rows rows = {.is_lent = true};
    hs_status status =
        hs_rows_of(listing->join->view, &hs_noun_samples, &list, listing->rows->n, &rows, err);
    for (uint64_t i = 0; status == HS_OK && i < rows.n; i++)
        status = put_row(sink, &rows, i, err);
    hs_rows_fini(&rows);
    hs_sink_others(sink, listing->rows->n_others, &(struct line){.join = NULL});
    return status;
}

/* Prints the number of samples that the process and the trace have in common; nothing without a
 * trace. */
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
    fields[FIELD_SAMPLER].cell.flags |= join->has_several ? 0 : HS_COLUMN_DATA_ONLY;
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
