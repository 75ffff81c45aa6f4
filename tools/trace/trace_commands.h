/* `heapsnap trace WHAT FILE`: each WHAT is a function of the shape of a command, in a file of its
 * own. FILE is inv->arguments[1]. */
#ifndef HS_TRACE_COMMANDS_H
#define HS_TRACE_COMMANDS_H

#include "tool.h"

/* The options that choose which objects count; also what is said on the way. */
#define HS_TRACE_FILTERS                                                                      \
    HS_OPT_ALLOCATED, HS_OPT_LIVE_AT, HS_OPT_COLLECTED, HS_OPT_LIFETIME, HS_OPT_SIZE,         \
        HS_OPT_INSIDE, HS_OPT_NOT_INSIDE, HS_OPT_HIDE, HS_OPT_HEAP, HS_OPT_GROUP_ALLOCATIONS, \
        HS_OPT_GROUP_LEAKED, HS_OPT_GROUP_INTERVAL, HS_OPT_PROGRESS
#define HS_TRACE_ROWS HS_TRACE_FILTERS, HS_OPT_TRACE_SORT, HS_OPT_BY, HS_OPT_ROWS

/* The commands in the order of the help, each with the options that it takes and not every other
 * does. */
#define HS_TRACE_COMMANDS(X)                                                                   \
    X(dump, HS_OPTIONS())                                                                      \
    X(info, HS_OPTIONS())                                                                      \
    X(top, HS_OPTIONS(HS_TRACE_ROWS))                                                          \
    X(tree,                                                                                    \
      HS_OPTIONS(HS_TRACE_FILTERS, HS_OPT_BY, HS_OPT_ROWS, HS_OPT_DEPTH, HS_OPTIONS_OF_LEAST)) \
    X(live, HS_OPTIONS(HS_TRACE_FILTERS, HS_OPT_POINTS))                                       \
    X(lifetimes, HS_OPTIONS(HS_TRACE_ROWS, HS_OPT_POINTS))                                     \
    X(export, HS_OPTIONS(HS_TRACE_FILTERS, HS_OPT_EXPORT_TO))                                  \
    X(names, HS_OPTIONS(HS_OPT_DEBUG_PATH, HS_OPT_PROGRESS))
/* The options that only some of these commands take. */
#define HS_TRACE_SPECIAL                                                                \
    HS_TRACE_ROWS, HS_OPT_POINTS, HS_OPT_DEPTH, HS_OPTIONS_OF_LEAST, HS_OPT_DEBUG_PATH, \
        HS_OPT_EXPORT_TO

#define HS_TRACE_COMMAND(name, options)                                                  \
    hs_status hs_trace_cmd_##name(struct hs_tool *tool, const struct hs_invocation *inv, \
                                  struct hs_error *err);
HS_TRACE_COMMANDS(HS_TRACE_COMMAND)

#endif
