#include "analysis/newborn.h"

#include <string.h>

#include "analysis/chunk_pass.h"
#include "base/alloc.h"

/* ---- which blocks ---- */

static bool is_step(const struct hs_keys *keys, const struct hs_series *series, uint32_t key,
                    uint32_t row)
{
    const char *name = hs_strtab_get(&keys->names, keys->keys[key].name);
    return keys->keys[key].form == series->rows[row].form &&
           strcmp(name, hs_strtab_get(&series->names, series->rows[row].name)) == 0;
}

/* The key of this snapshot that a row of the series is; HS_NO_KEY when it has none. */
static uint32_t key_of_row(const struct hs_keys *keys, const struct hs_series *series, uint32_t row)
{
    enum { DEPTH = HS_KEY_STEPS + 4 };
    uint32_t way[DEPTH], key = 0;
    size_t depth = 0;
    for (uint32_t i = row; series->rows[i].parent != HS_NO_KEY; i = series->rows[i].parent) {
        if (depth == DEPTH)
            return HS_NO_KEY;
        way[depth++] = i;
    }
    for (uint32_t i = 1; i < keys->n && depth > 0; i++)
        if (keys->keys[i].parent == key && is_step(keys, series, i, way[depth - 1])) {
            key = i;
            depth--;
        }
    return depth == 0 ? key : HS_NO_KEY;
}

/* The standings of a block, by its key: of another key; of a key that ends alike; of the key that
 * grew. Of several roots each has the blocks next to it, and what is new below one may have made
 * another grow: so blocks of a key that ends alike stand in where the key itself has no new one. */
enum standing { STRANGER, ALIKE, OWN };

enum { NONE, OLD, NEW_ALIKE, NEW };

struct search {
    struct hs_view *newer, *older;
    const struct hs_keys *keys;
    uint8_t *counts;             /* owned: by key, enum standing of its blocks */
    struct hs_chunk_pass before; /* over the older one, beside the other */
    size_t at;                   /* in its chunk */
    bool has_before;
    unsigned rank; /* of what is found */
    struct hs_newborn found;
};

/* The key alone when it has blocks of its own, else all below it. */
static hs_status mark_keys(struct search *search, uint32_t key, struct hs_error *err)
{
    const struct hs_keys *keys = search->keys;
    const struct hs_key *it = &keys->keys[key];
    HS_TRY(HS_ALLOC(&search->counts, keys->n, err));
    for (uint32_t i = 1; i < keys->n && it->form == HS_KEY_TYPE; i++)
        if (keys->keys[i].form == HS_KEY_TYPE && keys->keys[i].name == it->name)
            search->counts[i] = ALIKE;
    search->counts[key] = OWN;
    for (uint32_t i = key + 1; i < keys->n && it->own.objects == 0; i++)
        if (search->counts[keys->keys[i].parent] == OWN)
            search->counts[i] = OWN;
    return HS_OK;
}

/* ---- which are new ---- */

/* Goes on in the older snapshot to this address or behind it; false at its end. */
static bool step_to(struct search *search, hs_addr address, struct hs_error *err)
{
    while (search->has_before) {
        const struct hs_chunk *chunk = &search->before.chunk;
        while (search->at < chunk->n_blocks && chunk->address[search->at] < address)
            search->at++;
        if (search->at < chunk->n_blocks)
            return true;
        search->at = 0;
        search->has_before = hs_chunk_pass_next(&search->before, err);
    }
    return false;
}

static const char *type_name(const struct hs_view *view, uint32_t type)
{
    return hs_view_string(view, hs_snap_type(view->snap, type)->name);
}

static bool was_there(struct search *search, const struct hs_chunk *chunk, size_t i,
                      struct hs_error *err)
{
    if (!step_to(search, chunk->address[i], err))
        return false;
    const struct hs_chunk *old = &search->before.chunk;
    size_t at = search->at;
    return old->address[at] == chunk->address[i] && old->words[at] == chunk->words[i] &&
           strcmp(type_name(search->older, old->type[at]),
                  type_name(search->newer, chunk->type[i])) == 0;
}

static void look_at(struct search *search, const struct hs_chunk *chunk, struct hs_error *err)
{
    for (size_t i = 0; i < chunk->n_blocks && search->rank < NEW; i++) {
        hs_node node = chunk->first + i;
        uint32_t key = search->keys->of_block[node - search->newer->n_tree];
        unsigned standing = key == HS_NO_KEY ? STRANGER : search->counts[key];
        if (standing == STRANGER)
            continue;
        bool is_new = search->older != NULL && !was_there(search, chunk, i, err);
        unsigned rank = standing == OWN ? (is_new ? NEW : OLD) : is_new ? NEW_ALIKE : NONE;
        if (rank > search->rank) {
            search->rank = rank;
            search->found = (struct hs_newborn){node, chunk->address[i], is_new};
        }
    }
}

static hs_status pass(struct search *search, struct hs_error *err)
{
    const unsigned columns = HS_COL_SIZES | HS_COL_TYPES;
    const unsigned most = search->older != NULL ? NEW : OLD;
    struct hs_chunk_pass now = hs_chunk_pass_of(search->newer, columns, "looking for a new block");
    if (search->older != NULL) {
        search->before = hs_chunk_pass_of(search->older, columns, NULL);
        search->has_before = hs_chunk_pass_next(&search->before, err);
    }
    while (search->rank < most && hs_chunk_pass_next(&now, err))
        look_at(search, &now.chunk, err);
    hs_status of_before = search->older != NULL ? hs_chunk_pass_end(&search->before) : HS_OK;
    hs_status of_now = hs_chunk_pass_end(&now);
    return of_before != HS_OK ? of_before : of_now;
}

hs_status hs_newborn_find(struct hs_view *newer, struct hs_view *older,
                          const struct hs_series *series, uint32_t key, struct hs_newborn *ret,
                          struct hs_error *err)
{
    const struct hs_keys_query query = {.with_blocks = true};
    struct search search = {.newer = newer, .older = older, .found = {.node = HS_NO_NODE}};
    struct hs_keys keys;
    HS_TRY(hs_keys_find(newer, &query, &keys, err));
    search.keys = &keys;
    uint32_t here = key_of_row(&keys, series, key);
    hs_status status = HS_OK;
    if (here != HS_NO_KEY && here != 0) {
        status = mark_keys(&search, here, err);
        if (status == HS_OK)
            status = pass(&search, err);
    }
    hs_free(search.counts);
    hs_keys_fini(&keys);
    if (status == HS_OK)
        *ret = search.found;
    return status;
}
