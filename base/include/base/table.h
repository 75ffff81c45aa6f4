/* The hash table of the house, and the hash functions under it.
 *
 * A `struct hs_table` finds things in an array of the caller's by their content: it holds numbers,
 * indices of that array, each beside half of the hash of what stands there. So the array keeps the
 * order in which things came, and nothing that is written or shown depends on the hash.
 *
 *   uint64_t hash = hs_hash_pair(parent, name);
 *   uint32_t at = HS_TABLE_FIND(&table, hash, i, a[i].parent == parent && a[i].name == name);
 *   if (at == HS_NO_NUMBER) {                               not there: room in `a`, then
 *       HS_TRY(hs_table_add(&table, hash, n, err));
 *       a[n++] = ...;
 *
 * A `struct hs_dict` is a table from numbers to numbers that has its array in itself.
 *
 * Hashes depend on a secret of the process: whoever makes the input cannot choose keys that
 * collide. They differ from run to run and must not be written anywhere.
 *
 * Cost: 12 to 24 bytes per number, at most two thirds of the slots used; no allocation per entry.
 * Nothing is taken out again. At most HS_NO_NUMBER - 1 entries. */
#ifndef HS_BASE_TABLE_H
#define HS_BASE_TABLE_H

#include <stdatomic.h>

#include "base/error.h"

#define HS_NO_NUMBER UINT32_MAX

extern _Atomic uint64_t hs_hash_secret_;
uint64_t hs_hash_make_secret_(void);

static inline uint64_t hs_hash_secret(void)
{
    uint64_t secret = atomic_load_explicit(&hs_hash_secret_, memory_order_relaxed);
    return secret != 0 ? secret : hs_hash_make_secret_();
}

static inline uint64_t hs_hash_fold_(uint64_t a, uint64_t b)
{
    __extension__ unsigned __int128 product = (unsigned __int128)a * b;
    return (uint64_t)product ^ (uint64_t)(product >> 64);
}

/* Hashes by two folded multiplications, as wyhash has them. After the first alone, keys at equal
 * distances stay at nearly equal ones, and under one secret of a thousand these are so small, or so
 * near to a part of the table, that runs of a thousand slots are full. */
static inline uint64_t hs_hash(uint64_t key)
{
    uint64_t secret = hs_hash_secret();
    uint64_t folded = hs_hash_fold_(key ^ secret, secret * 0x9e3779b97f4a7c15U | 1);
    return hs_hash_fold_(folded ^ 0xa0761d6478bd642fU, 0xe7037ed1a0b428dbU);
}

static inline uint64_t hs_hash_pair(uint64_t a, uint64_t b)
{
    return hs_hash(hs_hash(a) ^ b);
}

/* Hashes bytes with XXH3. */
uint64_t hs_hash_bytes(const void *bytes, size_t n);

struct hs_table {
    uint64_t *slots; /* owned: number + 1 in the upper half, half of the hash below it; 0: free */
    size_t n_slots;  /* a power of two, or 0 */
    size_t n;
};

/* Frees the table. A zeroed one is valid and empty. */
void hs_table_fini(struct hs_table *table);

/* Returns the bytes that the table has to grow by before `n_more` numbers can be added: for a
 * budget. */
size_t hs_table_growth_bytes(const struct hs_table *table, size_t n_more);

/* Makes room for `n_more` numbers: as many calls of hs_table_add cannot fail then. */
hs_status hs_table_reserve(struct hs_table *table, size_t n_more, struct hs_error *err);

/* Adds a number whose content is not in the table. Fails with HS_LIMIT. */
hs_status hs_table_add(struct hs_table *table, uint64_t hash, size_t number, struct hs_error *err);

/* Finds the next number with this hash, from slot *at on; HS_NO_NUMBER when there is none. */
static inline uint32_t hs_table_next_(const struct hs_table *table, uint64_t hash, size_t *at)
{
    for (; table->n_slots != 0; ++*at) {
        uint64_t slot = table->slots[*at & (table->n_slots - 1)];
        if (slot == 0)
            break;
        if ((uint32_t)slot == (uint32_t)hash) {
            ++*at;
            return (uint32_t)(slot >> 32) - 1;
        }
    }
    return HS_NO_NUMBER;
}

/* Finds the number `i` with this hash for which `is_same`, an expression in `i`, holds;
 * HS_NO_NUMBER when there is none. */
#define HS_TABLE_FIND(table, hash, i, is_same)                \
    ({                                                        \
        const struct hs_table *hs_table_ = (table);           \
        uint64_t hs_hash_ = (hash);                           \
        size_t hs_at_ = (uint32_t)hs_hash_;                   \
        uint32_t i;                                           \
        do                                                    \
            i = hs_table_next_(hs_table_, hs_hash_, &hs_at_); \
        while (i != HS_NO_NUMBER && !(is_same));              \
        i;                                                    \
    })

struct hs_dict {
    struct hs_table table;
    struct hs_dict_entry {
        uint64_t key, value;
    } * entries; /* owned: in the order in which they came */
    size_t n, capacity;
};

void hs_dict_fini(struct hs_dict *map);

/* Finds the value of a key, or NULL. Valid until the next put. */
static inline uint64_t *hs_dict_find(const struct hs_dict *map, uint64_t key)
{
    uint32_t at = HS_TABLE_FIND(&map->table, hs_hash(key), i, map->entries[i].key == key);
    return at == HS_NO_NUMBER ? NULL : &map->entries[at].value;
}

/* The same, or `none`. */
static inline uint64_t hs_dict_get(const struct hs_dict *map, uint64_t key, uint64_t none)
{
    const uint64_t *value = hs_dict_find(map, key);
    return value == NULL ? none : *value;
}

/* Sets the value of a key, known or not. Fails with HS_LIMIT; then nothing has changed. */
hs_status hs_dict_put(struct hs_dict *map, uint64_t key, uint64_t value, struct hs_error *err);

/* Returns the bytes that the map has to grow by before one more key can be put: for a budget. */
size_t hs_dict_growth_bytes(const struct hs_dict *map);

#endif
