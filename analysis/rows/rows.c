#include "analysis/rows.h"

#include "base/alloc.h"
#include "getters.h"

hs_status hs_rows_of(struct hs_view *view, const struct hs_noun *noun, void *state, uint64_t n,
                     struct hs_rows *ret, struct hs_error *err)
{
    struct hs_rows rows = {.noun = noun, .view = view, .is_lent = true, .n = n};
    rows.state = state;
    HS_TRY(HS_ALLOC(&rows.text, HS_ROWS_TEXT_BYTES, err));
    *ret = rows;
    return HS_OK;
}

hs_status hs_rows_find(struct hs_view *view, const struct hs_noun *noun, struct hs_rows *ret,
                       struct hs_error *err)
{
    struct hs_rows rows;
    HS_TRY(hs_rows_of(view, noun, /* state= */ NULL, 0, &rows, err));
    rows.is_lent = false;
    hs_status status = HS_OK;
    if (noun->state_bytes != 0)
        status = hs_alloc(1, noun->state_bytes, &rows.state, err);
    if (status == HS_OK)
        status = noun->find(&rows, err);
    if (status != HS_OK) {
        hs_rows_fini(&rows);
        return status;
    }
    *ret = rows;
    return HS_OK;
}

void hs_rows_fini(struct hs_rows *rows)
{
    if (!rows->is_lent && rows->state != NULL) {
        rows->noun->fini(rows->state);
        hs_free(rows->state);
    }
    hs_free(rows->text);
    *rows = (struct hs_rows){.noun = rows->noun};
}

/* ---- blocks, whose rows are made by chunks */

const struct hs_row_column hs_block_columns[HS_BLOCKS_N] = {HS_ROWS_BLOCKS(HS_ROWS_COLUMN)};
