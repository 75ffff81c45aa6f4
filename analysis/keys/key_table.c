#include "key_table.h"

#include <stdlib.h>

#include "analysis/type_family.h"
#include "base/alloc.h"

hs_status key_table_init(const struct key_kinds *kinds, struct hs_keys *out, struct key_table *ret,
                         struct hs_error *err)
{
    struct key_table table = {.kinds = kinds, .out = out, .most = KEYS_SEARCHED};
    const struct hs_key all = {.parent = HS_NO_KEY,
                               .form = HS_KEY_ALL,
                               .tier = HS_TIER_NONE,
                               .root = HS_NO_NODE,
                               .type = HS_UNTYPED};
    uint32_t number;
    hs_status status = key_table_add(&table, &all, 0, &number, err);
    if (status == HS_OK)
        *ret = table;
    else
        key_table_fini(&table);
    return status;
}

void key_table_fini(struct key_table *table)
{
    hs_free(table->kind);
    hs_free(table->rank);
    hs_free(table->order);
    hs_table_fini(&table->by_step);
    *table = (struct key_table){0};
}

/* Makes room for one more in all arrays. */
static hs_status grow(struct key_table *table, struct hs_error *err)
{
    struct hs_keys *out = table->out;
    size_t n = out->n, capacity = table->capacity;
    uint64_t more = hs_table_growth_bytes(&table->by_step, 1);
    if (n == capacity) {
        capacity = capacity == 0 ? 64 : 2 * capacity;
        more +=
            (capacity - n) * (sizeof *out->keys + sizeof *table->kind + 2 * sizeof *table->rank);
    }
    HS_TRY(hs_budget_reserve(out->budget, more, "keys", err));
    out->reserved_bytes += more;
    size_t kinds = table->capacity, ranks = table->capacity, orders = table->capacity;
    HS_TRY(HS_GROW(&out->keys, &out->capacity, capacity, err));
    HS_TRY(HS_GROW(&table->kind, &kinds, capacity, err));
    HS_TRY(HS_GROW(&table->rank, &ranks, capacity, err));
    HS_TRY(HS_GROW(&table->order, &orders, capacity, err));
    table->capacity = capacity;
    return HS_OK;
}

static uint64_t hash_of(uint32_t above, uint32_t kind)
{
    return hs_hash_pair(above, kind);
}

hs_status key_table_add(struct key_table *table, const struct hs_key *key, uint32_t kind,
                        uint32_t *ret, struct hs_error *err)
{
    struct hs_keys *out = table->out;
    HS_TRY(grow(table, err));
    if (key->form == HS_KEY_TYPE)
        HS_TRY(hs_table_add(&table->by_step, hash_of(key->parent, kind), out->n, err));
    *ret = (uint32_t)out->n;
    table->kind[out->n] = kind;
    out->keys[out->n++] = *key;
    return HS_OK;
}

static uint32_t find_step(const struct key_table *table, uint32_t above, uint32_t kind)
{
    const struct hs_key *keys = table->out->keys;
    const bool *is_container = table->kinds->is_container;
    for (uint32_t at = above; keys[at].form == HS_KEY_TYPE; at = keys[at].parent) {
        if (table->kind[at] == kind)
            return at;
        if (is_container[kind] && !is_container[table->kind[at]])
            break; /* a dict of an object is not the dict that the object is in */
    }
    return HS_TABLE_FIND(&table->by_step, hash_of(above, kind), i,
                         keys[i].parent == above && table->kind[i] == kind);
}

hs_status key_table_step(struct key_table *table, uint32_t above, uint32_t kind, uint32_t *ret,
                         struct hs_error *err)
{
    const struct hs_key *over = &table->out->keys[above];
    uint32_t found = find_step(table, above, kind);
    *ret = found != HS_NO_NUMBER ? found : above;
    if (found != HS_NO_NUMBER || over->steps == HS_KEY_STEPS)
        return HS_OK;
    if (!key_table_has_room(table)) {
        table->out->is_cut = true;
        return HS_OK;
    }
    struct hs_key key = {.parent = above,
                         .name = table->kinds->names[kind],
                         .form = HS_KEY_TYPE,
                         .steps = (uint8_t)(over->steps + 1),
                         .kind = over->kind,
                         .tier = over->tier,
                         .root = over->root,
                         .type = table->kinds->types[kind]};
    return key_table_add(table, &key, kind, ret, err);
}

/* ---- ranks */

static int compare_new(const void *a, const void *b, void *context)
{
    const struct key_table *table = context;
    uint32_t left = *(const uint32_t *)a, right = *(const uint32_t *)b;
    uint32_t above_left = table->rank[table->out->keys[left].parent];
    uint32_t above_right = table->rank[table->out->keys[right].parent];
    if (above_left != above_right)
        return above_left < above_right ? -1 : 1;
    uint32_t kind_left = table->kind[left], kind_right = table->kind[right];
    return (kind_left > kind_right) - (kind_left < kind_right);
}

void key_table_rank(struct key_table *table)
{
    size_t first = table->n_ranked, n = table->out->n - first;
    if (n == 0)
        return;
    for (size_t i = 0; i < n; i++)
        table->order[i] = (uint32_t)(first + i);
    qsort_r(table->order, n, sizeof *table->order, compare_new, table);
    for (size_t i = 0; i < n; i++)
        table->rank[table->order[i]] = (uint32_t)(first + i);
    table->n_ranked = table->out->n;
}
