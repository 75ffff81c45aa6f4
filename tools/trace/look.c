#include "look.h"

#include <string.h>

#include "analysis/site.h"
#include "base/alloc.h"
#include "look/gaps.h"

/* Events between two looks at whether somebody wants us to end. */
enum { EVENTS_PER_TELL = 1 << 16 };

static hs_status parse_range(const struct hs_invocation *inv, enum hs_option_id id,
                             enum hs_stats_range_kind kind, bool *has, struct hs_stats_range *ret,
                             struct hs_error *err)
{
    *has = hs_given(inv, id);
    if (*has &&
        hs_stats_range_parse(inv->text[id], kind, id == HS_OPT_COLLECTED, ret, err) != HS_OK)
        return hs_context(err, "--%s", hs_options[id].name);
    return HS_OK;
}

static hs_status parse_ranges(const struct hs_invocation *inv, struct hs_trace_look *look,
                              struct hs_error *err)
{
    struct hs_trace_filter *f = &look->filter;
    struct hs_group_filter *g = &look->groups;
    HS_TRY(
        parse_range(inv, HS_OPT_ALLOCATED, HS_RANGE_TIME, &f->has_allocated, &f->allocated, err));
    HS_TRY(parse_range(inv, HS_OPT_LIVE_AT, HS_RANGE_TIME, &f->has_live, &f->live, err));
    HS_TRY(
        parse_range(inv, HS_OPT_COLLECTED, HS_RANGE_TIME, &f->has_collected, &f->collected, err));
    HS_TRY(parse_range(inv, HS_OPT_LIFETIME, HS_RANGE_LIFE, &f->has_lifetime, &f->lifetime, err));
    HS_TRY(parse_range(inv, HS_OPT_SIZE, HS_RANGE_SIZE, &f->has_size, &f->size, err));
    HS_TRY(parse_range(inv, HS_OPT_GROUP_ALLOCATIONS, HS_RANGE_COUNT, &g->has_allocations,
                       &g->allocations, err));
    HS_TRY(parse_range(inv, HS_OPT_GROUP_LEAKED, HS_RANGE_SHARE, &g->has_leaked, &g->leaked, err));
    return parse_range(inv, HS_OPT_GROUP_INTERVAL, HS_RANGE_LIFE, &g->has_interval, &g->interval,
                       err);
}

static hs_status parse_patterns(const struct hs_invocation *inv, enum hs_option_id id,
                                struct hs_name_pattern *ret, size_t *ret_n, struct hs_error *err)
{
    const char *texts[HS_MAX_REPEATED];
    size_t n = hs_repeated(inv, id, texts);
    for (size_t i = 0; i < n; i++) {
        if (hs_name_pattern_init(&ret[i], texts[i], err) != HS_OK)
            return hs_context(err, "--%s", hs_options[id].name);
        *ret_n = i + 1;
    }
    return HS_OK;
}

static unsigned parse_areas(const struct hs_invocation *inv)
{
    unsigned areas = 0;
    if (!hs_given(inv, HS_OPT_HEAP))
        return 0;
    for (const char *at = inv->text[HS_OPT_HEAP];; at++) {
        size_t n = strcspn(at, ",");
        areas |= 1U << hs_choice_at(hs_options[HS_OPT_HEAP].choices, at, n);
        at += n;
        if (*at == 0)
            return areas;
    }
}

static hs_status parse_options(const struct hs_invocation *inv, struct hs_trace_look *look,
                               struct hs_error *err)
{
    struct hs_trace_filter *f = &look->filter;
    HS_TRY(parse_ranges(inv, look, err));
    f->areas = parse_areas(inv);
    f->inside = look->inside;
    f->not_inside = look->not_inside;
    HS_TRY(parse_patterns(inv, HS_OPT_INSIDE, look->inside, &f->n_inside, err));
    HS_TRY(parse_patterns(inv, HS_OPT_NOT_INSIDE, look->not_inside, &f->n_not_inside, err));
    return parse_patterns(inv, HS_OPT_HIDE, look->hide, &look->n_hide, err);
}

/* malloc is nobody's site, and what the C++ library did for its caller is not its own; a trace of
 * OCaml names its library's functions as memtrace's viewer does. */
static uint8_t rank_of(const char *function, const char *file)
{
    bool is_ocaml =
        strncmp(function, "Stdlib", 6) == 0 || strncmp(function, "Camlinternal", 12) == 0;
    return is_ocaml ? HS_FRAME_OWN : (uint8_t)hs_frame_rank(function, file);
}

static hs_status read_events(struct hs_tool *tool, struct hs_trace_look *look, struct hs_error *err)
{
    for (uint64_t n = 0;; n++) {
        struct hs_trace_event event;
        bool more;
        if (n % EVENTS_PER_TELL == 0)
            HS_TRY(hs_progress_tell(&tool->progress, "reading the trace", n, 0, err));
        HS_TRY(hs_trace_next(look->trace, &event, &more, err));
        if (!more)
            return hs_trace_objects_finish(&look->objects, err);
        HS_TRY(hs_trace_objects_add(&look->objects, &event, err));
    }
}

static const struct hs_trace_location *locations_of(void *context, uint64_t code, size_t *ret_n)
{
    return hs_trace_locations(context, code, ret_n);
}

static const char *string_of(void *context, hs_str id)
{
    return hs_trace_string(context, id);
}

static void tell_gaps(const struct hs_trace_look *look)
{
    const struct hs_trace_counts *counts = &look->objects.counts;
    hs_trace_tell_gaps(look->path, look->trace);
    if (counts->n_unmatched != 0)
        hs_talk("%llu promotions and collections of '%s' are of no allocation that it has",
                (unsigned long long)counts->n_unmatched, look->path);
}

hs_status hs_trace_look_open(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_trace_look *ret, struct hs_error *err)
{
    struct hs_budget *budget = hs_tool_budget(tool);
    *ret = (struct hs_trace_look){.path = inv->arguments[1]};
    hs_trace_objects_init(&ret->objects, budget);
    HS_TRY(parse_options(inv, ret, err));
    HS_TRY(hs_trace_open(ret->path, &ret->trace, err));
    ret->info = hs_trace_info(ret->trace);
    HS_TRY(read_events(tool, ret, err));
    struct hs_place_source source = {locations_of, string_of, ret->trace};
    HS_TRY(hs_places_init(&ret->places, &ret->objects.stacks, &source, budget, err));
    hs_places_hide(&ret->places, ret->hide, ret->n_hide);
    hs_places_rank(&ret->places, rank_of);
    ret->scale = hs_trace_scale_of(&ret->objects, ret->info->samples_per_word);
    HS_TRY(hs_trace_filter_apply(&ret->filter, &ret->objects, &ret->places, ret->info->word_bytes,
                                 &ret->n_selected, err));
    if (!tool->is_below)
        tell_gaps(ret);
    return HS_OK;
}

static void free_patterns(struct hs_name_pattern *patterns, size_t n)
{
    for (size_t i = 0; i < n; i++)
        hs_name_pattern_fini(&patterns[i]);
}

void hs_trace_look_close(struct hs_trace_look *look)
{
    hs_places_fini(&look->places);
    hs_trace_objects_fini(&look->objects);
    hs_trace_close(look->trace);
    look->trace = NULL;
    free_patterns(look->inside, look->filter.n_inside);
    free_patterns(look->not_inside, look->filter.n_not_inside);
    free_patterns(look->hide, look->n_hide);
    look->filter.n_inside = look->filter.n_not_inside = look->n_hide = 0;
}

/* ---- groups ---- */

struct group_spans {
    struct hs_stats_span allocations, leaked, interval;
};

static hs_status resolve_group(bool has, const struct hs_stats_range *range, uint64_t whole,
                               struct hs_stats_span *ret, const char *name, struct hs_error *err)
{
    struct hs_stats_whole all = {whole, whole, whole};
    if (has && hs_stats_range_resolve(range, &all, ret, err) != HS_OK)
        return hs_context(err, "--%s", name);
    return HS_OK;
}

static bool keeps_row(const struct hs_trace_look *look, const struct group_spans *spans,
                      const struct hs_trace_row *row)
{
    const struct hs_group_filter *groups = &look->groups;
    if (groups->has_allocations &&
        !hs_stats_span_has(&spans->allocations,
                           hs_trace_allocations(&look->scale, &row->all).value))
        return false;
    uint64_t leaked = (uint64_t)((__uint128_t)row->live.n_samples * HS_PERCENT_WHOLE /
                                 (row->all.n_samples == 0 ? 1 : row->all.n_samples));
    if (groups->has_leaked && !hs_stats_span_has(&spans->leaked, leaked))
        return false;
    return !groups->has_interval ||
           hs_stats_span_has(&spans->interval, (row->last_us - row->first_us) * 1000);
}

hs_status hs_trace_look_keep_rows(const struct hs_trace_look *look,
                                  const struct hs_trace_rows *rows, bool *keeps,
                                  struct hs_error *err)
{
    const struct hs_group_filter *groups = &look->groups;
    struct group_spans spans = {0};
    uint64_t n_allocations = hs_trace_allocations(&look->scale, &rows->total.all).value;
    HS_TRY(resolve_group(groups->has_allocations, &groups->allocations, n_allocations,
                         &spans.allocations, "group-allocations", err));
    HS_TRY(resolve_group(groups->has_leaked, &groups->leaked, HS_PERCENT_WHOLE, &spans.leaked,
                         "group-leaked", err));
    HS_TRY(resolve_group(groups->has_interval, &groups->interval,
                         look->objects.counts.end_us * 1000, &spans.interval, "group-interval",
                         err));
    for (size_t i = 0; i < rows->n; i++)
        keeps[i] = keeps_row(look, &spans, &rows->rows[i]);
    return HS_OK;
}

static hs_status select_rows(struct hs_trace_look *look, const struct hs_trace_rows *rows,
                             struct hs_error *err)
{
    hs_auto_free bool *keeps = NULL;
    HS_TRY(HS_ALLOC(&keeps, rows->n, err));
    HS_TRY(hs_trace_look_keep_rows(look, rows, keeps, err));
    for (uint64_t i = 0; i < look->objects.n; i++) {
        struct hs_trace_object *object = hs_trace_object(&look->objects, i);
        size_t n;
        if (!object->is_selected || keeps[hs_trace_rows_of(rows, object, &n)[0]])
            continue;
        object->is_selected = false;
        look->n_selected--;
    }
    return HS_OK;
}

hs_status hs_trace_look_select_groups(struct hs_tool *tool, struct hs_trace_look *look,
                                      struct hs_error *err)
{
    const struct hs_group_filter *groups = &look->groups;
    if (!groups->has_allocations && !groups->has_leaked && !groups->has_interval)
        return HS_OK;
    struct hs_trace_rows rows = {0};
    hs_status status = hs_trace_rows_init(&rows, &look->objects, &look->places, HS_ROWS_BY_SITE,
                                          hs_tool_budget(tool), err);
    if (status == HS_OK)
        status = select_rows(look, &rows, err);
    hs_trace_rows_fini(&rows);
    return status;
}

/* ---- what was looked at ---- */

static uint64_t words_per_sample(const struct hs_trace_look *look)
{
    return hs_trace_words(&look->scale, 1).value;
}

struct hs_trace_head hs_trace_look_head(const struct hs_trace_look *look, const char *schema)
{
    const struct hs_trace_counts *counts = &look->objects.counts;
    const char *estimates = hs_trace_scale_name(&look->scale);
    return (struct hs_trace_head){{HS_TEXT("schema", schema),
                                   HS_TEXT("trace", look->path),
                                   HS_COUNT("word_bytes", look->info->word_bytes),
                                   HS_COUNT("words_per_sample", words_per_sample(look)),
                                   HS_COUNT("end_us", counts->end_us),
                                   HS_COUNT("peak_us", counts->peak_us),
                                   HS_OBJECT("certainty"),
                                   HS_TEXT("samples", "exact"),
                                   HS_TEXT("times", "exact"),
                                   HS_TEXT("words", estimates),
                                   HS_TEXT("allocations", estimates),
                                   HS_TEXT("shares", estimates),
                                   HS_TEXT("lifetimes", estimates),
                                   HS_END,
                                   HS_OBJECT("selected"),
                                   HS_VALUE("all", BOOL, !hs_trace_look_is_filtered(look)),
                                   HS_COUNT("objects", look->n_selected),
                                   HS_COUNT("of_objects", look->objects.n),
                                   HS_END,
                                   HS_PAIRS_END}};
}

hs_status hs_trace_look_list(const struct hs_trace_look *look, struct hs_tool *tool,
                             const struct hs_invocation *inv, struct hs_listing listing,
                             const char *legend, struct hs_error *err)
{
    listing.no_total = true;
    listing.word_bytes = look->info->word_bytes;
    HS_TRY(hs_tool_list(tool, inv, &listing, err));
    if (hs_tool_format(inv) != HS_FORMAT_TABLE)
        return HS_OK;
    if (legend[0] != 0)
        HS_TRY(hs_tool_say(tool, err, "%s", legend));
    if (look->scale.is_exact)
        return hs_print(&tool->out, err, "exact: every word was sampled\n");
    HS_TRY(hs_tool_say(tool, err,
                       "sampled: words, allocations, shares and lifetimes, from 1 in %llu words; "
                       "+- is a standard error",
                       (unsigned long long)words_per_sample(look)));
    return hs_print(&tool->out, err, "exact: samples and times\n");
}
