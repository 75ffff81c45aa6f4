#include "growth.h"

#include <math.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "analysis/series.h"
#include "base/alloc.h"
#include "compare/verdict.h"
#include "kept_keys.h"

enum { MOST_TABLES = 48, DIRECTORY_BYTES = 40 };
/* A rate is of so many dumps: fewer say nothing, and what was long ago does not count. */
enum { RATE_LEAST = 4, RATE_MOST = 8 };

struct growth {
    int dir_fd;
    struct hs_watch_keys keys;
    struct hs_snap_keys tables[MOST_TABLES];
    const struct hs_snap_keys *borrowed[MOST_TABLES];
    const char *names[MOST_TABLES]; /* of `keys` */
    size_t n_tables;
};

/* The newest ones that can be read, at most so many. */
static void read_tables(struct growth *growth, size_t most)
{
    const struct hs_watch_keys *keys = &growth->keys;
    for (size_t i = keys->n > most ? keys->n - most : 0; i < keys->n; i++) {
        struct hs_error ignored = HS_ERROR_INIT;
        char path[HS_WATCH_KEYS_NAME_BYTES + DIRECTORY_BYTES];
        struct hs_snap_keys *table = &growth->tables[growth->n_tables];
        (void)snprintf(path, sizeof path, "/proc/self/fd/%d/%s", growth->dir_fd,
                       keys->files[i].name);
        if (hs_key_file_read(path, table, &ignored) != HS_OK)
            continue;
        growth->names[growth->n_tables] = keys->files[i].name;
        growth->borrowed[growth->n_tables++] = table;
    }
}

static hs_status growth_open(int dir_fd, uint64_t first_number, size_t most, struct growth **ret,
                             struct hs_error *err)
{
    struct growth *growth;
    HS_TRY(HS_ALLOC(&growth, 1, err));
    growth->dir_fd = dir_fd;
    hs_status status = hs_watch_keys_scan(dir_fd, first_number, &growth->keys, err);
    if (status != HS_OK) {
        hs_free(growth);
        return status;
    }
    read_tables(growth, most);
    *ret = growth;
    return HS_OK;
}

static void growth_close(struct growth *growth)
{
    for (size_t i = 0; i < growth->n_tables; i++)
        hs_snap_keys_fini(&growth->tables[i]);
    hs_watch_keys_fini(&growth->keys);
    hs_free(growth);
}

static void tell(const struct hs_series *series, const char *event, const char *since,
                 struct hs_watch_log *log)
{
    struct hs_watch_line line;
    char text[HS_VERDICT_BYTES], key[HS_KEY_TEXT_BYTES];
    hs_watch_line_begin(&line, (int64_t)time(NULL), event);
    hs_watch_line_text(&line, "since", since);
    hs_watch_line_u64(&line, "snapshots", series->n);
    hs_watch_line_text(&line, "growth", hs_growth_name(series->growth));
    if (series->n_found != 0) {
        const struct hs_series_row *row = &series->rows[series->found[0]];
        hs_series_text(series, series->found[0], key, sizeof key);
        key[128] = '\0'; /* a line has room for the sentence, too */
        hs_watch_line_text(&line, "key", key);
        hs_watch_line_u64(&line, "grew_bytes",
                          (uint64_t)fmax(row->growth_words, 0) * series->word_bytes);
    }
    hs_verdict_text(series, /* are_same= */ false, text, sizeof text);
    hs_watch_line_text(&line, "verdict", text);
    hs_watch_log_put(log, &line);
}

static hs_status compare(const struct growth *growth, size_t first, const char *event,
                         struct hs_watch_log *log, struct hs_error *err)
{
    struct hs_series series;
    HS_TRY(hs_series_find(growth->borrowed + first, growth->n_tables - first, NULL, &series, err));
    tell(&series, event, growth->names[first], log);
    hs_series_fini(&series);
    return HS_OK;
}

static hs_status look(const struct growth *growth, struct hs_watch_log *log, struct hs_error *err)
{
    if (growth->n_tables < 2)
        return HS_OK;
    HS_TRY(compare(growth, growth->n_tables - 2, "diff", log, err));
    return growth->n_tables == 2 ? HS_OK : compare(growth, 0, "growth", log, err);
}

hs_status hs_watch_growth_tell(int dir_fd, uint64_t first_number, struct hs_watch_log *log,
                               struct hs_error *err)
{
    struct growth *growth;
    HS_TRY(growth_open(dir_fd, first_number, MOST_TABLES, &growth, err));
    hs_status status = look(growth, log, err);
    growth_close(growth);
    return status;
}

/* ---- the rate ---- */

static void find_fastest(const struct hs_series *series, struct hs_watch_rate *ret)
{
    if (series->heap_grows && series->rows[0].words_per_hour > 0) {
        ret->bytes_per_hour = series->rows[0].words_per_hour * series->word_bytes;
        (void)snprintf(ret->key, sizeof ret->key, "[the whole heap]");
    }
    for (size_t i = 0; i < series->n_found; i++) {
        double words = series->rows[series->found[i]].words_per_hour;
        double rate = words * series->word_bytes;
        bool is_chance = series->rows[series->found[i]].score.chance > HS_GROWTH_MOST_CHANCE;
        if (is_chance || isnan(rate) || rate <= ret->bytes_per_hour)
            continue;
        ret->bytes_per_hour = rate;
        hs_series_text(series, series->found[i], ret->key, sizeof ret->key);
    }
}

hs_status hs_watch_growth_rate(int dir_fd, uint64_t first_number, struct hs_watch_rate *ret,
                               struct hs_error *err)
{
    struct growth *growth;
    struct hs_series series;
    *ret = (struct hs_watch_rate){0};
    HS_TRY(growth_open(dir_fd, first_number, RATE_MOST, &growth, err));
    ret->n_dumps = growth->n_tables;
    hs_status status = HS_OK;
    if (growth->n_tables >= RATE_LEAST) {
        status = hs_series_find(growth->borrowed, growth->n_tables, NULL, &series, err);
        if (status == HS_OK) {
            find_fastest(&series, ret);
            hs_series_fini(&series);
        }
    }
    growth_close(growth);
    return status;
}
