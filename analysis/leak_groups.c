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
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        hs_node node = chunk->first + i;
        if (!hs_bitmap_get(&g->set->lost, node))
            continue;
        bool is_unsure = (chunk->state[i] & HS_BLOCK_UNSURE) != 0;
        bool is_reached = hs_index_is_reached(g->view->index, node);
        struct hs_leak_group key = {
            .type = chunk->type[i],
            .words_each = chunk->words[i],
            .certainty = is_unsure || is_reached ? HS_LEAK_POSSIBLE : HS_LEAK_CERTAIN,
            .first = HS_NO_NODE,
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

static void reason_add(struct grouper *g, hs_node target, enum hs_leak_reason reason)
{
    if (!hs_bitmap_get(&g->set->lost, target))
        return;
    struct hs_leak_group *group = &g->found.groups[g->group_of[hs_leak_rank(g->set, target)]];
    if (group->certainty == HS_LEAK_POSSIBLE)
        group->reasons |= (uint8_t)reason;
}

static enum hs_leak_reason reason_of_class(unsigned edge_class)
{
    return edge_class == HS_EDGE_PAST_END ? HS_LEAK_PAST_END : HS_LEAK_GUESSED;
}

static void reason_of_root(struct grouper *g, const struct hs_root *root)
{
    if (root->target == HS_NO_NODE || root->weak || hs_root_tier(root) != HS_TIER_DOUBTFUL)
        return;
    bool is_sure = hs_edge_is_sure(root->edge_class);
    bool is_stack = root->kind == HS_ROOT_STACK || root->kind == HS_ROOT_LOCAL ||
                    root->kind == HS_ROOT_REGISTER;
    reason_add(g, root->target,
               is_sure && is_stack                          ? HS_LEAK_STACK
               : is_sure && root->kind == HS_ROOT_UNCLAIMED ? HS_LEAK_MAPPING
                                                            : reason_of_class(root->edge_class));
}

static hs_status reason_chunk(struct grouper *g, const struct hs_suppressions *suppressions,
                              const struct hs_chunk *chunk, struct hs_error *err)
{
    (void)suppressions;
    (void)err;
    for (uint64_t e = 0; e < chunk->n_edges; e++)
        if (!hs_edge_is_sure(chunk->edge_class[e]))
            reason_add(g, chunk->target[e], reason_of_class(chunk->edge_class[e]));
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
        HS_TRY(visit_chunks(g, query->suppressions, HS_COL_CLASSES, reason_chunk, err));
        for (uint64_t i = 0; i < g->view->n_tree; i++)
            reason_of_root(g, hs_snap_root(g->view->snap, i));
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
