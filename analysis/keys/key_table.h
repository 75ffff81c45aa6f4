/* The keys while they are found: each below another, looked up by the step that leads to it.
 *
 * A key's *rank* is its place in the order of all: that of roots, then nearer ones before farther
 * ones, and of those of one level by the rank above and by name. Numbers are given as keys are met
 * and depend on where blocks lie; ranks do not. */
#ifndef HS_KEYS_KEY_TABLE_H
#define HS_KEYS_KEY_TABLE_H

#include "analysis/keys.h"
#include "base/table.h"
#include "key_kinds.h"

/* The number of keys told apart in the search; the largest of these stay (key_prune.h). */
#define KEYS_SEARCHED (4 * HS_KEYS_MOST)

struct key_table {
    const struct key_kinds *kinds; /* borrowed */
    struct hs_keys *out;           /* borrowed: what is made */
    uint32_t *kind;                /* owned: by key; of types */
    uint32_t *rank;                /* owned: by key */
    uint32_t *order;               /* owned: for ranking */
    size_t capacity;
    size_t n_ranked; /* keys below it have a rank */
    size_t most;     /* keys that there may be now */
    struct hs_table by_step;
};

hs_status key_table_init(const struct key_kinds *kinds, struct hs_keys *out, struct key_table *ret,
                         struct hs_error *err);
void key_table_fini(struct key_table *table);

/* Adds a key, whose parent is there. */
hs_status key_table_add(struct key_table *table, const struct hs_key *key, uint32_t kind,
                        uint32_t *ret, struct hs_error *err);
static inline bool key_table_has_room(const struct key_table *table)
{
    return table->out->n < table->most;
}

/* The key of a block of a kind that hangs on one of key `above`: a key on the way, or one directly
 * below, which is added when it is new; `above` itself when there is no room. */
hs_status key_table_step(struct key_table *table, uint32_t above, uint32_t kind, uint32_t *ret,
                         struct hs_error *err);

/* Ranks the keys that have none yet, which are all of one level. */
void key_table_rank(struct key_table *table);

#endif
