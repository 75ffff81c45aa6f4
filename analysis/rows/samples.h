/* The sources of rows of samples and their sites. */
#ifndef HS_ROWS_SAMPLES_H
#define HS_ROWS_SAMPLES_H

#include "analysis/sample_join.h"
#include "analysis/sample_rows.h"
#include "getters.h"

/* Begins with what a command lends. */
struct sample_state {
    struct hs_sample_list list;
    struct hs_sample_rows rows;
    struct hs_sample_join join;
    struct hs_estimate *of_site; /* owned: by site; samples of samplers without a period count */
};

hs_status hs_sample_state_find(struct hs_rows *rows, struct hs_error *err);
void hs_sample_state_fini(void *state);

static inline struct hs_row_value failed(struct hs_rows *rows, hs_status status)
{
    rows->status = status;
    return none;
}

static inline struct hs_row_value place(struct hs_rows *rows, uint32_t site)
{
    const struct hs_sample_list *list = rows->state;
    char *room = hs_rows_room(rows, HS_FRAME_BYTES);
    hs_status status =
        hs_sample_join_site_text(list->join, site, room, HS_FRAME_BYTES, &rows->error);
    return status == HS_OK ? text(room) : failed(rows, status);
}

#endif
