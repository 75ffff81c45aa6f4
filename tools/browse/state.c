/* The snapshot that is browsed, and the one that it is compared with. */
#include <stdarg.h>
#include <stdio.h>

#include "base/alloc.h"
#include "compare/kinship.h"
#include "model.h"

void hs_browse_say(struct hs_browse *browse, const char *format, ...)
{
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(browse->note, sizeof browse->note, format, arguments);
    va_end(arguments);
}

void hs_browse_unmark(struct hs_browse *browse)
{
    hs_free(browse->mark.name);
    browse->mark = (struct hs_browse_mark){0};
}

/* ---- opening */

hs_status hs_browse_open_snapshot(struct hs_browse *browse, struct hs_error *err)
{
    const struct hs_key_file_options options = {.session = &browse->session};
    struct hs_snap_keys keys;
    HS_TRY(hs_view_open(&browse->session, browse->path, HS_VIEW_INDEX, &browse->view, err));
    HS_TRY(hs_key_file_of(browse->path, &options, &keys, NULL, err));
    return hs_browse_owners_make(&keys, &browse->owners, err);
}

hs_status hs_browse_close_snapshot(struct hs_browse *browse, hs_status status, struct hs_error *err)
{
    status = hs_view_check(&browse->view, status, err);
    if (browse->view.snap != NULL)
        hs_view_close(&browse->view);
    hs_browse_owners_fini(&browse->owners);
    return status;
}

/* ---- an older snapshot */

static hs_status check_kinship(struct hs_browse *browse, char *path, struct hs_snap_keys *keys,
                               struct hs_error *err)
{
    struct hs_compared older = {.path = path, .keys = *keys}; /* both borrow all they have */
    struct hs_compared ours = {.path = (char *)(uintptr_t)browse->path,
                               .keys = browse->owners.keys};
    return hs_kinship_check(&older, &ours, err);
}

static hs_status read_older(struct hs_browse *browse, const char *path, struct hs_browse_older *ret,
                            char **ret_path, struct hs_error *err)
{
    const struct hs_key_file_options options = {.session = &browse->session};
    struct hs_snap_keys keys = {0};
    hs_auto_free char *copy = NULL;
    HS_TRY(hs_strdup(path, &copy, err));
    HS_TRY(hs_key_file_is_at(path) ? hs_key_file_read(path, &keys, err)
                                   : hs_key_file_of(path, &options, &keys, NULL, err));
    hs_status status = check_kinship(browse, copy, &keys, err);
    if (status == HS_OK)
        status = hs_browse_older_make(&keys, ret, err);
    hs_snap_keys_fini(&keys);
    if (status == HS_OK)
        *ret_path = HS_STEAL(copy);
    return status;
}

hs_status hs_browse_compare(struct hs_browse *browse, const char *older, struct hs_error *err)
{
    struct hs_browse_older made = {0};
    char *path = NULL;
    if (older != NULL)
        HS_TRY(read_older(browse, older, &made, &path, err));
    hs_browse_older_fini(&browse->older);
    hs_free(browse->older_path);
    browse->older = made;
    browse->older_path = path;
    for (size_t i = 0; i < browse->n_levels; i++)
        hs_browse_level_unload(&browse->levels[i]);
    return HS_OK;
}

uint64_t hs_browse_before(const struct hs_browse *browse, enum hs_key_list list, const char *name,
                          bool is_detail)
{
    if (browse->older_path == NULL)
        return HS_BROWSE_UNKNOWN;
    uint32_t row = hs_browse_older_find(&browse->older, list, HS_NO_KEY, name);
    if (row == HS_NO_KEY)
        return 0;
    const struct hs_key_row *found = &browse->older.keys.lists[list].rows[row];
    return is_detail ? found->detail : found->words;
}
