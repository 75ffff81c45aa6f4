/* The results that the tables of a snapshot compute once. */
#include "kept.h"

#include "base/alloc.h"

hs_status hs_sql_kept_new(struct hs_sql_kept **ret, struct hs_error *err)
{
    return HS_ALLOC(ret, 1, err);
}

void hs_sql_kept_free(struct hs_sql_kept *kept)
{
    if (kept == NULL)
        return;
    for (unsigned i = 0; i < HS_SQL_N_KEPT; i++)
        if (kept->items[i].value != NULL) {
            kept->items[i].free(kept->items[i].value);
            hs_free(kept->items[i].value);
        }
    hs_free(kept);
}

hs_status hs_sql_keep(struct hs_sql_source *source, const struct hs_sql_kept_kind *kind, void **ret,
                      struct hs_error *err)
{
    struct hs_sql_kept_item *item = &source->kept->items[kind->name];
    if (item->value != NULL) {
        *ret = item->value;
        return HS_OK;
    }
    void *value;
    HS_TRY(hs_alloc(1, kind->n_bytes, &value, err));
    hs_status status = kind->make(source, kind->of, value, err);
    if (status == HS_OK) /* what an index says that is damaged is not kept */
        status = hs_view_check(&source->view, status, err);
    if (status != HS_OK) {
        kind->fini(value);
        hs_free(value);
        return status;
    }
    *item = (struct hs_sql_kept_item){value, kind->fini};
    *ret = value;
    return HS_OK;
}
