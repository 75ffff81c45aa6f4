/* Paths from roots to an object, printed step by step. */
#ifndef HS_LOOK_PATH_PRINT_H
#define HS_LOOK_PATH_PRINT_H

#include "analysis/path_find.h"
#include "analysis/path_fold.h"
#include "report/listing.h"

extern const struct hs_record hs_path_record;

/* Writes path `at`: in JSON an object with root, slot, length, expression and steps, else its
 * lines. */
hs_status hs_path_put(struct hs_sink *sink, struct hs_view *view, const struct hs_paths *paths,
                      size_t at, bool with_why, struct hs_error *err);

#endif
