/* All blocks in the order of their types' names, for `group by type`: what SQLite would otherwise
 * sort. What a query uses of a block is copied once into arrays that stand in that order. */
#ifndef HS_QUERY_BY_TYPE_H
#define HS_QUERY_BY_TYPE_H

#include "hub.h"

struct hs_sql_by_type {
    uint64_t n;
    uint32_t *block; /* owned pages: its number, from 0 */
    uint64_t *words; /* owned pages; NULL unless wanted */
    uint8_t *state;  /* the same */
    uint32_t *types; /* owned: the types by name */
    uint64_t *begin; /* owned: where the blocks of types[i] begin; n_types + 1 */
    uint32_t n_types;
    struct hs_budget *budget;
    uint64_t reserved_bytes;
};

struct hs_sql_by_type_wants {
    bool words, state;
};

/* Tells whether there is room for it: in a quarter of what is left of the budget, and in 1 GiB. */
bool hs_sql_by_type_fits(const struct hs_sql_source *source, struct hs_sql_by_type_wants wants);
/* Copies the blocks in two passes over the chunks; 4 to 13 bytes a block. HS_LIMIT when over the
 * budget or interrupted. */
hs_status hs_sql_by_type_make(struct hs_sql_source *source, struct hs_sql_by_type_wants wants,
                              struct hs_sql_by_type *ret, struct hs_error *err);
void hs_sql_by_type_fini(struct hs_sql_by_type *all);

#endif
