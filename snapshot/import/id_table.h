/* A table of identifiers with where each is described, sorted for look-ups: 16 bytes an entry and
 * half a byte of guesses. For identifiers that are addresses a look-up costs a miss or two. */
#ifndef HS_ID_TABLE_H
#define HS_ID_TABLE_H

#include "maker.h"

struct id_place {
    uint64_t id, at;
};

struct id_table {
    struct id_place *places; /* owned */
    size_t n, capacity;
    uint64_t *first; /* owned pages: of each run of identifiers, the first place; NULL: not made */
    uint64_t n_first;
    unsigned shift;
    uint64_t n_double; /* places that were dropped: their identifier stood already */
};

hs_status hs_id_put(struct maker *maker, struct id_table *table, uint64_t id, uint64_t at,
                    const char *what, struct hs_error *err);
/* Sorts by id, then place; of several with one id the first in the file stays. */
hs_status hs_id_sort(struct maker *maker, struct id_table *table, struct hs_error *err);
void hs_id_fini(struct maker *maker, struct id_table *table);

/* The index of an id in a sorted table, or UINT64_MAX. */
uint64_t hs_id_find(const struct id_table *table, uint64_t id);

#endif
