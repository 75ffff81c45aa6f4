/* The commands (commands.def): one file cmd_NAME.c each, all of one shape. What a command prints
 * goes to tool->out, which the entry commits; a failure is the exit code. */
#ifndef HS_TOOLS_COMMANDS_H
#define HS_TOOLS_COMMANDS_H

#include "base/parts.h"
#include "tool.h"

/* clang-format off */
#define HS_COMMAND(name, ...)                                                       \
    hs_status hs_cmd_##name(struct hs_tool *tool, const struct hs_invocation *inv, \
                            struct hs_error *err);
/* clang-format on */
#include "commands.def"
#undef HS_COMMAND

#endif
