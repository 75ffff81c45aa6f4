/* help, version and completion. */
#include <string.h>

#include "commands.h"
#include "look/described.h"
#include "snapshot/reader.h"
#include "tool.h"

/* The man pages are made by `heapsnap help man:COMMAND`, the overview by `man:heapsnap`; not
 * listed, it is for scripts/man. */
static hs_status man_page(struct hs_tool *tool, const char *name, struct hs_error *err)
{
    if (strcmp(name, "heapsnap") == 0)
        return hs_help_man_overview(&tool->out, err);
    const struct hs_command *command = hs_find_command(name);
    if (command == NULL)
        return hs_fail(err, HS_USAGE, "no man page for '%s'", name);
    return hs_help_man(&tool->out, command, err);
}

hs_status hs_cmd_help(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    if (inv->n_arguments == 0)
        return hs_tool_help(tool, NULL, /* is_short= */ false, err);
    const char *name = inv->arguments[0];
    if (strncmp(name, "man:", 4) == 0)
        return man_page(tool, name + 4, err);
    if (strcmp(name, "rows") == 0) /* not listed, for scripts/openapi */
        return hs_described_list(&tool->out, err);
    const struct hs_command *command = hs_find_command(name);
    if (command != NULL)
        return hs_tool_help(tool, command, /* is_short= */ false, err);
    if (hs_is_missing_command(name, err))
        return HS_USAGE;
    (void)hs_fail(err, HS_USAGE, "no help for '%s'", name);
    return hs_hint(err, "'heapsnap help' lists the commands");
}

hs_status hs_cmd_version(struct hs_tool *tool, const struct hs_invocation *inv,
                         struct hs_error *err)
{
    (void)inv;
    return hs_print(&tool->out, err, "heapsnap %s (heap.snap format %d)\n", HS_VERSION,
                    HS_FORMAT_VERSION);
}

hs_status hs_cmd_completion(struct hs_tool *tool, const struct hs_invocation *inv,
                            struct hs_error *err)
{
    return hs_completion_write(&tool->out, inv->arguments[0], err);
}
