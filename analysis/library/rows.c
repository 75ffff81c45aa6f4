/* libheapsnap: what many snapshots are compared by (sets, keys, groups of leaks), and all blocks.
 */
#include <limits.h>
#include <string.h>

#include "analysis/keys.h"
#include "analysis/leak_groups.h"
#include "analysis/set_rows.h"
#include "base/alloc.h"
#include "handle.h"

/* ---- sets */

int heapsnap_sets(struct heapsnap *snap, struct heapsnap_set **ret, size_t *ret_n,
                  struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    struct hs_set_rows rows = {0};
    hs_auto_free struct heapsnap_set *sets = NULL;
    hs_status status = hs_set_rows_all(&snap->view, &rows, &error);
    if (status == HS_OK)
        status = HS_ALLOC(&sets, rows.n, &error);
    for (size_t i = 0; status == HS_OK && i < rows.n; i++)
        sets[i] = (struct heapsnap_set){
            .id = rows.rows[i].id,
            .n_roots = rows.rows[i].n_members,
            .retained_words = rows.rows[i].retained.words,
            .retained_objects = rows.rows[i].retained.objects,
        };
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(sets);
        *ret_n = rows.n;
    }
    hs_set_rows_fini(&rows);
    return result;
}

static hs_status check_set(const struct heapsnap *snap, uint32_t set, struct hs_error *err)
{
    uint32_t n = hs_index_n_sets(snap->view.index);
    if (set != 0 && set <= n)
        return HS_OK;
    return hs_fail(err, HS_USAGE, "there is no set %u: they are called 1 to %u", set, n);
}

int heapsnap_set_roots(struct heapsnap *snap, uint32_t set, uint64_t **ret, size_t *ret_n,
                       struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    hs_auto_free uint64_t *roots = NULL;
    size_t n = 0;
    struct hs_row row = {0};
    hs_status status = check_set(snap, set, &error);
    if (status == HS_OK) {
        row = hs_index_set_roots(snap->view.index, set);
        status = HS_ALLOC(&roots, row.n, &error);
    }
    if (status == HS_OK)
        for (size_t room = row.n; n < room && hs_row_next(&row, &roots[n]);)
            n++;
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(roots);
        *ret_n = n;
    }
    return result;
}

/* ---- keys */

static const char *const forms[] = {
    [HS_KEY_ALL] = "all",
    [HS_KEY_ROOT] = "root",
    [HS_KEY_TYPE] = "type",
    [HS_KEY_UNREACHED] = "unreached",
};

static hs_status copy_keys(struct heapsnap *snap, const struct hs_keys *keys, struct hs_error *err)
{
    hs_auto_free struct heapsnap_key *rows = NULL;
    struct hs_buffer texts = {0};
    hs_status status = HS_ALLOC(&rows, keys->n, err);
    for (uint32_t i = 0; i < keys->n && status == HS_OK; i++) {
        char text[HS_KEY_TEXT_BYTES];
        hs_key_text(keys, i, text, sizeof text);
        status = hs_buffer_reserve(&texts, strlen(text) + 1, err);
        if (status == HS_OK)
            hs_buffer_put_bytes(&texts, text, strlen(text) + 1);
    }
    if (status != HS_OK) {
        hs_buffer_fini(&texts);
        return status;
    }
    const char *at = (const char *)texts.bytes; /* which does not move any more */
    for (uint32_t i = 0; i < keys->n; i++, at += strlen(at) + 1) {
        const struct hs_key *key = &keys->keys[i];
        rows[i] = (struct heapsnap_key){
            .key = at,
            .form = forms[key->form],
            .parent = key->parent == HS_NO_KEY ? HEAPSNAP_NO_NODE : key->parent,
            .root = key->root,
            .set = key->set,
            .steps = key->steps,
            .objects = key->own.objects,
            .words = key->own.words,
            .all_objects = key->all.objects,
            .all_words = key->all.words,
        };
    }
    snap->keys = HS_STEAL(rows);
    snap->key_texts = (char *)texts.bytes;
    snap->n_keys = keys->n;
    return HS_OK;
}

static hs_status find_keys(struct heapsnap *snap, struct hs_error *err)
{
    const struct hs_keys_query query = {0};
    struct hs_keys keys = {0};
    if (snap->keys != NULL)
        return HS_OK;
    hs_status status = hs_keys_find(&snap->view, &query, &keys, err);
    if (status == HS_OK)
        status = copy_keys(snap, &keys, err);
    hs_keys_fini(&keys);
    return status;
}

int heapsnap_keys(struct heapsnap *snap, struct heapsnap_key **ret, size_t *ret_n,
                  struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    hs_auto_free struct heapsnap_key *rows = NULL;
    hs_status status = find_keys(snap, &error);
    if (status == HS_OK)
        status = HS_ALLOC(&rows, snap->n_keys, &error);
    if (status == HS_OK)
        memcpy(rows, snap->keys, snap->n_keys * sizeof *rows);
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(rows);
        *ret_n = snap->n_keys;
    }
    return result;
}

/* ---- leaks */

static struct heapsnap_leak_group leak_of(const struct hs_view *view,
                                          const struct hs_leak_group *group)
{
    return (struct heapsnap_leak_group){
        .certainty = hs_leak_certainty_name(group->certainty),
        .type = hs_view_string(view, hs_snap_type(view->snap, group->type)->name),
        .words_each = group->words_each,
        .objects = group->count,
        .words = group->words,
        .heads = group->heads,
        .held_words = group->held_words,
        .first = group->first,
    };
}

int heapsnap_leak_groups(struct heapsnap *snap, struct heapsnap_leak_group **ret, size_t *ret_n,
                         struct heapsnap_error *err)
{
    const struct hs_suppressions none = {0};
    struct hs_leak_query query = {
        .suppressions = &none, .certainties = UINT_MAX, .max_rows = UINT64_MAX};
    struct hs_error error = HS_ERROR_INIT;
    struct hs_leak_set set = {0};
    struct hs_leak_groups groups = {0};
    hs_auto_free struct heapsnap_leak_group *rows = NULL;
    hs_status status = hs_leak_set_find(&snap->view, NULL, &set, &error);
    if (status == HS_OK)
        status = hs_leak_groups_find(&snap->view, &set, &query, &groups, &error);
    if (status == HS_OK)
        status = HS_ALLOC(&rows, groups.n_groups, &error);
    for (size_t i = 0; status == HS_OK && i < groups.n_groups; i++)
        rows[i] = leak_of(&snap->view, &groups.groups[i]);
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK) {
        *ret = HS_STEAL(rows);
        *ret_n = groups.n_groups;
    }
    hs_leak_groups_fini(&groups);
    hs_leak_set_fini(&set);
    return result;
}

/* ---- blocks */

const char *heapsnap_type_name(const struct heapsnap *snap, uint32_t type)
{
    const struct hs_view *view = &snap->view;
    if (type >= view->totals->n_types)
        return "";
    return hs_view_string(view, hs_snap_type(view->snap, type)->name);
}

/* Columns that are not the chunk's: two of numbers, two of marks. */
static hs_status load_blocks(struct heapsnap *snap, uint64_t chunk, struct hs_error *err)
{
    struct hs_index *index = snap->view.index;
    if (snap->numbers == NULL)
        HS_TRY(HS_ALLOC(&snap->numbers, 2 * HS_CHUNK_BLOCKS, err));
    if (snap->marks == NULL)
        HS_TRY(HS_ALLOC(&snap->marks, 2 * HS_CHUNK_BLOCKS, err));
    HS_TRY(
        hs_snap_load_chunk(snap->view.snap, chunk, HS_COL_SIZES | HS_COL_TYPES, &snap->chunk, err));
    for (uint32_t i = 0; i < snap->chunk.n_blocks; i++) {
        hs_node node = snap->chunk.first + i;
        snap->numbers[i] = hs_index_idom(index, node);
        snap->numbers[HS_CHUNK_BLOCKS + i] = hs_index_retained(index, node).words;
        snap->marks[i] = (snap->chunk.state[i] & HS_BLOCK_STATIC) != 0;
        snap->marks[HS_CHUNK_BLOCKS + i] = hs_index_is_reached(index, node);
    }
    return HS_OK;
}

int heapsnap_get_blocks(struct heapsnap *snap, uint64_t chunk, struct heapsnap_blocks *ret,
                        struct heapsnap_error *err)
{
    struct hs_error error = HS_ERROR_INIT;
    hs_status status = HS_OK;
    bool is_behind = chunk >= snap->view.totals->n_chunks;
    if (!is_behind)
        status = load_blocks(snap, chunk, &error);
    int result = heapsnap_finish_(snap, status, &error, err);
    if (result == HEAPSNAP_OK)
        *ret = is_behind ? (struct heapsnap_blocks){0}
                         : (struct heapsnap_blocks){
                               .first = snap->chunk.first,
                               .n = snap->chunk.n_blocks,
                               .address = snap->chunk.address,
                               .words = snap->chunk.words,
                               .type = snap->chunk.type,
                               .dominator = snap->numbers,
                               .retained_words = snap->numbers + HS_CHUNK_BLOCKS,
                               .is_static = snap->marks,
                               .is_reached = snap->marks + HS_CHUNK_BLOCKS,
                           };
    return result;
}
