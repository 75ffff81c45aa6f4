#include "analysis/dominator_types.h"

#include <stdlib.h>

#include "analysis/block_name.h"
#include "base/alloc.h"
#include "group_tree.h"

#define NO_ROW UINT32_MAX

/* A group that is a row, and its place in the tree of rows. */
struct chosen {
    uint32_t group, depth;
    uint32_t parent, first_child, last_child, next_sibling; /* rows; NO_ROW: none */
};

struct choice {
    const struct hs_group_tree *tree;
    const struct hs_dominator_query *query;
    uint32_t first;      /* the group that the rows begin at */
    uint32_t *by_words;  /* owned: groups, the largest first */
    uint32_t *row_of;    /* owned: by group */
    struct chosen *rows; /* owned */
    uint32_t n_rows;
};

/* ---- choosing */

/* Orders by words; of groups of the same words the one above comes first, as it has the smaller
 * number. */
static int larger_first(const void *left, const void *right, void *context)
{
    const struct hs_group *groups = context;
    uint32_t a = *(const uint32_t *)left, b = *(const uint32_t *)right;
    if (groups[a].words != groups[b].words)
        return groups[a].words > groups[b].words ? -1 : 1;
    return a < b ? -1 : a > b;
}

/* Takes a group as a row below that of its parent, which is one already. */
static void take(struct choice *choice, uint32_t group)
{
    uint32_t at = choice->n_rows++, above = choice->tree->groups[group].parent;
    struct chosen *row = &choice->rows[at];
    *row = (struct chosen){.group = group,
                           .parent = group == choice->first ? NO_ROW : choice->row_of[above],
                           .first_child = NO_ROW,
                           .last_child = NO_ROW,
                           .next_sibling = NO_ROW};
    choice->row_of[group] = at;
    if (row->parent == NO_ROW)
        return;
    struct chosen *parent = &choice->rows[row->parent];
    row->depth = parent->depth + 1;
    if (parent->first_child == NO_ROW)
        parent->first_child = at;
    else
        choice->rows[parent->last_child].next_sibling = at;
    parent->last_child = at;
}

/* Tells whether a group may be a row: there is room, it is large enough, not too deep, and the
 * group above it is one. */
static bool may_be_row(const struct choice *choice, uint32_t group)
{
    const struct hs_group *of = &choice->tree->groups[group];
    const struct hs_dominator_query *query = choice->query;
    if (group == choice->first)
        return true;
    if (choice->n_rows == 0 || of->parent == HS_NO_GROUP || choice->row_of[of->parent] == NO_ROW)
        return false;
    return (query->max_rows == 0 || choice->n_rows < query->max_rows) &&
           of->words >= query->min_words &&
           choice->rows[choice->row_of[of->parent]].depth < query->max_depth;
}

static hs_status choose(struct choice *choice, struct hs_error *err)
{
    size_t n = choice->tree->n;
    HS_TRY(HS_ALLOC(&choice->by_words, n, err));
    HS_TRY(HS_ALLOC(&choice->row_of, n, err));
    HS_TRY(HS_ALLOC(&choice->rows, n, err));
    for (uint32_t i = 0; i < n; i++) {
        choice->by_words[i] = i;
        choice->row_of[i] = NO_ROW;
    }
    qsort_r(choice->by_words, n, sizeof *choice->by_words, larger_first, choice->tree->groups);
    for (size_t i = 0; i < n; i++)
        if (may_be_row(choice, choice->by_words[i]))
            take(choice, choice->by_words[i]);
    return HS_OK;
}

/* ---- rows */

static struct hs_dominator_type row_of(const struct choice *choice, const struct chosen *chosen,
                                       hs_node from)
{
    const struct hs_group *group = &choice->tree->groups[chosen->group];
    bool is_place = chosen->group == 0;
    return (struct hs_dominator_type){
        .type = choice->tree->kinds->types[group->kind],
        .parent = NO_ROW,
        .depth = chosen->depth,
        .top = is_place ? from : group->top,
        .n_blocks = is_place ? 0 : group->n_blocks,
        .own_words = group->own_words,
        .words = group->words,
        .hidden_words = group->words - group->own_words,
    };
}

/* Puts the rows in the order of the tree, and notes in each which row is above it. */
static hs_status put_in_order(const struct choice *choice, hs_node from,
                              struct hs_dominator_types *types, struct hs_error *err)
{
    hs_auto_free uint32_t *place_of = NULL;
    HS_TRY(HS_ALLOC(&types->rows, choice->n_rows, err));
    HS_TRY(HS_ALLOC(&place_of, choice->n_rows, err));
    for (uint32_t at = choice->n_rows == 0 ? NO_ROW : 0; at != NO_ROW;) {
        const struct chosen *chosen = &choice->rows[at];
        struct hs_dominator_type *row = &types->rows[types->n];
        *row = row_of(choice, chosen, from);
        if (chosen->parent != NO_ROW) {
            row->parent = place_of[chosen->parent];
            types->rows[row->parent].hidden_words -= row->words;
        }
        place_of[at] = (uint32_t)types->n++;
        if (chosen->first_child != NO_ROW) {
            at = chosen->first_child;
            continue;
        }
        while (at != NO_ROW && choice->rows[at].next_sibling == NO_ROW)
            at = choice->rows[at].parent;
        at = at == NO_ROW ? NO_ROW : choice->rows[at].next_sibling;
    }
    for (uint32_t i = 1; i < choice->tree->n; i++) {
        uint32_t above = choice->tree->groups[i].parent;
        if (choice->row_of[i] == NO_ROW && above != HS_NO_GROUP && choice->row_of[above] != NO_ROW)
            types->rows[place_of[choice->row_of[above]]].n_hidden++;
    }
    return HS_OK;
}

/* Names where the largest block of each row hangs, without the index that only it has. */
static hs_status name_places(struct hs_view *view, const struct hs_dominator_types *types,
                             struct hs_error *err)
{
    enum { MANY = 8 };
    for (size_t i = 0; i < types->n; i++) {
        struct hs_dominator_type *row = &types->rows[i];
        if (row->n_blocks == 0)
            continue;
        hs_node root = hs_view_retaining_root(view, row->top);
        if (root == HS_NO_NODE)
            continue;
        HS_TRY(hs_name_by_dominators(view, row->top, root, &row->place, err));
        hs_holder_trim(row->place, row->n_blocks >= MANY);
    }
    return HS_OK;
}

static hs_status select_rows(struct hs_view *view, const struct hs_group_tree *tree, hs_node from,
                             const struct hs_dominator_query *query,
                             struct hs_dominator_types *types, struct hs_error *err)
{
    struct choice choice = {.tree = tree, .query = query};
    uint64_t n_bytes =
        tree->n * (sizeof *choice.by_words + sizeof *choice.row_of + sizeof *choice.rows);
    choice.first = from != HS_NO_NODE && from >= view->n_tree && tree->n > 1 ? 1 : 0;
    HS_TRY(hs_budget_reserve(view->session.budget, n_bytes, "the rows of the tree", err));
    hs_status status = choose(&choice, err);
    if (status == HS_OK)
        status = put_in_order(&choice, from, types, err);
    hs_free(choice.by_words);
    hs_free(choice.row_of);
    hs_free(choice.rows);
    hs_budget_release(view->session.budget, n_bytes);
    return status == HS_OK ? name_places(view, types, err) : status;
}

hs_status hs_dominator_types_select(struct hs_view *view, hs_node from, uint32_t set,
                                    const struct hs_dominator_query *query,
                                    struct hs_dominator_types *ret, struct hs_error *err)
{
    struct hs_group_place place = {.node = from, .set = set};
    struct hs_dominator_types types = {0};
    struct hs_group_kinds kinds;
    struct hs_group_tree tree = {0};
    HS_TRY(hs_group_kinds_init(view, &kinds, err));
    uint64_t words = from == HS_NO_NODE ? hs_index_set(view->index, set).retained.words
                                        : hs_index_retained(view->index, from).words;
    hs_status status = hs_group_kinds_read_order(&kinds, words, err);
    if (status == HS_OK)
        status = hs_group_tree_init(&kinds, &place, &tree, err);
    if (status == HS_OK)
        status = select_rows(view, &tree, from, query, &types, err);
    hs_group_tree_fini(&tree);
    hs_group_kinds_fini(&kinds);
    if (status == HS_OK)
        *ret = types;
    else
        hs_dominator_types_fini(&types);
    return status;
}

void hs_dominator_types_fini(struct hs_dominator_types *types)
{
    for (size_t i = 0; i < types->n; i++)
        hs_free(types->rows[i].place);
    hs_free(types->rows);
    *types = (struct hs_dominator_types){0};
}
