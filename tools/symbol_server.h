/* The choice whether a dump asks symbol servers, and helper programs that lie beside our own. */
#ifndef HS_TOOLS_SYMBOL_SERVER_H
#define HS_TOOLS_SYMBOL_SERVER_H

#include <limits.h>

#include "options.h"

/* Writes the path of a helper program that lies beside our own. NULL: none is installed. */
const char *hs_tool_helper(const char *name, char path[PATH_MAX]);

/* Decides by --debuginfod and DEBUGINFOD_URLS; on a terminal a person is asked, once. *ret is the
 * helper that asks, in `path`, or NULL. HS_USAGE when it was asked for and cannot be. */
hs_status hs_symbol_server(const struct hs_invocation *inv, char path[PATH_MAX], const char **ret,
                           struct hs_error *err);

#endif
