/* export --to sqlite: the tables of `heapsnap sql` as a database file. */
#include "base/parts.h"
#include "export/exporter.h"

#if HS_WITH_SQL

#include "query/database.h"

static hs_status export_sqlite(struct hs_view *view, const struct hs_export_target *target,
                               struct hs_error *err)
{
    return hs_sql_write_database(view, target->out, err);
}

#else

static hs_status export_sqlite(struct hs_view *view, const struct hs_export_target *target,
                               struct hs_error *err)
{
    (void)view, (void)target;
    (void)hs_fail(err, HS_USAGE, "this heapsnap was built without SQLite");
    return hs_hint(err, "build it with -DHS_WITH_SQL=ON, or export to parquet");
}

#endif

const struct hs_exporter hs_exporter_sqlite = {
    .needs = HS_VIEW_INDEX,
    .is_binary = true,
    .write = export_sqlite,
};
