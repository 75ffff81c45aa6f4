/* Readers of line tables, one for each binary of the process, opened when the first place in that
 * binary is asked for. A binary without debug information, or whose is refused, has none. */
#ifndef HS_OCAML_OBJECT_LINES_H
#define HS_OCAML_OBJECT_LINES_H

#include "ocaml.h"
#include "symbols/lines.h"

struct hs_object_lines {
    struct hs_objects *objects; /* borrowed */
    struct hs_lines **lines;    /* owned, one per object */
    bool *has_tried;            /* owned, likewise */
};

hs_status hs_object_lines_init(struct hs_object_lines *all, struct hs_objects *objects,
                               struct hs_error *err);
void hs_object_lines_fini(struct hs_object_lines *all);

/* Finds the reader of a binary, one of the objects; NULL when it has none. */
struct hs_lines *hs_object_lines_of(struct hs_object_lines *all, const struct hs_object *object);

#endif
