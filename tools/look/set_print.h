/* The rows of sets of roots, or of groups of them. */
#ifndef HS_LOOK_SET_PRINT_H
#define HS_LOOK_SET_PRINT_H

#include "analysis/attribution.h"
#include "analysis/root_rows.h"
#include "tool.h"

#define HS_SET_NAMES 8 /* that are shown of a set */
#define HS_SET_TEXT_BYTES 1024

/* Writes "Stm.VCS, Lib.lib_state, ...": what has a name first. `text` has HS_SET_TEXT_BYTES. */
void hs_set_names(const struct hs_view *view, const struct hs_set_rows *sets, size_t row,
                  enum hs_group_by group_by, char *text);
/* Returns "roots", "modules", ... */
const char *hs_set_noun(enum hs_group_by group_by);
/* Writes one element of JSON's "sets". */
hs_status hs_set_put(struct hs_sink *sink, const struct hs_view *view,
                     const struct hs_set_rows *sets, size_t row, enum hs_group_by group_by,
                     struct hs_error *err);

/* Prints "owned 41.0 %, attributed 98.8 % of 20,834,051 words ...", in two lines. */
hs_status hs_attribution_print(struct hs_tool *tool, const struct hs_attribution *attribution,
                               unsigned word_bytes, struct hs_error *err);

#endif
