#include "stats/key_table.h"

#include <stdatomic.h>
#include <sys/random.h>

#include "base/alloc.h"

enum { LEAST_SLOTS = 64 };

void hs_key_table_fini(struct hs_key_table *table)
{
    hs_free(table->keys);
    hs_free(table->slots);
    *table = (struct hs_key_table){0};
}

static uint64_t key_secret(void)
{
    static _Atomic uint64_t secret;
    uint64_t value = atomic_load_explicit(&secret, memory_order_relaxed);
    if (value == 0) {
        uint64_t fresh = 0;
        if (getrandom(&fresh, sizeof fresh, GRND_NONBLOCK) != (ssize_t)sizeof fresh)
            fresh = (uint64_t)(uintptr_t)&secret * 0x9e3779b97f4a7c15U;
        fresh |= 1;
        value = atomic_compare_exchange_strong(&secret, &value, fresh) ? fresh : value;
    }
    return value;
}

/* Folded multiplication: every bit of key and secret reaches the lower bits of the result. */
static uint64_t key_hash(uint64_t key)
{
    uint64_t secret = key_secret();
    __extension__ unsigned __int128 product =
        (unsigned __int128)(key ^ secret) * (secret * 0x9e3779b97f4a7c15U | 1);
    uint64_t folded = (uint64_t)product ^ (uint64_t)(product >> 64);
    return folded ^ folded >> 29;
}

/* The slot that holds the key, or the empty one where it belongs. Needs slots. */
static size_t key_slot(const struct hs_key_table *table, uint64_t key)
{
    size_t mask = table->n_slots - 1;
    for (size_t at = (size_t)key_hash(key) & mask;; at = (at + 1) & mask)
        if (table->slots[at] == 0 || table->keys[table->slots[at] - 1] == key)
            return at;
}

/* Keeps the slots at most two thirds full with one more key. */
static hs_status key_reserve(struct hs_key_table *table, struct hs_stats_memory *memory,
                             struct hs_error *err)
{
    if ((table->n + 1) * 3 <= table->n_slots * 2)
        return HS_OK;
    size_t n_slots = table->n_slots == 0 ? LEAST_SLOTS : table->n_slots * 2;
    HS_TRY(hs_stats_grow(memory, (void **)&table->slots, &table->slots_capacity, n_slots,
                         sizeof *table->slots, err));
    for (size_t i = 0; i < n_slots; i++)
        table->slots[i] = 0;
    table->n_slots = n_slots;
    for (size_t i = 0; i < table->n; i++)
        table->slots[key_slot(table, table->keys[i])] = (uint32_t)(i + 1);
    return HS_OK;
}

hs_status hs_key_table_add(struct hs_key_table *table, uint64_t key, struct hs_stats_memory *memory,
                           uint32_t *ret, struct hs_error *err)
{
    if (table->n_slots != 0) {
        uint32_t found = table->slots[key_slot(table, key)];
        if (found != 0) {
            *ret = found - 1;
            return HS_OK;
        }
    }
    if (table->n >= HS_NO_KEY - 1)
        return hs_fail(err, HS_LIMIT, "the trace has more than 2^32 of one thing");
    HS_TRY(hs_stats_grow(memory, (void **)&table->keys, &table->capacity, table->n + 1,
                         sizeof *table->keys, err));
    HS_TRY(key_reserve(table, memory, err));
    size_t slot = key_slot(table, key);
    table->keys[table->n] = key;
    *ret = (uint32_t)table->n++;
    table->slots[slot] = *ret + 1;
    return HS_OK;
}

uint32_t hs_key_table_find(const struct hs_key_table *table, uint64_t key)
{
    if (table->n_slots == 0)
        return HS_NO_KEY;
    uint32_t found = table->slots[key_slot(table, key)];
    return found == 0 ? HS_NO_KEY : found - 1;
}
