/* Types: what blocks of each are and retain, a row for each name. */
#include "analysis/type_rows.h"
#include "getters.h"

static void get_one(struct hs_rows *rows, uint64_t at, unsigned column, struct hs_row_value *ret)
{
    const struct hs_view *view = rows->view;
    const struct hs_type_row *row = &((const struct hs_type_rows *)rows->state)->rows[at];
    const struct hs_type *type = hs_snap_type(view->snap, row->type);
    HS_ROWS_SWITCH(TYPES)
}

static hs_status find(struct hs_rows *rows, struct hs_error *err)
{
    const struct hs_type_query query = {.level = HS_TYPE_CONSTRUCTOR, .max_rows = UINT64_MAX};
    struct hs_type_rows *found = rows->state;
    HS_TRY(hs_type_rows_select(rows->view, &query, found, err));
    rows->n = found->n_rows;
    return HS_OK;
}

static void fini(void *state)
{
    hs_type_rows_fini(state);
}

HS_ROWS_COLUMNS(TYPES);
const struct hs_noun hs_noun_types = {
    HS_ROWS_NOUN(types),
    .state_bytes = sizeof(struct hs_type_rows),
    .find = find,
    .fini = fini,
};
