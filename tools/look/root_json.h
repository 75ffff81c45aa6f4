/* A root as JSON: the same object in `roots`, `paths`, `samples` and `object`. */
#ifndef HS_LOOK_ROOT_JSON_H
#define HS_LOOK_ROOT_JSON_H

#include "analysis/root_rows.h"
#include "report/json.h"

/* Writes one object: id, kind, name, group, where it stands, sizes, certainty, tier. */
void hs_root_json(struct hs_json *json, const char *key, const struct hs_view *view,
                  const struct hs_root_row *row);

/* The same without its end: the caller adds members and ends the object. */
void hs_root_json_begin(struct hs_json *json, const char *key, const struct hs_view *view,
                        const struct hs_root_row *row);

/* A leaf below a variable: id, name, offset from the variable, address, how its word leads on. */
void hs_slot_json(struct hs_json *json, const char *key, const struct hs_view *view, hs_node leaf);

#endif
