/* sites: the backtraces of the sampled allocations, with what was allocated there and is alive. */
#include <stdio.h>

#include "base/append.h"
#include "sample_list.h"
#include "tables.h"
#include "value.h"

enum {
    SITES_ID,
    SITES_PLACE,
    SITES_FRAMES,
    SITES_BLOCKS,
    SITES_SAMPLES,
    SITES_ESTIMATED,
    SITES_ERROR,
    SITES_BACKTRACE
};
enum { BACKTRACE_BYTES = 16384 };

static hs_status sites_count(struct hs_sql_source *source, uint64_t *ret, struct hs_error *err)
{
    (void)err;
    *ret = hs_snap_n_sites(source->view.snap);
    return HS_OK;
}

static double sites_estimate(const struct hs_sql_source *source)
{
    return (double)hs_snap_n_sites(source->view.snap);
}

/* "Stm.observe stm/stm.ml:318 < Stm.add stm/stm.ml:400 < ...": the innermost first. */
static hs_status put_backtrace(struct hs_sql_samples *samples, uint32_t site, sqlite3_context *ret,
                               struct hs_error *err)
{
    char text[BACKTRACE_BYTES] = "", frame[HS_FRAME_BYTES];
    const struct hs_frame *frames;
    size_t n;
    HS_TRY(hs_sample_join_frames(&samples->join, site, &frames, &n, err));
    for (size_t i = 0; i < n; i++) {
        hs_frame_text(&frames[i], frame, sizeof frame);
        hs_append_item(text, sizeof text, " < ", frame);
    }
    hs_sql_put_text(ret, text);
    return HS_OK;
}

static hs_status sites_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                              struct hs_error *err)
{
    uint32_t site = (uint32_t)cursor->row;
    struct hs_sql_samples *samples;
    char place[HS_FRAME_BYTES];
    size_t n_frames;
    HS_TRY(hs_sql_samples_of(cursor->source, &samples, err));
    const struct hs_estimate *estimate = &samples->of_site[site];
    (void)hs_snap_site(cursor->source->view.snap, site, &n_frames);
    const uint64_t numbers[] = {
        [SITES_ID] = site,
        [SITES_FRAMES] = n_frames,
        [SITES_BLOCKS] = estimate->n_blocks,
        [SITES_SAMPLES] = estimate->n_samples,
        [SITES_ESTIMATED] = hs_estimate_words(estimate),
        [SITES_ERROR] = hs_estimate_error_words(estimate),
    };
    if (column == SITES_BACKTRACE)
        return put_backtrace(samples, site, ret, err);
    if (column != SITES_PLACE) {
        hs_sql_put(ret, numbers[column]);
        return HS_OK;
    }
    HS_TRY(hs_sample_join_site_text(&samples->join, site, place, sizeof place, err));
    hs_sql_put_text(ret, place);
    return HS_OK;
}

static const struct hs_sql_key keys[] = {{SITES_ID, HS_SQL_KEY_ORDERED, true, 1}};

const struct hs_sql_table hs_sql_table_sites = {
    .name = "sites",
    .columns = "id INTEGER, place TEXT, n_frames INTEGER, blocks INTEGER, samples INTEGER, "
               "estimated_words WORDS, error_words WORDS, backtrace TEXT",
    .keys = keys,
    .n_keys = 1,
    .estimate = sites_estimate,
    .count = sites_count,
    .column = sites_column,
};
