/* Keys: `root > type > type`, names of blocks that survive a restart, with their sums. */
#include "analysis/keys.h"
#include "analysis/set_tops.h"
#include "base/append.h"
#include "getters.h"
#include "graph/edges.h"

enum { OWNERS_BYTES = 1024, OWNERS_MOST = 8 };

static struct hs_row_value key_text(struct hs_rows *rows, uint32_t key)
{
    char *room = hs_rows_room(rows, HS_KEY_TEXT_BYTES);
    hs_key_text(rows->state, key, room, HS_KEY_TEXT_BYTES);
    return text(room);
}

/* The first step of a key; number 0 is above all. */
static const char *top_name(const struct hs_keys *keys, uint32_t key)
{
    while (key != 0 && keys->keys[key].parent != 0)
        key = keys->keys[key].parent;
    return key == 0 ? NULL : hs_strtab_get(&keys->names, keys->keys[key].name);
}

/* "cache + index + 3 more" of an owner set. */
static struct hs_row_value owners(struct hs_rows *rows, uint32_t set)
{
    const struct hs_view *view = rows->view;
    hs_node root;
    uint64_t n = 0;
    if (set == 0)
        return none;
    char *room = hs_rows_room(rows, OWNERS_BYTES);
    struct hs_row row = hs_index_set_roots(view->index, set);
    uint64_t n_roots = hs_index_set(view->index, set).n_roots;
    for (; n < OWNERS_MOST && hs_row_next(&row, &root); n++)
        hs_append_item(room, OWNERS_BYTES, " + ",
                       hs_view_string(view, hs_snap_root(view->snap, root)->name));
    if (n < n_roots)
        hs_append(room, OWNERS_BYTES, "%s%lu more", n == 0 ? "" : " + ",
                  (unsigned long)(n_roots - n));
    return text(room);
}

const char *hs_key_form_name(unsigned form)
{
    static const char *const names[] = {
        [HS_KEY_ALL] = "all",
        [HS_KEY_ROOT] = "root",
        [HS_KEY_TYPE] = "type",
        [HS_KEY_UNREACHED] = "unreached",
    };
    return names[form];
}

static void get_one(struct hs_rows *rows, uint64_t at, unsigned column, struct hs_row_value *ret)
{
    const struct hs_keys *keys = rows->state;
    const struct hs_key *key = &keys->keys[at];
    bool is_type = key->form == HS_KEY_TYPE;
    HS_ROWS_SWITCH(KEYS)
}

static hs_status find(struct hs_rows *rows, struct hs_error *err)
{
    const struct hs_keys_query query = {0};
    struct hs_keys *keys = rows->state;
    HS_TRY(hs_keys_find(rows->view, &query, keys, err));
    rows->n = keys->n;
    return HS_OK;
}

static void fini(void *state)
{
    hs_keys_fini(state);
}

HS_ROWS_COLUMNS(KEYS);
const struct hs_noun hs_noun_keys = {
    HS_ROWS_NOUN(keys), .has_ids = true, .state_bytes = sizeof(struct hs_keys),
    .find = find,       .fini = fini,
};
