/* paths --to site:NAME: the ways in which the samples of a site are kept. For each that is printed
 * one path is searched, that of its largest sample. */
#ifndef HS_LOOK_SITE_PATHS_PRINT_H
#define HS_LOOK_SITE_PATHS_PRINT_H

#include "analysis/site_paths.h"
#include "tool.h"

/* Prints the ways; `name` and `limit` as hs_site_paths_find takes them. */
hs_status hs_site_paths_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_sample_join *join, const char *name, uint64_t limit,
                              struct hs_error *err);

#endif
