#include "stats/key_table.h"

#include "base/alloc.h"

void hs_key_table_fini(struct hs_key_table *table)
{
    hs_free(table->keys);
    hs_table_fini(&table->by_key);
    *table = (struct hs_key_table){0};
}

uint32_t hs_key_table_find(const struct hs_key_table *table, uint64_t key)
{
    return HS_TABLE_FIND(&table->by_key, hs_hash(key), i, table->keys[i] == key);
}

hs_status hs_key_table_add(struct hs_key_table *table, uint64_t key, struct hs_stats_memory *memory,
                           uint32_t *ret, struct hs_error *err)
{
    *ret = hs_key_table_find(table, key);
    if (*ret != HS_NO_KEY)
        return HS_OK;
    if (table->n >= HS_NO_KEY - 1)
        return hs_fail(err, HS_LIMIT, "the trace has more than 2^32 of one thing");
    HS_TRY(hs_stats_grow(memory, (void **)&table->keys, &table->capacity, table->n + 1,
                         sizeof *table->keys, err));
    HS_TRY(hs_stats_reserve(memory, hs_table_growth_bytes(&table->by_key, 1), 1, err));
    HS_TRY(hs_table_add(&table->by_key, hs_hash(key), table->n, err));
    *ret = (uint32_t)table->n;
    table->keys[table->n++] = key;
    return HS_OK;
}
