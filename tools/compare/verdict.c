#include "verdict.h"

#include <math.h>
#include <stdio.h>
#include <string.h>

#include "base/append.h"
#include "base/units.h"
#include "report/text.h"

enum { NAME_COLUMNS = 160, SPARK_MOST = 24 };

void hs_verdict_change(const struct hs_series *series, double words, char *text, size_t n)
{
    char bytes[HS_UNIT_TEXT_BYTES];
    double size = fabs(words) * series->word_bytes;
    hs_format_bytes(size < 0x1p63 ? (uint64_t)(size + 0.5) : INT64_MAX, bytes);
    const char *sign = words > 0 ? "+" : words < 0 ? "-" : "";
    (void)snprintf(text, n, "%s%s", sign, bytes);
}

void hs_spark(const uint64_t *values, size_t n, char *text)
{
    static const char *const bars[] = {"▁", "▂", "▃", "▄", "▅", "▆", "▇", "█"};
    size_t shown = n < SPARK_MOST ? n : SPARK_MOST;
    uint64_t least = UINT64_MAX, most = 0;
    for (size_t i = 0; i < n; i++) {
        least = values[i] < least ? values[i] : least;
        most = values[i] > most ? values[i] : most;
    }
    text[0] = '\0';
    for (size_t i = 0; i < shown; i++) {
        size_t at = shown == 1 ? 0 : i * (n - 1) / (shown - 1);
        double part = most == least ? 0 : (double)(values[at] - least) / (double)(most - least);
        hs_append(text, HS_SPARK_BYTES, "%s", bars[(size_t)(part * 7 + 0.5)]);
    }
}

struct writer {
    const struct hs_series *series;
    uint32_t row;
    char *text;
    size_t n;
};
#define put(w, ...) hs_append((w)->text, (w)->n, __VA_ARGS__)

static void put_name(const struct writer *w, const char *name)
{
    struct hs_error ignored = HS_ERROR_INIT; /* out of memory: a sentence without the name */
    struct hs_buffer clean = {0}, fit = {0};
    hs_status status = hs_text_sanitise(name, strlen(name), HS_TEXT_TERMINAL, &clean, &ignored);
    if (status == HS_OK && clean.n_bytes != 0)
        status =
            hs_text_fit((const char *)clean.bytes, clean.n_bytes, NAME_COLUMNS, &fit, &ignored);
    if (status == HS_OK && fit.n_bytes != 0)
        put(w, "%.*s", (int)fit.n_bytes, (const char *)fit.bytes);
    hs_buffer_fini(&clean);
    hs_buffer_fini(&fit);
}

bool hs_verdict_is_lost(const struct hs_series *series, uint32_t row)
{
    const struct hs_series_row *of = &series->rows[row];
    return of->list == HS_KEY_LIST_KEYS &&
           (of->form == HS_KEY_UNREACHED ||
            (of->parent != HS_NO_KEY && series->rows[of->parent].form == HS_KEY_UNREACHED));
}

/* Lost blocks have nobody to be called by. */
static void put_key(const struct writer *w)
{
    char key[HS_KEY_TEXT_BYTES];
    const struct hs_series_row *row = &w->series->rows[w->row];
    if (!hs_verdict_is_lost(w->series, w->row)) {
        hs_series_text(w->series, w->row, key, sizeof key);
        put_name(w, key);
        return;
    }
    put(w, "What is lost, as no root leads to it");
    if (row->form == HS_KEY_UNREACHED)
        return;
    put(w, " (");
    put_name(w, hs_strtab_get(&w->series->names, row->name));
    put(w, "),");
}

static void put_change(const struct writer *w, double words)
{
    char text[HS_UNIT_TEXT_BYTES + 2];
    hs_verdict_change(w->series, words, text, sizeof text);
    put(w, "%s", text);
}

static void put_size(const struct writer *w, uint64_t words)
{
    char text[HS_UNIT_TEXT_BYTES];
    hs_format_bytes(words * w->series->word_bytes, text);
    put(w, "%s", text);
}

static void put_from_to(const struct writer *w, uint32_t row)
{
    const uint64_t *words = hs_series_words(w->series, row);
    put(w, "from ");
    put_size(w, words[0]);
    put(w, " to ");
    put_size(w, words[w->series->n - 1]);
}

/* "22 seconds", "5 minutes", "4 hours", "12 days". */
static void put_hours(const struct writer *w, double hours)
{
    if (hours * 3600 < 1.5)
        put(w, "one second");
    else if (hours * 3600 < 90)
        put(w, "%.0f seconds", hours * 3600);
    else if (hours < 2)
        put(w, "%.0f minutes", hours * 60);
    else if (hours < 72)
        put(w, "%.0f hours", hours);
    else if (hours < 24 * 1000)
        put(w, "%.0f days", hours / 24);
    else
        put(w, "years");
}

/* " in 22 seconds": from the first snapshot to the last. */
static void put_span(const struct writer *w)
{
    const struct hs_series *series = w->series;
    const uint64_t *times = series->taken_ns;
    if (times[0] != 0 && times[series->n - 1] > times[0]) {
        put(w, " in ");
        put_hours(w, (double)(times[series->n - 1] - times[0]) / 3.6e12);
    }
}

static void put_range(const struct writer *w)
{
    const uint64_t *objects = hs_series_objects(w->series, w->row);
    size_t last = w->series->n - 1;
    put_from_to(w, w->row);
    put_span(w);
    if (objects[last] > objects[0])
        put(w, ", from %llu to %llu objects", (unsigned long long)objects[0],
            (unsigned long long)objects[last]);
    else
        put(w, ", in no more objects than before: what is there gets larger");
}

static void put_rate(const struct writer *w)
{
    double rate = hs_series_rate(w->series, w->row);
    bool doubles;
    if (!(rate > 0))
        return;
    double hours = hs_series_hours_left(w->series, rate, &doubles);
    put(w, " ");
    put_change(w, rate);
    put(w, " an hour");
    if (!isnan(hours)) {
        put(w, doubles ? "; the process has twice its size in " : "; memory is full in ");
        put_hours(w, hours);
    }
    put(w, ".");
}

static void put_sites(const struct writer *w)
{
    for (size_t i = 0; i < w->series->n_sites; i++) {
        put(w, i == 0 ? " Allocated by " : ", ");
        put_name(w, hs_strtab_get(&w->series->names, w->series->sites[i].name));
    }
    if (w->series->n_sites != 0)
        put(w, ".");
}

static const char *why_unsure(const struct hs_series *series, const struct hs_series_score *score)
{
    if (series->n == 3)
        return "three snapshots cannot tell a leak from a load";
    if (score->even < HS_GROWTH_LEAST_EVEN)
        return "unevenly, as caches and loads do, too";
    if (score->lasting < HS_GROWTH_LEAST_LASTING)
        return "ever more slowly, as a cache does that fills";
    if (score->chance > HS_GROWTH_MOST_CHANCE)
        return "as one of the keys that move up and down may by chance";
    return "by less than 0.01 % of the heap a step";
}

static void put_none(const struct writer *w)
{
    const struct hs_series *series = w->series;
    size_t n_steps = series->n - 1;
    if (series->n == 2)
        put(w, "Nothing grew. The heap went ");
    else if (series->rows[0].score.n_up == n_steps)
        put(w, "No key grew at every one of the %zu steps. The heap did, ", n_steps);
    else
        put(w, "Nothing grew at every one of the %zu steps. The heap went ", n_steps);
    put_from_to(w, 0);
    put(w, ".");
}

/* The heap alone, and what it is that there is more of. */
static void put_heap(struct writer *w)
{
    uint32_t types[3];
    size_t n = hs_series_types(w->series, types, 3);
    w->row = 0;
    put(w, "The heap as a whole grows at every step, ");
    put_from_to(w, 0);
    put_span(w);
    put(w, ", and no key has half of that: what hangs on which root changes from dump to dump, as "
           "where the objects of a runtime hold each other.");
    put_rate(w);
    for (size_t i = 0; i < n; i++) {
        put(w, i == 0 ? " There is more of " : i + 1 < n ? ", " : " and ");
        put_name(w, hs_strtab_get(&w->series->names, w->series->rows[types[i]].name));
        put(w, " (");
        put_change(w, w->series->rows[types[i]].growth_words);
        put(w, ")");
    }
    put(w, n != 0 ? "." : "");
}

static void put_found(const struct writer *w)
{
    const struct hs_series *series = w->series;
    const struct hs_series_row *row = &series->rows[w->row];
    put_key(w);
    if (series->growth == HS_GROWTH_TWO)
        put(w, " grew most, ");
    else if (series->growth == HS_GROWTH_STEADY)
        put(w, " grows at %s step, ", row->score.n_up == series->n - 1 ? "every" : "nearly every");
    else
        put(w,
            " grew at %s step, %s: ", row->score.n_up == series->n - 1 ? "every" : "nearly every",
            why_unsure(series, &row->score));
    put_range(w);
    put(w, ".");
    put_rate(w);
    put_sites(w);
    if (series->growth == HS_GROWTH_TWO)
        put(w, " Two snapshots cannot tell a leak from a load: dump again later, and compare all.");
}

bool hs_verdict_is_of_heap(const struct hs_series *series)
{
    return series->heap_grows && series->growth != HS_GROWTH_STEADY;
}

/* Writes the garbage of a collector, apart from what grew. */
static void put_garbage(const struct writer *w)
{
    const struct hs_series *series = w->series;
    if (series->garbage == HS_NO_KEY || !(series->rows[series->garbage].growth_words > 0))
        return;
    put(w, " Garbage, which the collector will free, went ");
    put_from_to(w, series->garbage);
    put(w, ".");
}

static void put_growth(struct writer *w)
{
    const struct hs_series *series = w->series;
    if (hs_verdict_is_of_heap(series)) {
        put_heap(w);
        return;
    }
    if (series->n_found == 0) {
        put_none(w);
        return;
    }
    w->row = series->found[0];
    put_found(w);
    if (!series->heap_grows)
        return;
    put(w, " The heap as a whole grows by more, ");
    put_from_to(w, 0);
    put(w, ".");
}

void hs_verdict_text(const struct hs_series *series, bool are_same, char *text, size_t n)
{
    struct writer w = {.series = series, .text = text, .n = n};
    text[0] = '\0';
    if (are_same) {
        put(&w, "Nothing grew: these are the same snapshot.");
        return;
    }
    put_growth(&w);
    put_garbage(&w);
}
