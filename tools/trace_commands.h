/* `heapsnap trace WHAT FILE`: each WHAT is a function of the shape of a command, in a file of its
 * own. FILE is inv->arguments[1]. */
#ifndef HS_TOOLS_TRACE_COMMANDS_H
#define HS_TOOLS_TRACE_COMMANDS_H

#include "tool.h"

/* In the order of the help. */
#define HS_TRACE_COMMANDS(X) X(dump)

#define HS_TRACE_COMMAND(name)                                                           \
    hs_status hs_trace_cmd_##name(struct hs_tool *tool, const struct hs_invocation *inv, \
                                  struct hs_error *err);
HS_TRACE_COMMANDS(HS_TRACE_COMMAND)

#endif
