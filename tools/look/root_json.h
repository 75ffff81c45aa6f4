/* A root as JSON: the same object in `roots`, `paths`, `samples` and `object`. */
#ifndef HS_LOOK_ROOT_JSON_H
#define HS_LOOK_ROOT_JSON_H

#include "analysis/root_rows.h"
#include "report/listing.h"

/* Loads the cells of a root's line: HS_ROOTS_N. */
hs_status hs_root_load(const struct hs_view *view, const struct hs_root_row *row, uint64_t *cells,
                       struct hs_error *err);
/* Writes one object: the columns of roots, `group` and `more`. */
hs_status hs_root_put(struct hs_sink *sink, const struct hs_view *view,
                      const struct hs_root_row *row, const struct hs_pair *more,
                      struct hs_error *err);

/* The context of the rows below. */
struct hs_root_of {
    const struct hs_view *view;
    hs_node node;
};
/* Prints the root that was asked for; nothing of HS_NO_NODE. */
hs_status hs_root_one(void *context, struct hs_sink *sink, struct hs_error *err);
/* Writes a leaf below a variable: id, name, offset from the variable, address, how its word leads
 * on. */
hs_status hs_slot_one(void *context, struct hs_sink *sink, struct hs_error *err);

#endif
