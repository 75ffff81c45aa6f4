/* The places of key files, and the checks before one is believed. */
#include "analysis/key_file.h"

#include <fcntl.h>
#include <unistd.h>

#include "analysis/type_family.h"
#include "base/alloc.h"
#include "base/file.h"
#include "key_format.h"

const struct hs_kept_file_kind hs_key_file_kind = {.what = "the key file",
                                                   .end = HS_KEY_FILE_END,
                                                   .magic = KEY_FILE_MAGIC,
                                                   .version = HS_KEY_FILE_VERSION};

bool hs_key_file_is_at(const char *path)
{
    uint8_t bytes[8];
    int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    if (fd < 0)
        return false;
    ssize_t n = pread(fd, bytes, sizeof bytes, 0);
    (void)close(fd);
    return n > 0 && hs_key_file_is(bytes, (size_t)n);
}

hs_status hs_key_file_read(const char *path, struct hs_snap_keys *ret, struct hs_error *err)
{
    struct hs_map map;
    HS_TRY(hs_map_open(path, &map, err));
    hs_status status = hs_snap_keys_decode(map.bytes, map.n_bytes, ret, err);
    hs_map_close(&map);
    return status == HS_FORMAT ? hs_context(err, "cannot read '%s'", path) : status;
}

static hs_status check_is_of(const struct hs_kept_file_key *key, const struct hs_snap_keys *table,
                             struct hs_error *err)
{
    const struct hs_key_facts *facts = &table->facts;
    if (facts->snap_checksum != key->snap_checksum || facts->snap_bytes != key->snap_bytes ||
        facts->policy != key->policy)
        return hs_fail(err, HS_FORMAT, "it is of another snapshot");
    return HS_OK;
}

static hs_status take(void *context, const struct hs_kept_file_key *key, const uint8_t *bytes,
                      size_t n_bytes, struct hs_error *err)
{
    struct hs_snap_keys *ret = context;
    HS_TRY(hs_snap_keys_decode(bytes, n_bytes, ret, err));
    hs_status status = check_is_of(key, ret, err);
    if (status != HS_OK)
        hs_snap_keys_fini(ret);
    return status;
}

static hs_status find(const struct hs_view *view, struct hs_snap_keys *ret, char **ret_path,
                      struct hs_error *err)
{
    return hs_kept_file_find(view, &hs_key_file_kind, take, ret, ret_path, err);
}

static hs_status keep(const struct hs_view *view, const struct hs_snap_keys *table, char **ret_path,
                      struct hs_error *err)
{
    struct hs_buffer bytes = {0};
    hs_status status = hs_snap_keys_encode(table, &bytes, err);
    if (status == HS_OK)
        status = hs_kept_file_keep(view, &hs_key_file_kind, &bytes, ret_path, err);
    hs_buffer_fini(&bytes);
    return status;
}

static hs_status count(const char *snap_path, const struct hs_key_file_options *options,
                       struct hs_snap_keys *ret, char **ret_path, struct hs_error *err)
{
    struct hs_view view = {0};
    struct hs_snap_keys table = {0};
    HS_TRY(hs_view_open_index(options->session, snap_path, options->rebuild, &view, err));
    hs_status status = hs_snap_keys_collect(&view, &table, err);
    table.facts.available_bytes = options->available_bytes;
    status = hs_view_check(&view, status, err);
    if (status == HS_OK)
        status = keep(&view, &table, ret_path, err);
    hs_view_close(&view);
    if (status == HS_OK)
        *ret = table;
    else
        hs_snap_keys_fini(&table);
    return status;
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
