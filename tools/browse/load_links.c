/* The holders of an object, the paths of roots to it, and the types of what it keeps. */
#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/path_find.h"
#include "analysis/root_name.h"
#include "analysis/root_rows.h"
#include "analysis/set_tops.h"
#include "analysis/type_rows.h"
#include "analysis/unread.h"
#include "base/alloc.h"
#include "load_nodes.h"

/* ---- who holds it */

enum { GROUP_FIRM, GROUP_DOUBTFUL, GROUP_LOST, GROUP_WEAK, MOST_PATHS = 10, PIECE = 256 };

static const char *const group_ends[] = {"", "  [doubtful]", "  [itself lost]", "  [weak]"};

/* Returns the group of a link by how much it counts and whether a root reaches its holder. */
static unsigned group_of(const struct hs_link *link, unsigned tier)
{
    if (link->edge_class > HS_EDGE_EPHEMERON)
        return GROUP_WEAK;
    if (tier == HS_TIER_NONE)
        return GROUP_LOST;
    return tier == HS_TIER_DOUBTFUL ? GROUP_DOUBTFUL : GROUP_FIRM;
}

static hs_status add_link(struct hs_browse *browse, struct hs_browse_level *level,
                          const struct hs_link *link, struct hs_error *err)
{
    struct hs_view *view = &browse->view;
    struct hs_node_facts facts;
    char place[HS_FIELD_NAME_BYTES] = "", name[HS_BROWSE_NAME_BYTES];
    unsigned tier;
    HS_TRY(hs_view_facts(view, link->other, &facts, err));
    HS_TRY(hs_link_tier(view, link->other, link->edge_class, &tier, err));
    if (!facts.is_root && link->offset_words != HS_NO_OFFSET)
        hs_field_name(view, facts.type, link->offset_words, place, sizeof place);
    unsigned group = group_of(link, tier);
    const char *kind =
        facts.is_root ? hs_root_kind_name(hs_snap_root(view->snap, link->other)->kind) : "";
    (void)snprintf(name, sizeof name, "%s%s%.400s%s%s%s", kind, kind[0] != 0 ? " " : "",
                   facts.label, place[0] == 0 ? "" : hs_field_arrow(view, facts.type, place), place,
                   group_ends[group]);
    return hs_browse_add_node(browse, level, link->other, name, group, err);
}

static hs_status load_links(struct hs_browse *browse, struct hs_browse_level *level,
                            struct hs_error *err)
{
    struct hs_referrers referrers =
        hs_referrers_of(&browse->view, (hs_node)level->what.id, level->most);
    struct hs_links links = {0};
    hs_status status = HS_OK;
    do {
        status = hs_referrers_next(&referrers, PIECE, &links, err);
        for (size_t i = 0; i < links.n && status == HS_OK && level->n < HS_BROWSE_ROWS_MOST; i++)
            status = add_link(browse, level, &links.links[i], err);
    } while (status == HS_OK && links.n != 0 && level->n < HS_BROWSE_ROWS_MOST);
    hs_links_fini(&links);
    level->n_all = level->n + referrers.n_more;
    if (status == HS_OK && referrers.n_more != 0)
        hs_browse_say(browse, "%llu more point to it", (unsigned long long)referrers.n_more);
    return status;
}

static hs_status load_members(struct hs_browse *browse, struct hs_browse_level *level,
                              struct hs_error *err)
{
    struct hs_row row = hs_index_set_roots(browse->view.index, (uint32_t)level->what.id);
    for (hs_node root; level->n < level->most && hs_row_next(&row, &root);)
        HS_TRY(hs_browse_add_node(browse, level, root, NULL, 0, err));
    level->n_all = hs_index_set(browse->view.index, (uint32_t)level->what.id).n_roots;
    return hs_row_check(&row, err);
}

hs_status hs_browse_load_holders(struct hs_browse *browse, struct hs_browse_level *level,
                                 struct hs_error *err)
{
    level->whole_words = hs_unread_whole(&browse->view);
    if (level->what.kind == HS_BROWSE_SET)
        HS_TRY(load_members(browse, level, err));
    else if (level->what.id >= browse->view.n_tree)
        HS_TRY(load_links(browse, level, err));
    else
        return hs_fail(err, HS_USAGE, "it is a root: the program itself holds it");
    if (level->n == 0)
        return hs_fail(err, HS_USAGE, "nothing points to it: it is lost");
    return HS_OK;
}

/* ---- paths */

static hs_status add_text(struct hs_browse_level *level, const char *text, uint32_t group,
                          struct hs_error *err)
{
    const struct hs_browse_row row = {.words = HS_BROWSE_UNKNOWN,
                                      .objects = HS_BROWSE_UNKNOWN,
                                      .before_words = HS_BROWSE_UNKNOWN,
                                      .group = group};
    return hs_browse_level_add(level, &row, text, err);
}

static hs_status add_step(struct hs_browse *browse, struct hs_browse_level *level,
                          const struct hs_path_step *step, uint32_t group, struct hs_error *err)
{
    struct hs_view *view = &browse->view;
    struct hs_node_facts facts;
    char place[HS_FIELD_NAME_BYTES], name[HS_BROWSE_NAME_BYTES], times[48] = "";
    if (step->node == HS_NO_NODE) {
        (void)snprintf(name, sizeof name, "  [%llu objects left out]",
                       (unsigned long long)step->repeat);
        return add_text(level, name, group, err);
    }
    HS_TRY(hs_view_facts(view, step->node, &facts, err));
    hs_field_name(view, step->type, step->offset_words, place, sizeof place);
    if (step->repeat > 1)
        (void)snprintf(times, sizeof times, "  {x%llu}", (unsigned long long)step->repeat);
    (void)snprintf(name, sizeof name, "  %.400s%s%s%s%s", facts.label,
                   place[0] == 0 ? "" : hs_field_arrow(view, step->type, place), place, times,
                   step->tier == HS_TIER_DOUBTFUL ? "  [doubtful]" : "");
    return hs_browse_add_node(browse, level, step->node, name, group, err);
}

static hs_status add_root(struct hs_browse *browse, struct hs_browse_level *level, hs_node leaf,
                          uint32_t group, struct hs_error *err)
{
    const struct hs_root *root = hs_snap_root(browse->view.snap, leaf);
    char where[HS_ROOT_WHERE_BYTES], name[HS_BROWSE_NAME_BYTES];
    hs_root_where(&browse->view, root, where);
    bool is_doubtful = hs_index_tier(browse->view.index, leaf) == HS_TIER_DOUBTFUL;
    (void)snprintf(name, sizeof name, "%s %.400s%s%s%s%s", hs_root_kind_name(root->kind),
                   hs_view_string(&browse->view, root->name), where[0] != 0 ? " (" : "", where,
                   where[0] != 0 ? ")" : "", is_doubtful ? "  [doubtful]" : "");
    return hs_browse_add_node(browse, level, hs_path_root(&browse->view, leaf), name, group, err);
}

/* The path as source would write it, where types say how. */
static hs_status add_expression(struct hs_browse *browse, struct hs_browse_level *level,
                                hs_node leaf, const struct hs_path_fold *fold, uint32_t group,
                                struct hs_error *err)
{
    char text[HS_FIELD_PATH_BYTES] = "  = ";
    const char *root = hs_view_string(&browse->view, hs_snap_root(browse->view.snap, leaf)->name);
    if (hs_field_path(&browse->view, root, fold, text + 4, sizeof text - 4) == 0)
        return HS_OK;
    return add_text(level, text, group, err);
}

static hs_status add_path(struct hs_browse *browse, struct hs_browse_level *level,
                          const struct hs_paths *paths, size_t at, struct hs_error *err)
{
    struct hs_path_fold fold = {0};
    size_t begin = paths->begin[at] + 1, n = paths->begin[at + 1] - begin;
    hs_node leaf = paths->nodes[begin - 1];
    uint32_t group = (uint32_t)at;
    hs_status status = hs_path_fold_nodes(&fold, &browse->view, paths->nodes + begin, n, err);
    if (status == HS_OK)
        status = add_root(browse, level, leaf, group, err);
    for (size_t i = 0; i < fold.n_steps && status == HS_OK; i++)
        status = add_step(browse, level, &fold.steps[i], group, err);
    if (status == HS_OK)
        status = add_expression(browse, level, leaf, &fold, group, err);
    hs_path_fold_fini(&fold);
    return status;
}

hs_status hs_browse_load_paths(struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err)
{
    struct hs_paths paths = {0};
    hs_node target = (hs_node)level->what.id;
    level->is_fixed = true;
    level->whole_words = hs_unread_whole(&browse->view);
    if (level->what.kind == HS_BROWSE_SET)
        return hs_fail(err, HS_USAGE, "a set is kept by its roots: o lists them");
    if (target < browse->view.n_tree)
        return hs_fail(err, HS_USAGE, "it is a root: paths begin there");
    HS_TRY(hs_paths_to(&browse->view, target, MOST_PATHS, /* disjoint= */ false, &paths, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < paths.n_paths && status == HS_OK; i++)
        status = add_path(browse, level, &paths, i, err);
    if (status == HS_OK && paths.n_paths == 0)
        status = hs_fail(err, HS_USAGE, "no root reaches it: it is lost");
    if (status == HS_OK && !paths.is_complete)
        hs_browse_say(browse, "the shortest paths from %d roots: there are more", MOST_PATHS);
    hs_paths_fini(&paths);
    level->n_all = level->n;
    return status;
}

/* ---- types */

static hs_status add_types(struct hs_browse *browse, struct hs_browse_level *level,
                           const struct hs_type_query *query, struct hs_error *err)
{
    struct hs_type_rows rows;
    char name[HS_TYPE_NAME_BYTES];
    HS_TRY(hs_type_rows_select(&browse->view, query, &rows, err));
    hs_status status = HS_OK;
    level->whole_words = rows.others.words;
    for (size_t i = 0; i < rows.n_rows && status == HS_OK; i++) {
        const struct hs_type_row *type = &rows.rows[i];
        const struct hs_browse_row row = {
            .what = {HS_BROWSE_TYPE, type->type},
            .words = type->shallow.words,
            .objects = type->shallow.objects,
            .before_words = HS_BROWSE_UNKNOWN,
            .opens = true,
        };
        level->whole_words += type->shallow.words;
        hs_type_family_name(&browse->view, type->type, HS_TYPE_HEAD, name, sizeof name);
        if (type->shallow.objects + type->shallow.static_objects != 0)
            status = hs_browse_level_add(level, &row, name, err);
    }
    level->n_all = level->n + rows.n_others;
    hs_type_rows_fini(&rows);
    return status;
}

hs_status hs_browse_load_types(struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err)
{
    struct hs_instances tops = {0};
    hs_auto_free hs_node *nodes = NULL;
    struct hs_type_query query = {
        .sort = HS_TYPE_BY_WORDS, .level = HS_TYPE_HEAD, .max_rows = level->most};
    if (level->what.kind == HS_BROWSE_KEY)
        return hs_browse_load_types_of_key(browse, level, err);
    if (level->what.kind == HS_BROWSE_SET)
        HS_TRY(hs_instances_of_set(&browse->view, (uint32_t)level->what.id, &tops, err));
    query.n_within = tops.n != 0 ? tops.n : 1;
    hs_status status = HS_ALLOC(&nodes, query.n_within, err);
    for (size_t i = 0; i < query.n_within && status == HS_OK; i++)
        nodes[i] = tops.n != 0 ? tops.targets[i].node : (hs_node)level->what.id;
    hs_instances_fini(&tops);
    query.within = nodes;
    return status == HS_OK ? add_types(browse, level, &query, err) : status;
}
