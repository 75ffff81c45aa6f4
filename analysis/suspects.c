/* Which suspects there are, and in which order. */
#include "analysis/suspects.h"

#include <stdlib.h>

#include "analysis/field_path.h"
#include "analysis/leak_report.h"
#include "analysis/neighbours.h"
#include "analysis/root_rows.h"
#include "base/alloc.h"
#include "group_tree.h"
#include "suspect_finds.h"

/* `percent` of the words, rounded up: what has as much has reached it. */
static uint64_t share_of(uint64_t words, unsigned percent)
{
    return words / 100 * percent + (words % 100 * percent + 99) / 100;
}

/* ---- owners */

static hs_status add_owners(struct hs_view *view, struct hs_suspects *found, struct hs_error *err)
{
    struct hs_root_rows rows = {0};
    const struct hs_root_query query = {.kinds = UINT64_MAX, .max_rows = HS_SUSPECT_OWNERS};
    HS_TRY(hs_root_rows_select(view, &query, &rows, err));
    hs_status status = HS_OK;
    if (rows.n_rows > 0 && rows.rows[0].retained.words > 0) {
        found->largest_root = rows.rows[0].node;
        found->largest_words = rows.rows[0].retained.words;
    }
    for (size_t i = 0; i < rows.n_rows && status == HS_OK; i++) {
        const struct hs_root_row *row = &rows.rows[i];
        struct hs_suspect *suspect;
        if (row->retained.words < found->threshold_words || row->retained.words == 0)
            break;
        status = hs_suspect_add(found, HS_SUSPECT_OWNER, &suspect, err);
        if (status != HS_OK)
            break;
        suspect->words = row->retained.words;
        suspect->objects = row->retained.objects;
        suspect->certainty = hs_snap_root(view->snap, row->node)->certainty;
        suspect->roots[0] = suspect->evidence = row->node;
        suspect->n_roots = 1;
    }
    hs_root_rows_fini(&rows);
    return status;
}

/* ---- where it has accumulated */

enum { MOST_STEPS = 4096 };

/* The dominators of a block from its root's leaf, or the root itself, downwards: their number, 0
 * when they are more than MOST_STEPS. */
static size_t way_down(const struct hs_view *view, hs_node node, hs_node *way, hs_node *ret_root)
{
    size_t n = 0;
    hs_node at = node;
    for (; at != HS_NO_NODE && at >= view->n_tree; at = hs_index_idom(view->index, at)) {
        if (n == MOST_STEPS)
            return 0;
        way[n++] = at;
    }
    for (size_t i = 0; i < n / 2; i++) {
        hs_node swapped = way[i];
        way[i] = way[n - 1 - i];
        way[n - 1 - i] = swapped;
    }
    *ret_root = at;
    return n;
}

/* Folds a way by dominators; where one does not point to the next there is a gap. */
static hs_status fold_way(struct hs_view *view, const hs_node *way, size_t n,
                          struct hs_path_fold *fold, struct hs_error *err)
{
    for (size_t i = 0; i < n; i++) {
        struct hs_path_step step = {.node = way[i], .offset_words = HS_NO_OFFSET, .repeat = 1};
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, way[i], &facts, err));
        step.type = facts.type;
        if (i + 1 < n)
            HS_TRY(hs_link_offset(view, way[i], way[i + 1], &step.offset_words, err));
        HS_TRY(hs_path_fold_add(fold, &step, err));
        if (i + 1 < n && step.offset_words == HS_NO_OFFSET) {
            const struct hs_path_step gap = {.node = HS_NO_NODE, .repeat = 1};
            HS_TRY(hs_path_fold_add(fold, &gap, err));
        }
    }
    hs_path_fold_finish(fold);
    return HS_OK;
}

/* How the block is called from the root on; the root's name alone where types say nothing. */
static hs_status name_holder(struct hs_view *view, hs_node block, struct hs_suspect *suspect,
                             struct hs_error *err)
{
    hs_auto_free hs_node *way = NULL;
    hs_auto_free char *text = NULL;
    struct hs_path_fold fold = {0};
    hs_node root = suspect->roots[0];
    HS_TRY(HS_ALLOC(&way, MOST_STEPS, err));
    HS_TRY(HS_ALLOC(&text, HS_FIELD_PATH_BYTES, err));
    size_t n = way_down(view, block, way, &root);
    hs_status status = root == HS_NO_NODE ? hs_view_fail_circle(view, err) : HS_OK;
    if (status == HS_OK)
        status = fold_way(view, way, n, &fold, err);
    const char *name = root == HS_NO_NODE || root >= view->n_tree
                           ? ""
                           : hs_view_string(view, hs_snap_root(view->snap, root)->name);
    if (status == HS_OK && hs_field_path(view, name, &fold, text, HS_FIELD_PATH_BYTES) == 0)
        status = hs_strdup(name, &suspect->holder, err);
    else if (status == HS_OK)
        status = hs_strdup(text, &suspect->holder, err);
    hs_path_fold_fini(&fold);
    return status;
}

/* Whether the members hang on one node rather than on each other. */
bool hs_suspect_has_table(const struct hs_suspect *suspect)
{
    const struct hs_accumulation *at = &suspect->at;
    enum { LEAST = 8, LEAST_PART = 50 };
    return at->n_direct >= LEAST && at->n_direct >= at->steps[at->members].n_blocks / LEAST_PART;
}

static hs_status look_into(const struct hs_group_kinds *kinds, const struct hs_group_place *place,
                           unsigned follow_percent, struct hs_suspect *suspect,
                           struct hs_error *err)
{
    struct hs_group_tree tree;
    HS_TRY(hs_group_tree_init(kinds, place, &tree, err));
    hs_status status = hs_group_accumulation(&tree, place, follow_percent, &suspect->at, err);
    hs_group_tree_fini(&tree);
    HS_TRY(status);
    const struct hs_accumulation *at = &suspect->at;
    if (at->members == 0)
        return HS_OK;
    const struct hs_accumulated *members = &at->steps[at->members];
    bool is_block = at->point != HS_NO_NODE && at->point >= kinds->view->n_tree;
    suspect->type = members->type;
    suspect->count = members->n_blocks;
    suspect->each_words = at->median_words;
    suspect->evidence = hs_suspect_has_table(suspect) && is_block ? at->point : at->top;
    if (suspect->list == HS_SUSPECT_OWNER)
        return name_holder(kinds->view, suspect->evidence, suspect, err);
    return HS_OK;
}

static hs_status look_into_all(struct hs_view *view, const struct hs_suspect_query *query,
                               struct hs_suspects *found, struct hs_error *err)
{
    struct hs_group_kinds kinds;
    HS_TRY(hs_group_kinds_init(view, &kinds, err));
    hs_status status = HS_OK;
    for (size_t i = 0; i < found->n && status == HS_OK; i++) {
        struct hs_suspect *suspect = &found->rows[i];
        struct hs_group_place place = {suspect->roots[0], suspect->set};
        unsigned percent = query->follow_percent;
        if (suspect->list == HS_SUSPECT_OWNER)
            status = look_into(&kinds, &place, percent, suspect, err);
    }
    hs_group_kinds_fini(&kinds);
    return status;
}

/* ---- lost */

static hs_status add_lost_group(const struct hs_leak_report *report, size_t at,
                                struct hs_suspects *found, struct hs_error *err)
{
    const struct hs_leak_group *group = &report->groups.groups[at];
    struct hs_suspect *suspect;
    HS_TRY(hs_suspect_add(found, HS_SUSPECT_LOST, &suspect, err));
    suspect->words = group->held_words;
    suspect->certainty = HS_EXACT;
    suspect->type = group->type;
    suspect->count = group->count;
    suspect->each_words = group->words_each;
    suspect->evidence = group->first;
    return HS_OK;
}

/* What is lost for certain: each fault that has lost enough. Where many have lost a little, the one
 * that has lost most, once all together are a twentieth of the threshold. */
static hs_status add_lost(struct hs_view *view, struct hs_suspects *found, struct hs_error *err)
{
    enum { MOST_GROUPS = 12, TOGETHER = 20 };
    static const struct hs_suppressions nothing = {0};
    const struct hs_leak_query query = {
        .suppressions = &nothing,
        .certainties = 1 << HS_LEAK_CERTAIN,
        .max_rows = MOST_GROUPS,
    };
    struct hs_leak_report report = {0};
    if (hs_leak_is_garbage(view) || hs_index_unreached_total(view->index).words == 0)
        return HS_OK;
    HS_TRY(hs_leak_report_find(view, &query, &report, err));
    hs_status status = HS_OK;
    uint64_t all_words = report.groups.totals[HS_LEAK_CERTAIN].words;
    for (size_t i = 0; i < report.groups.n_groups && status == HS_OK; i++) {
        uint64_t words = report.groups.groups[i].held_words;
        bool is_enough = words >= found->threshold_words;
        if (words > 0 && (is_enough || (i == 0 && all_words >= found->threshold_words / TOGETHER)))
            status = add_lost_group(&report, i, found, err);
    }
    hs_leak_report_fini(&report);
    return status;
}

/* ---- order */

static int compare_rows(const void *left, const void *right)
{
    const struct hs_suspect *a = left, *b = right;
    bool a_is_last = a->waste == HS_WASTE_UNKNOWN, b_is_last = b->waste == HS_WASTE_UNKNOWN;
    if (a_is_last != b_is_last)
        return a_is_last ? 1 : -1;
    if (a->words != b->words)
        return a->words < b->words ? 1 : -1;
    if (a->list != b->list)
        return a->list < b->list ? -1 : 1;
    if (a->evidence != b->evidence)
        return a->evidence < b->evidence ? -1 : 1;
    return a->type < b->type ? -1 : a->type > b->type;
}

/* Keeps max_rows of them, the first of each list among these. */
static void keep_first(struct hs_suspects *found, size_t max_rows)
{
    bool has_list[HS_N_SUSPECT_LISTS] = {false};
    size_t n_firsts = 0, n_kept = 0, n_lists = 0;
    for (size_t i = 0; i < found->n; i++) {
        n_lists += !has_list[found->rows[i].list];
        has_list[found->rows[i].list] = true;
    }
    for (size_t i = 0; i < HS_N_SUSPECT_LISTS; i++)
        has_list[i] = false;
    for (size_t i = 0; i < found->n; i++) {
        struct hs_suspect row = found->rows[i];
        bool is_first = !has_list[row.list];
        size_t n_reserved = n_lists - n_firsts; /* places that the other lists' first ones need */
        has_list[row.list] = true;
        n_firsts += is_first;
        if (n_kept < max_rows && (is_first || n_kept + n_reserved < max_rows)) {
            found->rows[n_kept++] = row;
        } else {
            found->n_others++;
            hs_suspect_fini(&row);
        }
    }
    found->n = n_kept;
}

static hs_status find(struct hs_view *view, const struct hs_suspect_query *query,
                      struct hs_suspects *found, struct hs_error *err)
{
    found->largest_root = HS_NO_NODE;
    found->threshold_words = share_of(view->totals->heap_words, query->threshold_percent);
    HS_TRY(add_owners(view, found, err));
    if (!query->is_brief) {
        /* First what takes most memory: the chunks that later steps look at stay decoded. */
        HS_TRY(add_lost(view, found, err));
        HS_TRY(hs_suspect_find_waste(view, found, err));
        HS_TRY(look_into_all(view, query, found, err));
        HS_TRY(hs_suspect_find_sites(view, found, err));
    }
    if (found->n > 1)
        qsort(found->rows, found->n, sizeof *found->rows, compare_rows);
    keep_first(found, query->max_rows);
    return HS_OK;
}

hs_status hs_suspects_find(struct hs_view *view, const struct hs_suspect_query *query,
                           struct hs_suspects *ret, struct hs_error *err)
{
    struct hs_suspects found = {0};
    hs_status status = find(view, query, &found, err);
    if (status == HS_OK)
        *ret = found;
    else
        hs_suspects_fini(&found);
    return status;
}
