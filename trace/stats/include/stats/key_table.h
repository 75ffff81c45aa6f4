/* Numbers of 64 bits, each once, numbered from 0 in order of first use. Resident: 8
 * bytes per key, and 12 to 24 for its slot. */
#ifndef HS_STATS_KEY_TABLE_H
#define HS_STATS_KEY_TABLE_H

#include "base/table.h"
#include "stats/memory.h"

#define HS_NO_KEY HS_NO_NUMBER

struct hs_key_table {
    uint64_t *keys; /* owned */
    size_t n, capacity;
    struct hs_table by_key;
};

/* Frees the table. A zeroed one is valid and empty. */
void hs_key_table_fini(struct hs_key_table *table);

/* Finds the number of `key`, which is added when new: then it is table->n - 1 afterwards.
 * HS_LIMIT. */
hs_status hs_key_table_add(struct hs_key_table *table, uint64_t key, struct hs_stats_memory *memory,
                           uint32_t *ret, struct hs_error *err);
/* Finds the number of a key; HS_NO_KEY when it is not there. */
uint32_t hs_key_table_find(const struct hs_key_table *table, uint64_t key);

#endif
