/* The keys that lead from one list to another. */
#include <stdio.h>

#include "base/alloc.h"
#include "model.h"

hs_status hs_browse_ask(struct hs_browse *browse, enum hs_browse_form form, struct hs_error *err)
{
    struct hs_browse_what what;
    HS_TRY(hs_browse_what_of_row(browse, &what, err));
    bool as_it_is = (form == HS_BROWSE_TYPES && what.kind == HS_BROWSE_KEY) ||
                    (form == HS_BROWSE_INSTANCES && what.kind == HS_BROWSE_TYPE);
    if (!as_it_is)
        HS_TRY(hs_browse_resolve(browse, what, &what, err));
    return hs_browse_go(browse, form, what, err);
}

hs_status hs_browse_other_tree(struct hs_browse *browse, struct hs_error *err)
{
    struct hs_browse_what what = hs_browse_top(browse)->what, key = {HS_BROWSE_KEY, 0};
    switch (hs_browse_top(browse)->form) {
    case HS_BROWSE_DOMINATORS:
        if (what.kind == HS_BROWSE_NODE)
            key.id = hs_browse_key_of_node(browse, (hs_node)what.id);
        return hs_browse_go(browse, HS_BROWSE_OWNERS, key, err);
    case HS_BROWSE_OWNERS:
        HS_TRY(hs_browse_resolve(browse, what, &what, err));
        if (hs_index_dominated(browse->view.index, (hs_node)what.id).n != 0)
            return hs_browse_go(browse, HS_BROWSE_DOMINATORS, what, err);
        HS_TRY(hs_browse_go(browse, HS_BROWSE_ROOTS, key, err));
        hs_browse_say(browse, "it keeps nothing alone: what several roots keep stands in the sets");
        return HS_OK;
    default:
        return hs_browse_ask(browse, HS_BROWSE_DOMINATORS, err);
    }
}

/* ---- into a row */

static hs_status read_more(struct hs_browse *browse, struct hs_browse_level *level,
                           struct hs_error *err)
{
    if (level->most >= HS_BROWSE_ROWS_MOST) {
        hs_browse_say(browse, "no more than %d rows are shown: y copies a command that lists more",
                      HS_BROWSE_ROWS_MOST);
        return HS_OK;
    }
    level->most *= 10;
    hs_browse_level_unload(level);
    return hs_browse_read(browse, level, err);
}

hs_status hs_browse_enter(struct hs_browse *browse, struct hs_error *err)
{
    struct hs_browse_level *level = hs_browse_top(browse);
    const struct hs_browse_row *row = hs_browse_level_row(level);
    if (row == NULL)
        return HS_OK;
    if (row->is_more)
        return read_more(browse, level, err);
    struct hs_browse_what what = row->what;
    switch (what.kind) {
    case HS_BROWSE_KEY:
        if (row->opens)
            return hs_browse_go(browse, HS_BROWSE_OWNERS, what, err);
        if (hs_browse_key_is_lost(&browse->owners, what.id))
            return hs_browse_go(browse, HS_BROWSE_LEAKS, (struct hs_browse_what){HS_BROWSE_KEY, 0},
                                err);
        hs_browse_say(browse, "no other type hangs on these: o who holds one, d its blocks");
        return HS_OK;
    case HS_BROWSE_TYPE:
    case HS_BROWSE_TYPE_NAME:
        return hs_browse_ask(browse, HS_BROWSE_INSTANCES, err);
    case HS_BROWSE_NODE:
        if (level->form == HS_BROWSE_HOLDERS)
            return hs_browse_go(browse, HS_BROWSE_HOLDERS, what, err);
        if (level->form != HS_BROWSE_LEAKS && !row->opens) {
            hs_browse_say(browse, "nothing hangs on it alone: o who holds it, p a path, i more");
            return HS_OK;
        }
        return hs_browse_go(
            browse, level->form == HS_BROWSE_LEAKS ? HS_BROWSE_HOLDERS : HS_BROWSE_DOMINATORS, what,
            err);
    case HS_BROWSE_SET:
        return hs_browse_go(browse, HS_BROWSE_DOMINATORS, what, err);
    case HS_BROWSE_NOTHING:
        break;
    }
    return HS_OK;
}

/* ---- the other policy */

/* Keys have other numbers then: they are kept by their names. */
static hs_status keep_keys(struct hs_browse *browse, struct hs_error *err)
{
    char path[HS_KEY_TEXT_BYTES * 8];
    for (size_t i = 0; i < browse->n_levels; i++) {
        struct hs_browse_level *level = &browse->levels[i];
        hs_free(level->key_path);
        level->key_path = NULL;
        if (level->what.kind != HS_BROWSE_KEY)
            continue;
        hs_browse_key_path(&browse->owners, level->what.id, HS_BROWSE_STEP_END, path, sizeof path);
        HS_TRY(hs_strdup(path, &level->key_path, err));
    }
    return HS_OK;
}

static void find_keys(struct hs_browse *browse)
{
    for (size_t i = 0; i < browse->n_levels; i++) {
        struct hs_browse_level *level = &browse->levels[i];
        hs_browse_level_unload(level);
        if (level->what.kind == HS_BROWSE_KEY && level->key_path != NULL)
            level->what.id = hs_browse_key_find(&browse->owners, level->key_path);
    }
}

/* Goes back to the last list that is of no owner set and not of what is lost: by another policy
 * these are others, too. */
static void leave_sets(struct hs_browse *browse)
{
    for (size_t i = 1; i < browse->n_levels; i++)
        while (browse->n_levels > i && browse->levels[i].what.kind == HS_BROWSE_SET)
            (void)hs_browse_leave(browse);
}

hs_status hs_browse_other_policy(struct hs_browse *browse, struct hs_error *err)
{
    struct hs_policy before = browse->session.policy;
    struct hs_error ignored = HS_ERROR_INIT, why = HS_ERROR_INIT;
    if (before.n_pointers_in != 0)
        return hs_fail(err, HS_USAGE, "--pointers-in says which words the policy firm may trust");
    HS_TRY(keep_keys(browse, err));
    hs_browse_unmark(browse);
    (void)hs_browse_compare(browse, NULL, &ignored);
    HS_TRY(hs_browse_close_snapshot(browse, HS_OK, err));
    browse->session.policy.kind =
        before.kind == HS_POLICY_FIRM ? HS_POLICY_CONSERVATIVE : HS_POLICY_FIRM;
    hs_status status = hs_browse_open_snapshot(browse, &why);
    if (status != HS_OK) {
        (void)hs_browse_close_snapshot(browse, HS_OK, &ignored);
        browse->session.policy = before;
        HS_TRY(hs_browse_open_snapshot(browse, err));
    }
    leave_sets(browse);
    find_keys(browse);
    if (status == HS_OK)
        hs_browse_say(browse, "policy %s: %s", hs_policy_name(browse->session.policy.kind),
                      browse->session.policy.kind == HS_POLICY_FIRM
                          ? "a doubtful word keeps only what nothing firmer keeps"
                          : "a doubtful word keeps all that it leads to");
    else
        *err = why;
    return status;
}
