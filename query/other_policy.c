/* The second index of a snapshot, for figures by the conservative policy. */
#include "other_policy.h"

#include "graph/edges.h"
#include "kept.h"

struct other {
    struct hs_index *index; /* owned; NULL: the view's own says the same */
};

static hs_status make(struct hs_sql_source *source, const void *of, void *value,
                      struct hs_error *err)
{
    struct other *other = value;
    const struct hs_view *view = &source->view;
    (void)of;
    if (hs_index_policy(view->index) == HS_POLICY_CONSERVATIVE || !hs_snap_has_tiers(view->snap))
        return HS_OK;
    return hs_view_policy_index(view, HS_POLICY_CONSERVATIVE, &other->index, err);
}

static void fini(void *value)
{
    hs_index_close(((struct other *)value)->index);
}

hs_status hs_sql_conservative_index(struct hs_sql_source *source, struct hs_index **ret,
                                    struct hs_error *err)
{
    static const struct hs_sql_kept_kind kind = {HS_SQL_KEPT_CONSERVATIVE, sizeof(struct other),
                                                 make, fini, NULL};
    void *kept;
    HS_TRY(hs_sql_keep(source, &kind, &kept, err));
    const struct other *other = kept;
    *ret = other->index == NULL ? source->view.index : other->index;
    return HS_OK;
}
