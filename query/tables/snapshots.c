/* snapshots: those that are attached, whichever of them is asked: what each is called here, and its
 * row. */
#include "rows.h"
#include "tables.h"
#include "value.h"

enum { SNAPSHOTS_NAME, SNAPSHOTS_PATH, SNAPSHOTS_COMMAND, SNAPSHOTS_ROW };

static hs_status snapshots_count(struct hs_sql_cursor *cursor, uint64_t *ret, struct hs_error *err)
{
    (void)err;
    *ret = cursor->source->hub->n_sources;
    return HS_OK;
}

static double snapshots_estimate(const struct hs_sql_source *source)
{
    return source->hub->n_sources;
}

static hs_status snapshots_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                                  struct hs_error *err)
{
    struct hs_sql_source *source = cursor->source->hub->sources[cursor->row];
    struct hs_rows *rows;
    switch (column) {
    case SNAPSHOTS_NAME:
        hs_sql_put_text(ret, source->name);
        return HS_OK;
    case SNAPSHOTS_PATH:
        hs_sql_put_safe(source, ret, source->path);
        return HS_OK;
    case SNAPSHOTS_COMMAND:
        hs_sql_put_safe(source, ret, hs_view_string(&source->view, source->view.facts->command));
        return HS_OK;
    default:
        HS_TRY(hs_sql_rows_of(source, &hs_noun_snapshots, &rows, err));
        return hs_sql_put_value(source, rows, 0, (unsigned)column - SNAPSHOTS_ROW, ret, err);
    }
}

const struct hs_sql_table hs_sql_table_snapshots = {
    .name = "snapshots",
    .columns = "name TEXT, path TEXT, command TEXT" HS_ROWS_SNAPSHOTS(HS_SQL_COLUMN),
    .estimate = snapshots_estimate,
    .count = snapshots_count,
    .column = snapshots_column,
};
