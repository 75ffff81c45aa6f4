/* export --to parquet: tables for engines that look at many snapshots at once. */
#include "export/exporter.h"
#include "export/fleet.h"

static hs_status export_parquet(struct hs_view *view, const struct hs_export_target *target,
                                struct hs_error *err)
{
    return hs_fleet_write(view, target->directory, target->fleet, NULL, err);
}

const struct hs_exporter hs_exporter_parquet = {
    .needs = HS_VIEW_INDEX,
    .makes_directory = true,
    .write = export_parquet,
};
