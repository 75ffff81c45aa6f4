/* The keys of a snapshot. */
#include "key_list.h"

#include "kept.h"

static hs_status make(struct hs_sql_source *source, void *value, struct hs_error *err)
{
    const struct hs_keys_query query = {0};
    return hs_keys_find(&source->view, &query, value, err);
}

static void fini(void *value)
{
    hs_keys_fini(value);
}

hs_status hs_sql_keys_of(struct hs_sql_source *source, const struct hs_keys **ret,
                         struct hs_error *err)
{
    static const struct hs_sql_kept_kind kind = {HS_SQL_KEPT_KEYS, sizeof(struct hs_keys), make,
                                                 fini};
    const void *keys;
    HS_TRY(hs_sql_keep(source, &kind, &keys, err));
    *ret = keys;
    return HS_OK;
}
