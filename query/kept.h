/* The results that the tables of a snapshot compute once, when first asked for, and keep: lists of
 * types, leaks and the like, whose length is not that of the heap. */
#ifndef HS_QUERY_KEPT_H
#define HS_QUERY_KEPT_H

#include "analysis/rows.h"
#include "hub.h"

/* One computed thing, owned by the snapshot. */
struct hs_sql_kept_item {
    void *value;
    void (*free)(void *value);
};

/* The rows of each noun, and what else there is. */
#define HS_SQL_KEPT_NOUN(noun, NOUN) HS_SQL_KEPT_##NOUN,
enum hs_sql_kept_name {
    HS_ROWS_NOUNS(HS_SQL_KEPT_NOUN) HS_SQL_KEPT_NOUNS,
    HS_SQL_KEPT_DEPTHS = HS_SQL_KEPT_NOUNS,
    HS_SQL_KEPT_CONSERVATIVE,
    HS_SQL_N_KEPT
};

struct hs_sql_kept {
    struct hs_sql_kept_item items[HS_SQL_N_KEPT];
};

hs_status hs_sql_kept_new(struct hs_sql_kept **ret, struct hs_error *err);
void hs_sql_kept_free(struct hs_sql_kept *kept);

/* The item, made by `make` when it is first asked for: zeroed memory of n_bytes, which `make`
 * fills; `fini` frees what it holds, also after `make` has failed. */
struct hs_sql_kept_kind {
    enum hs_sql_kept_name name;
    size_t n_bytes;
    hs_status (*make)(struct hs_sql_source *source, const void *of, void *value,
                      struct hs_error *err);
    void (*fini)(void *value);
    const void *of; /* for `make` */
};
hs_status hs_sql_keep(struct hs_sql_source *source, const struct hs_sql_kept_kind *kind, void **ret,
                      struct hs_error *err);

#endif
