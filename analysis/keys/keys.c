#include "analysis/keys.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "key_prune.h"
#include "key_sums.h"

/* ---- the order of all */

/* Numbers by rank: keys above come first, their own order is that of names. */
static hs_status put_in_order(const struct key_table *table, struct hs_error *err)
{
    struct hs_keys *out = table->out;
    hs_auto_free struct hs_key *ordered = NULL;
    HS_TRY(HS_ALLOC(&ordered, out->n, err));
    for (size_t i = 0; i < out->n; i++) {
        struct hs_key key = out->keys[i];
        if (key.parent != HS_NO_KEY)
            key.parent = table->rank[key.parent];
        ordered[table->rank[i]] = key;
    }
    memcpy(out->keys, ordered, out->n * sizeof *ordered);
    return HS_OK;
}

static void sum_up(struct hs_keys *keys)
{
    for (size_t i = keys->n; i-- > 0;) {
        struct hs_key *key = &keys->keys[i];
        hs_sizes_add(&key->all, &key->own);
        if (key->parent != HS_NO_KEY)
            hs_sizes_add(&keys->keys[key->parent].all, &key->all);
    }
}

/* The cells of the search become keys, in place. */
static void keep_blocks(struct owner_search *search, const struct key_table *table,
                        const uint32_t *merged, struct hs_keys *out)
{
    for (uint64_t i = 0; i < search->n_blocks; i++) {
        uint32_t key = owner_search_key(search, i);
        if (merged != NULL && key != HS_NO_KEY)
            key = merged[key];
        search->cells[i] = key == HS_NO_KEY ? HS_NO_KEY : table->rank[key];
    }
    uint64_t n_bytes = search->n_blocks * sizeof *search->cells;
    out->of_block = HS_STEAL(search->cells);
    out->n_blocks = search->n_blocks;
    out->reserved_bytes += n_bytes;
    search->reserved_bytes -= n_bytes;
}

/* ---- the whole */

static hs_status find_with(struct hs_view *view, const struct hs_keys_query *query,
                           struct key_table *table, struct key_roots *roots, struct hs_error *err)
{
    struct owner_search search;
    HS_TRY(key_roots_init(view, table, roots, err));
    HS_TRY(owner_search_run(view, table, roots, query->in_file, &search, err));
    hs_auto_free uint32_t *merged = NULL;
    hs_status status = key_sums_find(&search, table, err);
    if (status == HS_OK)
        status = key_prune_keys(table, &merged, err);
    if (status == HS_OK && query->with_blocks)
        keep_blocks(&search, table, merged, table->out);
    owner_search_fini(&search);
    return status;
}

static hs_status find_keys(struct hs_view *view, const struct hs_keys_query *query,
                           struct hs_keys *out, struct hs_error *err)
{
    struct key_kinds kinds;
    struct key_table table = {0};
    struct key_roots roots = {0};
    HS_TRY(key_kinds_init(view, &out->names, &kinds, err));
    hs_status status = key_table_init(&kinds, out, &table, err);
    if (status == HS_OK)
        status = find_with(view, query, &table, &roots, err);
    if (status == HS_OK)
        status = put_in_order(&table, err);
    if (status == HS_OK)
        sum_up(out);
    key_roots_fini(&roots);
    key_table_fini(&table);
    key_kinds_fini(&kinds);
    return status;
}

hs_status hs_keys_find(struct hs_view *view, const struct hs_keys_query *query, struct hs_keys *ret,
                       struct hs_error *err)
{
    struct hs_keys keys = {.budget = view->session.budget};
    hs_status status = find_keys(view, query, &keys, err);
    if (status == HS_OK)
        *ret = keys;
    else
        hs_keys_fini(&keys);
    return status;
}

void hs_keys_fini(struct hs_keys *keys)
{
    hs_pages_free(keys->of_block, keys->n_blocks, sizeof *keys->of_block);
    hs_free(keys->keys);
    hs_strtab_fini(&keys->names);
    hs_budget_release(keys->budget, keys->reserved_bytes);
    *keys = (struct hs_keys){0};
}

/* ---- texts */

void hs_key_text(const struct hs_keys *keys, uint32_t key, char *text, size_t n)
{
    uint32_t way[HS_KEY_STEPS + 1];
    size_t n_way = 0, at = 0;
    for (; key != HS_NO_KEY && key != 0; key = keys->keys[key].parent)
        way[n_way++] = key;
    if (n > 0)
        text[0] = '\0';
    for (size_t i = n_way; i-- > 0 && at < n;) {
        const char *name = hs_strtab_get(&keys->names, keys->keys[way[i]].name);
        int more = snprintf(text + at, n - at, "%s%s", i + 1 == n_way ? "" : " > ", name);
        at += more > 0 ? (size_t)more : 0;
    }
}
