/* Lists one below the other: read, named, sorted, searched. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "model.h"

/* ---- one list */

static hs_status load(struct hs_browse *browse, struct hs_browse_level *level, struct hs_error *err)
{
    static hs_status (*const loaders[HS_N_BROWSE_FORMS])(
        struct hs_browse *, struct hs_browse_level *, struct hs_error *) = {
        [HS_BROWSE_OWNERS] = hs_browse_load_owners,
        [HS_BROWSE_DOMINATORS] = hs_browse_load_dominators,
        [HS_BROWSE_ROOTS] = hs_browse_load_roots,
        [HS_BROWSE_HOLDERS] = hs_browse_load_holders,
        [HS_BROWSE_PATHS] = hs_browse_load_paths,
        [HS_BROWSE_TYPES] = hs_browse_load_types,
        [HS_BROWSE_INSTANCES] = hs_browse_load_instances,
        [HS_BROWSE_LEAKS] = hs_browse_load_leaks,
    };
    if (level->is_loaded)
        return HS_OK;
    hs_status status = hs_view_check(&browse->view, loaders[level->form](browse, level, err), err);
    if (status != HS_OK) {
        hs_browse_level_unload(level);
        return status;
    }
    level->is_loaded = true;
    return HS_OK;
}

/* Names rows. Names of nodes are their labels: of many of them, each chunk of the file is decoded
 * once. */
hs_status hs_browse_name_rows(struct hs_browse *browse, struct hs_browse_level *level, size_t from,
                              size_t to, struct hs_error *err)
{
    enum { PIECE = 4096 };
    for (size_t at = from; at < to; at += PIECE) {
        size_t n = to - at < PIECE ? to - at : PIECE, n_nodes = 0;
        hs_auto_free struct hs_node_facts *facts = NULL;
        hs_auto_free hs_node *nodes = NULL;
        HS_TRY(HS_ALLOC(&facts, n, err));
        HS_TRY(HS_ALLOC(&nodes, n, err));
        for (size_t i = 0; i < n; i++) {
            const struct hs_browse_row *row = &level->rows[level->order[at + i]];
            bool is_named = row->name != 0 || row->what.kind != HS_BROWSE_NODE;
            nodes[i] = is_named ? HS_NO_NODE : (hs_node)row->what.id;
            n_nodes += !is_named;
        }
        if (n_nodes != 0)
            HS_TRY(hs_view_facts_of(&browse->view, nodes, n, facts, err));
        for (size_t i = 0; i < n; i++)
            if (nodes[i] != HS_NO_NODE)
                HS_TRY(hs_browse_level_name(level, level->order[at + i], facts[i].label, err));
    }
    return HS_OK;
}

/* Sorting by name and filtering look at all of them. */
static hs_status arrange(struct hs_browse *browse, struct hs_browse_level *level,
                         struct hs_error *err)
{
    char filter[HS_BROWSE_FILTER_BYTES];
    if (level->filter[0] == 0 && level->sort != HS_BROWSE_BY_NAME)
        return hs_browse_level_arrange(level, err);
    enum hs_browse_sort sort = level->sort;
    memcpy(filter, level->filter, sizeof filter);
    level->filter[0] = 0;
    level->sort = HS_BROWSE_BY_SIZE;
    hs_status status = hs_browse_level_arrange(level, err);
    if (status == HS_OK)
        status = hs_browse_name_rows(browse, level, 0, level->n_order, err);
    level->sort = sort;
    memcpy(level->filter, filter, sizeof filter);
    return status == HS_OK ? hs_browse_level_arrange(level, err) : status;
}

hs_status hs_browse_read(struct hs_browse *browse, struct hs_browse_level *level,
                         struct hs_error *err)
{
    if (level->is_loaded)
        return HS_OK;
    HS_TRY(load(browse, level, err));
    return arrange(browse, level, err);
}

hs_status hs_browse_ready(struct hs_browse *browse, size_t n_lines, struct hs_error *err)
{
    struct hs_browse_level *level = hs_browse_top(browse);
    HS_TRY(hs_browse_read(browse, level, err));
    hs_browse_level_scroll(level, n_lines);
    size_t end = level->top + n_lines < level->n_order ? level->top + n_lines : level->n_order;
    return hs_browse_name_rows(browse, level, level->top, end, err);
}

/* ---- from list to list */

static bool is_of(const struct hs_browse_level *level, enum hs_browse_form form,
                  struct hs_browse_what what)
{
    return level->form == form && level->what.kind == what.kind && level->what.id == what.id;
}

hs_status hs_browse_go(struct hs_browse *browse, enum hs_browse_form form,
                       struct hs_browse_what what, struct hs_error *err)
{
    if (browse->n_levels > 1 && is_of(&browse->levels[browse->n_levels - 2], form, what)) {
        (void)hs_browse_leave(browse);
        return HS_OK;
    }
    HS_TRY(HS_GROW(&browse->levels, &browse->capacity, browse->n_levels + 1, err));
    struct hs_browse_level *level = &browse->levels[browse->n_levels];
    *level = (struct hs_browse_level){
        .form = form, .what = what, .most = HS_BROWSE_ROWS, .sort = browse->sort};
    hs_status status = hs_browse_read(browse, level, err);
    if (status != HS_OK) {
        hs_browse_level_fini(level);
        return status;
    }
    /* However deep one goes, the rows of a few lists are kept; others are read again. */
    if (browse->n_levels >= HS_BROWSE_LEVELS_READ)
        hs_browse_level_unload(&browse->levels[browse->n_levels - HS_BROWSE_LEVELS_READ]);
    browse->n_levels++;
    return HS_OK;
}

bool hs_browse_leave(struct hs_browse *browse)
{
    if (browse->n_levels == 1)
        return false;
    hs_browse_level_fini(&browse->levels[--browse->n_levels]);
    return true;
}

/* ---- sorting and looking for names */

hs_status hs_browse_sort_by(struct hs_browse *browse, enum hs_browse_sort sort,
                            struct hs_error *err)
{
    struct hs_browse_level *level = hs_browse_top(browse);
    if (level->is_fixed) {
        hs_browse_say(browse, "these rows have an order of their own");
        return HS_OK;
    }
    hs_browse_level_sort(level, sort);
    browse->sort = sort;
    HS_TRY(arrange(browse, level, err));
    level->cursor = 0;
    return HS_OK;
}

hs_status hs_browse_filter(struct hs_browse *browse, const char *text, struct hs_error *err)
{
    struct hs_browse_level *level = hs_browse_top(browse);
    (void)snprintf(level->filter, sizeof level->filter, "%s", text);
    HS_TRY(arrange(browse, level, err));
    if (level->n_order == 0)
        hs_browse_say(browse, "no row contains '%s'", level->filter);
    return HS_OK;
}

hs_status hs_browse_find(struct hs_browse *browse, const char *text, bool from_here,
                         struct hs_error *err)
{
    struct hs_browse_level *level = hs_browse_top(browse);
    HS_TRY(hs_browse_name_rows(browse, level, 0, level->n_order, err));
    if (!hs_browse_level_find(level, text, from_here))
        hs_browse_say(browse, "no row contains '%s'", text);
    else if (level->n_order != 0 && level->rows[level->n_order - 1].is_more)
        hs_browse_say(browse, "looked for among the rows that are shown");
    return HS_OK;
}

/* ---- opening */

hs_status hs_browse_open(const struct hs_session *session, const char *path, struct hs_browse *ret,
                         struct hs_error *err)
{
    struct hs_browse browse = {.session = *session, .path = path};
    hs_status status = hs_browse_open_snapshot(&browse, err);
    if (status == HS_OK)
        status =
            hs_browse_go(&browse, HS_BROWSE_OWNERS, (struct hs_browse_what){HS_BROWSE_KEY, 0}, err);
    if (status == HS_OK)
        *ret = browse;
    else
        status = hs_browse_finish(&browse, status, err);
    return status;
}

hs_status hs_browse_finish(struct hs_browse *browse, hs_status status, struct hs_error *err)
{
    for (size_t i = 0; i < browse->n_levels; i++)
        hs_browse_level_fini(&browse->levels[i]);
    hs_free(browse->levels);
    hs_browse_older_fini(&browse->older);
    hs_free(browse->older_path);
    hs_browse_unmark(browse);
    status = hs_browse_close_snapshot(browse, status, err);
    *browse = (struct hs_browse){0};
    return status;
}
