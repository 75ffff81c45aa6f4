/* The commands: one file cmd_NAME.c each, all of one shape. What a command prints goes to
 * tool->out, which the entry commits; a failure is the exit code. */
#ifndef HS_TOOLS_COMMANDS_H
#define HS_TOOLS_COMMANDS_H

#include "tool.h"

/* clang-format off */
#define HS_COMMAND(name) \
    hs_status hs_cmd_##name(struct hs_tool *tool, const struct hs_invocation *inv, \
                            struct hs_error *err)
/* clang-format on */

HS_COMMAND(dump);
HS_COMMAND(watch);
HS_COMMAND(doctor);
HS_COMMAND(info);
HS_COMMAND(roots);
HS_COMMAND(dominators);
HS_COMMAND(paths);
HS_COMMAND(types);
HS_COMMAND(object);
HS_COMMAND(leaks);
HS_COMMAND(samples);
HS_COMMAND(trace);
HS_COMMAND(export);
HS_COMMAND(import);
HS_COMMAND(index);
HS_COMMAND(check);
HS_COMMAND(record);
HS_COMMAND(gather);
HS_COMMAND(help);
HS_COMMAND(version);
HS_COMMAND(completion);

#endif
