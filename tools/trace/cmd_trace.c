/* trace: what an allocation trace holds. One function for each WHAT: commands.h. */
#include <string.h>

#include "commands.h"
#include "name_places.h"
#include "trace_commands.h"

#define ENTRY(name, options) {#name, hs_trace_cmd_##name, options},

static const struct {
    const char *name;
    hs_status (*run)(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err);
    const uint8_t *options; /* of HS_TRACE_SPECIAL */
} entries[] = {HS_TRACE_COMMANDS(ENTRY)};

#define N_ENTRIES (sizeof entries / sizeof *entries)

static const char *entry_name(const void *context, size_t at)
{
    (void)context;
    return entries[at].name;
}

static hs_status check_options(const struct hs_invocation *inv, size_t at, struct hs_error *err)
{
    static const uint8_t special[] = {HS_TRACE_SPECIAL, HS_N_OPTIONS};
    for (int id = 0; id < HS_N_OPTIONS; id++)
        if (inv->given[id] && hs_lists(special, id) && !hs_lists(entries[at].options, id)) {
            (void)hs_fail(err, HS_USAGE, "'trace %s' does not take --%s", entries[at].name,
                          hs_options[id].name);
            return hs_hint(err, "'heapsnap help trace' says which do");
        }
    return HS_OK;
}

hs_status hs_cmd_trace(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    for (size_t i = 0; i < N_ENTRIES; i++) {
        if (strcmp(inv->arguments[0], entries[i].name) != 0)
            continue;
        HS_TRY(check_options(inv, i, err));
        if (entries[i].run != hs_trace_cmd_names)
            hs_trace_names_hint(tool, inv->arguments[1]);
        return entries[i].run(tool, inv, err);
    }
    const char *nearest = hs_nearest(inv->arguments[0], entry_name, NULL, N_ENTRIES);
    (void)hs_fail(err, HS_USAGE, "no 'trace %s'", inv->arguments[0]);
    if (nearest != NULL)
        return hs_hint(err, "did you mean 'trace %s'?", nearest);
    return hs_hint(err, "'heapsnap help trace' lists what there is");
}
