/* Keys with their children, and keys of another snapshot by their names. */
#include "owners.h"

#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "base/append.h"

/* ---- the tree */

static hs_status link_children(struct hs_browse_owners *owners, struct hs_error *err)
{
    const struct hs_key_rows *rows = &owners->keys.lists[HS_KEY_LIST_KEYS];
    if (rows->n == 0)
        return hs_fail(err, HS_FORMAT, "the snapshot has no keys");
    HS_TRY(HS_ALLOC(&owners->begin, rows->n + 1, err));
    HS_TRY(HS_ALLOC(&owners->child, rows->n, err));
    for (size_t i = 1; i < rows->n; i++)
        owners->begin[rows->rows[i].parent + 1]++;
    for (size_t i = 0; i < rows->n; i++)
        owners->begin[i + 1] += owners->begin[i];
    /* Each key's beginning moves behind its children, and is that of the next one afterwards. */
    for (size_t i = 1; i < rows->n; i++)
        owners->child[owners->begin[rows->rows[i].parent]++] = (uint32_t)i;
    for (size_t i = rows->n; i > 0; i--)
        owners->begin[i] = owners->begin[i - 1];
    owners->begin[0] = 0;
    return HS_OK;
}

hs_status hs_browse_owners_make(struct hs_snap_keys *keys, struct hs_browse_owners *ret,
                                struct hs_error *err)
{
    struct hs_browse_owners owners = {.keys = *keys};
    *keys = (struct hs_snap_keys){0};
    hs_status status = link_children(&owners, err);
    if (status == HS_OK)
        *ret = owners;
    else
        hs_browse_owners_fini(&owners);
    return status;
}

void hs_browse_owners_fini(struct hs_browse_owners *owners)
{
    hs_snap_keys_fini(&owners->keys);
    hs_free(owners->begin);
    hs_free(owners->child);
    *owners = (struct hs_browse_owners){0};
}

/* ---- names of keys */

void hs_browse_key_path(const struct hs_browse_owners *owners, uint64_t key, const char *between,
                        char *text, size_t n)
{
    enum { MOST_STEPS = 64 };
    uint64_t steps[MOST_STEPS];
    size_t n_steps = 0;
    text[0] = 0;
    for (uint64_t at = key; at != 0 && n_steps < MOST_STEPS; n_steps++) {
        steps[n_steps] = at;
        at = hs_browse_key(owners, at)->parent;
    }
    while (n_steps > 0)
        hs_append_item(text, n, between, hs_browse_key_name(owners, steps[--n_steps]));
}

/* The child that is called by the first n bytes of `name`. */
static uint32_t child_called(const struct hs_browse_owners *owners, uint32_t key, const char *name,
                             size_t n)
{
    for (uint32_t i = owners->begin[key]; i < owners->begin[key + 1]; i++) {
        const char *text = hs_browse_key_name(owners, owners->child[i]);
        if (strncmp(text, name, n) == 0 && text[n] == 0)
            return owners->child[i];
    }
    return HS_NO_KEY;
}

uint32_t hs_browse_key_find(const struct hs_browse_owners *owners, const char *path)
{
    uint32_t key = 0;
    while (path[0] != 0) {
        size_t n = strcspn(path, HS_BROWSE_STEP_END);
        uint32_t below = child_called(owners, key, path, n);
        if (below == HS_NO_KEY)
            break;
        key = below;
        path += n + (path[n] != 0);
    }
    return key;
}

uint32_t hs_browse_key_of_root(const struct hs_browse_owners *owners, const char *name)
{
    return child_called(owners, 0, name, strlen(name));
}

bool hs_browse_key_is_lost(const struct hs_browse_owners *owners, uint64_t key)
{
    for (uint64_t at = key; at != 0; at = hs_browse_key(owners, at)->parent)
        if (hs_browse_key(owners, at)->form == HS_KEY_UNREACHED)
            return true;
    return false;
}

/* ---- an older snapshot */

static uint64_t hash_of(enum hs_key_list list, uint32_t parent, const char *name)
{
    return hs_hash_pair((uint64_t)list << 32 | parent, hs_hash_bytes(name, strlen(name)));
}

static const struct hs_key_row *row_of(const struct hs_browse_older *older, uint32_t number,
                                       unsigned *ret_list)
{
    unsigned list = HS_N_KEY_LISTS - 1;
    while (number < older->begin[list])
        list--;
    *ret_list = list;
    return &older->keys.lists[list].rows[number - older->begin[list]];
}

static bool is_it(const struct hs_browse_older *older, uint32_t number, enum hs_key_list list,
                  uint32_t parent, const char *name)
{
    unsigned of;
    const struct hs_key_row *row = row_of(older, number, &of);
    return of == list && row->parent == parent &&
           strcmp(hs_strtab_get(&older->keys.names, row->name), name) == 0;
}

static hs_status add_rows(struct hs_browse_older *older, enum hs_key_list list,
                          struct hs_error *err)
{
    const struct hs_key_rows *rows = &older->keys.lists[list];
    for (size_t i = 0; i < rows->n; i++) {
        const struct hs_key_row *row = &rows->rows[i];
        const char *name = hs_strtab_get(&older->keys.names, row->name);
        HS_TRY(hs_table_add(&older->by_name, hash_of(list, row->parent, name),
                            (uint32_t)(older->begin[list] + i), err));
    }
    return HS_OK;
}

hs_status hs_browse_older_make(struct hs_snap_keys *keys, struct hs_browse_older *ret,
                               struct hs_error *err)
{
    struct hs_browse_older older = {.keys = *keys};
    *keys = (struct hs_snap_keys){0};
    hs_status status = HS_OK;
    size_t n = 0;
    for (unsigned list = 0; list < HS_N_KEY_LISTS; list++) {
        older.begin[list] = n;
        n += older.keys.lists[list].n;
    }
    for (unsigned list = 0; list < HS_N_KEY_LISTS && status == HS_OK; list++)
        status = add_rows(&older, list, err);
    if (status == HS_OK)
        *ret = older;
    else
        hs_browse_older_fini(&older);
    return status;
}

void hs_browse_older_fini(struct hs_browse_older *older)
{
    hs_snap_keys_fini(&older->keys);
    hs_table_fini(&older->by_name);
    *older = (struct hs_browse_older){0};
}

uint32_t hs_browse_older_find(const struct hs_browse_older *older, enum hs_key_list list,
                              uint32_t parent, const char *name)
{
    uint32_t found = HS_TABLE_FIND(&older->by_name, hash_of(list, parent, name), i,
                                   is_it(older, i, list, parent, name));
    return found == HS_NO_NUMBER ? HS_NO_KEY : found - (uint32_t)older->begin[list];
}
