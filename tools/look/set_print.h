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

/* Makes the member "memory" of JSON: the parts of private memory. */
#define HS_PRIVATE_PAIRS 11
void hs_private_memory_json(const struct hs_private_memory *memory,
                            struct hs_pair pairs[HS_PRIVATE_PAIRS]);

/* Prints two lines: what is owned and attributed of all private memory, whose parts are named; and
 * all shares of what is reached. The first is left out where nobody says where the memory was. */
hs_status hs_attribution_print(struct hs_tool *tool, const struct hs_attribution *attribution,
                               unsigned word_bytes, struct hs_error *err);

#endif
