/* Paths from roots to an object, printed step by step. */
#ifndef HS_LOOK_PATH_PRINT_H
#define HS_LOOK_PATH_PRINT_H

#include "analysis/path_find.h"
#include "analysis/path_fold.h"
#include "report/json.h"
#include "report/sheet.h"

/* Path `at` as an object: root, slot, length, expression, steps. */
hs_status hs_path_json(struct hs_json *json, const char *key, struct hs_view *view,
                       const struct hs_paths *paths, size_t at, struct hs_error *err);

enum { HS_N_PATH_COLUMNS = 8 };
extern const struct hs_column hs_path_columns[HS_N_PATH_COLUMNS];

/* Its lines, called path number + 1. */
hs_status hs_path_lines(struct hs_sheet *sheet, struct hs_view *view, size_t number,
                        const struct hs_paths *paths, size_t at, struct hs_error *err);

#endif
