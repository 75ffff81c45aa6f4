/* Owner sets: what several roots keep together, by the exact set of roots that reach it. */
#include "analysis/root_name.h"
#include "analysis/set_rows.h"
#include "analysis/set_tops.h"
#include "getters.h"

enum { NAMES_BYTES = 4096 };

static struct hs_row_value names(struct hs_rows *rows, uint32_t id)
{
    char *room = hs_rows_room(rows, NAMES_BYTES);
    hs_set_roots_text(rows->view, id, room, NAMES_BYTES);
    return text(room);
}

static void get_one(struct hs_rows *rows, uint64_t at, unsigned column, struct hs_row_value *ret)
{
    const struct hs_set_rows *all = rows->state;
    uint32_t id = at < hs_index_n_sets(rows->view->index) ? (uint32_t)at + 1 : 0;
    struct hs_owner_set set = {.retained = all->others};
    if (id != 0)
        set = hs_index_set(rows->view->index, id);
    HS_ROWS_SWITCH(SETS)
}

static hs_status find(struct hs_rows *rows, struct hs_error *err)
{
    struct hs_set_rows *all = rows->state;
    HS_TRY(hs_set_rows_all(rows->view, all, err));
    rows->n = (uint64_t)hs_index_n_sets(rows->view->index) + (all->n_others != 0);
    return HS_OK;
}

static void fini(void *state)
{
    hs_set_rows_fini(state);
}

HS_ROWS_COLUMNS(SETS);
const struct hs_noun hs_noun_sets = {
    HS_ROWS_NOUN(sets), .has_ids = true, .first_id = 1, .state_bytes = sizeof(struct hs_set_rows),
    .find = find,       .fini = fini,
};
