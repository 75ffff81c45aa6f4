/* The contents and the name of a suspect's memory. */
#include <stdio.h>
#include <string.h>

#include "analysis/attribution.h"
#include "analysis/block_name.h"
#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/path_find.h"
#include "analysis/root_folds.h"
#include "base/alloc.h"
#include "base/append.h"
#include "equal_groups.h"
#include "member_place.h"
#include "suspect_finds.h"
#include "type_rank.h"

enum { MANY = 8 };

static bool is_of_set(struct hs_view *view, uint32_t set, hs_node root)
{
    struct hs_row row = hs_index_set_roots(view->index, set);
    for (hs_node node; hs_row_next(&row, &node);)
        if (node == root)
            return true;
    return false;
}

/* Ranks a root by how little its name tells a reader: "server", ".bss+0x748" with a function that
 * uses it, "pthread_setspecific key 3", ".bss+0x610". */
static unsigned tells_little(const struct hs_view *view, hs_node leaf)
{
    const struct hs_root *root = hs_snap_root(view->snap, leaf);
    bool is_named = hs_root_is_named(view, leaf);

    if (is_named && root->kind != HS_ROOT_TLS)
        return 0;
    return root->function != 0 ? 1 : is_named ? 2 : 3;
}

static bool is_owner(struct hs_view *view, const struct hs_suspect *suspect, hs_node root)
{
    if (suspect->list == HS_SUSPECT_JOINT)
        return is_of_set(view, suspect->set, root);
    return suspect->all_roots != NULL || root == suspect->roots[0];
}

/* The path that names a block, of those found so far: from the firmest of the set's roots, of these
 * the shortest, where two steps more are worth a better name. */
struct naming {
    struct hs_view *view;
    const struct hs_suspect *suspect;
    size_t n_seen, n_own; /* paths; those of the suspect's roots */
    size_t best;          /* of n_own > 0 */
    unsigned best_tier;
    size_t best_steps;
};

static void see_path(struct naming *naming, const struct hs_paths *paths, size_t i)
{
    enum { STEPS_FOR_A_NAME = 2 };
    struct hs_view *view = naming->view;
    hs_node leaf = paths->nodes[paths->begin[i]];
    unsigned tier = hs_snap_root(view->snap, leaf)->tier;
    size_t steps =
        paths->begin[i + 1] - paths->begin[i] + STEPS_FOR_A_NAME * (size_t)tells_little(view, leaf);
    if (!is_owner(view, naming->suspect, hs_path_root(view, leaf)))
        return; /* doubtful words lead in from elsewhere, too */
    if (naming->n_own++ == 0 || tier < naming->best_tier ||
        (tier == naming->best_tier && steps < naming->best_steps)) {
        naming->best = i;
        naming->best_tier = tier;
        naming->best_steps = steps;
    }
}

/* Tells whether no path to come can name the block better. */
static bool is_named(void *context, const struct hs_paths *found, size_t least_nodes)
{
    struct naming *naming = context;
    const struct hs_suspect *suspect = naming->suspect;
    for (; naming->n_seen < found->n_paths; naming->n_seen++)
        see_path(naming, found, naming->n_seen);
    bool is_all = suspect->all_roots == NULL && naming->n_own == suspect->n_roots;
    return naming->n_own != 0 &&
           (is_all || (naming->best_tier == HS_TIER_FIRM && least_nodes >= naming->best_steps));
}

/* Names a block by a path from one of the suspect's roots; *ret_root: which of them. */
static hs_status name_by_path(struct hs_view *view, hs_node block, const struct hs_suspect *suspect,
                              char **ret, hs_node *ret_root, struct hs_error *err)
{
    enum { PATHS = 16 };
    struct naming naming = {.view = view, .suspect = suspect};
    struct hs_paths paths = {0};
    struct hs_path_fold fold = {0};
    HS_TRY(hs_paths_until(view, block, PATHS, is_named, &naming, &paths, err));
    (void)is_named(&naming, &paths, 0);
    hs_status status = HS_OK;
    if (naming.n_own != 0) {
        const hs_node *nodes = paths.nodes + paths.begin[naming.best];
        size_t n = paths.begin[naming.best + 1] - paths.begin[naming.best];
        status = hs_path_fold_nodes(&fold, view, nodes + 1, n - 1, err);
        if (status == HS_OK)
            status = hs_fold_text(view, nodes[0], &fold, ret, err);
        *ret_root = nodes[0];
    }
    hs_path_fold_fini(&fold);
    hs_paths_fini(&paths);
    return status;
}

bool hs_suspect_has_table(const struct hs_suspect *suspect)
{
    const struct hs_accumulation *at = &suspect->at;
    enum { LEAST = 8, LEAST_PART = 50 };
    return at->n_direct >= LEAST && at->n_direct >= at->steps[at->members].n_blocks / LEAST_PART;
}

static bool tells_what_it_is(const struct hs_view *view, uint32_t type)
{
    if (type == HS_UNTYPED)
        return false;
    const struct hs_type *of = hs_snap_type(view->snap, type);
    return hs_rank_is_class(hs_type_rank(hs_view_string(view, of->name), of->form));
}

/* Tells whether more is known of it than its size. */
static bool has_type(const struct hs_view *view, uint32_t type)
{
    return type != HS_UNTYPED && hs_snap_type(view->snap, type)->form != HS_FORM_BYTES;
}

/* Tells whether members stand in each other, a few at a time: views of Python and the arrays that
 * they are of; or the outermost are the entries of one collection: the titles in a list, which keep
 * the pages that they are of. Then the outermost are what there is so many of. In other languages
 * they may be a list or the entries of a bucket, and all count. */
static bool is_nested(const struct hs_view *view, const struct hs_accumulation *at)
{
    enum { LEAST = 8, MOST_EACH = 4, OWN_PERCENT = 90 };
    const struct hs_accumulated *members = &at->steps[at->members];
    bool are_entries = at->n_direct >= at->n_heads / 10 * 9 && at->n_direct / 10 * 9 <= at->n_heads;
    return members->type != HS_UNTYPED &&
           hs_snap_type(view->snap, members->type)->form == HS_FORM_PYTHON &&
           at->n_heads >= LEAST && members->n_blocks > at->n_heads &&
           (members->n_blocks / MOST_EACH < at->n_heads || are_entries) &&
           members->words / 100 * OWN_PERCENT > members->own_words;
}

/* Counts the entries of the one collection that nearly all hang on, where members are Python's
 * plain objects that stand in each other: dicts in lists of dicts are so many documents. 0: there
 * is none, or they are all. */
static uint64_t count_entries(const struct hs_view *view, const struct hs_accumulation *at)
{
    enum { LEAST_PART = 2, WITHIN_PERCENT = 90 };
    const struct hs_accumulated *members = &at->steps[at->members];
    if (members->type == HS_UNTYPED || at->point == HS_NO_NODE || at->point < view->n_tree ||
        at->n_direct < MANY || at->n_direct > members->n_blocks / LEAST_PART)
        return 0;
    const struct hs_type *type = hs_snap_type(view->snap, members->type);
    bool is_plain = type->form == HS_FORM_PYTHON &&
                    hs_type_rank(hs_view_string(view, type->name), type->form) <= HS_RANK_BUILTIN;
    uint64_t within = hs_index_retained(view->index, at->point).words;
    return is_plain && within >= members->words / 100 * WITHIN_PERCENT ? at->n_direct : 0;
}

/* The members, and where they hang: on a table, unless that is one of them. */
static hs_status take_members(struct hs_view *view, struct hs_suspect *suspect,
                              struct hs_error *err)
{
    const struct hs_accumulation *at = &suspect->at;
    const struct hs_accumulated *members = &at->steps[at->members];
    bool is_table = at->point != HS_NO_NODE && at->point >= view->n_tree;
    struct hs_node_facts facts;
    if (is_table && members->type != HS_UNTYPED) {
        HS_TRY(hs_view_facts(view, at->point, &facts, err));
        is_table = facts.type != members->type;
    }
    suspect->type = members->type;
    suspect->is_class = tells_what_it_is(view, members->type);
    suspect->count = is_nested(view, at) ? at->n_heads : members->n_blocks;
    uint64_t n_entries = count_entries(view, at);
    if (n_entries != 0) {
        suspect->n_inner = suspect->count;
        suspect->count = n_entries;
    }
    suspect->each_words = at->median_words;
    bool is_point = n_entries != 0 || (hs_suspect_has_table(suspect) && is_table);
    suspect->evidence = is_point ? at->point : at->top;
    return HS_OK;
}

/* The words that are most of a suspect. */
static uint64_t least_heavy(const struct hs_suspect *suspect)
{
    enum { PERCENT = 60 };
    return suspect->words / 100 * PERCENT;
}

/* The child that most of so many words hang on; HS_NO_NODE: none has so much. */
static hs_node heavy_child(const struct hs_view *view, hs_node node, uint64_t least_words)
{
    struct hs_row row = hs_index_dominated(view->index, node);
    for (hs_node child; hs_row_next(&row, &child);)
        if (hs_index_retained(view->index, child).words >= least_words)
            return child;
    return HS_NO_NODE;
}

/* Goes down from the block that most of the suspect hangs on, where types do not tell: as long as
 * most of it hangs on one block, and no further than to the first of a row of blocks of one size, a
 * list. */
static hs_status find_heavy(struct hs_view *view, struct hs_suspect *suspect, struct hs_error *err)
{
    enum { MOST_STEPS = 64, ROW = 4 };
    uint64_t least_words = least_heavy(suspect), row_words = 0;
    hs_node at = suspect->at.top, before_row = at;
    unsigned in_row = 0;
    for (unsigned i = 0; i < MOST_STEPS; i++) {
        struct hs_node_facts facts;
        hs_node child = heavy_child(view, at, least_words);
        if (child == HS_NO_NODE)
            break;
        HS_TRY(hs_view_facts(view, child, &facts, err));
        in_row = facts.words == row_words ? in_row + 1 : 1;
        if (in_row == 1)
            before_row = at;
        row_words = facts.words;
        at = child;
        if (in_row == ROW)
            break;
    }
    suspect->evidence = in_row == ROW ? before_row : at;
    return HS_OK;
}

/* Cuts a way behind its last member with a name: "win->buffer->(+48)->(+8)". */
static void cut_offsets(char *holder)
{
    static const char offset[] = "->(+", gap[] = "->...";
    for (char *at; (at = strrchr(holder, '-')) != NULL && at != holder; *at = '\0')
        if (strncmp(at, offset, sizeof offset - 1) != 0 && strcmp(at, gap) != 0)
            return;
}

/* Names the way from any one of many roots; none where they lead to the members themselves. */
static hs_status fold_holder(struct hs_suspect *suspect, struct hs_error *err)
{
    char rest[HS_FOLD_NAME_BYTES], text[HS_FOLD_NAME_BYTES];
    const char *holder = suspect->holder == NULL ? "" : suspect->holder;
    size_t n = strlen(suspect->fold_name); /* all have this name: it stays, numbers and all */
    bool is_exact = strncmp(holder, suspect->fold_name, n) == 0;

    hs_root_fold_name(holder + (is_exact ? n : 0), rest);
    (void)snprintf(text, sizeof text, "%s%s", is_exact ? suspect->fold_name : "", rest);
    hs_free(suspect->holder);
    suspect->holder = NULL;
    return text[0] == '\0' || strcmp(text, suspect->fold_name) == 0
               ? HS_OK
               : hs_strdup(text, &suspect->holder, err);
}

/* Names the way from a member to what most of the members is; none where types say nothing. */
static hs_status name_bulk(struct hs_view *view, struct hs_suspect *suspect, struct hs_error *err)
{
    const struct hs_accumulation *at = &suspect->at;

    if (at->members == 0 || at->bulk.n_blocks == 0 || at->bulk_top == HS_NO_NODE ||
        !suspect->is_class)
        return HS_OK;
    HS_TRY(hs_name_below(view, at->bulk_top, suspect->type, is_nested(view, at),
                         &suspect->bulk_place, err));
    if (suspect->bulk_place != NULL)
        hs_fold_indices(suspect->bulk_place);
    return HS_OK;
}

/* Finds the block that groups of blocks without a type hang on: a table, which has a type. What has
 * most of them directly may be one of them. */
static hs_status find_table(struct hs_view *view, struct hs_suspect *suspect, struct hs_error *err)
{
    enum { MOST_STEPS = 64 };
    hs_node at = suspect->at.top;
    for (unsigned i = 0; i < MOST_STEPS && at != HS_NO_NODE && at >= view->n_tree; i++) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, at, &facts, err));
        if (has_type(view, facts.type)) {
            suspect->evidence = suspect->at.point = at;
            return HS_OK;
        }
        at = hs_index_idom(view->index, at);
    }
    return HS_OK;
}

/* Names the way to one of the equal groups instead of that to the block on top, if there is one. */
static hs_status name_equal(struct hs_view *view, struct hs_suspect *suspect, struct hs_error *err)
{
    char *text = NULL;
    hs_node root = suspect->holder_root;
    HS_TRY(name_by_path(view, suspect->equal.head, suspect, &text, &root, err));
    if (text == NULL)
        return HS_OK;
    hs_free(suspect->holder);
    suspect->holder = text;
    if (suspect->list == HS_SUSPECT_JOINT)
        suspect->holder_root = root;
    return HS_OK;
}

/* Replaces runs of places without a name, as in a table of a library, by one star: "->(+48)->(+8)"
 * by "[*]". The way begins with a name. */
static void fold_offsets(char *text)
{
    static const char offset[] = "->(+", any[] = "[*]";
    char *to = text;
    bool is_in_run = false;

    for (const char *at = text; *at != '\0';) {
        const char *end = strncmp(at, offset, strlen(offset)) == 0 ? strchr(at, ')') : NULL;
        if (end == NULL) {
            *to++ = *at++;
            is_in_run = false;
            continue;
        }
        if (!is_in_run) /* it is shorter than what it stands for */
            to = (char *)memcpy(to, any, strlen(any)) + strlen(any);
        is_in_run = true;
        at = end + 1;
    }
    *to = '\0';
}

/* Replaces the indices of the way to one of many members that hang on many blocks: which array of
 * these, and which element, is chance. */
static void fold_spread(struct hs_suspect *suspect)
{
    static const char any[] = "[*]";
    const struct hs_accumulation *at = &suspect->at;

    bool is_spread = at->is_within || (at->n_heads >= MANY && at->n_direct < at->n_heads / 2);
    if (suspect->holder == NULL || !is_spread)
        return;
    hs_fold_indices(suspect->holder);
    fold_offsets(suspect->holder);
    size_t n = strlen(suspect->holder);
    if (n > strlen(any) && strcmp(suspect->holder + n - strlen(any), any) == 0)
        suspect->holder[n - strlen(any)] = '\0';
}

/* Adds to the name of a block the member by which it leads to blocks of a type, where it has
 * several: a list's two ends and an index lead there, so that no dominator is between. *is_added:
 * whether there is such a member. */
static hs_status add_member(struct hs_view *view, hs_node block, uint32_t type, char **holder,
                            bool *is_added, struct hs_error *err)
{
    hs_auto_free char *member = NULL, *text = NULL;

    *is_added = false;
    if (*holder == NULL || block < view->n_tree)
        return HS_OK;
    HS_TRY(hs_member_place(view, block, type, &member, err));
    if (member == NULL)
        return HS_OK;
    HS_TRY(HS_ALLOC(&text, HS_FIELD_PATH_BYTES, err));
    hs_append(text, HS_FIELD_PATH_BYTES, "%s%s", *holder, member);
    hs_free(*holder);
    *holder = NULL;
    *is_added = true;
    HS_TRY(hs_strdup(text, holder, err));
    hs_holder_trim(*holder, /* is_one_of_many= */ true);
    return HS_OK;
}

/* Names the place of a part: the member of the block that all of it hangs on, if one has it; else
 * the way to the largest block. */
static hs_status name_part(struct hs_view *view, struct hs_suspect *suspect, unsigned i,
                           struct hs_error *err)
{
    hs_node root, top = suspect->at.class_tops[i];
    hs_node above = hs_index_idom(view->index, top);
    const struct hs_accumulated *class = &suspect->at.classes[i];
    bool is_added = false;

    if (above != HS_NO_NODE && above >= view->n_tree && class->n_blocks >= MANY) {
        HS_TRY(name_by_path(view, above, suspect, &suspect->class_holders[i], &root, err));
        HS_TRY(add_member(view, above, class->type, &suspect->class_holders[i], &is_added, err));
    }
    if (is_added)
        return HS_OK;
    hs_free(suspect->class_holders[i]);
    suspect->class_holders[i] = NULL;
    HS_TRY(name_by_path(view, top, suspect, &suspect->class_holders[i], &root, err));
    hs_holder_trim(suspect->class_holders[i], class->n_blocks >= MANY);
    return HS_OK;
}

static hs_status name_holder(const struct hs_group_kinds *kinds, struct hs_suspect *suspect,
                             struct hs_error *err)
{
    bool is_added, is_point = suspect->evidence == suspect->at.point || suspect->is_heavy;

    if (suspect->list == HS_SUSPECT_JOINT)
        HS_TRY(name_by_path(kinds->view, suspect->evidence, suspect, &suspect->holder,
                            &suspect->holder_root, err));
    else if (suspect->at.members != 0)
        HS_TRY(hs_name_by_dominators(kinds->view, suspect->evidence, suspect->roots[0],
                                     &suspect->holder, err));
    bool is_equal = suspect->equal.n != 0 && !suspect->is_heavy;
    if (is_equal)
        HS_TRY(name_equal(kinds->view, suspect, err));
    hs_holder_trim(suspect->holder,
                   is_equal ? suspect->equal.n >= MANY : !is_point && suspect->count >= MANY);
    if (!is_equal && !suspect->is_heavy)
        fold_spread(suspect);
    if (is_point && !suspect->is_heavy && !is_equal && suspect->evidence >= kinds->view->n_tree)
        HS_TRY(add_member(kinds->view, suspect->evidence, suspect->type, &suspect->holder,
                          &is_added, err));
    for (unsigned i = 0; i < 2; i++)
        if (suspect->at.class_tops[i] != HS_NO_NODE)
            HS_TRY(name_part(kinds->view, suspect, i, err));
    HS_TRY(name_bulk(kinds->view, suspect, err));
    if (suspect->holder != NULL && (suspect->is_heavy || is_equal))
        cut_offsets(suspect->holder);
    return suspect->fold_name == NULL ? HS_OK : fold_holder(suspect, err);
}

static hs_status look_into(const struct hs_group_kinds *kinds, const struct hs_group_place *place,
                           unsigned follow_percent, struct hs_suspect *suspect,
                           struct hs_error *err)
{
    struct hs_group_tree tree;
    HS_TRY(hs_group_tree_init(kinds, place, &tree, err));
    hs_status status = hs_group_accumulation(&tree, place, follow_percent, &suspect->at, err);
    suspect->doubtful_words = tree.doubtful_words;
    suspect->untyped_words = tree.untyped_words;
    uint64_t n_blocks = 0;
    for (size_t i = 0; i < tree.n; i++)
        n_blocks += tree.groups[i].n_blocks;
    if (status == HS_OK)
        status = hs_group_plain_words(&tree, &suspect->plain_words, err);
    hs_group_tree_fini(&tree);
    HS_TRY(status);
    if (suspect->at.members != 0)
        HS_TRY(take_members(kinds->view, suspect, err));
    HS_TRY(hs_suspect_take_elements(kinds->view, suspect, err));
    if (!suspect->is_class && suspect->untyped_words >= suspect->words / 2) {
        HS_TRY(hs_equal_groups_find(kinds, place, n_blocks, &suspect->equal, err));
        suspect->is_heavy = suspect->at.members != 0 && !has_type(kinds->view, suspect->type) &&
                            suspect->at.top >= kinds->view->n_tree &&
                            suspect->at.top_words >= least_heavy(suspect);
        if (suspect->is_heavy)
            HS_TRY(find_heavy(kinds->view, suspect, err));
        else if (suspect->at.n_heads > 1 && !has_type(kinds->view, suspect->type))
            HS_TRY(find_table(kinds->view, suspect, err));
    }
    return name_holder(kinds, suspect, err);
}

hs_status hs_suspect_look_into(struct hs_view *view, const struct hs_suspect_query *query,
                               struct hs_suspects *found, struct hs_error *err)
{
    struct hs_group_kinds kinds;
    uint64_t words = 0;
    for (size_t i = 0; i < found->n; i++)
        words += found->rows[i].list == HS_SUSPECT_OWNER || found->rows[i].list == HS_SUSPECT_JOINT
                     ? found->rows[i].words
                     : 0;
    HS_TRY(hs_group_kinds_init(view, &kinds, err));
    hs_status status = hs_group_kinds_read_order(&kinds, words, err);
    for (size_t i = 0; i < found->n && status == HS_OK; i++) {
        struct hs_suspect *suspect = &found->rows[i];
        struct hs_group_place owner = {.node = suspect->roots[0]};
        struct hs_group_place fold = {
            .node = HS_NO_NODE, .roots = suspect->all_roots, .n_roots = (size_t)suspect->n_roots};
        struct hs_group_place joint = {.node = HS_NO_NODE, .set = suspect->set};
        if (suspect->list == HS_SUSPECT_OWNER)
            status = look_into(&kinds, suspect->all_roots != NULL ? &fold : &owner,
                               query->follow_percent, suspect, err);
        else if (suspect->list == HS_SUSPECT_JOINT)
            status = hs_suspect_take_entry(view, suspect, err);
        if (suspect->list == HS_SUSPECT_JOINT && status == HS_OK)
            status = look_into(&kinds, &joint, query->follow_joint_percent, suspect, err);
    }
    hs_group_kinds_fini(&kinds);
    return status == HS_OK ? hs_suspect_find_reserves(view, found, err) : status;
}
