/* Depths in the dominator tree, each part of which is climbed but a few times. */
#include "depths.h"

#include "base/alloc.h"
#include "kept.h"

enum {
    CLIMB_STEPS = 1 << 16, /* that are made before it pays to keep what was passed */
    LOOK_EVERY = 1 << 16
};
#define UNREACHED UINT32_MAX

struct depths {
    struct hs_view *view;
    uint32_t *known; /* owned, by node: its depth + 1, 0 where it is not known; NULL: none kept */
    uint64_t n_steps, reserved_bytes;
};

static hs_status make(struct hs_sql_source *source, const void *of, void *value,
                      struct hs_error *err)
{
    (void)of;
    (void)err;
    *(struct depths *)value = (struct depths){.view = &source->view};
    return HS_OK;
}

static void fini(void *value)
{
    struct depths *d = value;
    if (d->known != NULL)
        hs_pages_free(d->known, d->view->n_nodes, sizeof *d->known);
    hs_budget_release(d->view->session.budget, d->reserved_bytes);
}

static hs_status begin_to_keep(struct depths *d, struct hs_error *err)
{
    struct hs_budget *budget = d->view->session.budget;
    uint64_t n_bytes = d->view->n_nodes * sizeof *d->known;
    if (d->view->n_nodes >= UNREACHED)
        return hs_fail(err, HS_LIMIT, "depths of more than %u nodes are not kept", UNREACHED);
    HS_TRY(hs_budget_reserve(budget, n_bytes, "the depths of blocks", err));
    d->reserved_bytes = n_bytes;
    return HS_PAGES_ALLOC(&d->known, d->view->n_nodes, err);
}

/* Climbs up to the root of all, or to what is known. *ret_steps: nodes passed on the way. */
static hs_status climb(struct depths *d, hs_node node, uint64_t *ret_steps, uint64_t *ret,
                       struct hs_error *err)
{
    const struct hs_view *view = d->view;
    uint64_t steps = 0;
    for (hs_node at = node;; steps++) {
        if (d->known != NULL && d->known[at] != 0) {
            uint64_t above = d->known[at] - 1;
            *ret = d->known[at] == UNREACHED ? HS_SQL_NO_DEPTH : above + steps;
            break;
        }
        hs_node above = at == 0 ? HS_NO_NODE : hs_index_idom(view->index, at);
        if (above == HS_NO_NODE) {
            *ret = at == 0 ? steps : HS_SQL_NO_DEPTH;
            steps++;
            break;
        }
        if (steps == view->n_nodes)
            return hs_view_fail_circle(view, err);
        at = above;
    }
    *ret_steps = steps;
    return HS_OK;
}

hs_status hs_sql_depth(struct hs_sql_source *source, hs_node node, uint64_t *ret,
                       struct hs_error *err)
{
    static const struct hs_sql_kept_kind kind = {HS_SQL_KEPT_DEPTHS, sizeof(struct depths), make,
                                                 fini, NULL};
    void *kept;
    uint64_t steps = 0, depth = 0;
    HS_TRY(hs_sql_keep(source, &kind, &kept, err));
    struct depths *d = kept;
    if (d->known == NULL && d->n_steps > CLIMB_STEPS)
        HS_TRY(begin_to_keep(d, err));
    HS_TRY(climb(d, node, &steps, &depth, err));
    uint64_t before = d->n_steps / LOOK_EVERY;
    d->n_steps += steps;
    if (d->n_steps / LOOK_EVERY != before)
        HS_TRY(hs_progress_tell(d->view->session.progress, "climbing the dominator tree",
                                d->n_steps, 0, err));
    for (uint64_t i = 0, n = d->known == NULL ? 0 : steps; i < n; i++) {
        d->known[node] = depth == HS_SQL_NO_DEPTH ? UNREACHED : (uint32_t)(depth - i + 1);
        node = hs_index_idom(d->view->index, node);
    }
    *ret = depth;
    return HS_OK;
}
