#include "diff_print.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "analysis/leak_groups.h"
#include "base/append.h"
#include "base/units.h"
#include "diff_rows.h"
#include "report/text.h"
#include "verdict.h"

enum { SHORT_ROWS = 10, TABLE_ROWS = 40 };

static const struct hs_series *series_of(const struct hs_diff_print *print)
{
    return &print->comparison->series;
}

static bool is_asked(const struct hs_invocation *inv, unsigned list)
{
    return !hs_given(inv, HS_OPT_DIFF_BY) || inv->number[HS_OPT_DIFF_BY] == list;
}

/* ---- JSON */

/* Puts whole words of a figure that may be negative or unknown. */
static void put_whole(struct hs_json *json, const char *key, double value)
{
    if (isnan(value))
        hs_json_null(json, key);
    else
        hs_json_i64(json, key, fabs(value) < 0x1p62 ? (int64_t)llround(value) : INT64_MAX);
}

static void put_values(struct hs_json *json, const char *key, const uint64_t *values, size_t n)
{
    hs_json_begin_array(json, key, HS_JSON_LINE);
    for (size_t i = 0; i < n; i++)
        hs_json_u64(json, NULL, values[i]);
    hs_json_end_array(json);
}

static void put_name(struct hs_json *json, const struct hs_series *series, uint32_t row)
{
    static const char *const keys[] = {"key", "root", "set", "type", "type"};
    const struct hs_series_row *of = &series->rows[row];
    char text[HS_KEY_TEXT_BYTES];
    hs_series_text(series, row, text, sizeof text);
    hs_json_string(json, keys[of->list], text);
    if (of->list != HS_KEY_LIST_LEAKS)
        return;
    hs_json_string(json, "certainty", hs_leak_certainty_name(of->form));
    hs_json_u64(json, "words_each", of->each_words);
}

static void put_row(struct hs_json *json, const struct hs_series *series, uint32_t row, bool is_one)
{
    const struct hs_series_row *of = &series->rows[row];
    hs_json_begin_object(json, NULL, HS_JSON_LINE);
    if (is_one)
        hs_json_string(json, "list", hs_key_list_name(of->list));
    put_name(json, series, row);
    put_values(json, "words", hs_series_words(series, row), series->n);
    if (of->list == HS_KEY_LIST_KEYS)
        put_values(json, "own_words", series->own_words + row * series->n, series->n);
    put_values(json, "objects", hs_series_objects(series, row), series->n);
    put_whole(json, "score", ceil(of->score.score));
    put_whole(json, "growth_words", of->growth_words);
    put_whole(json, "words_per_hour", hs_series_rate(series, row));
    hs_json_u64(json, "steps_up", of->score.n_up);
    hs_json_string(json, "state", hs_diff_row_state(series, row));
    hs_json_end_object(json);
}

/* Puts the rows of one list; in NDJSON one a line. */
static hs_status put_list(struct hs_json *json, const struct hs_invocation *inv,
                          const struct hs_series *series, unsigned list, bool is_one,
                          struct hs_error *err)
{
    uint64_t most = hs_tool_rows(inv);
    struct hs_diff_rows rows;
    HS_TRY(hs_diff_rows_of(series, list, /* all= */ true, &rows, err));
    for (size_t i = 0; i < rows.n && i < most; i++)
        put_row(json, series, rows.rows[i], is_one);
    hs_diff_rows_fini(&rows);
    return HS_OK;
}

static void put_snapshots(struct hs_json *json, const struct hs_comparison *comparison)
{
    hs_json_begin_array(json, "snapshots", HS_JSON_BLOCK);
    for (size_t i = 0; i < comparison->n; i++) {
        const struct hs_compared *file = &comparison->files[i];
        const struct hs_key_facts *facts = &file->keys.facts;
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_string(json, "snapshot", file->path);
        hs_json_u64(json, "pid", facts->pid);
        if (facts->taken_ns != 0)
            hs_json_u64(json, "taken_ns", facts->taken_ns);
        else
            hs_json_null(json, "taken_ns");
        hs_json_u64(json, "heap_words", facts->heap_words);
        hs_json_bool(json, "baseline", file->is_base);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
}

/* Puts the class by whose number the first sentence tells what grew. */
static void put_population(struct hs_json *json, const struct hs_series *series)
{
    uint32_t row = series->population;
    if (row == HS_NO_KEY) {
        hs_json_null(json, "population");
        return;
    }
    hs_json_begin_object(json, "population", HS_JSON_LINE);
    hs_json_string(json, "type", hs_strtab_get(&series->names, series->rows[row].name));
    hs_json_begin_array(json, "objects", HS_JSON_LINE);
    for (size_t t = 0; t < series->n; t++)
        hs_json_u64(json, NULL, hs_series_own_objects(series, row, t));
    hs_json_end_array(json);
    hs_json_end_object(json);
}

/* Puts the memory of the oldest and of the newest; the parts add up to what is resident. */
static void put_memory(struct hs_json *json, const struct hs_diff_print *print)
{
    static const char *const names[HS_N_BALANCE_PARTS] = {
        [HS_BALANCE_LIVE] = "heap_bytes",         [HS_BALANCE_FREE] = "free_bytes",
        [HS_BALANCE_MAPPINGS] = "mappings_bytes", [HS_BALANCE_STACKS] = "stacks_bytes",
        [HS_BALANCE_TABLES] = "tables_bytes",     [HS_BALANCE_BINARIES] = "binaries_bytes",
        [HS_BALANCE_OTHER] = "others_bytes",      [HS_BALANCE_ABSENT] = "not_read_bytes",
    };
    if (print->ends[0].resident_bytes == 0 || print->ends[1].resident_bytes == 0) {
        hs_json_null(json, "memory");
        return;
    }
    hs_json_begin_array(json, "memory", HS_JSON_BLOCK);
    for (size_t i = 0; i < 2; i++) {
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_u64(json, "resident_bytes", print->ends[i].resident_bytes);
        for (unsigned part = 0; part < HS_N_BALANCE_PARTS; part++)
            hs_json_u64(json, names[part], print->ends[i].bytes[part]);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
}

static void put_answer(struct hs_json *json, const struct hs_diff_print *print)
{
    const struct hs_series *series = series_of(print);
    char text[HS_VERDICT_BYTES], key[HS_KEY_TEXT_BYTES];
    hs_verdict_text(series, print->comparison->are_same, text, sizeof text);
    put_memory(json, print);
    hs_json_string(json, "balance", hs_or_null(print->balance));
    hs_json_string(json, "balance_verdict", hs_or_null(print->balance_verdict));
    hs_json_string(json, "verdict", text);
    hs_json_string(json, "growth", hs_growth_name(series->growth));
    put_population(json, series);
    if (series->n_found == 0)
        hs_json_null(json, "growing");
    else
        hs_series_text(series, series->found[0], key, sizeof key);
    if (series->n_found != 0)
        hs_json_string(json, "growing", key);
    hs_json_begin_array(json, "sites", HS_JSON_LINE);
    for (size_t i = 0; i < series->n_sites; i++)
        hs_json_string(json, NULL, hs_strtab_get(&series->names, series->sites[i].name));
    hs_json_end_array(json);
    hs_json_string(json, "command", print->example);
    hs_json_bool(json, "command_is_of_new", print->example_is_new);
    hs_json_string(json, "place", print->place.place);
    if (print->place.has_entries)
        put_values(json, "entries", (const uint64_t[]){print->place.then, print->place.now}, 2);
    else
        hs_json_null(json, "entries");
    hs_json_bool(json, "heap_grows", series->heap_grows);
}

static hs_status print_json(struct hs_tool *tool, const struct hs_invocation *inv,
                            const struct hs_diff_print *print, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.diff/1");
    hs_json_u64(&json, "word_bytes", series_of(print)->word_bytes);
    put_snapshots(&json, print->comparison);
    put_answer(&json, print);
    for (unsigned list = 0; list < HS_KEY_LIST_SITES; list++) {
        if (!is_asked(inv, list))
            continue;
        hs_json_begin_array(&json, hs_key_list_name(list), HS_JSON_BLOCK);
        HS_TRY(put_list(&json, inv, series_of(print), list, /* is_one= */ false, err));
        hs_json_end_array(&json);
    }
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

static hs_status print_ndjson(struct hs_tool *tool, const struct hs_invocation *inv,
                              const struct hs_diff_print *print, struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, HS_JSON_COMPACT);
    for (unsigned list = 0; list < HS_KEY_LIST_SITES; list++)
        if (is_asked(inv, list))
            HS_TRY(put_list(&json, inv, series_of(print), list, /* is_one= */ true, err));
    return hs_json_finish(&json, err);
}

/* ---- table and TSV */

struct line {
    const char *list, *spark, *growth_words, *words_per_hour, *steps_up, *state, *key;
    uint64_t words, objects, score;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, STRING, list, "LIST", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(2, STRING, spark, "SERIES", HS_COLUMN_TABLE_ONLY),
    HS_COLUMN(3, STRING, growth_words, "    GROWTH", 0),
    HS_COLUMN(4, STRING, words_per_hour, "  AN HOUR", HS_COLUMN_SPARE(1) | HS_COLUMN_IF_KNOWN),
    HS_COLUMN(5, STRING, steps_up, "UP", HS_COLUMN_NARROW(1)),
    HS_COLUMN(6, WORDS, words, "NOW", 0),
    HS_COLUMN(7, COUNT, objects, "OBJECTS", HS_COLUMN_SPARE(2)),
    HS_COLUMN(8, STRING, state, "STATE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(9, COUNT, score, "SCORE", HS_COLUMN_DATA_ONLY),
    HS_COLUMN(10, STRING, key, "KEY", HS_COLUMN_FLEXIBLE),
};
static const struct hs_record record = HS_RECORD(fields);

struct table {
    const struct hs_series *series;
    struct hs_diff_rows rows;
    unsigned list;
    uint64_t most;
    bool human, is_tsv;
};

static void change_text(const struct table *table, double words, char *text, size_t n)
{
    char change[HS_UNIT_TEXT_BYTES + 2];
    if (!table->human) {
        (void)snprintf(text, n, "%*.0f", table->is_tsv ? 0 : 10, isnan(words) ? 0 : words);
        return;
    }
    hs_verdict_change(table->series, words, change, sizeof change);
    (void)snprintf(text, n, "%10s", change);
}

static hs_status put_line(struct hs_sink *sink, const struct table *table, uint32_t row,
                          struct hs_error *err)
{
    const struct hs_series *series = table->series;
    const struct hs_series_row *of = &series->rows[row];
    char spark[HS_SPARK_BYTES], growth[48], rate[48], up[48], key[HS_KEY_TEXT_BYTES];
    hs_spark(hs_series_words(series, row), series->n, spark);
    change_text(table, of->growth_words, growth, sizeof growth);
    double an_hour = hs_series_rate(series, row);
    change_text(table, an_hour, rate, sizeof rate);
    (void)snprintf(up, sizeof up, table->is_tsv ? "%u" : "%u/%zu", of->score.n_up, series->n - 1);
    hs_series_text(series, row, key, sizeof key);
    const struct line line = {
        .list = hs_key_list_name(of->list),
        .spark = spark,
        .growth_words = growth,
        .words_per_hour = isnan(an_hour) || (!table->is_tsv && an_hour <= 0) ? NULL : rate,
        .steps_up = up,
        .state = hs_diff_row_state(series, row),
        .key = key,
        .words = hs_series_words(series, row)[series->n - 1],
        .objects = hs_series_objects(series, row)[series->n - 1],
        .score = (uint64_t)fmin(ceil(of->score.score), 0x1p62),
    };
    return hs_sink_row(sink, &line, err);
}

static hs_status put_lines(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct table *table = context;
    for (size_t i = 0; i < table->rows.n && i < table->most; i++)
        HS_TRY(put_line(sink, table, table->rows.rows[i], err));
    return HS_OK;
}

static hs_status print_list(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct table *table, struct hs_error *err)
{
    const struct hs_list list = {.record = &record, .each = put_lines, .context = table};
    const struct hs_listing listing = {
        .rows = &list, .no_total = true, .word_bytes = table->series->word_bytes};
    return hs_tool_list(tool, inv, &listing, err);
}

/* The garbage of a collector apart, which is no growth: all of it where keys are asked for. */
static hs_status print_garbage(struct hs_tool *tool, const struct hs_invocation *inv,
                               struct table *table, size_t n_others, struct hs_error *err)
{
    size_t n = table->rows.n_garbage;
    if (n == 0)
        return HS_OK;
    if (!hs_given(inv, HS_OPT_DIFF_BY))
        return hs_print(&tool->out, err,
                        "[unreached, which the collector will free: %zu changed]\n", n);
    struct hs_diff_rows rows = table->rows;
    table->rows = (struct hs_diff_rows){.rows = rows.rows + n_others, .n = n};
    hs_status status = hs_print(&tool->out, err, "\nunreached: what the collector will free\n");
    if (status == HS_OK)
        status = print_list(tool, inv, table, err);
    table->rows = rows;
    return status;
}

/* A heading, the rows of a list, and how many more there are. */
static hs_status print_part(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct table *table, struct hs_error *err)
{
    static const char *const titles[] = {
        "keys: who holds it, and what", "roots, by what they retain",
        "owner sets: several roots together", "types", "lost blocks, by type and size"};
    size_t n_all = table->rows.n, n = n_all - table->rows.n_garbage;
    if (n_all == 0)
        return HS_OK;
    table->rows.n = n;
    hs_status status = hs_print(&tool->out, err, "\n%s\n", titles[table->list]);
    if (status == HS_OK && n != 0)
        status = print_list(tool, inv, table, err);
    if (status == HS_OK && n > table->most)
        status = hs_print(&tool->out, err, "[%zu others changed]\n", n - (size_t)table->most);
    table->rows.n = n_all;
    return status == HS_OK ? print_garbage(tool, inv, table, n, err) : status;
}

static uint64_t rows_of_table(const struct hs_invocation *inv)
{
    if (hs_given(inv, HS_OPT_ROWS))
        return hs_tool_rows(inv);
    return hs_given(inv, HS_OPT_DIFF_BY) ? TABLE_ROWS : SHORT_ROWS;
}

static bool is_of_lost(const struct hs_series *series)
{
    return series->n_found != 0 && !hs_verdict_is_of_heap(series) &&
           hs_verdict_is_lost(series, series->found[0]);
}

/* Tells whether the sentence has all that the place says: its root, and no number of elements. */
static bool is_told(const struct hs_series *series, const struct hs_grown_place *place)
{
    uint32_t row = series->found[0];
    while (series->rows[row].form == HS_KEY_TYPE && series->rows[row].parent != HS_NO_KEY)
        row = series->rows[row].parent;
    return place->place == NULL ||
           (!place->has_entries &&
            strcmp(place->place, hs_strtab_get(&series->names, series->rows[row].name)) == 0);
}

/* "At app->repo.cache_: 60001, then 74400 elements." */
static hs_status print_place(struct hs_tool *tool, const struct hs_diff_print *print,
                             struct hs_error *err)
{
    enum { COLUMNS = 100 };
    const struct hs_grown_place *place = &print->place;
    struct hs_buffer clean = {0}, fit = {0};
    if (series_of(print)->n_found == 0 || is_told(series_of(print), place))
        return HS_OK;
    hs_status status =
        hs_text_sanitise(place->place, strlen(place->place), HS_TEXT_TERMINAL, &clean, err);
    if (status == HS_OK)
        status = hs_text_fit((const char *)clean.bytes, clean.n_bytes, COLUMNS, &fit, err);
    if (status == HS_OK && place->has_entries)
        status = hs_tool_say(tool, err, "At %.*s: %llu, then %llu elements.", (int)fit.n_bytes,
                             (const char *)fit.bytes, (unsigned long long)place->then,
                             (unsigned long long)place->now);
    else if (status == HS_OK)
        status = hs_tool_say(tool, err, "At %.*s.", (int)fit.n_bytes, (const char *)fit.bytes);
    hs_buffer_fini(&clean);
    hs_buffer_fini(&fit);
    return status;
}

static hs_status print_verdict(struct hs_tool *tool, const struct hs_diff_print *print,
                               struct hs_error *err)
{
    char text[HS_VERDICT_BYTES];
    if (print->balance[0] != '\0')
        HS_TRY(hs_tool_say(tool, err, "%s", print->balance));
    if (print->balance_verdict[0] != '\0')
        HS_TRY(hs_tool_say(tool, err, "!  %s", print->balance_verdict));
    hs_verdict_text(series_of(print), print->comparison->are_same, text, sizeof text);
    HS_TRY(hs_tool_say(tool, err, "%s", text));
    HS_TRY(print_place(tool, print, err));
    if (print->example == NULL)
        return HS_OK;
    const struct hs_series *series = series_of(print);
    bool is_of_heap = hs_verdict_is_of_heap(series);
    bool is_lost = is_of_lost(series);
    /* On one line, be it longer than the terminal: it is there to be copied. */
    HS_TRY(hs_print(&tool->out, err, "%s: ",
                    is_of_heap              ? "Who holds most of it"
                    : is_lost               ? "All that is lost"
                    : print->example_is_new ? "One of the new ones"
                                            : "One of them"));
    HS_TRY(hs_tool_print_clean(tool, print->example, err));
    return hs_print(&tool->out, err, "\n");
}

/* Tells whether a list is printed: keys, of what is lost the lost blocks, or the one asked for. */
static bool is_printed(const struct hs_invocation *inv, const struct hs_series *series,
                       unsigned list)
{
    if (hs_given(inv, HS_OPT_DIFF_BY))
        return is_asked(inv, list);
    return list == HS_KEY_LIST_KEYS || (list == HS_KEY_LIST_LEAKS && is_of_lost(series));
}

/* "[--by root: 3 changed; --by type: 9 changed]" */
static hs_status print_others(struct hs_tool *tool, const size_t *n_left, struct hs_error *err)
{
    static const char *const names[] = {"key", "root", "set", "type", "leak"};
    char text[HS_VERDICT_BYTES] = "";
    for (unsigned list = 0; list < HS_KEY_LIST_SITES; list++)
        if (n_left[list] != 0)
            hs_append(text, sizeof text, "%s--by %s: %zu changed", text[0] == '\0' ? "" : "; ",
                      names[list], n_left[list]);
    return text[0] == '\0' ? HS_OK : hs_print(&tool->out, err, "\n[%s]\n", text);
}

static hs_status print_table(struct hs_tool *tool, const struct hs_invocation *inv,
                             const struct hs_diff_print *print, struct hs_error *err)
{
    struct table table = {.series = series_of(print),
                          .most = rows_of_table(inv),
                          .human = tool->terminal.is_terminal};
    size_t n_left[HS_KEY_LIST_SITES] = {0};
    HS_TRY(print_verdict(tool, print, err));
    for (table.list = 0; table.list < HS_KEY_LIST_SITES; table.list++) {
        hs_status status = HS_OK;
        HS_TRY(hs_diff_rows_of(table.series, table.list, /* all= */ false, &table.rows, err));
        if (is_printed(inv, table.series, table.list))
            status = print_part(tool, inv, &table, err);
        else
            n_left[table.list] = table.rows.n;
        hs_diff_rows_fini(&table.rows);
        HS_TRY(status);
    }
    return hs_given(inv, HS_OPT_DIFF_BY) ? HS_OK : print_others(tool, n_left, err);
}

/* Puts the rows of all lists as one, below one heading. */
static hs_status put_all(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct table *table = context;
    const uint64_t asked = table->list;
    for (unsigned list = 0; list < HS_KEY_LIST_SITES; list++) {
        if (asked != HS_N_KEY_LISTS && asked != list)
            continue;
        HS_TRY(hs_diff_rows_of(table->series, list, /* all= */ true, &table->rows, err));
        hs_status status = put_lines(table, sink, err);
        hs_diff_rows_fini(&table->rows);
        HS_TRY(status);
    }
    return HS_OK;
}

static hs_status print_tsv(struct hs_tool *tool, const struct hs_invocation *inv,
                           const struct hs_diff_print *print, struct hs_error *err)
{
    struct table table = {.series = series_of(print),
                          .most = hs_tool_rows(inv),
                          .list = HS_N_KEY_LISTS,
                          .is_tsv = true};
    if (hs_given(inv, HS_OPT_DIFF_BY))
        table.list = (unsigned)inv->number[HS_OPT_DIFF_BY];
    const struct hs_list list = {.record = &record, .each = put_all, .context = &table};
    const struct hs_listing listing = {
        .rows = &list, .no_total = true, .word_bytes = table.series->word_bytes};
    return hs_tool_list(tool, inv, &listing, err);
}

hs_status hs_diff_print(struct hs_tool *tool, const struct hs_invocation *inv,
                        const struct hs_diff_print *print, struct hs_error *err)
{
    switch (hs_tool_format(inv)) {
    case HS_FORMAT_JSON:
        return print_json(tool, inv, print, err);
    case HS_FORMAT_NDJSON:
        return print_ndjson(tool, inv, print, err);
    case HS_FORMAT_TSV:
        return print_tsv(tool, inv, print, err);
    default:
        return print_table(tool, inv, print, err);
    }
}
