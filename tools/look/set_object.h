/* An owner set as WHAT: who it is, what it keeps, and who keeps a block together. */
#ifndef HS_LOOK_SET_OBJECT_H
#define HS_LOOK_SET_OBJECT_H

#include "analysis/set_tops.h"
#include "tool.h"

/* The context of the row below: its roots up to `most`. */
struct hs_set_of {
    const struct hs_view *view;
    uint32_t set;
    uint64_t most;
};
/* Writes one object: the set's id, sizes, and its roots; nothing of set 0. */
hs_status hs_set_one(void *context, struct hs_sink *sink, struct hs_error *err);

/* Prints what `object set:N` does: its roots, and its largest top units. */
hs_status hs_set_object_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_view *view, uint32_t set, struct hs_error *err);

#endif
