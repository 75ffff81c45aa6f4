#include "analysis/chunk_pass.h"

struct hs_chunk_pass hs_chunk_pass_of(const struct hs_view *view, unsigned columns,
                                      const char *what)
{
    return (struct hs_chunk_pass){.view = view, .columns = columns, .what = what};
}

static hs_status step(struct hs_chunk_pass *pass, bool *ret_more, struct hs_error *err)
{
    const struct hs_view *view = pass->view;
    uint64_t n_chunks = view->totals->n_chunks;
    if (pass->next != 0 && pass->what != NULL)
        HS_TRY(hs_progress_tell(view->session.progress, pass->what, pass->next, n_chunks, err));
    *ret_more = pass->next < n_chunks;
    if (!*ret_more)
        return HS_OK;
    return hs_snap_load_chunk(view->snap, pass->next++, pass->columns, &pass->chunk, err);
}

bool hs_chunk_pass_next(struct hs_chunk_pass *pass, struct hs_error *err)
{
    bool more = false;
    if (pass->status == HS_OK)
        pass->status = step(pass, &more, err);
    return pass->status == HS_OK && more;
}

hs_status hs_chunk_pass_end(struct hs_chunk_pass *pass)
{
    hs_chunk_fini(&pass->chunk);
    return pass->status;
}
