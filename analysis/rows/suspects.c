/* Suspects: where the memory has gone, the parts of `heapsnap suspects`' sentences. */
#include "analysis/suspects.h"
#include "analysis/reserve.h"
#include "base/append.h"
#include "getters.h"

/* The options as the command presets them. */
enum { THRESHOLD = 2, FOLLOW = 70, FOLLOW_JOINT = 80, MOST = 1000, NAMES_BYTES = 2048 };

static struct hs_row_value names(struct hs_rows *rows, const struct hs_suspect *suspect)
{
    const struct hs_view *view = rows->view;
    char *room = hs_rows_room(rows, NAMES_BYTES);
    for (uint32_t i = 0; i < suspect->n_shown; i++) {
        const struct hs_root *root = hs_snap_root(view->snap, suspect->roots[i]);
        hs_append_item(room, NAMES_BYTES, ", ", hs_view_string(view, root->name));
    }
    return text(room);
}

static struct hs_row_value type_name(const struct hs_view *view, uint32_t type)
{
    return type == HS_UNTYPED ? none : string(view, hs_snap_type(view->snap, type)->name);
}

static uint64_t doubtful_words(const struct hs_suspect *suspect)
{
    return suspect->tier == HS_TIER_DOUBTFUL ? suspect->words : suspect->doubtful_words;
}

static void get_one(struct hs_rows *rows, uint64_t at, unsigned column, struct hs_row_value *ret)
{
    const struct hs_suspect *suspect = &((const struct hs_suspects *)rows->state)->rows[at];
    HS_ROWS_SWITCH(SUSPECTS)
}

static hs_status find(struct hs_rows *rows, struct hs_error *err)
{
    const struct hs_suspect_query query = {.threshold_percent = THRESHOLD,
                                           .follow_percent = FOLLOW,
                                           .follow_joint_percent = FOLLOW_JOINT,
                                           .max_rows = MOST};
    struct hs_suspects *suspects = rows->state;
    HS_TRY(hs_suspects_find(rows->view, &query, suspects, err));
    rows->n = suspects->n;
    return HS_OK;
}

static void fini(void *state)
{
    hs_suspects_fini(state);
}

HS_ROWS_COLUMNS(SUSPECTS);
const struct hs_noun hs_noun_suspects = {
    HS_ROWS_NOUN(suspects),
    .state_bytes = sizeof(struct hs_suspects),
    .find = find,
    .fini = fini,
};
