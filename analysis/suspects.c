/* The choice and the order of suspects. */
#include "analysis/suspects.h"

#include <stdlib.h>

#include "analysis/block_name.h"
#include "analysis/leak_report.h"
#include "analysis/root_name.h"
#include "analysis/root_rows.h"
#include "analysis/unread.h"
#include "base/alloc.h"
#include "kept_suspects.h"
#include "outgrown_copies.h"
#include "suspect_finds.h"
#include "type_rank.h"

/* `percent` of the words, rounded up: what has as much has reached it. */
static uint64_t share_of(uint64_t words, unsigned percent)
{
    return words / 100 * percent + (words % 100 * percent + 99) / 100;
}

/* ---- owners */

/* The tier of each node of the root tree that is a root: of a variable that of its firmest slot. */
static hs_status find_tiers(const struct hs_view *view, uint8_t **ret, struct hs_error *err)
{
    uint8_t *tiers;
    HS_TRY(HS_ALLOC(&tiers, view->n_tree, err));
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        tiers[node] = HS_TIER_NONE;
        if (root->level != HS_LEVEL_LEAF)
            continue;
        tiers[node] = root->tier;
        if (root->tier < tiers[root->parent])
            tiers[root->parent] = root->tier;
    }
    *ret = tiers;
    return HS_OK;
}

static hs_status add_owners(struct hs_view *view, const uint8_t *tiers, struct hs_suspects *found,
                            struct hs_error *err)
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
        suspect->tier = tiers[row->node];
        suspect->roots[0] = suspect->evidence = row->node;
        suspect->n_roots = suspect->n_shown = 1;
    }
    hs_root_rows_fini(&rows);
    return status;
}

/* ---- joint owners */

/* Takes those of the set's roots that are shown. What is not exact of one is not exact of all. */
static hs_status take_roots(struct hs_view *view, const uint8_t *tiers, struct hs_suspect *suspect,
                            struct hs_error *err)
{
    struct hs_row row = hs_index_set_roots(view->index, suspect->set);
    for (hs_node node; hs_row_next(&row, &node);) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->certainty > suspect->certainty)
            suspect->certainty = root->certainty;
    }
    HS_TRY(hs_row_check(&row, err));
    suspect->n_shown =
        (uint32_t)hs_set_first_roots(view, suspect->set, suspect->roots, HS_SUSPECT_SHOWN_ROOTS);
    suspect->tier = suspect->n_shown > 0 ? tiers[suspect->roots[0]] : HS_TIER_NONE;
    return HS_OK;
}

static hs_status add_joint(struct hs_view *view, const uint8_t *tiers, struct hs_suspects *found,
                           struct hs_error *err)
{
    uint32_t n_sets = hs_index_n_sets(view->index);
    for (uint32_t set = 1; set <= n_sets && set <= HS_SUSPECT_OWNERS; set++) {
        const struct hs_owner_set owners = hs_index_set(view->index, set);
        struct hs_suspect *suspect;
        if (owners.retained.words < found->threshold_words || owners.retained.words == 0)
            break;
        HS_TRY(hs_suspect_add(found, HS_SUSPECT_JOINT, &suspect, err));
        suspect->words = owners.retained.words;
        suspect->objects = owners.retained.objects;
        suspect->set = set;
        suspect->n_roots = owners.n_roots;
        suspect->evidence = owners.first_top;
        HS_TRY(take_roots(view, tiers, suspect, err));
        HS_TRY(hs_suspect_take_modules(view, suspect, err));
    }
    return HS_OK;
}

/* Variables of a runtime, beside which nothing of the program's own keeps it; calls that run are
 * the program's. */
static bool is_of_runtime(const struct hs_view *view, const struct hs_suspect *suspect)
{
    for (uint32_t i = 0; i < suspect->n_shown; i++) {
        unsigned kind = hs_snap_root(view->snap, suspect->roots[i])->kind;
        if (kind == HS_ROOT_STACK || kind == HS_ROOT_REGISTER)
            return false;
    }
    return suspect->tier == HS_TIER_RUNTIME;
}

/* The block that a slot of an owner leads to; of joint ones that on top. */
static hs_node block_below(const struct hs_view *view, const struct hs_suspect *suspect)
{
    if (suspect->list == HS_SUSPECT_JOINT)
        return suspect->evidence;
    for (hs_node node = suspect->roots[0]; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->level == HS_LEVEL_LEAF && root->target != HS_NO_NODE &&
            (node == suspect->roots[0] || root->parent == suspect->roots[0]))
            return root->target;
    }
    return HS_NO_NODE;
}

/* Is all of it one block of no known type, and not large? Then it is memory that the runtime has
 * set aside, as libstdc++ does for exceptions (71 KiB), and says nothing of the program. */
static hs_status is_set_aside(struct hs_view *view, const struct hs_suspect *suspect, bool *ret,
                              struct hs_error *err)
{
    enum { MOST_BYTES = 1 << 17 };
    hs_node block = HS_NO_NODE;
    struct hs_node_facts facts;

    *ret = false;
    if (suspect->objects == 1 && suspect->words <= MOST_BYTES / view->facts->word_bytes)
        block = block_below(view, suspect);
    if (block == HS_NO_NODE)
        return HS_OK;
    HS_TRY(hs_view_facts_of(view, &block, 1, &facts, err));
    *ret = facts.type == HS_UNTYPED || hs_snap_type(view->snap, facts.type)->form == HS_FORM_BYTES;
    return HS_OK;
}

/* Tells whether a view is of a process whose runtime needs some MiB for itself: Python, OCaml. */
static bool has_large_runtime(const struct hs_view *view)
{
    return hs_view_has_runtime(view, "ocaml") || hs_suspect_has_python(view);
}

/* Tells whether it is the state of OCaml's runtime, which has minor heaps and the mark stack: as
 * large as the program has asked for, and never what has accumulated. */
static bool is_state(const struct hs_view *view, const struct hs_suspect *suspect)
{
    const struct hs_root *root =
        suspect->n_roots == 1 ? hs_snap_root(view->snap, suspect->roots[0]) : NULL;
    return root != NULL && strcmp(hs_view_string(view, root->symbol), "Caml_state") == 0;
}

/* Drops what a runtime keeps for itself; it is in each of its programs: beside an owner of the
 * program's own it is a suspect from five times the threshold on, and what it has set aside never
 * is, nor what Python or OCaml needs for itself in a small program. */
static hs_status drop_runtimes(struct hs_view *view, const struct hs_suspect_query *query,
                               struct hs_suspects *found, struct hs_error *err)
{
    enum { TIMES = 5, SMALL_BYTES = 4 << 20 };
    uint64_t small = has_large_runtime(view) ? SMALL_BYTES / view->facts->word_bytes : 0;
    uint64_t least = share_of(hs_unread_whole(view), query->threshold_percent * TIMES);
    bool has_own = false;
    size_t n = 0, n_all = found->n;
    hs_status status = HS_OK;
    for (size_t i = 0; i < n_all; i++)
        has_own |= found->rows[i].tier == HS_TIER_FIRM;
    for (size_t i = 0; i < n_all; i++) {
        struct hs_suspect row = found->rows[i];
        bool is_runtimes = is_of_runtime(view, &row);
        bool is_dropped = is_state(view, &row) ||
                          (is_runtimes && (row.words < small || (has_own && row.words < least)));
        if (status == HS_OK && is_runtimes && !is_dropped)
            status = is_set_aside(view, &row, &is_dropped, err);
        if (is_dropped)
            hs_suspect_fini(&row);
        else
            found->rows[n++] = row;
    }
    found->n = n;
    return status;
}

/* ---- lost */

enum { LOST_ROWS = 256 };

/* The fault that has lost most but the first, if that is a tenth of all. */
static const struct hs_leak_group *second_of(const struct hs_leak_report *report,
                                             uint64_t all_words)
{
    enum { LEAST_PART = 10 };
    for (size_t i = 1; i < report->groups.n_groups; i++) {
        const struct hs_leak_group *group = &report->groups.groups[i];
        if (group->certainty == HS_LEAK_CERTAIN && group->heads != 0 &&
            group->held_words >= all_words / LEAST_PART)
            return group;
    }
    return NULL;
}

/* Sums the lost blocks of the type of a group over all their sizes, of what hangs on others. */
static struct hs_accumulated sum_type(const struct hs_leak_report *report, size_t at)
{
    const struct hs_leak_group *groups = report->groups.groups;
    struct hs_accumulated sum = {.type = groups[at].type};
    for (size_t i = 0; i < report->groups.n_groups; i++) {
        if (groups[i].type != sum.type || groups[i].certainty != HS_LEAK_CERTAIN)
            continue;
        sum.n_blocks += groups[i].count - groups[i].heads;
        sum.own_words += (groups[i].count - groups[i].heads) * groups[i].words_each;
    }
    sum.words = sum.own_words;
    return sum;
}

static bool is_class(const struct hs_view *view, uint32_t type)
{
    if (type == HS_UNTYPED)
        return false;
    const struct hs_type *of = hs_snap_type(view->snap, type);
    return hs_rank_is_class(hs_type_rank(hs_view_string(view, of->name), of->form));
}

/* Finds what tells more of lost blocks than they do: a class that hangs on them, about as many as
 * they are, with a quarter of their words. n_blocks 0: none does. */
static struct hs_accumulated telling_part(const struct hs_leak_report *report,
                                          const struct hs_leak_group *lost)
{
    enum { TIMES = 3, PART = 4 };
    struct hs_accumulated best = {0};
    if (is_class(report->view, lost->type))
        return best;
    for (size_t i = 1; i < report->groups.n_groups; i++) {
        const struct hs_leak_group *group = &report->groups.groups[i];
        if (group->certainty != HS_LEAK_CERTAIN || group->type == lost->type ||
            group->heads > group->count / TIMES || !is_class(report->view, group->type))
            continue;
        const struct hs_accumulated part = sum_type(report, i);
        if (part.n_blocks / TIMES <= lost->count && lost->count / TIMES <= part.n_blocks &&
            part.own_words >= lost->held_words / PART && part.own_words > best.own_words)
            best = part;
    }
    return best;
}

/* Adds one suspect for all that is lost, told by the fault that has lost most. */
static hs_status add_lost_words(const struct hs_leak_report *report, enum hs_certainty certainty,
                                struct hs_suspects *found, struct hs_error *err)
{
    const uint64_t words = report->groups.totals[HS_LEAK_CERTAIN].words;
    const struct hs_leak_group *group = hs_suspect_lost_class(report, words), *second;
    if (group == NULL)
        group = &report->groups.groups[0];
    struct hs_suspect *suspect;
    HS_TRY(hs_suspect_add(found, HS_SUSPECT_LOST, &suspect, err));
    suspect->words = words;
    suspect->objects = report->groups.totals[HS_LEAK_CERTAIN].count;
    suspect->certainty = (uint8_t)certainty;
    suspect->type = group->type;
    suspect->count = group->count;
    suspect->each_words = group->words_each;
    suspect->held_words = group->held_words >= group->words ? group->held_words : words;
    suspect->at.n_heads = group->heads;
    suspect->evidence = group->first;
    HS_TRY(hs_outgrown_copies_find(report, suspect->words, suspect, err));
    HS_TRY(hs_name_cycle(report->view, group->first, &suspect->cycle, err));
    if (suspect->cycle != NULL) {
        hs_fold_indices(suspect->cycle);
        HS_TRY(hs_cycle_hidden(report->view, group->first, &suspect->hidden, err));
    }
    if (suspect->n_copies == 0)
        suspect->at.bulk = telling_part(report, group);
    second = suspect->n_copies != 0 ? NULL : second_of(report, suspect->words);
    if (second != NULL)
        suspect->at.parts[0] =
            (struct hs_accumulated){second->type, second->count, second->words, second->held_words};
    return HS_OK;
}

/* Tells whether leaks of the group are possible as something that could not be asked may have the
 * blocks: no root that was read leads to them, a stale word to one of many at most. */
static bool is_unasked(const struct hs_leak_group *group)
{
    return group->certainty == HS_LEAK_CERTAIN ||
           ((group->reasons & HS_LEAK_UNSURE) != 0 &&
            (group->reasons & (HS_LEAK_WEAK | HS_LEAK_MAPPING)) == 0);
}

/* Takes such groups for lost, before all others, in their order. */
static hs_status take_for_lost(struct hs_leak_groups *groups, struct hs_error *err)
{
    hs_auto_free struct hs_leak_group *others = NULL;
    struct hs_leak_sum *sum = &groups->totals[HS_LEAK_CERTAIN];
    size_t n = 0, n_others = 0;

    HS_TRY(HS_ALLOC(&others, groups->n_groups + 1, err));
    *sum = (struct hs_leak_sum){0};
    for (size_t i = 0; i < groups->n_groups; i++) {
        struct hs_leak_group group = groups->groups[i];
        if (!is_unasked(&group)) {
            others[n_others++] = group;
            continue;
        }
        group.certainty = HS_LEAK_CERTAIN;
        groups->groups[n++] = group;
        sum->count += group.count;
        sum->words += group.words;
    }
    for (size_t i = 0; i < n_others; i++)
        groups->groups[n + i] = others[i];
    return HS_OK;
}

/* Adds what no root that was read leads to, where the whole dump has no certain leak: what could
 * not be asked, keys of the kernel say, hardly has all of it. A heap that is not read may. */
static hs_status add_unasked(struct hs_view *view, struct hs_leak_query query,
                             struct hs_suspects *found, struct hs_error *err)
{
    enum { UNREAD_PART = 4 };
    struct hs_leak_report report = {0};
    struct hs_unread unread;

    hs_unread_find(view, &unread);
    if (unread.counted_words >= hs_index_unreached_total(view->index).words / UNREAD_PART)
        return HS_OK;
    query.certainties |= 1U << HS_LEAK_POSSIBLE;
    HS_TRY(hs_leak_report_find(view, &query, &report, err));
    hs_status status = take_for_lost(&report.groups, err);
    uint64_t words = report.groups.totals[HS_LEAK_CERTAIN].words;
    if (status == HS_OK && words != 0 && words >= found->threshold_words)
        status = add_lost_words(&report, HS_CONSERVATIVE, found, err);
    hs_leak_report_fini(&report);
    return status;
}

/* Adds the blocks that are lost, for certain or as far as was read. */
static hs_status add_lost(struct hs_view *view, struct hs_suspects *found, struct hs_error *err)
{
    static const struct hs_suppressions nothing = {0};
    bool has_python = hs_suspect_has_python(view);
    const struct hs_leak_query query = {
        .suppressions = &nothing,
        .certainties = 1U << HS_LEAK_CERTAIN | (unsigned)has_python << HS_LEAK_POSSIBLE,
        .max_rows = LOST_ROWS,
    };
    struct hs_leak_report report = {0};
    if (hs_leak_is_garbage(view)) {
        found->garbage_words = hs_index_unreached_total(view->index).words;
        return HS_OK;
    }
    if (hs_index_unreached_total(view->index).words == 0)
        return HS_OK;
    HS_TRY(hs_leak_report_find(view, &query, &report, err));
    uint64_t all_words = report.groups.totals[HS_LEAK_CERTAIN].words;
    hs_status status = HS_OK;
    if (report.groups.n_groups != 0 && all_words != 0 && all_words >= found->threshold_words)
        status = add_lost_words(&report, HS_EXACT, found, err);
    else if (all_words == 0 && report.blind[0] != '\0' && !has_python)
        status = add_unasked(view, query, found, err);
    if (status == HS_OK && has_python)
        status = hs_suspect_find_garbage(&report, found, err);
    hs_leak_report_fini(&report);
    return status;
}

/* ---- order */

/* Returns the words that a suspect is ranked by: what nothing but words that may be stale keep is
 * less of a cause than what is surely kept or lost. */
static uint64_t rank_words(const struct hs_suspect *suspect)
{
    enum { DOUBTFUL_PART = 4 };
    return suspect->tier == HS_TIER_DOUBTFUL ? suspect->words / DOUBTFUL_PART : suspect->words;
}

static int compare_rows(const void *left, const void *right)
{
    const struct hs_suspect *a = left, *b = right;
    bool a_is_last = a->waste == HS_WASTE_UNKNOWN, b_is_last = b->waste == HS_WASTE_UNKNOWN;
    if (a_is_last != b_is_last)
        return a_is_last ? 1 : -1;
    uint64_t a_words = rank_words(a), b_words = rank_words(b);
    if (a_words != b_words)
        return a_words < b_words ? 1 : -1;
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

static bool is_named_only(const struct hs_view *view, uint32_t type)
{
    if (type == HS_UNTYPED)
        return false;
    const struct hs_type *of = hs_snap_type(view->snap, type);
    return hs_type_is_opaque(hs_view_string(view, of->name), of->form);
}

/* Tells whether an owner's sentence is of blocks without a type, these or as many words of others,
 * or of what they hang on, of which no more than a name is known.
 */
static bool tells_unknown(const struct hs_view *view, const struct hs_suspect *owner,
                          uint64_t unknown_words)
{
    bool is_owner = owner->list == HS_SUSPECT_OWNER || owner->list == HS_SUSPECT_JOINT;
    bool is_typed =
        owner->type != HS_UNTYPED && hs_snap_type(view->snap, owner->type)->form != HS_FORM_BYTES;
    bool is_named = is_named_only(view, owner->type) ||
                    (owner->at.bulk.n_blocks != 0 && is_named_only(view, owner->at.bulk.type));
    return is_owner && owner->at.members != 0 && (!is_typed || is_named || owner->equal.n != 0) &&
           owner->untyped_words >= unknown_words / 2;
}

/* Drops what would only repeat of blocks without a type what an owner's sentence says of them. */
static void drop_told_unknown(const struct hs_view *view, struct hs_suspects *found)
{
    for (size_t i = 0; i < found->n; i++) {
        struct hs_suspect row = found->rows[i];
        bool is_told = false;
        for (size_t j = 0; row.waste == HS_WASTE_UNKNOWN && j < found->n; j++)
            is_told |= tells_unknown(view, &found->rows[j], row.words);
        if (!is_told)
            continue;
        for (size_t j = i + 1; j < found->n; j++)
            found->rows[j - 1] = found->rows[j];
        found->n--;
        hs_suspect_fini(&row);
        return; /* there is one at most */
    }
}

static hs_status find(struct hs_view *view, const struct hs_suspect_query *query,
                      struct hs_suspects *found, struct hs_error *err)
{
    hs_auto_free uint8_t *tiers = NULL;
    found->largest_root = HS_NO_NODE;
    found->garbage_type = HS_UNTYPED;
    found->threshold_words = share_of(hs_unread_whole(view), query->threshold_percent);
    HS_TRY(find_tiers(view, &tiers, err));
    HS_TRY(add_owners(view, tiers, found, err));
    HS_TRY(hs_suspect_add_folds(view, tiers, found, err));
    HS_TRY(add_joint(view, tiers, found, err));
    HS_TRY(drop_runtimes(view, query, found, err));
    if (!query->is_brief) {
        /* First what takes most memory: the chunks that later steps look at stay decoded. */
        HS_TRY(add_lost(view, found, err));
        HS_TRY(hs_suspect_find_waste(view, found, err));
        HS_TRY(hs_suspect_look_into(view, query, found, err));
        hs_suspect_take_room(found);
        drop_told_unknown(view, found);
        HS_TRY(hs_suspect_find_sites(view, found, err));
    }
    if (found->n > 1)
        qsort(found->rows, found->n, sizeof *found->rows, compare_rows);
    keep_first(found, query->max_rows);
    return HS_OK;
}

static hs_status find_or_take(struct hs_view *view, const struct hs_suspect_query *query,
                              struct hs_suspects *found, struct hs_error *err)
{
    bool is_kept = !query->is_brief && view->totals->n_blocks >= HS_KEPT_SUSPECTS_LEAST_BLOCKS;
    bool is_found = false;
    if (is_kept)
        HS_TRY(hs_kept_suspects_find(view, query, found, &is_found, err));
    if (is_found)
        return HS_OK;
    HS_TRY(find(view, query, found, err));
    HS_TRY(hs_index_check(view->index, err)); /* what damage tells is not kept */
    return is_kept ? hs_kept_suspects_keep(view, query, found, err) : HS_OK;
}

hs_status hs_suspects_find(struct hs_view *view, const struct hs_suspect_query *query,
                           struct hs_suspects *ret, struct hs_error *err)
{
    struct hs_suspects found = {0};
    hs_status status = find_or_take(view, query, &found, err);
    if (status == HS_OK)
        *ret = found;
    else
        hs_suspects_fini(&found);
    return status;
}
