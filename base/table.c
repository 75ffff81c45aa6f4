#include "base/table.h"

#include <assert.h>
#include <sys/random.h>
#include <xxhash.h>

#include "base/alloc.h"

enum { FIRST_SLOTS = 64, FIRST_ENTRIES = 32 };

_Atomic uint64_t hs_hash_secret_;

uint64_t hs_hash_make_secret_(void)
{
    uint64_t fresh = 0, known = 0;
    if (getrandom(&fresh, sizeof fresh, GRND_NONBLOCK) != (ssize_t)sizeof fresh)
        fresh = (uint64_t)(uintptr_t)&known * 0x9e3779b97f4a7c15U; /* as random as the addresses */
    fresh |= 1;
    return atomic_compare_exchange_strong(&hs_hash_secret_, &known, fresh) ? fresh : known;
}

uint64_t hs_hash_bytes(const void *bytes, size_t n)
{
    return XXH3_64bits_withSeed(bytes, n, hs_hash_secret());
}

void hs_table_fini(struct hs_table *table)
{
    hs_free(table->slots);
    *table = (struct hs_table){0};
}

/* The least number of slots for n numbers; SIZE_MAX when there are too many. */
static size_t slots_for(size_t n_slots, size_t n)
{
    if (n >= HS_NO_NUMBER)
        return SIZE_MAX;
    if (n_slots == 0 && n != 0)
        n_slots = FIRST_SLOTS;
    while (n_slots / 3 * 2 < n)
        n_slots *= 2;
    return n_slots;
}

size_t hs_table_growth_bytes(const struct hs_table *table, size_t n_more)
{
    size_t n_slots = slots_for(table->n_slots, table->n + n_more);
    return n_slots == SIZE_MAX ? 0 : (n_slots - table->n_slots) * sizeof *table->slots;
}

static void place(const struct hs_table *table, uint64_t slot)
{
    size_t at = (uint32_t)slot;
    while (table->slots[at & (table->n_slots - 1)] != 0)
        at++;
    table->slots[at & (table->n_slots - 1)] = slot;
}

hs_status hs_table_reserve(struct hs_table *table, size_t n_more, struct hs_error *err)
{
    struct hs_table bigger = {.n_slots = slots_for(table->n_slots, table->n + n_more),
                              .n = table->n};
    if (bigger.n_slots == table->n_slots)
        return HS_OK;
    if (bigger.n_slots == SIZE_MAX)
        return hs_fail(err, HS_LIMIT, "a table cannot hold more than 2^32 entries");
    HS_TRY(HS_ALLOC(&bigger.slots, bigger.n_slots, err));
    for (size_t i = 0; i < table->n_slots; i++)
        if (table->slots[i] != 0)
            place(&bigger, table->slots[i]);
    hs_free(table->slots);
    *table = bigger;
    return HS_OK;
}

hs_status hs_table_add(struct hs_table *table, uint64_t hash, size_t number, struct hs_error *err)
{
    HS_TRY(hs_table_reserve(table, 1, err));
    assert(number < HS_NO_NUMBER);
    place(table, (uint64_t)(number + 1) << 32 | (uint32_t)hash);
    table->n++;
    return HS_OK;
}

void hs_dict_fini(struct hs_dict *map)
{
    hs_table_fini(&map->table);
    hs_free(map->entries);
    *map = (struct hs_dict){0};
}

static size_t map_capacity(const struct hs_dict *map)
{
    if (map->n < map->capacity)
        return map->capacity;
    return map->capacity == 0 ? FIRST_ENTRIES : 2 * map->capacity;
}

size_t hs_dict_growth_bytes(const struct hs_dict *map)
{
    return hs_table_growth_bytes(&map->table, 1) +
           (map_capacity(map) - map->capacity) * sizeof *map->entries;
}

hs_status hs_dict_put(struct hs_dict *map, uint64_t key, uint64_t value, struct hs_error *err)
{
    uint64_t *known = hs_dict_find(map, key);
    if (known != NULL) {
        *known = value;
        return HS_OK;
    }
    HS_TRY(HS_GROW(&map->entries, &map->capacity, map_capacity(map), err));
    HS_TRY(hs_table_add(&map->table, hs_hash(key), map->n, err));
    map->entries[map->n++] = (struct hs_dict_entry){key, value};
    return HS_OK;
}
