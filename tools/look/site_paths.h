/* paths --to site:NAME: all samples of a site, by the ways in which they are kept.
 *
 * Samples whose chains of keepers are alike (keeper_chains.h) are one way. For each way that is
 * printed one path is searched, that of its largest sample: the work does not grow with the number
 * of samples but for a climb of the dominator tree. */
#ifndef HS_LOOK_SITE_PATHS_H
#define HS_LOOK_SITE_PATHS_H

#include "join.h"

struct hs_invocation;

/* `name`: contained in the function or the file:line of a sample's place; with three dots before it
 * in any frame of its backtrace. At most `limit` ways (0: all). HS_USAGE when no sample has it. */
hs_status hs_site_paths_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_join *join, const char *name, uint64_t limit,
                              struct hs_error *err);

#endif
