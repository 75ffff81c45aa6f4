/* snapshots: those that are attached, whichever of them is asked. */
#include "tables.h"
#include "value.h"

enum {
    SNAPSHOTS_NAME,
    SNAPSHOTS_PATH,
    SNAPSHOTS_COMMAND,
    SNAPSHOTS_PID,
    SNAPSHOTS_TAKEN,
    SNAPSHOTS_WORD_BYTES,
    SNAPSHOTS_OBJECTS,
    SNAPSHOTS_WORDS,
    SNAPSHOTS_STATIC_WORDS,
    SNAPSHOTS_REACHED,
    SNAPSHOTS_UNREACHED,
    SNAPSHOTS_EDGES,
    SNAPSHOTS_TYPES,
    SNAPSHOTS_SAMPLES,
    SNAPSHOTS_SETS,
    SNAPSHOTS_POLICY,
    SNAPSHOTS_VERSION
};

static hs_status snapshots_count(struct hs_sql_source *source, uint64_t *ret, struct hs_error *err)
{
    (void)err;
    *ret = source->hub->n_sources;
    return HS_OK;
}

static double snapshots_estimate(const struct hs_sql_source *source)
{
    return source->hub->n_sources;
}

static hs_status snapshots_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                                  struct hs_error *err)
{
    const struct hs_sql_source *source = cursor->source->hub->sources[cursor->row];
    const struct hs_view *view = &source->view;
    const struct hs_snap_totals *totals = view->totals;
    const uint64_t numbers[] = {
        [SNAPSHOTS_PID] = view->facts->pid,
        [SNAPSHOTS_TAKEN] = view->facts->taken_ns / 1000000000,
        [SNAPSHOTS_WORD_BYTES] = view->facts->word_bytes,
        [SNAPSHOTS_OBJECTS] = totals->n_blocks - totals->n_static_blocks,
        [SNAPSHOTS_WORDS] = totals->heap_words,
        [SNAPSHOTS_STATIC_WORDS] = totals->static_words,
        [SNAPSHOTS_REACHED] = hs_index_reached_total(view->index).words,
        [SNAPSHOTS_UNREACHED] = hs_index_unreached_total(view->index).words,
        [SNAPSHOTS_EDGES] = totals->n_edges,
        [SNAPSHOTS_TYPES] = totals->n_types,
        [SNAPSHOTS_SAMPLES] = totals->n_samples,
        [SNAPSHOTS_SETS] = hs_index_n_sets(view->index),
        [SNAPSHOTS_VERSION] = hs_snap_format_version(view->snap),
    };
    (void)err;
    if (column == SNAPSHOTS_NAME)
        hs_sql_put_text(ret, source->name);
    else if (column == SNAPSHOTS_PATH)
        hs_sql_put_text(ret, source->path);
    else if (column == SNAPSHOTS_COMMAND)
        hs_sql_put_name(ret, hs_view_string(view, view->facts->command));
    else if (column == SNAPSHOTS_POLICY)
        hs_sql_put_name(ret, hs_policy_name(hs_index_policy(view->index)));
    else if (column == SNAPSHOTS_TAKEN)
        hs_sql_put_or(ret, numbers[column], 0);
    else
        hs_sql_put(ret, numbers[column]);
    return HS_OK;
}

const struct hs_sql_table hs_sql_table_snapshots = {
    .name = "snapshots",
    .columns = "name TEXT, path TEXT, command TEXT, pid INTEGER, taken INTEGER, "
               "word_bytes INTEGER, objects INTEGER, words WORDS, static_words WORDS, "
               "reached_words WORDS, unreached_words WORDS, edges INTEGER, types INTEGER, "
               "samples INTEGER, sets INTEGER, policy TEXT, format_version INTEGER",
    .estimate = snapshots_estimate,
    .count = snapshots_count,
    .column = snapshots_column,
};
