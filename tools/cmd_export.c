/* export: a snapshot in the formats of other programs. */
#include "commands.h"
#include "export/exporters.h"

hs_status hs_cmd_export(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
#define FUNCTION(name) hs_export_##name,
    static hs_status (*const exporters[])(struct hs_tool *, const struct hs_invocation *,
                                          struct hs_error *) = {HS_EXPORTERS(FUNCTION)};
#undef FUNCTION
    if (!hs_given(inv, HS_OPT_EXPORT_TO) || !hs_given(inv, HS_OPT_DIRECTORY)) {
        (void)hs_fail(err, HS_USAGE, "'export' needs --to FORMAT and -o DIR");
        return hs_hint(err, "heapsnap export %s --to graph -o DIR", inv->arguments[0]);
    }
    return exporters[inv->number[HS_OPT_EXPORT_TO]](tool, inv, err);
}
