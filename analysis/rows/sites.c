/* Sites: the backtraces of samples, with what was allocated there and is alive. */
#include "base/alloc.h"
#include "base/append.h"
#include "samples.h"

enum { BACKTRACE_BYTES = 16384 };

hs_status hs_sample_state_find(struct hs_rows *rows, struct hs_error *err)
{
    struct sample_state *state = rows->state;
    HS_TRY(hs_sample_join_open(rows->view, /* path= */ NULL, /* id= */ NULL, &state->join, err));
    HS_TRY(hs_sample_rows_select(rows->view, 0, UINT64_MAX, &state->rows, err));
    state->list = (struct hs_sample_list){&state->join, &state->rows};
    return HS_OK;
}

void hs_sample_state_fini(void *of)
{
    struct sample_state *state = of;
    hs_sample_rows_fini(&state->rows);
    if (state->join.view != NULL)
        hs_sample_join_close(&state->join);
    hs_free(state->of_site);
}

static uint64_t n_frames(const struct hs_view *view, uint32_t site)
{
    size_t n;
    (void)hs_snap_site(view->snap, site, &n);
    return n;
}

/* "Stm.observe stm/stm.ml:318 < Stm.add stm/stm.ml:400 < ...": the innermost first. */
static struct hs_row_value backtrace(struct hs_rows *rows, uint32_t site)
{
    const struct hs_sample_list *list = rows->state;
    const struct hs_frame *frames;
    char *room = hs_rows_room(rows, BACKTRACE_BYTES), frame[HS_FRAME_BYTES];
    size_t n;
    hs_status status = hs_sample_join_frames(list->join, site, &frames, &n, &rows->error);
    if (status != HS_OK)
        return failed(rows, status);
    for (size_t i = 0; i < n; i++) {
        hs_frame_text(&frames[i], frame, sizeof frame);
        hs_append_item(room, BACKTRACE_BYTES, " < ", frame);
    }
    return text(room);
}

static void get_one(struct hs_rows *rows, uint64_t at, unsigned column, struct hs_row_value *ret)
{
    uint32_t site = (uint32_t)at;
    const struct hs_estimate *estimate = &((const struct sample_state *)rows->state)->of_site[site];
    HS_ROWS_SWITCH(SITES)
}

static hs_status find(struct hs_rows *rows, struct hs_error *err)
{
    struct sample_state *state = rows->state;
    HS_TRY(hs_sample_state_find(rows, err));
    rows->n = hs_snap_n_sites(rows->view->snap);
    HS_TRY(HS_ALLOC(&state->of_site, rows->n, err));
    for (size_t i = 0; i < state->rows.n; i++) {
        const struct hs_sample *sample = state->rows.rows[i].sample;
        if (sample->site < rows->n)
            hs_estimate_add(&state->of_site[sample->site],
                            hs_sample_join_sampler(&state->join, sample), sample);
    }
    return HS_OK;
}

HS_ROWS_COLUMNS(SITES);
const struct hs_noun hs_noun_sites = {
    HS_ROWS_NOUN(sites),
    .has_ids = true,
    .state_bytes = sizeof(struct sample_state),
    .find = find,
    .fini = hs_sample_state_fini,
};
