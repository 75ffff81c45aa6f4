#include "analysis/leak_groups.h"

#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "analysis/chunk_pass.h"
#include "base/alloc.h"
#include "base/table.h"
#include "graph/edges.h"

struct grouper {
    const struct hs_view *view;
    const struct hs_leak_set *set;
    struct hs_leak_groups found;
    uint32_t *group_of; /* owned pages: by rank */
    struct hs_table by_key;
    struct hs_bitmap suppressed; /* by rank */
    bool *has_weak;              /* owned: by type, has it a weak reference? NULL: none has */
    uint64_t reserved_bytes;
};

const char *hs_leak_certainty_name(unsigned certainty)
{
    static const char *const names[HS_N_LEAK_CERTAINTIES] = {"certain", "possible"};
    return certainty < HS_N_LEAK_CERTAINTIES ? names[certainty] : NULL;
}

static uint64_t group_hash(const struct hs_leak_group *group)
{
    return hs_hash_pair(group->words_each * 2 + group->certainty, group->type);
}

static bool group_same(const struct hs_leak_group *a, const struct hs_leak_group *b)
{
    return a->type == b->type && a->words_each == b->words_each && a->certainty == b->certainty;
}

/* The group with this key, made when it is new. */
static hs_status group_find(struct grouper *g, const struct hs_leak_group *key, uint32_t *ret,
                            struct hs_error *err)
{
    struct hs_leak_groups *found = &g->found;
    uint64_t hash = group_hash(key);
    *ret = HS_TABLE_FIND(&g->by_key, hash, i, group_same(&found->groups[i], key));
    if (*ret != HS_NO_NUMBER)
        return HS_OK;
    HS_TRY(HS_GROW(&found->groups, &found->capacity, found->n_groups + 1, err));
    HS_TRY(hs_table_add(&g->by_key, hash, found->n_groups, err));
    *ret = (uint32_t)found->n_groups;
    found->groups[found->n_groups++] = *key;
    return HS_OK;
}

/* ---- which block belongs to which group */

static hs_status group_chunk(struct grouper *g, const struct hs_suppressions *suppressions,
                             const struct hs_chunk *chunk, struct hs_error *err)
{
    struct hs_index_in_order reached = {.index = g->view->index, .read = hs_index_run_reached};
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        hs_node node = chunk->first + i;
        if (!hs_bitmap_get(&g->set->lost, node))
            continue;
        bool is_unsure = (chunk->state[i] & HS_BLOCK_UNSURE) != 0;
        bool is_reached = hs_index_next(&reached, node) != 0;
        struct hs_leak_group key = {
            .type = chunk->type[i],
            .words_each = chunk->words[i],
            .certainty = is_unsure || is_reached ? HS_LEAK_POSSIBLE : HS_LEAK_CERTAIN,
            .first = HS_NO_NODE,
            .weak_from = HS_NO_NODE,
        };
        uint32_t at;
        size_t n_before = g->found.n_groups;
        HS_TRY(group_find(g, &key, &at, err));
        struct hs_leak_group *group = &g->found.groups[at];
        if (g->found.n_groups != n_before) {
            const struct hs_type *type = hs_snap_type(g->view->snap, key.type);
            group->is_suppressed = hs_suppressions_match(suppressions, HS_SUPPRESS_TYPE,
                                                         hs_view_string(g->view, type->name));
        }
        if (is_unsure)
            group->reasons |= HS_LEAK_UNSURE;
        g->group_of[hs_leak_rank(g->set, node)] = at;
    }
    return HS_OK;
}

/* Adds a reason for which a block may not be lost to its group. Returns the group; NULL when the
 * block is not lost, or lost for sure, so that the reason does not count. */
static struct hs_leak_group *reason_add(struct grouper *g, hs_node target,
                                        enum hs_leak_reason reason)
{
    if (!hs_bitmap_get(&g->set->lost, target))
        return NULL;
    struct hs_leak_group *group = &g->found.groups[g->group_of[hs_leak_rank(g->set, target)]];
    if (group->certainty != HS_LEAK_POSSIBLE)
        return NULL;
    group->reasons |= (uint8_t)reason;
    return group;
}

/* Adds a weak reference as a reason; a root is named before a block, and a block that is alive
 * before a lost one. */
static void reason_add_weak(struct grouper *g, hs_node target, hs_node from)
{
    struct hs_leak_group *group = reason_add(g, target, HS_LEAK_WEAK);
    if (group != NULL &&
        (group->weak_from == HS_NO_NODE || from < g->view->n_tree ||
         (group->weak_from >= g->view->n_tree && hs_bitmap_get(&g->set->lost, group->weak_from))))
        group->weak_from = from;
}

static bool is_weak_member(const struct grouper *g, const struct hs_member *member)
{
    return strncmp(hs_view_string(g->view, member->type_name), HS_MEMBER_WEAK,
                   strlen(HS_MEMBER_WEAK)) == 0;
}

static hs_status find_weak_types(struct grouper *g, struct hs_error *err)
{
    uint32_t n_types = (uint32_t)g->view->totals->n_types;
    for (uint32_t i = 0; i < n_types; i++) {
        size_t n;
        const struct hs_member *members = hs_snap_members(g->view->snap, i, &n);
        for (size_t k = 0; k < n; k++) {
            if (!is_weak_member(g, &members[k]))
                continue;
            if (g->has_weak == NULL)
                HS_TRY(HS_ALLOC(&g->has_weak, n_types, err));
            g->has_weak[i] = true;
        }
    }
    return HS_OK;
}

/* Tells whether this word of a block of the type is a weak reference. */
static bool is_weak_word(const struct grouper *g, uint32_t type, uint64_t word)
{
    uint64_t offset = word * g->view->facts->word_bytes;
    const struct hs_member *member = hs_snap_member_at(g->view->snap, type, offset, NULL);
    uint64_t stride = hs_snap_type(g->view->snap, type)->stride_bytes;
    return member != NULL && member->offset_bytes == (stride != 0 ? offset % stride : offset) &&
           is_weak_member(g, member);
}

/* The node of the variable above a slot says so. */
static bool is_weak_root(const struct grouper *g, const struct hs_root *root)
{
    if (root->edge_class != HS_EDGE_GUESSED)
        return false;
    const struct hs_root *above = hs_snap_root(g->view->snap, root->parent);
    const char *name = hs_view_string(g->view, above->name);
    size_t n = strlen(name), n_end = strlen(HS_ROOT_WEAK);
    return above->level == HS_LEVEL_VARIABLE && n > n_end &&
           strcmp(name + n - n_end, HS_ROOT_WEAK) == 0;
}

static enum hs_leak_reason reason_of_class(unsigned edge_class)
{
    return edge_class == HS_EDGE_PAST_END ? HS_LEAK_PAST_END : HS_LEAK_GUESSED;
}

static void reason_of_root(struct grouper *g, hs_node node)
{
    const struct hs_root *root = hs_snap_root(g->view->snap, node);
    if (root->target == HS_NO_NODE || root->weak || hs_root_tier(root) != HS_TIER_DOUBTFUL)
        return;
    if (is_weak_root(g, root)) {
        reason_add_weak(g, root->target, node);
        return;
    }
    bool is_sure = hs_edge_is_sure(root->edge_class);
    bool is_stack = root->kind == HS_ROOT_STACK || root->kind == HS_ROOT_LOCAL ||
                    root->kind == HS_ROOT_REGISTER;
    (void)reason_add(g, root->target,
                     is_sure && is_stack ? HS_LEAK_STACK
                     : is_sure && root->kind == HS_ROOT_UNCLAIMED
                         ? HS_LEAK_MAPPING
                         : reason_of_class(root->edge_class));
}

static hs_status reason_chunk(struct grouper *g, const struct hs_suppressions *suppressions,
                              const struct hs_chunk *chunk, struct hs_error *err)
{
    (void)suppressions;
    (void)err;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        bool has_weak = g->has_weak != NULL && g->has_weak[chunk->type[i]];
        for (uint64_t e = chunk->edge_begin[i]; e < chunk->edge_begin[i + 1]; e++) {
            if (hs_edge_is_sure(chunk->edge_class[e]))
                continue;
            if (has_weak && chunk->edge_class[e] == HS_EDGE_GUESSED &&
                is_weak_word(g, chunk->type[i], chunk->offset_words[e]))
                reason_add_weak(g, chunk->target[e], chunk->first + i);
            else
                (void)reason_add(g, chunk->target[e], reason_of_class(chunk->edge_class[e]));
        }
    }
    return HS_OK;
}

typedef hs_status chunk_visitor(struct grouper *g, const struct hs_suppressions *suppressions,
                                const struct hs_chunk *chunk, struct hs_error *err);

static hs_status visit_chunks(struct grouper *g, const struct hs_suppressions *suppressions,
                              unsigned columns, chunk_visitor *visit, struct hs_error *err)
{
    struct hs_chunk_pass pass = hs_chunk_pass_of(g->view, columns, "grouping lost blocks");
    while (hs_chunk_pass_next(&pass, err))
        pass.status = visit(g, suppressions, &pass.chunk, err);
    return hs_chunk_pass_end(&pass);
}

/* ---- sums */

/* Parents stand before children: what hangs on a suppressed block is suppressed too. */
static void sum_up(struct grouper *g)
{
    const struct hs_leak_set *set = g->set;
    struct hs_leak_group *groups = g->found.groups;
    for (uint64_t i = 0; i < set->n_lost; i++) {
        uint32_t rank = set->order[i], parent = set->parent[rank];
        struct hs_leak_group *group = &groups[g->group_of[rank]];
        bool is_suppressed =
            group->is_suppressed || (parent != HS_NONE && hs_bitmap_get(&g->suppressed, parent));
        struct hs_leak_sum *sum =
            is_suppressed ? &g->found.suppressed : &g->found.totals[group->certainty];
        sum->count++;
        sum->words += group->words_each;
        if (!is_suppressed && group->certainty == HS_LEAK_POSSIBLE &&
            hs_bitmap_get(&set->on_stack, rank)) {
            g->found.on_stack.count++;
            g->found.on_stack.words += group->words_each;
        }
        if (is_suppressed) {
            hs_bitmap_set(&g->suppressed, rank);
            continue;
        }
        group->count++;
        group->words += group->words_each;
        group->heads += set->head[rank] == rank;
        groups[g->group_of[set->head[rank]]].held_words += group->words_each;
        if (rank < group->first)
            group->first = rank;
    }
}

static int compare_groups(const void *left, const void *right)
{
    const struct hs_leak_group *a = left, *b = right;
    if (a->certainty != b->certainty)
        return a->certainty < b->certainty ? -1 : 1;
    if (a->held_words != b->held_words)
        return a->held_words < b->held_words ? 1 : -1;
    if (a->words != b->words)
        return a->words < b->words ? 1 : -1;
    return a->first < b->first ? -1 : a->first > b->first;
}

/* Leaves out what is empty, not asked for, small or too much. */
static void select_groups(struct grouper *g, const struct hs_leak_query *query)
{
    struct hs_leak_groups *found = &g->found;
    size_t kept = 0;
    for (size_t i = 0; i < found->n_groups; i++) {
        struct hs_leak_group *group = &found->groups[i];
        if (group->certainty == HS_LEAK_POSSIBLE && group->reasons == 0)
            group->reasons = HS_LEAK_BELOW;
        if (group->count != 0 && (query->certainties >> group->certainty & 1) != 0)
            found->groups[kept++] = *group;
    }
    found->n_groups = kept;
    if (kept > 1)
        qsort(found->groups, kept, sizeof *found->groups, compare_groups);
    kept = 0;
    for (size_t i = 0; i < found->n_groups; i++) {
        const struct hs_leak_group *group = &found->groups[i];
        if (group->words >= query->min_words && kept < query->max_rows) {
            found->groups[kept++] = *group;
        } else {
            found->n_others++;
            found->others.count += group->count;
            found->others.words += group->words;
        }
    }
    found->n_groups = kept;
    for (size_t i = 0; i < kept; i++) /* by rank so far, which is the same order */
        found->groups[i].first = hs_leak_node(g->set, found->groups[i].first);
}

static hs_status grouper_run(struct grouper *g, const struct hs_leak_query *query,
                             struct hs_error *err)
{
    uint64_t n = g->set->n_lost, n_bytes = n * sizeof *g->group_of + n / 8;
    HS_TRY(hs_budget_reserve(g->view->session.budget, n_bytes, "the groups of lost blocks", err));
    g->reserved_bytes = n_bytes;
    HS_TRY(HS_PAGES_ALLOC(&g->group_of, n, err));
    HS_TRY(hs_bitmap_init(&g->suppressed, n, err));
    HS_TRY(visit_chunks(g, query->suppressions, HS_COL_SIZES | HS_COL_TYPES, group_chunk, err));
    bool has_possible = false;
    for (size_t i = 0; i < g->found.n_groups; i++)
        has_possible |= g->found.groups[i].certainty == HS_LEAK_POSSIBLE;
    if (has_possible) {
        HS_TRY(find_weak_types(g, err));
        HS_TRY(visit_chunks(g, query->suppressions,
                            g->has_weak != NULL ? HS_COL_TYPES | HS_COL_FIELDS : HS_COL_CLASSES,
                            reason_chunk, err));
        for (uint64_t i = 0; i < g->view->n_tree; i++)
            reason_of_root(g, i);
    }
    sum_up(g);
    select_groups(g, query);
    return HS_OK;
}

hs_status hs_leak_groups_find(struct hs_view *view, const struct hs_leak_set *set,
                              const struct hs_leak_query *query, struct hs_leak_groups *ret,
                              struct hs_error *err)
{
    struct grouper g = {.view = view, .set = set};
    hs_status status = grouper_run(&g, query, err);
    hs_pages_free(g.group_of, set->n_lost, sizeof *g.group_of);
    hs_budget_release(view->session.budget, g.reserved_bytes);
    hs_bitmap_fini(&g.suppressed);
    hs_free(g.has_weak);
    hs_table_fini(&g.by_key);
    if (status == HS_OK)
        *ret = g.found;
    else
        hs_leak_groups_fini(&g.found);
    return status;
}

void hs_leak_groups_fini(struct hs_leak_groups *groups)
{
    hs_free(groups->groups);
    *groups = (struct hs_leak_groups){0};
}
