/* Groups of blocks by the types of their dominators. */
#include "group_tree.h"

#include "analysis/chunk_pass.h"
#include "base/alloc.h"
#include "tree_walk.h"

enum { KIND_TREE, KIND_UNTYPED, FIRST_TYPED };

/* ---- what blocks are grouped by */

static hs_status name_kinds(struct hs_group_kinds *kinds, struct hs_error *err)
{
    const struct hs_view *view = kinds->view;
    size_t n_types = view->totals->n_types;
    HS_TRY(HS_ALLOC(&kinds->of_type, n_types, err));
    HS_TRY(HS_ALLOC(&kinds->types, n_types + FIRST_TYPED, err));
    kinds->types[KIND_TREE] = kinds->types[KIND_UNTYPED] = HS_UNTYPED;
    kinds->n_kinds = FIRST_TYPED;
    for (uint32_t type = 0; type < n_types; type++) {
        bool is_known = hs_snap_type(view->snap, type)->form != HS_FORM_BYTES;
        bool has_room = kinds->n_kinds < UINT16_MAX;
        kinds->of_type[type] = KIND_UNTYPED;
        if (is_known && has_room) {
            kinds->types[kinds->n_kinds] = type;
            kinds->of_type[type] = (uint16_t)kinds->n_kinds++;
        }
    }
    kinds->width = kinds->n_kinds <= UINT8_MAX + 1 ? 1 : 2;
    return HS_OK;
}

static void set_kinds(struct hs_group_kinds *kinds, const struct hs_chunk *chunk)
{
    uint64_t first = chunk->first - kinds->view->n_tree;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        uint16_t kind = kinds->of_type[chunk->type[i]];
        if (kinds->width == 1)
            ((uint8_t *)kinds->of_block)[first + i] = (uint8_t)kind;
        else
            ((uint16_t *)kinds->of_block)[first + i] = kind;
    }
}

static hs_status load_kinds(struct hs_group_kinds *kinds, struct hs_error *err)
{
    struct hs_view *view = kinds->view;
    uint64_t n = view->totals->n_blocks;
    HS_TRY(name_kinds(kinds, err));
    HS_TRY(
        hs_budget_reserve(view->session.budget, n * kinds->width, "the types of all blocks", err));
    kinds->reserved_bytes = n * kinds->width;
    HS_TRY(hs_pages_alloc(n, kinds->width, &kinds->of_block, err));
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_TYPES, "reading types");
    while (hs_chunk_pass_next(&pass, err))
        set_kinds(kinds, &pass.chunk);
    return hs_chunk_pass_end(&pass);
}

hs_status hs_group_kinds_init(struct hs_view *view, struct hs_group_kinds *ret,
                              struct hs_error *err)
{
    struct hs_group_kinds kinds = {.view = view};
    hs_status status = load_kinds(&kinds, err);
    if (status == HS_OK)
        *ret = kinds;
    else
        hs_group_kinds_fini(&kinds);
    return status;
}

void hs_group_kinds_fini(struct hs_group_kinds *kinds)
{
    if (kinds->view != NULL) {
        hs_pages_free(kinds->of_block, kinds->view->totals->n_blocks, kinds->width);
        hs_budget_release(kinds->view->session.budget, kinds->reserved_bytes);
    }
    hs_free(kinds->of_type);
    hs_free(kinds->types);
    *kinds = (struct hs_group_kinds){0};
}

static uint32_t kind_of(const struct hs_group_kinds *kinds, hs_node node)
{
    if (node < kinds->view->n_tree)
        return KIND_TREE;
    uint64_t at = node - kinds->view->n_tree;
    return kinds->width == 1 ? ((const uint8_t *)kinds->of_block)[at]
                             : ((const uint16_t *)kinds->of_block)[at];
}

/* ---- groups */

static hs_status add_group(struct hs_group_tree *tree, uint32_t parent, uint32_t kind,
                           struct hs_error *err)
{
    struct hs_budget *budget = tree->kinds->view->session.budget;
    uint64_t more = hs_table_growth_bytes(&tree->by_content, 1);
    size_t capacity = tree->capacity;
    if (tree->n == tree->capacity) {
        capacity = capacity == 0 ? 64 : 2 * capacity;
        more += (capacity - tree->capacity) * sizeof *tree->groups;
    }
    HS_TRY(hs_budget_reserve(budget, more, "groups of blocks", err));
    tree->reserved_bytes += more;
    HS_TRY(HS_GROW(&tree->groups, &tree->capacity, capacity, err));
    HS_TRY(hs_table_add(&tree->by_content, hs_hash_pair(kind, parent), tree->n, err));
    tree->groups[tree->n++] = (struct hs_group){
        .parent = parent,
        .kind = kind,
        .steps = parent == HS_NO_GROUP ? 0 : tree->groups[parent].steps + 1,
    };
    return HS_OK;
}

/* The group that a block of this kind is in when it stands below one of group `above`: one of those
 * above that, or one directly below it. HS_NO_GROUP: a new one. */
static uint32_t find_group(const struct hs_group_tree *tree, uint32_t above, uint32_t kind)
{
    const struct hs_group *groups = tree->groups;
    if (kind == KIND_TREE)
        return above;
    for (uint32_t at = above; at != HS_NO_GROUP; at = groups[at].parent)
        if (groups[at].kind == kind)
            return at;
    return HS_TABLE_FIND(&tree->by_content, hs_hash_pair(kind, above), i,
                         groups[i].kind == kind && groups[i].parent == above);
}

/* Whether all below is doubtful, and its dominator is not: what a doubtful block dominates is no
 * firmer. */
static bool is_first_doubtful(const struct hs_view *view, hs_node node)
{
    if (node < view->n_tree || hs_index_tier(view->index, node) != HS_TIER_DOUBTFUL)
        return false;
    hs_node above = hs_index_idom(view->index, node);
    return above == HS_NO_NODE || above < view->n_tree ||
           hs_index_tier(view->index, above) != HS_TIER_DOUBTFUL;
}

static hs_status enter(void *context, hs_node node, uint32_t above, uint32_t *ret,
                       struct hs_error *err)
{
    struct hs_group_tree *tree = context;
    const struct hs_view *view = tree->kinds->view;
    uint32_t kind = kind_of(tree->kinds, node), at = find_group(tree, above, kind);
    uint64_t words = hs_index_retained(view->index, node).words;
    bool has_room = tree->n < HS_GROUPS_MOST && tree->groups[above].steps < HS_GROUP_STEPS;
    if (at == HS_NO_GROUP && !has_room)
        at = above;
    if (at == HS_NO_GROUP) {
        at = (uint32_t)tree->n;
        HS_TRY(add_group(tree, above, kind, err));
    }
    tree->groups[at].n_blocks += kind != KIND_TREE;
    if (is_first_doubtful(view, node))
        tree->doubtful_words += words;
    /* What a node retains is its own and what its children retain. */
    tree->groups[at].own_words += words;
    tree->groups[above].own_words -= words;
    *ret = at;
    return HS_OK;
}

/* Enters the top units of a set below one node of the root tree. */
static hs_status walk_tops(hs_node inner, uint32_t set, struct hs_tree_walk *walk,
                           uint64_t *ret_words, struct hs_error *err)
{
    struct hs_index *index = walk->view->index;
    struct hs_row row = hs_index_dominated(index, inner);
    for (hs_node top; hs_row_next(&row, &top);) {
        if (top < walk->view->n_tree || hs_index_set_of(index, top) != set)
            continue;
        *ret_words += hs_index_retained(index, top).words;
        HS_TRY(hs_tree_walk_run(walk, top, 0, err));
    }
    return hs_row_check(&row, err);
}

/* Walks all below the place, which is entered with group 0. *ret_words: what it retains. */
static hs_status walk_place(const struct hs_group_place *place, struct hs_tree_walk *walk,
                            uint64_t *ret_words, struct hs_error *err)
{
    const struct hs_view *view = walk->view;
    *ret_words = 0;
    if (place->node != HS_NO_NODE) {
        *ret_words = hs_index_retained(view->index, place->node).words;
        return hs_tree_walk_run(walk, place->node, 0, err);
    }
    for (hs_node inner = 0; inner < view->n_tree; inner++)
        if (hs_view_root_of(view, inner) == HS_NO_NODE)
            HS_TRY(walk_tops(inner, place->set, walk, ret_words, err));
    return HS_OK;
}

static void sum_up(struct hs_group_tree *tree)
{
    for (size_t i = tree->n; i-- > 0;) {
        struct hs_group *group = &tree->groups[i];
        group->words += group->own_words;
        if (group->kind == KIND_UNTYPED)
            tree->untyped_words += group->own_words;
        if (group->parent != HS_NO_GROUP)
            tree->groups[group->parent].words += group->words;
    }
}

static hs_status group_place(struct hs_group_tree *tree, const struct hs_group_place *place,
                             struct hs_error *err)
{
    struct hs_tree_walk walk = {
        .view = tree->kinds->view, .enter = enter, .context = tree, .what = "grouping blocks"};
    uint64_t words;
    HS_TRY(add_group(tree, HS_NO_GROUP, KIND_TREE, err));
    HS_TRY(walk_place(place, &walk, &words, err));
    tree->groups[0].own_words += words; /* of which all that hangs on it was taken */
    sum_up(tree);
    return HS_OK;
}

hs_status hs_group_tree_init(const struct hs_group_kinds *kinds, const struct hs_group_place *place,
                             struct hs_group_tree *ret, struct hs_error *err)
{
    struct hs_group_tree tree = {.kinds = kinds};
    hs_status status = group_place(&tree, place, err);
    if (status == HS_OK)
        *ret = tree;
    else
        hs_group_tree_fini(&tree);
    return status;
}

void hs_group_tree_fini(struct hs_group_tree *tree)
{
    if (tree->kinds != NULL)
        hs_budget_release(tree->kinds->view->session.budget, tree->reserved_bytes);
    hs_free(tree->groups);
    hs_table_fini(&tree->by_content);
    *tree = (struct hs_group_tree){0};
}

/* ---- where it comes together */

uint32_t hs_group_largest(const struct hs_group_tree *tree, uint32_t group, uint32_t except)
{
    uint32_t best = HS_NO_GROUP;
    for (uint32_t i = group + 1; i < tree->n; i++) {
        const struct hs_group *at = &tree->groups[i];
        const struct hs_group *than = best == HS_NO_GROUP ? NULL : &tree->groups[best];
        if (at->parent == group && i != except &&
            (than == NULL || at->words > than->words ||
             (at->words == than->words && at->kind < than->kind)))
            best = i;
    }
    return best;
}

/* Sizes in classes: each of its own below EXACT words, then 128 classes for each power of two. */
enum { EXACT_BITS = 12, CLASS_BITS = 7, N_CLASSES = (1 << EXACT_BITS) + (64 << CLASS_BITS) };

static unsigned class_of(uint64_t words)
{
    if (words >> EXACT_BITS == 0)
        return (unsigned)words;
    unsigned top = 63 - (unsigned)__builtin_clzll(words);
    unsigned within = (unsigned)(words >> (top - CLASS_BITS)) & ((1U << CLASS_BITS) - 1);
    return (1U << EXACT_BITS) + ((top - EXACT_BITS) << CLASS_BITS) + within;
}

/* The least size of a class. */
static uint64_t class_words(unsigned at)
{
    if (at < 1U << EXACT_BITS)
        return at;
    unsigned top = ((at - (1U << EXACT_BITS)) >> CLASS_BITS) + EXACT_BITS;
    uint64_t within = (at - (1U << EXACT_BITS)) & ((1U << CLASS_BITS) - 1);
    return ((UINT64_C(1) << CLASS_BITS) + within) << (top - CLASS_BITS);
}

/* The second walk: looks at the members. */
struct member_walk {
    const struct hs_group_tree *tree;
    uint32_t members;    /* group */
    uint64_t *n_sizes;   /* owned: by class */
    uint64_t n_at_place; /* members that hang on nodes of the root tree */
    bool is_set;         /* the place is an owner set: its top units hang on nothing */
    uint64_t top_words;
    struct hs_accumulation *at;
};

static void see_member(struct member_walk *walk, hs_node node, uint64_t children_words)
{
    struct hs_accumulation *at = walk->at;
    uint64_t words = hs_index_retained(walk->tree->kinds->view->index, node).words;
    if (at->top == HS_NO_NODE || words > walk->top_words ||
        (words == walk->top_words && node < at->top)) {
        at->top = node;
        walk->top_words = words;
    }
    uint64_t own_words = words - children_words;
    if (own_words > at->largest_words)
        at->largest_words = own_words;
    walk->n_sizes[class_of(own_words)]++;
}

static void see_point(struct member_walk *walk, hs_node node, uint64_t n_direct)
{
    struct hs_accumulation *at = walk->at;
    if (node < walk->tree->kinds->view->n_tree)
        walk->n_at_place += n_direct;
    else if (n_direct > at->n_direct || (n_direct == at->n_direct && node < at->point)) {
        at->point = node;
        at->n_direct = n_direct;
    }
}

static hs_status enter_again(void *context, hs_node node, uint32_t above, uint32_t *ret,
                             struct hs_error *err)
{
    struct member_walk *walk = context;
    const struct hs_group_tree *tree = walk->tree;
    struct hs_index *index = tree->kinds->view->index;
    uint32_t group = find_group(tree, above, kind_of(tree->kinds, node));
    (void)err;
    if (group == HS_NO_GROUP)
        group = above;
    *ret = group;
    struct hs_row row = hs_index_dominated(index, node);
    bool is_member = group == walk->members;
    if (!is_member && (row.n == 0 || row.n < walk->at->n_direct))
        return HS_OK;
    uint64_t n_direct = 0, words = 0;
    for (hs_node child; hs_row_next(&row, &child);) {
        uint32_t kind = kind_of(tree->kinds, child);
        n_direct += kind != KIND_TREE && find_group(tree, group, kind) == walk->members;
        if (is_member)
            words += hs_index_retained(index, child).words;
    }
    if (is_member && node >= tree->kinds->view->n_tree) {
        see_member(walk, node, words);
        walk->n_at_place += walk->is_set && above == 0;
    }
    if (n_direct > 0)
        see_point(walk, node, n_direct);
    return HS_OK;
}

static hs_status look_at_members(struct member_walk *walk, const struct hs_group_place *place,
                                 struct hs_error *err)
{
    struct hs_tree_walk tree = {.view = walk->tree->kinds->view,
                                .enter = enter_again,
                                .context = walk,
                                .what = "looking at members"};
    uint64_t words;
    walk->is_set = place->node == HS_NO_NODE;
    HS_TRY(walk_place(place, &tree, &words, err));
    struct hs_accumulation *at = walk->at;
    if (walk->n_at_place > at->n_direct) {
        at->n_direct = walk->n_at_place;
        at->point = place->node;
    }
    uint64_t n = 0, half = (at->steps[at->members].n_blocks + 1) / 2;
    for (unsigned i = 0; i < N_CLASSES && n < half; i++) {
        n += walk->n_sizes[i];
        at->median_words = class_words(i);
    }
    return HS_OK;
}

static struct hs_accumulated step_of(const struct hs_group_tree *tree, uint32_t group)
{
    const struct hs_group *of = &tree->groups[group];
    return (struct hs_accumulated){tree->kinds->types[of->kind], of->n_blocks, of->own_words,
                                   of->words};
}

/* The product of two numbers below 2^64, to compare shares without rounding. */
__extension__ typedef unsigned __int128 wide;

static bool is_more_grown(const struct hs_accumulated *steps, unsigned a, unsigned b)
{
    uint64_t above_a = a == 1 ? 1 : steps[a - 1].n_blocks;
    uint64_t above_b = b == 1 ? 1 : steps[b - 1].n_blocks;
    return (wide)steps[a].n_blocks * above_b > (wide)steps[b].n_blocks * above_a;
}

/* Which of the steps the members are of: see suspects.h. */
static unsigned choose_members(const struct hs_accumulation *at)
{
    unsigned best = 1, heaviest = 1;
    if (at->n_steps == 1)
        return 0;
    for (unsigned i = 2; i < at->n_steps; i++) {
        if (is_more_grown(at->steps, i, best))
            best = i;
        if (at->steps[i].own_words >= at->steps[heaviest].own_words)
            heaviest = i;
    }
    uint64_t above = best == 1 ? 1 : at->steps[best - 1].n_blocks;
    return at->steps[best].n_blocks / 2 >= above ? best : heaviest;
}

hs_status hs_group_accumulation(const struct hs_group_tree *tree,
                                const struct hs_group_place *place, unsigned follow_percent,
                                struct hs_accumulation *ret, struct hs_error *err)
{
    struct hs_accumulation at = {.top = HS_NO_NODE, .point = HS_NO_NODE};
    uint32_t passed[HS_GROUP_STEPS + 1], group = 0, next = hs_group_largest(tree, 0, HS_NO_GROUP);
    passed[at.n_steps] = 0;
    at.steps[at.n_steps++] = step_of(tree, 0);
    while (next != HS_NO_GROUP && at.n_steps <= HS_GROUP_STEPS &&
           (wide)tree->groups[next].words * 100 >=
               (wide)tree->groups[group].words * follow_percent) {
        group = next;
        passed[at.n_steps] = group;
        at.steps[at.n_steps++] = step_of(tree, group);
        next = hs_group_largest(tree, group, HS_NO_GROUP);
    }
    uint32_t second = next == HS_NO_GROUP ? next : hs_group_largest(tree, group, next);
    if (next != HS_NO_GROUP)
        at.parts[0] = step_of(tree, next);
    if (second != HS_NO_GROUP)
        at.parts[1] = step_of(tree, second);
    at.members = choose_members(&at);
    if (at.members != 0) {
        struct member_walk walk = {.tree = tree, .members = passed[at.members], .at = &at};
        HS_TRY(HS_ALLOC(&walk.n_sizes, N_CLASSES, err));
        hs_status status = look_at_members(&walk, place, err);
        hs_free(walk.n_sizes);
        HS_TRY(status);
    }
    *ret = at;
    return HS_OK;
}
