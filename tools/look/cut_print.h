/* paths --cut: what has to go for an object to be freed, near the roots and near the object. */
#ifndef HS_LOOK_CUT_PRINT_H
#define HS_LOOK_CUT_PRINT_H

#include "analysis/cut.h"
#include "report/json.h"
#include "tool.h"

/* The member "cut" of the object being written. */
hs_status hs_cut_json(struct hs_json *json, struct hs_view *view, const struct hs_cut *cut,
                      struct hs_error *err);

/* The sentence that says it, below a heading. */
hs_status hs_cut_sentence(struct hs_tool *tool, struct hs_view *view, const struct hs_cut *cut,
                          struct hs_error *err);

/* The rows of both cuts as a table or as TSV. */
hs_status hs_cut_rows(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_view *view,
                      const struct hs_cut *cut, struct hs_error *err);

#endif
