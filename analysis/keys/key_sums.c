#include "key_sums.h"

#include <string.h>

#include "analysis/chunk_pass.h"
#include "analysis/leak_report.h"
#include "analysis/type_family.h"
#include "base/alloc.h"

#define LOST "[lost]" /* of malloc, beside the heap of a collector that has garbage */

/* ---- sizes */

struct unreached {
    uint32_t keys[2]; /* HS_NO_KEY: not there yet; the second of what is lost */
    bool has_lost;    /* the two are told apart */
};

/* The key of blocks of a kind that no root reaches. */
static hs_status unreached_step(struct key_table *table, uint32_t *above, const char *name,
                                uint32_t kind, uint32_t *ret, struct hs_error *err)
{
    if (*above == HS_NO_KEY) {
        struct hs_key key = {.parent = 0,
                             .form = HS_KEY_UNREACHED,
                             .tier = HS_TIER_NONE,
                             .root = HS_NO_NODE,
                             .type = HS_UNTYPED};
        HS_TRY(hs_strtab_add(&table->out->names, name, &key.name, err));
        HS_TRY(key_table_add(table, &key, 0, above, err));
        key_table_rank(table);
    }
    return key_table_step(table, *above, kind, ret, err);
}

/* Tells whether memory of malloc stands beside a heap of OCaml: what is not reached there is lost,
 * here it is garbage, whose state says so (emit.c). */
static bool has_lost_beside_garbage(const struct hs_view *view)
{
    return hs_view_has_runtime(view, "ocaml") && !hs_leak_is_garbage(view);
}

static void add_block(struct hs_sizes *sum, const struct hs_chunk *chunk, uint32_t at)
{
    if (chunk->state[at] & HS_BLOCK_STATIC) {
        sum->static_words += chunk->words[at];
        sum->static_objects++;
    } else {
        sum->words += chunk->words[at];
        sum->objects++;
    }
}

static hs_status add_chunk(const struct owner_search *search, struct key_table *table,
                           const struct hs_chunk *chunk, struct unreached *unreached,
                           struct hs_error *err)
{
    uint64_t first = chunk->first - search->view->n_tree;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        uint32_t key = owner_search_key(search, first + i);
        uint32_t kind = table->kinds->of_type[chunk->type[i]];
        bool is_lost = unreached->has_lost && (chunk->state[i] & HS_BLOCK_UNSURE) == 0;
        if (key == HS_NO_KEY)
            HS_TRY(unreached_step(table, &unreached->keys[is_lost],
                                  is_lost ? LOST : HS_KEY_UNREACHED_NAME, kind, &key, err));
        add_block(&table->out->keys[key].own, chunk, i);
    }
    return HS_OK;
}

static hs_status add_sizes(const struct owner_search *search, struct key_table *table,
                           struct hs_error *err)
{
    struct unreached unreached = {.keys = {HS_NO_KEY, HS_NO_KEY},
                                  .has_lost = has_lost_beside_garbage(search->view)};
    struct hs_chunk_pass pass =
        hs_chunk_pass_of(search->view, HS_COL_SIZES | HS_COL_TYPES, "adding up keys");
    while (hs_chunk_pass_next(&pass, err))
        pass.status = add_chunk(search, table, &pass.chunk, &unreached, err);
    HS_TRY(hs_chunk_pass_end(&pass));
    key_table_rank(table);
    return HS_OK;
}

/* ---- owner sets */

struct set_sums {
    struct hs_budget *budget;
    struct hs_dict words; /* by key and set: what the set's top units of the key retain */
    uint64_t reserved_bytes;
};

static hs_status add_top(struct set_sums *sums, uint32_t key, uint32_t set, uint64_t words,
                         struct hs_error *err)
{
    uint64_t at = (uint64_t)key << 32 | set, more = hs_dict_growth_bytes(&sums->words);
    HS_TRY(hs_budget_reserve(sums->budget, more, "owner sets of keys", err));
    sums->reserved_bytes += more;
    return hs_dict_put(&sums->words, at, hs_dict_get(&sums->words, at, 0) + words, err);
}

static hs_status add_tops(const struct owner_search *search, struct set_sums *sums,
                          struct hs_error *err)
{
    const struct hs_view *view = search->view;
    uint32_t sets[HS_INDEX_RUN];
    for (uint64_t i = 0; hs_index_n_sets(view->index) > 0 && i < search->n_blocks; i++) {
        hs_node node = view->n_tree + i;
        if (i == 0 || node % HS_INDEX_RUN == 0)
            hs_index_run_sets(view->index, node - node % HS_INDEX_RUN, sets);
        uint32_t key = owner_search_key(search, i), set = sets[node % HS_INDEX_RUN];
        if (set != 0 && set != HS_SET_OTHERS && key != HS_NO_KEY)
            HS_TRY(add_top(sums, key, set, hs_index_retained(view->index, node).words, err));
    }
    return hs_index_check(view->index, err);
}

/* The largest of each key; of equal ones the first. Keys without any have that of the key above. */
static hs_status choose_sets(const struct set_sums *sums, const struct key_table *table,
                             struct hs_error *err)
{
    struct hs_keys *out = table->out;
    hs_auto_free uint64_t *most = NULL;
    HS_TRY(HS_ALLOC(&most, out->n, err));
    for (size_t i = 0; i < sums->words.n; i++) {
        uint64_t words = sums->words.entries[i].value;
        uint32_t key = (uint32_t)(sums->words.entries[i].key >> 32);
        uint32_t set = (uint32_t)sums->words.entries[i].key;
        uint32_t *chosen = &out->keys[key].set;
        if (*chosen == 0 || words > most[key] || (words == most[key] && set < *chosen)) {
            *chosen = set;
            most[key] = words;
        }
    }
    for (size_t i = 0; i < out->n; i++) {
        struct hs_key *key = &out->keys[i];
        if (key->form == HS_KEY_TYPE && key->set == 0)
            key->set = out->keys[key->parent].set;
    }
    return HS_OK;
}

static hs_status find_sets(const struct owner_search *search, struct key_table *table,
                           struct hs_error *err)
{
    struct set_sums sums = {.budget = search->view->session.budget};
    hs_status status = add_tops(search, &sums, err);
    if (status == HS_OK)
        status = choose_sets(&sums, table, err);
    hs_dict_fini(&sums.words);
    hs_budget_release(sums.budget, sums.reserved_bytes);
    return status;
}

hs_status key_sums_find(const struct owner_search *search, struct key_table *table,
                        struct hs_error *err)
{
    HS_TRY(add_sizes(search, table, err));
    return find_sets(search, table, err);
}
