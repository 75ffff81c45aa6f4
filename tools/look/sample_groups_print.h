/* The cross table of samples, printed. */
#ifndef HS_LOOK_SAMPLE_GROUPS_PRINT_H
#define HS_LOOK_SAMPLE_GROUPS_PRINT_H

#include "analysis/sample_groups.h"
#include "tool.h"

/* Prints them as the format asks. */
hs_status hs_sample_groups_print(struct hs_tool *tool, const struct hs_invocation *inv,
                                 struct hs_sample_join *join, unsigned keys, struct hs_error *err);

#endif
