/* A directory that one long-running command writes into: of a watch, of traces that are gathered.
 */
#ifndef HS_TOOLS_OWN_DIRECTORY_H
#define HS_TOOLS_OWN_DIRECTORY_H

#include "base/error.h"

/* Opens the directory, made (for its owner alone) when it is missing, and locks it: one command at
 * a time. The last part of the path is no link. *ret_fd is the caller's to close, which unlocks.
 * HS_IO with a hint. */
hs_status hs_own_directory_open(const char *path, int *ret_fd, struct hs_error *err);

#endif
