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

/* Calls a population by its root and the records on the way to it: of containers between them the
 * key says more than a reader wants, and of the population the number tells. */
static void record_way(const struct hs_series *series, uint32_t row, char *text, size_t n)
{
    enum { DEPTH = HS_KEY_STEPS + 4 };
    uint32_t way[DEPTH];
    size_t depth = 0;
    for (uint32_t i = series->rows[row].parent; i != HS_NO_KEY && depth < DEPTH;
         i = series->rows[i].parent)
        if (series->rows[i].form == HS_KEY_ROOT || hs_series_is_record(series, i))
            way[depth++] = i;
    text[0] = '\0';
    while (depth-- > 0)
        hs_append(text, n, "%s%s", text[0] == '\0' ? "" : " > ",
                  hs_strtab_get(&series->names, series->rows[way[depth]].name));
}

/* Lost blocks have nobody to be called by. */
static void put_key(const struct writer *w)
{
    char key[HS_KEY_TEXT_BYTES];
    const struct hs_series *series = w->series;
    const struct hs_series_row *row = &series->rows[w->row];
    if (!hs_verdict_is_lost(series, w->row)) {
        if (w->row == series->population)
            record_way(series, w->row, key, sizeof key);
        else
            hs_series_text(series, w->row, key, sizeof key);
        put_name(w, key);
        return;
    }
    put(w, "What is lost, as no root leads to it");
    if (row->form == HS_KEY_UNREACHED) {
        put(w, ",");
        return;
    }
    put(w, " (");
    put_name(w, hs_strtab_get(&series->names, row->name));
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

/* Puts the name of several: "blocks of 56 bytes", "entries of std::map<int, Order>", "Error" */
static void put_kind(const struct writer *w, const char *name)
{
    static const char block[] = "block ", node[] = "::node";
    char entries[HS_KEY_TEXT_BYTES];
    size_t n = strlen(name);
    if (strncmp(name, block, strlen(block)) == 0) {
        put(w, "blocks ");
        name += strlen(block);
    } else if (n > strlen(node) && n < sizeof entries &&
               strcmp(name + n - strlen(node), node) == 0) {
        (void)snprintf(entries, sizeof entries, "%.*s", (int)(n - strlen(node)), name);
        put(w, "entries of ");
        name = entries;
    }
    put_name(w, name);
}

/* ", from 1000 to 1420 ValueError" */
static void put_population(const struct writer *w)
{
    const struct hs_series *series = w->series;
    uint32_t row = series->population;
    put(w, ", from %llu to %llu ", (unsigned long long)hs_series_own_objects(series, row, 0),
        (unsigned long long)hs_series_own_objects(series, row, series->n - 1));
    put_kind(w, hs_strtab_get(&series->names, series->rows[row].name));
    if (series->rows[row].held_growth * 10 > series->rows[row].growth_words * 11)
        put(w, " with what hangs on them");
}

/* ": 98 % of what the heap grew by" */
static void put_share(const struct writer *w)
{
    const struct hs_series *series = w->series;
    double all = hs_verdict_heap_growth(series), share;
    share = all > 0 ? series->rows[w->row].growth_words / all : 0;
    if (share > 0 && share <= 1)
        put(w, ": %.0f %% of what the heap grew by", floor(share * 100));
}

static void put_range(const struct writer *w)
{
    const uint64_t *objects = hs_series_objects(w->series, w->row);
    size_t last = w->series->n - 1;
    put_from_to(w, w->row);
    put_span(w);
    if (w->series->population != HS_NO_KEY)
        put_population(w);
    else if (objects[last] > objects[0])
        put(w, ", from %llu to %llu objects", (unsigned long long)objects[0],
            (unsigned long long)objects[last]);
    else
        put(w, ", in no more objects than before: what is there gets larger");
    put_share(w);
}

static void put_rate(const struct writer *w)
{
    const struct hs_series *series = w->series;
    double rate = hs_series_rate(series, w->row);
    bool doubles, is_known = series->resident_bytes != 0 && series->first_resident_bytes != 0;
    /* Growth that took the place of other memory of the process has no end to tell of. */
    if (!(rate > 0) || (is_known && series->resident_bytes <= series->first_resident_bytes))
        return;
    double hours = hs_series_hours_left(series, rate, &doubles);
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

double hs_verdict_heap_growth(const struct hs_series *series)
{
    double garbage = series->garbage == HS_NO_KEY ? 0 : series->rows[series->garbage].growth_words;
    return series->rows[0].growth_words - garbage;
}

/* Tells whether so many bytes more are worth a word: half a MiB, and 2 % of the resident memory. */
static bool is_much(const struct hs_series *series, double bytes)
{
    enum { LEAST_BYTES = 1 << 19, LEAST_PART = 50 };
    return bytes >= LEAST_BYTES && bytes >= (double)series->resident_bytes / LEAST_PART;
}

enum hs_much hs_verdict_much(const struct hs_series *series)
{
    double word_bytes = series->word_bytes, found = 0;
    double resident = (double)series->resident_bytes - (double)series->first_resident_bytes;
    if (series->resident_bytes == 0 || series->first_resident_bytes == 0 ||
        series->growth == HS_GROWTH_STEADY || series->heap_grows)
        return HS_MUCH;
    if (series->n_found != 0)
        found = series->rows[series->found[0]].growth_words;
    if (is_much(series, found * word_bytes) ||
        is_much(series, hs_verdict_heap_growth(series) * word_bytes))
        return HS_MUCH;
    return is_much(series, resident) ? HS_MUCH_BUT_THE_HEAP : HS_NOT_MUCH;
}

/* Takes the row that the sentence is of: what stands for what was found, all that is lost. */
static uint32_t row_to_tell(const struct hs_series *series)
{
    uint32_t found = series->found[0];
    if (series->population == HS_NO_KEY)
        return found;
    if (series->rows[series->population].list == HS_KEY_LIST_KEYS)
        return series->population;
    return series->rows[found].form == HS_KEY_UNREACHED ? found : series->rows[found].parent;
}

/* Writes what grew too little for more than one clause. */
static void put_little(struct writer *w, enum hs_much much)
{
    put(w, much == HS_NOT_MUCH ? "Nothing grew to speak of: "
                               : "Of the live heap nothing grew to speak of: ");
    put_key(w);
    put(w, " grew most, ");
    put_range(w);
    put(w, ".");
}

static void put_found(const struct writer *w)
{
    const struct hs_series *series = w->series;
    const struct hs_series_row *row = &series->rows[series->found[0]];
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
    w->row = row_to_tell(series);
    enum hs_much much = hs_verdict_much(series);
    if (much != HS_MUCH) {
        put_little(w, much);
        return;
    }
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
