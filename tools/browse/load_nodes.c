/* Lists of nodes: what a node or an owner set dominates, roots, blocks of a type, lost blocks. */
#include <stdio.h>
#include <string.h>

#include "analysis/dominator_rows.h"
#include "analysis/leak_report.h"
#include "analysis/object_lookup.h"
#include "analysis/root_name.h"
#include "analysis/root_rows.h"
#include "analysis/set_tops.h"
#include "analysis/unread.h"
#include "base/alloc.h"
#include "load_nodes.h"

static bool has_children(struct hs_browse *browse, hs_node node)
{
    return hs_index_dominated(browse->view.index, node).n != 0;
}

hs_status hs_browse_add_node(struct hs_browse *browse, struct hs_browse_level *level, hs_node node,
                             const char *name, uint32_t group, struct hs_error *err)
{
    struct hs_sizes retained = hs_index_retained(browse->view.index, node);
    const struct hs_browse_row row = {
        .what = {HS_BROWSE_NODE, node},
        .words = retained.words,
        .objects = retained.objects,
        .before_words = HS_BROWSE_UNKNOWN,
        .group = group,
        .opens = has_children(browse, node),
    };
    return hs_browse_level_add(level, &row, name, err);
}

/* The row that stands for those that were not read. */
static hs_status add_more(struct hs_browse_level *level, uint64_t n, uint64_t words,
                          struct hs_error *err)
{
    char name[64];
    (void)snprintf(name, sizeof name, "[%llu others]", (unsigned long long)n);
    const struct hs_browse_row row = {.words = words,
                                      .objects = HS_BROWSE_UNKNOWN,
                                      .before_words = HS_BROWSE_UNKNOWN,
                                      .opens = level->most < HS_BROWSE_ROWS_MOST,
                                      .is_more = true};
    return n == 0 ? HS_OK : hs_browse_level_add(level, &row, name, err);
}

static hs_status add_sum(struct hs_browse_level *level, const char *name,
                         const struct hs_sizes *sizes, uint32_t group, struct hs_error *err)
{
    const struct hs_browse_row row = {.words = sizes->words,
                                      .objects = sizes->objects,
                                      .before_words = HS_BROWSE_UNKNOWN,
                                      .group = group};
    return sizes->objects == 0 ? HS_OK : hs_browse_level_add(level, &row, name, err);
}

hs_status hs_browse_add_unread(const struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err)
{
    uint64_t heap = browse->view.totals->heap_words, whole = hs_unread_whole(&browse->view);
    const struct hs_browse_row row = {.words = whole - heap,
                                      .objects = HS_BROWSE_UNKNOWN,
                                      .before_words = HS_BROWSE_UNKNOWN,
                                      .group = 1};
    return whole == heap ? HS_OK : hs_browse_level_add(level, &row, "[not read]", err);
}

/* ---- dominators */

static hs_status load_of_node(struct hs_browse *browse, struct hs_browse_level *level,
                              struct hs_error *err)
{
    struct hs_view *view = &browse->view;
    hs_node node = (hs_node)level->what.id;
    struct hs_sizes retained = hs_index_retained(view->index, node), own = retained;
    hs_auto_free struct hs_child *children = NULL;
    uint64_t n, left = retained.words;
    HS_TRY(hs_index_largest(view->index, node, level->most, &children, &n, err));
    for (uint64_t i = 0; i < n; i++) {
        HS_TRY(hs_browse_add_node(browse, level, children[i].node, NULL, 0, err));
        left -= children[i].words < left ? children[i].words : left;
    }
    level->n_all = hs_index_dominated(view->index, node).n;
    level->whole_words = retained.words;
    if (node >= view->n_tree) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, node, &facts, err));
        own = (struct hs_sizes){.words = facts.is_static ? 0 : facts.words, .objects = 1};
        left -= own.words < left ? own.words : left;
        HS_TRY(add_sum(level, "[itself]", &own, 0, err));
    }
    return add_more(level, level->n_all - n, left, err);
}

static hs_status load_of_set(struct hs_browse *browse, struct hs_browse_level *level,
                             struct hs_error *err)
{
    const struct hs_dominator_query query = {.max_depth = 1, .max_children = level->most};
    struct hs_dominator_rows rows = {0};
    uint32_t set = (uint32_t)level->what.id;
    hs_status status = hs_dominator_rows_of_set(&browse->view, set, "the set", &query, &rows, err);
    for (size_t i = 1; i < rows.n && status == HS_OK; i++)
        status =
            hs_browse_add_node(browse, level, rows.rows[i].node, rows.rows[i].facts.label, 0, err);
    if (status == HS_OK && rows.n != 0) {
        level->n_all = rows.rows[0].n_hidden + rows.n - 1;
        level->whole_words = rows.rows[0].retained.words;
        status = add_more(level, rows.rows[0].n_hidden, rows.rows[0].hidden_words, err);
    }
    hs_dominator_rows_fini(&rows);
    return status;
}

hs_status hs_browse_load_dominators(struct hs_browse *browse, struct hs_browse_level *level,
                                    struct hs_error *err)
{
    return level->what.kind == HS_BROWSE_SET ? load_of_set(browse, level, err)
                                             : load_of_node(browse, level, err);
}

/* ---- roots and owner sets */

static hs_status add_roots(struct hs_browse *browse, struct hs_browse_level *level,
                           const struct hs_root_rows *rows, struct hs_error *err)
{
    char name[HS_KEY_TEXT_BYTES];
    for (size_t i = 0; i < rows->n_rows; i++) {
        hs_node node = rows->rows[i].node;
        HS_TRY(hs_browse_add_node(browse, level, node, NULL, 0, err));
        if (browse->older_path == NULL)
            continue;
        hs_key_root_name(&browse->view, node, name, sizeof name);
        level->rows[level->n - 1].before_words =
            hs_browse_before(browse, HS_KEY_LIST_ROOTS, name, /* is_detail= */ false);
    }
    return HS_OK;
}

static hs_status add_sets(struct hs_browse *browse, struct hs_browse_level *level,
                          const struct hs_set_rows *sets, struct hs_error *err)
{
    char name[HS_BROWSE_NAME_BYTES];
    for (size_t i = 0; i < sets->n && i < level->most; i++) {
        hs_set_label(&browse->view, sets->rows[i].id, name, sizeof name);
        const struct hs_browse_row row = {
            .what = {HS_BROWSE_SET, sets->rows[i].id},
            .words = sets->rows[i].retained.words,
            .objects = sets->rows[i].retained.objects,
            .before_words = HS_BROWSE_UNKNOWN,
            .opens = true,
        };
        HS_TRY(hs_browse_level_add(level, &row, name, err));
    }
    return HS_OK;
}

/* Returns the words of sets that have no row. */
static uint64_t other_sets_words(const struct hs_browse_level *level,
                                 const struct hs_set_rows *sets)
{
    uint64_t words = sets->others.words;
    for (size_t i = level->most; i < sets->n; i++)
        words += sets->rows[i].retained.words;
    return words;
}

hs_status hs_browse_load_roots(struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err)
{
    const struct hs_root_query query = {.kinds = UINT64_MAX, .max_rows = level->most};
    struct hs_sizes unreached = hs_index_unreached_total(browse->view.index);
    struct hs_root_rows rows = {0};
    HS_TRY(hs_root_rows_select(&browse->view, &query, &rows, err));
    hs_status status = add_roots(browse, level, &rows, err);
    if (status == HS_OK)
        status = add_sets(browse, level, &rows.sets, err);
    if (status == HS_OK)
        status = add_sum(level, "[unreached]", &unreached, 1, err);
    if (status == HS_OK)
        status = hs_browse_add_unread(browse, level, err);
    uint64_t n_sets = rows.sets.n > level->most ? rows.sets.n - level->most : 0;
    if (status == HS_OK)
        status = add_more(level, rows.n_others + n_sets + rows.sets.n_others,
                          rows.others_words + other_sets_words(level, &rows.sets), err);
    level->n_all = rows.n_rows + rows.n_others + rows.sets.n + rows.sets.n_others;
    level->whole_words = hs_unread_whole(&browse->view);
    hs_root_rows_fini(&rows);
    return status;
}

/* ---- blocks of a type */

hs_status hs_browse_load_instances(struct hs_browse *browse, struct hs_browse_level *level,
                                   struct hs_error *err)
{
    char what[HS_TYPE_NAME_BYTES + 8] = "type:";
    struct hs_object_spec found;
    hs_type_family_name(&browse->view, (uint32_t)level->what.id, HS_TYPE_HEAD, what + 5,
                        sizeof what - 5);
    HS_TRY(hs_object_lookup(&browse->view, what, &found, err));
    for (unsigned i = 0; i < found.n_nodes; i++)
        HS_TRY(hs_browse_add_node(browse, level, found.nodes[i], NULL, 0, err));
    level->n_all = found.n_nodes;
    level->whole_words = hs_unread_whole(&browse->view);
    return HS_OK;
}

/* ---- lost blocks */

static hs_status add_group(struct hs_browse_level *level, const struct hs_leak_report *report,
                           size_t at, struct hs_error *err)
{
    const struct hs_leak_group *group = &report->groups.groups[at];
    char expression[HS_FIELD_PATH_BYTES], name[HS_BROWSE_NAME_BYTES];
    HS_TRY(hs_leak_expression(report, at, expression, err));
    (void)snprintf(name, sizeof name, "%s  %.400s%s%.400s",
                   hs_leak_certainty_name(group->certainty), hs_leak_type_name(report, group),
                   expression[0] != 0 ? " = " : "", expression);
    const struct hs_browse_row row = {
        .what = {HS_BROWSE_NODE, group->first},
        .words = group->words,
        .objects = group->count,
        .before_words = HS_BROWSE_UNKNOWN,
        .group = group->certainty,
        .opens = true,
    };
    return hs_browse_level_add(level, &row, name, err);
}

hs_status hs_browse_load_leaks(struct hs_browse *browse, struct hs_browse_level *level,
                               struct hs_error *err)
{
    static const struct hs_suppressions nothing = {0};
    const struct hs_leak_query query = {
        .suppressions = &nothing,
        .certainties = 1 << HS_LEAK_CERTAIN | 1 << HS_LEAK_POSSIBLE,
        .max_rows = level->most,
    };
    struct hs_leak_report report = {0};
    HS_TRY(hs_leak_report_find(&browse->view, &query, &report, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < report.groups.n_groups && status == HS_OK; i++)
        status = add_group(level, &report, i, err);
    if (status == HS_OK)
        status = add_more(level, report.groups.n_others, report.groups.others.words, err);
    level->n_all = report.groups.n_groups + report.groups.n_others;
    level->whole_words = hs_index_unreached_total(browse->view.index).words;
    if (status == HS_OK && hs_leak_is_garbage(&browse->view))
        hs_browse_say(browse, "what no root reaches in a collected heap is garbage, which its "
                              "collector frees");
    hs_leak_report_fini(&report);
    return status;
}
