/* --mode and --group: for whom the files are that a command writes. */
#ifndef HS_TOOLS_ACCESS_H
#define HS_TOOLS_ACCESS_H

#include "base/out_path.h"
#include "options.h"

/* Parses both. HS_USAGE for what is no mode, and for a group that does not exist. */
hs_status hs_access_parse(const struct hs_invocation *inv, struct hs_out_access *ret,
                          struct hs_error *err);

/* Returns the mode of a directory for such files: whoever may read them may enter it. */
mode_t hs_access_directory_mode(const struct hs_out_access *access);

#endif
