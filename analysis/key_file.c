/* Where key files are kept, and what is believed of them. */
#include "analysis/key_file.h"

#include <limits.h>
#include <stdio.h>

#include "analysis/type_family.h"
#include "base/alloc.h"
#include "base/file.h"
#include "key_format.h"

hs_status hs_key_file_read(const char *path, struct hs_snap_keys *ret, struct hs_error *err)
{
    struct hs_map map;
    HS_TRY(hs_map_open(path, &map, err));
    hs_status status = hs_snap_keys_decode(map.bytes, map.n_bytes, ret, err);
    hs_map_close(&map);
    return status == HS_FORMAT ? hs_context(err, "cannot read '%s'", path) : status;
}

struct work {
    const struct hs_view *view; /* borrowed */
    struct hs_index_options places;
    char cache[PATH_MAX];
    uint64_t policy;
};

static hs_status check_is_of(const struct work *work, const struct hs_snap_keys *table,
                             struct hs_error *err)
{
    const struct hs_snap_totals *totals = work->view->totals;
    if (table->facts.snap_checksum != totals->checksum ||
        table->facts.snap_bytes != totals->file_bytes || table->facts.policy != work->policy)
        return hs_fail(err, HS_FORMAT, "it is of another snapshot");
    return HS_OK;
}

static hs_status read_trusted(const struct work *work, enum hs_index_place place, const char *path,
                              struct hs_snap_keys *ret, struct hs_error *err)
{
    struct hs_map map;
    HS_TRY(hs_map_open_trusted(path, hs_index_maker(&work->places, place), &map, err));
    hs_status status = hs_snap_keys_decode(map.bytes, map.n_bytes, ret, err);
    hs_map_close(&map);
    HS_TRY(status);
    status = check_is_of(work, ret, err);
    if (status != HS_OK)
        hs_snap_keys_fini(ret);
    return status;
}

static void tell_stale(const struct work *work, const char *path, const struct hs_error *why)
{
    const struct hs_session *session = &work->view->session;
    char line[PATH_MAX + 512];
    if (session->say == NULL)
        return;
    (void)snprintf(line, sizeof line, "'%s' is not used: %s", path, why->message);
    session->say(session->context, line);
}

/* The one that is kept: *ret_path NULL when there is none. */
static hs_status find_kept(const struct work *work, struct hs_snap_keys *ret, char **ret_path,
                           struct hs_error *err)
{
    *ret_path = NULL;
    for (unsigned place = 0; place < HS_N_INDEX_PLACES; place++) {
        struct hs_error why = HS_ERROR_INIT;
        char *path;
        HS_TRY(hs_index_place_path(work->view->snap, &work->places, place, HS_KEY_FILE_END, &path,
                                   err));
        if (path == NULL)
            continue;
        hs_status status = read_trusted(work, place, path, ret, &why);
        if (status == HS_OK) {
            *ret_path = path;
            return HS_OK;
        }
        if (status == HS_FORMAT)
            tell_stale(work, path, &why);
        hs_free(path);
        if (status == HS_LIMIT) {
            *err = why;
            return status;
        }
    }
    return HS_OK;
}

static hs_status write_at(const char *path, const struct hs_buffer *bytes,
                          const struct hs_out_access *access, struct hs_error *err)
{
    struct hs_out out;
    HS_TRY(hs_out_open_path_as(path, access, &out, err));
    hs_status status = hs_out_write(&out, bytes->bytes, bytes->n_bytes, err);
    if (status == HS_OK)
        status = hs_out_commit(&out, err);
    hs_out_close(&out);
    return status;
}

/* At the first place that takes it; at none is fine, too. */
static hs_status keep(const struct work *work, const struct hs_snap_keys *table, char **ret_path,
                      struct hs_error *err)
{
    struct hs_buffer bytes = {0};
    hs_status status = hs_snap_keys_encode(table, &bytes, err);
    for (unsigned place = 0; place < HS_N_INDEX_PLACES && status == HS_OK && *ret_path == NULL;
         place++) {
        struct hs_error ignored = HS_ERROR_INIT;
        char *path = NULL;
        status = hs_index_place_path(work->view->snap, &work->places, place, HS_KEY_FILE_END, &path,
                                     err);
        if (status == HS_OK && path != NULL &&
            write_at(path, &bytes, work->view->session.access, &ignored) == HS_OK)
            *ret_path = HS_STEAL(path);
        hs_free(path);
    }
    hs_buffer_fini(&bytes);
    return status;
}

static hs_status count(const char *snap_path, const struct hs_key_file_options *options,
                       struct hs_snap_keys *ret, char **ret_path, struct hs_error *err)
{
    struct hs_view view = {0};
    struct work work = {.view = &view};
    struct hs_snap_keys table = {0};
    HS_TRY(hs_view_open_index(options->session, snap_path, options->rebuild, &view, err));
    hs_view_index_places(&view, work.cache, sizeof work.cache, &work.places);
    hs_status status = hs_snap_keys_collect(&view, &table, err);
    table.facts.available_bytes = options->available_bytes;
    status = hs_view_check(&view, status, err);
    if (status == HS_OK)
        status = keep(&work, &table, ret_path, err);
    hs_view_close(&view);
    if (status == HS_OK)
        *ret = table;
    else
        hs_snap_keys_fini(&table);
    return status;
}

static hs_status find(const struct hs_view *view, struct hs_snap_keys *ret, char **ret_path,
                      struct hs_error *err)
{
    struct work work = {.view = view};
    hs_view_index_places(view, work.cache, sizeof work.cache, &work.places);
    HS_TRY(hs_index_policy_key(view->snap, &work.places.policy, &work.policy, err));
    return find_kept(&work, ret, ret_path, err);
}

static hs_status find_of(const char *snap_path, const struct hs_key_file_options *options,
                         struct hs_snap_keys *ret, char **ret_path, struct hs_error *err)
{
    struct hs_view view = {0};
    HS_TRY(hs_view_open(options->session, snap_path, HS_VIEW_SNAP, &view, err));
    hs_status status = find(&view, ret, ret_path, err);
    hs_view_close(&view);
    return status;
}

hs_status hs_key_file_of(const char *snap_path, const struct hs_key_file_options *options,
                         struct hs_snap_keys *ret, char **ret_path, struct hs_error *err)
{
    char *path = NULL;
    if (!options->rebuild)
        HS_TRY(find_of(snap_path, options, ret, &path, err));
    hs_status status = HS_OK;
    if (path == NULL)
        status = count(snap_path, options, ret, &path, err);
    if (status == HS_OK && ret_path != NULL)
        *ret_path = HS_STEAL(path);
    hs_free(path);
    return status;
}

/* ---- as keys */

static hs_status take_key(const struct hs_snap_keys *table, const struct hs_key_row *row,
                          struct hs_keys *keys, struct hs_error *err)
{
    struct hs_key *key = &keys->keys[keys->n++];
    *key = (struct hs_key){.parent = row->parent,
                           .form = row->form,
                           .tier = HS_TIER_NONE,
                           .root = HS_NO_NODE,
                           .type = HS_UNTYPED,
                           .set = row->set,
                           .own = {.words = row->detail},
                           .all = {.words = row->words, .objects = row->objects}};
    return hs_strtab_add(&keys->names, hs_strtab_get(&table->names, row->name), &key->name, err);
}

static hs_status take_keys(const struct hs_snap_keys *table, struct hs_keys *keys,
                           struct hs_error *err)
{
    const struct hs_key_rows *rows = &table->lists[HS_KEY_LIST_KEYS];
    keys->is_cut = table->facts.is_cut;
    HS_TRY(HS_GROW(&keys->keys, &keys->capacity, rows->n, err));
    for (size_t i = 0; i < rows->n; i++)
        HS_TRY(take_key(table, &rows->rows[i], keys, err));
    return HS_OK;
}

hs_status hs_key_file_keys(struct hs_view *view, struct hs_keys *ret, bool *ret_found,
                           struct hs_error *err)
{
    struct hs_snap_keys table = {0};
    struct hs_keys keys = {0};
    hs_auto_free char *path = NULL;
    *ret_found = false;
    HS_TRY(find(view, &table, &path, err));
    bool is_there = path != NULL && table.facts.sets_hash == hs_key_sets_hash(view->index);
    hs_status status = is_there ? take_keys(&table, &keys, err) : HS_OK;
    hs_snap_keys_fini(&table);
    if (status != HS_OK) {
        hs_keys_fini(&keys);
        return status;
    }
    *ret = keys;
    *ret_found = is_there;
    return HS_OK;
}
