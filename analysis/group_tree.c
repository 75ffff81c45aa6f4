/* Groups of blocks by the types of their dominators. */
#include "group_tree.h"

#include <string.h>

#include "base/alloc.h"
#include "group_objects.h"
#include "tree_walk.h"
#include "type_rank.h"

static uint32_t kind_of(const struct hs_group_kinds *kinds, hs_node node)
{
    if (node < kinds->view->n_tree)
        return HS_KIND_TREE;
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

/* A block without a telling name belongs to the class above it: a dict of an exception's frame is
 * no part of the dict that the exception is in. Classes fold over whatever stands between. */
static bool is_of_class(const struct hs_group_kinds *kinds, uint32_t above, uint32_t kind)
{
    return hs_rank_is_class(kinds->ranks[above]) && !hs_rank_is_class(kinds->ranks[kind]);
}

/* Tells whether a block is a part of the object of Python's that is above it. */
static bool is_part_of(const struct hs_group_kinds *kinds, uint32_t above, uint32_t kind)
{
    return kinds->are_parts[kind] && hs_group_is_of_python(kinds, above);
}

/* The group that a block of this kind is in when it stands below one of group `above`: one of those
 * above that, or one directly below it. HS_NO_GROUP: a new one. */
static uint32_t find_group(const struct hs_group_tree *tree, uint32_t above, uint32_t kind)
{
    const struct hs_group *groups = tree->groups;
    if (kind == HS_KIND_TREE || is_part_of(tree->kinds, groups[above].kind, kind))
        return above;
    for (uint32_t at = above; at != HS_NO_GROUP; at = groups[at].parent) {
        if (groups[at].kind == kind)
            return at;
        if (is_of_class(tree->kinds, groups[at].kind, kind))
            break;
    }
    return HS_TABLE_FIND(&tree->by_content, hs_hash_pair(kind, above), i,
                         groups[i].kind == kind && groups[i].parent == above);
}

/* Marks the group that is given to a doubtful block, for those that it dominates. */
#define BELOW_DOUBTFUL (1U << 31)
static_assert(HS_GROUPS_MOST < BELOW_DOUBTFUL);

/* Tells whether the dominator of a doubtful block is doubtful, too, as all below it is then. */
static bool is_below_doubtful(const struct hs_node_order *order, hs_node node, uint32_t given)
{
    const struct hs_view *view = order->view;
    if (given != 0)
        return (given & BELOW_DOUBTFUL) != 0;
    hs_node above = hs_index_idom(view->index, node); /* a walk may begin here */
    return above != HS_NO_NODE && above >= view->n_tree && hs_node_order_is_doubtful(order, above);
}

static void see_top(struct hs_group *group, hs_node node, uint64_t words)
{
    if (group->n_blocks != 0 &&
        (words < group->top_words || (words == group->top_words && node > group->top)))
        return;
    group->top = node;
    group->top_words = words;
}

static hs_status enter(void *context, hs_node node, uint32_t given, uint32_t *ret,
                       struct hs_error *err)
{
    struct hs_group_tree *tree = context;
    const struct hs_node_order *order = &tree->kinds->order;
    bool is_doubtful = node >= order->view->n_tree && hs_node_order_is_doubtful(order, node);
    uint32_t above = given & ~BELOW_DOUBTFUL;
    uint32_t kind = kind_of(tree->kinds, node), at = find_group(tree, above, kind);
    uint64_t words = hs_node_order_words(order, node);
    bool has_room = tree->n < HS_GROUPS_MOST && tree->groups[above].steps < HS_GROUP_STEPS;
    if (at == HS_NO_GROUP && !has_room)
        at = above;
    if (at == HS_NO_GROUP) {
        at = (uint32_t)tree->n;
        HS_TRY(add_group(tree, above, kind, err));
    }
    bool is_counted = kind != HS_KIND_TREE && tree->groups[at].kind == kind;
    if (is_counted)
        see_top(&tree->groups[at], node, words);
    tree->groups[at].n_blocks += is_counted;
    tree->groups[at].n_heads += is_counted && tree->groups[at].parent == above;
    if (is_doubtful && !is_below_doubtful(order, node, given))
        tree->doubtful_words += words;
    /* A node's own words are what it retains less what its children retain. */
    tree->groups[at].own_words += words;
    tree->groups[above].own_words -= words;
    *ret = is_doubtful ? at | BELOW_DOUBTFUL : at;
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

hs_status hs_group_walk_place(const struct hs_group_place *place, struct hs_tree_walk *walk,
                              uint64_t *ret_words, struct hs_error *err)
{
    const struct hs_view *view = walk->view;
    *ret_words = 0;
    if (place->node != HS_NO_NODE) {
        *ret_words = hs_index_retained(view->index, place->node).words;
        return hs_tree_walk_run(walk, place->node, 0, err);
    }
    if (place->roots != NULL) {
        for (size_t i = 0; i < place->n_roots; i++) {
            *ret_words += hs_index_retained(view->index, place->roots[i]).words;
            HS_TRY(hs_tree_walk_run(walk, place->roots[i], 0, err));
        }
        return HS_OK;
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
        if (hs_group_is_untyped(tree->kinds, group->kind))
            tree->untyped_words += group->own_words;
        if (group->parent != HS_NO_GROUP)
            tree->groups[group->parent].words += group->words;
    }
}

static hs_status group_place(struct hs_group_tree *tree, const struct hs_group_place *place,
                             struct hs_error *err)
{
    struct hs_tree_walk walk = {.view = tree->kinds->view,
                                .enter = enter,
                                .context = tree,
                                .order = &tree->kinds->order,
                                .what = "grouping blocks"};
    uint64_t words;
    HS_TRY(hs_progress_tell(walk.view->session.progress, walk.what, 0, 0, err));
    HS_TRY(add_group(tree, HS_NO_GROUP, HS_KIND_TREE, err));
    HS_TRY(hs_group_walk_place(place, &walk, &words, err));
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

/* The product of two numbers below 2^64, to compare shares without rounding. */
__extension__ typedef unsigned __int128 wide;

/* Sizes in classes: each of its own below EXACT words, then 128 classes for each power of two. */
enum {
    EXACT_BITS = 12,
    CLASS_BITS = 7,
    N_CLASSES = (1 << EXACT_BITS) + ((64 - EXACT_BITS) << CLASS_BITS)
};

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
    hs_node second; /* the member that retains most but for the top; HS_NO_NODE: none */
    uint64_t second_words;
    struct hs_accumulation *at;
};

static void see_member(struct member_walk *walk, hs_node node, uint64_t children_words)
{
    struct hs_accumulation *at = walk->at;
    uint64_t words = hs_node_order_words(&walk->tree->kinds->order, node);
    bool is_top = at->top == HS_NO_NODE || words > walk->top_words ||
                  (words == walk->top_words && node < at->top);
    hs_node lesser = is_top ? at->top : node;
    uint64_t lesser_words = is_top ? walk->top_words : words;
    if (is_top) {
        at->top = node;
        walk->top_words = words;
    }
    if (lesser != HS_NO_NODE && (walk->second == HS_NO_NODE || lesser_words > walk->second_words ||
                                 (lesser_words == walk->second_words && lesser < walk->second))) {
        walk->second = lesser;
        walk->second_words = lesser_words;
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

/* Returns the words that a block has not itself because of one that hangs on it: what that retains,
 * or where it is a part of the block, what its own children do. */
static uint64_t words_apart(const struct hs_group_tree *tree, uint32_t above, hs_node child,
                            uint32_t kind)
{
    const struct hs_node_order *order = &tree->kinds->order;
    uint64_t words = 0;
    if (!is_part_of(tree->kinds, above, kind))
        return hs_node_order_words(order, child);
    struct hs_node_children children = hs_node_order_children(order, child);
    for (hs_node inner; hs_node_children_next(&children, &inner);)
        words += hs_node_order_words(order, inner);
    return words;
}

static hs_status enter_again(void *context, hs_node node, uint32_t above, uint32_t *ret,
                             struct hs_error *err)
{
    struct member_walk *walk = context;
    const struct hs_group_tree *tree = walk->tree;
    const struct hs_node_order *order = &tree->kinds->order;
    uint32_t kind = kind_of(tree->kinds, node), group = find_group(tree, above, kind);
    (void)err;
    if (group == HS_NO_GROUP)
        group = above;
    *ret = group;
    struct hs_node_children children = hs_node_order_children(order, node);
    uint32_t members_kind = tree->groups[walk->members].kind;
    bool is_member = group == walk->members && kind == members_kind;
    if (!is_member && (children.n == 0 || children.n < walk->at->n_direct))
        return HS_OK;
    uint64_t n_direct = 0, below_words = 0;
    for (hs_node child; hs_node_children_next(&children, &child);) {
        uint32_t child_kind = kind_of(tree->kinds, child);
        n_direct +=
            child_kind == members_kind && find_group(tree, group, members_kind) == walk->members;
        if (is_member)
            below_words += words_apart(tree, kind, child, child_kind);
    }
    if (is_member && node >= tree->kinds->view->n_tree) {
        see_member(walk, node, below_words);
        walk->n_at_place += walk->is_set && above == 0;
    }
    if (n_direct > 0)
        see_point(walk, node, n_direct);
    return HS_OK;
}

/* Finds the sizes of which members have most words together, of equal ones the smallest first. */
static void find_sizes(struct member_walk *walk)
{
    struct hs_member_size *sizes = walk->at->sizes;
    for (unsigned i = 0; i < N_CLASSES; i++) {
        struct hs_member_size found = {class_words(i), walk->n_sizes[i]};
        for (unsigned k = 0; k < HS_MEMBER_SIZES && found.n != 0; k++)
            if ((wide)found.words * found.n > (wide)sizes[k].words * sizes[k].n) {
                const struct hs_member_size less = sizes[k];
                sizes[k] = found;
                found = less;
            }
    }
}

/* Takes one of the other members for the top where that has all of them below itself: where they
 * are is told by the way to one of them. */
static void leave_root(struct member_walk *walk)
{
    enum { MANY = 8 };
    const struct hs_accumulated *members = &walk->at->steps[walk->at->members];
    bool is_typed = walk->tree->groups[walk->members].kind >= HS_FIRST_TYPED;
    if (!is_typed || members->n_blocks < MANY || walk->second == HS_NO_NODE ||
        walk->top_words / MANY < walk->second_words ||
        walk->top_words < members->words - members->words / MANY)
        return;
    walk->at->is_within = true;
    walk->at->top = walk->second;
    walk->top_words = walk->second_words;
}

static hs_status look_at_members(struct member_walk *walk, const struct hs_group_place *place,
                                 struct hs_error *err)
{
    struct hs_tree_walk tree = {.view = walk->tree->kinds->view,
                                .enter = enter_again,
                                .context = walk,
                                .order = &walk->tree->kinds->order,
                                .what = "looking at members"};
    uint64_t words;
    HS_TRY(hs_progress_tell(tree.view->session.progress, tree.what, 0, 0, err));
    walk->is_set = place->node == HS_NO_NODE && place->roots == NULL;
    HS_TRY(hs_group_walk_place(place, &tree, &words, err));
    struct hs_accumulation *at = walk->at;
    if (walk->n_at_place > at->n_direct) {
        at->n_direct = walk->n_at_place;
        at->point = place->node;
    }
    leave_root(walk);
    find_sizes(walk);
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

static bool is_more_grown(const struct hs_accumulated *steps, unsigned a, unsigned b)
{
    uint64_t above_a = a == 1 ? 1 : steps[a - 1].n_blocks;
    uint64_t above_b = b == 1 ? 1 : steps[b - 1].n_blocks;
    return (wide)steps[a].n_blocks * above_b > (wide)steps[b].n_blocks * above_a;
}

/* Chooses the step whose blocks are the members: see suspects.h. */
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

/* ---- the class that a maintainer would name */

enum { JUMP_TIMES = 4, ALIKE_TIMES = 3, LEAST_PART = 4 };

/* Finds the group whose type tells most, the outermost of equals, among one and those below it that
 * have about as many blocks (a third of those that do not stand in each other to the triple of all)
 * and a quarter of its words. */
static uint32_t best_below(const struct hs_group_tree *tree, uint32_t jump,
                           enum hs_type_rank *ret_rank)
{
    const struct hs_group *groups = tree->groups;
    uint64_t n = groups[jump].n_blocks, least_words = groups[jump].words / LEAST_PART;
    uint32_t best = jump;
    *ret_rank = hs_group_rank(tree, jump);
    for (uint32_t i = jump + 1; i < tree->n; i++) {
        bool is_alike = groups[i].n_blocks >= groups[jump].n_heads / ALIKE_TIMES &&
                        groups[i].n_blocks / ALIKE_TIMES <= n && groups[i].words >= least_words;
        if (!is_alike || !hs_group_is_below(tree, i, jump))
            continue;
        enum hs_type_rank rank = hs_group_rank(tree, i);
        if (rank > *ret_rank || (rank == *ret_rank && groups[i].steps < groups[best].steps)) {
            best = i;
            *ret_rank = rank;
        }
    }
    return best;
}

/* Chooses the class to name: where the number of blocks jumps on the way, the group that tells most
 * there; HS_NO_GROUP without a jump. A type that comes again below itself has many blocks and few
 * heads: dicts of frames of exceptions in a dict. */
static uint32_t choose_class(const struct hs_group_tree *tree, const uint32_t *passed,
                             const struct hs_accumulation *at)
{
    uint32_t best = HS_NO_GROUP;
    enum hs_type_rank best_rank = HS_RANK_NOTHING;
    unsigned best_jump = 0;
    for (unsigned i = 1; i < at->n_steps; i++) {
        uint64_t above = i == 1 ? 1 : tree->groups[passed[i - 1]].n_heads;
        enum hs_type_rank rank;
        if (at->steps[i].n_blocks / JUMP_TIMES < above)
            continue;
        uint32_t found = best_below(tree, passed[i], &rank);
        if (best == HS_NO_GROUP || rank > best_rank ||
            (rank == best_rank && is_more_grown(at->steps, i, best_jump))) {
            best = found;
            best_rank = rank;
            best_jump = i;
        }
    }
    return best;
}

static bool is_enough(const struct hs_group_tree *tree, uint32_t group, uint32_t next,
                      unsigned percent)
{
    return next != HS_NO_GROUP &&
           (wide)tree->groups[next].words * 100 >= (wide)tree->groups[group].words * percent;
}

/* The groups of the steps, and of the parts below the last. */
struct way {
    uint32_t passed[HS_GROUP_STEPS + 1];
    uint32_t parts[2]; /* HS_NO_GROUP: none */
};

/* Goes on from the last step to the largest group below it, as long as that has enough. */
static void follow(const struct hs_group_tree *tree, unsigned percent, struct way *way,
                   struct hs_accumulation *at)
{
    uint32_t group = way->passed[at->n_steps - 1],
             next = hs_group_largest(tree, group, HS_NO_GROUP);
    while (at->n_steps <= HS_GROUP_STEPS && is_enough(tree, group, next, percent)) {
        group = next;
        way->passed[at->n_steps] = group;
        at->steps[at->n_steps++] = step_of(tree, group);
        next = hs_group_largest(tree, group, HS_NO_GROUP);
    }
    way->parts[0] = next;
    way->parts[1] = next == HS_NO_GROUP ? next : hs_group_largest(tree, group, next);
    for (unsigned i = 0; i < 2; i++)
        at->parts[i] = way->parts[i] == HS_NO_GROUP ? (struct hs_accumulated){0}
                                                    : step_of(tree, way->parts[i]);
}

/* Finds the group that tells most of a part: goes down to where there are several blocks first. */
static uint32_t class_of_part(const struct hs_group_tree *tree, uint32_t group, unsigned percent)
{
    enum { SEVERAL = 8 };
    enum hs_type_rank rank;
    for (uint32_t next = group; tree->groups[group].n_blocks < SEVERAL;) {
        next = hs_group_largest(tree, group, HS_NO_GROUP);
        if (!is_enough(tree, group, next, percent))
            break;
        group = next;
    }
    return best_below(tree, group, &rank);
}

static bool is_opaque(const struct hs_group_tree *tree, uint32_t group)
{
    const struct hs_view *view = tree->kinds->view;
    uint32_t type = tree->kinds->types[tree->groups[group].kind];
    if (type == HS_UNTYPED)
        return false;
    const struct hs_type *of = hs_snap_type(view->snap, type);
    return hs_type_is_opaque(hs_view_string(view, of->name), of->form);
}

/* Tells whether a group is of weak references that nothing alive is left in: entries of a table
 * that nobody cleans, which tell more than the entries themselves. */
static bool is_emptied(const struct hs_group_tree *tree, uint32_t group)
{
    const struct hs_view *view = tree->kinds->view;
    uint32_t type = tree->kinds->types[tree->groups[group].kind];
    if (type == HS_UNTYPED)
        return false;
    const struct hs_type *of = hs_snap_type(view->snap, type);
    return of->form == HS_FORM_WEAK && strncmp(hs_view_string(view, of->name), "empty ", 6) == 0;
}

/* Finds such a group below one, of half as many blocks at least; HS_NO_GROUP: there is none. */
static uint32_t emptied_below(const struct hs_group_tree *tree, uint32_t group)
{
    for (uint32_t i = group + 1; i < tree->n; i++)
        if (tree->groups[i].n_blocks >= tree->groups[group].n_blocks / 2 && is_emptied(tree, i) &&
            hs_group_is_below(tree, i, group))
            return i;
    return HS_NO_GROUP;
}

static bool is_as_many(uint64_t n, uint64_t as)
{
    enum { ONE_IN = 20 };
    return (n > as ? n - as : as - n) <= as / ONE_IN;
}

/* Returns a class of the program of which as many blocks hang below the group as of a library's,
 * and which has a quarter of the words: rows beside what the library knows of each. */
static uint32_t own_class_beside(const struct hs_group_tree *tree, uint32_t best, uint32_t group)
{
    uint64_t n = tree->groups[best].n_blocks;
    for (uint32_t i = group + 1; i < tree->n; i++)
        if (hs_group_rank(tree, i) > hs_group_rank(tree, best) &&
            is_as_many(tree->groups[i].n_blocks, n) &&
            tree->groups[i].words >= tree->groups[group].words / LEAST_PART &&
            hs_group_is_below(tree, i, group))
            best = i;
    return best;
}

/* Returns, for dicts, texts and numbers of Python, the class of which each object below `group` has
 * a few of them, as rows of a database have dicts; the same group where there is none. */
static uint32_t object_of(const struct hs_group_tree *tree, uint32_t of, uint32_t group)
{
    const struct hs_group *groups = tree->groups;
    uint64_t least = groups[of].n_blocks / LEAST_PART;
    if (!hs_group_is_of_python(tree->kinds, groups[of].kind) ||
        hs_rank_is_class(hs_group_rank(tree, of)))
        return of;
    for (uint32_t i = groups[of].parent;
         i != group && i != HS_NO_GROUP && groups[i].n_blocks >= least; i = groups[i].parent)
        if (hs_rank_is_class(hs_group_rank(tree, i)))
            return own_class_beside(tree, i, group);
    return of;
}

/* Finds the group below one that most of its words are in: a quarter of all at least, and more
 * than its own. What hangs on objects of a library that have a name, and has none, is these. */
static struct hs_accumulated bulk_of(const struct hs_group_tree *tree, uint32_t group,
                                     hs_node *ret_top)
{
    const struct hs_group *groups = tree->groups;
    uint32_t best = group, emptied = emptied_below(tree, group);
    if (emptied != HS_NO_GROUP) {
        *ret_top = groups[emptied].top;
        return step_of(tree, emptied);
    }
    for (uint32_t i = group + 1; i < tree->n; i++)
        if (groups[i].own_words > groups[best].own_words && hs_group_is_below(tree, i, group))
            best = i;
    if (best == group || groups[best].own_words < groups[group].words / LEAST_PART)
        return (struct hs_accumulated){0};
    uint32_t named = best;
    while (hs_group_is_untyped(tree->kinds, groups[best].kind) && named != group &&
           !is_opaque(tree, named) && !hs_group_is_of_c(tree, named))
        named = groups[named].parent;
    if (is_opaque(tree, named) || (named != group && hs_group_is_of_c(tree, named)))
        best = named;
    if (best == group)
        return (struct hs_accumulated){0};
    best = object_of(tree, best, group);
    *ret_top = groups[best].top;
    return step_of(tree, best);
}

/* Tells whether the name of a group's type is no library's template. */
static bool has_plain_name(const struct hs_group_tree *tree, uint32_t group)
{
    const struct hs_view *view = tree->kinds->view;
    uint32_t type = tree->kinds->types[tree->groups[group].kind];
    return hs_group_rank(tree, group) != HS_RANK_LIBRARY ||
           strchr(hs_view_string(view, hs_snap_type(view->snap, type)->name), '<') == NULL;
}

/* Finds a class of which as many blocks hang where those of the group do, or where the blocks do in
 * which these are, one each: the events in a queue beside the objects that they are for. The one
 * that tells most, of equals that with most words. */
static struct hs_accumulated peer_of(const struct hs_group_tree *tree, uint32_t group)
{
    enum { LEAST = 8 };
    const struct hs_group *groups = tree->groups;
    uint64_t n = groups[group].n_blocks;
    uint32_t best = HS_NO_GROUP;
    for (uint32_t at = group; n >= LEAST && groups[at].parent != HS_NO_GROUP;
         at = groups[at].parent) {
        if (!is_as_many(groups[at].n_blocks, n))
            break;
        for (uint32_t i = groups[at].parent + 1; i < tree->n; i++) {
            bool is_peer = groups[i].parent == groups[at].parent && i != at &&
                           groups[i].kind != groups[group].kind &&
                           is_as_many(groups[i].n_blocks, n) &&
                           hs_group_rank(tree, i) > HS_RANK_COLLECTION && has_plain_name(tree, i);
            if (is_peer &&
                (best == HS_NO_GROUP || hs_group_rank(tree, i) > hs_group_rank(tree, best) ||
                 (hs_group_rank(tree, i) == hs_group_rank(tree, best) &&
                  groups[i].words > groups[best].words)))
                best = i;
        }
    }
    return best == HS_NO_GROUP ? (struct hs_accumulated){0} : step_of(tree, best);
}

/* The way to a group. */
static void begin_at(const struct hs_group_tree *tree, uint32_t group, struct way *way,
                     struct hs_accumulation *at)
{
    at->n_steps = tree->groups[group].steps + 1;
    for (unsigned i = at->n_steps; i-- > 0; group = tree->groups[group].parent) {
        way->passed[i] = group;
        at->steps[i] = step_of(tree, group);
    }
}

/* Tells by the class of entries what they keep together. True when there is such a class. */
static bool take_entries(const struct hs_group_tree *tree, unsigned percent, struct way *way,
                         struct hs_accumulation *at)
{
    bool is_one = at->members == 0 || at->steps[at->members].n_blocks == 1;
    const uint32_t shared[] = {way->passed[at->members], is_one ? way->parts[0] : HS_NO_GROUP,
                               is_one ? way->parts[1] : HS_NO_GROUP};
    for (size_t i = 0; i < sizeof shared / sizeof *shared; i++) {
        uint32_t class = hs_group_entries_of(tree, shared[i]);
        if (class == HS_NO_GROUP)
            continue;
        begin_at(tree, class, way, at);
        at->members = at->n_steps - 1;
        follow(tree, percent, way, at);
        at->steps[at->members].words += tree->groups[shared[i]].words;
        uint32_t object = hs_group_of_c_below(tree, class);
        at->bulk = step_of(tree, object == HS_NO_GROUP ? shared[i] : object);
        at->bulk_top = object == HS_NO_GROUP ? HS_NO_NODE : tree->groups[object].top;
        return true;
    }
    return false;
}

/* The steps, and which of them the members are. */
static void find_steps(const struct hs_group_tree *tree, unsigned percent, struct way *way,
                       struct hs_accumulation *at)
{
    begin_at(tree, 0, way, at);
    follow(tree, percent, way, at);
    uint32_t class = choose_class(tree, way->passed, at);
    at->members = choose_members(at);
    if (class == HS_NO_GROUP ||
        hs_group_rank(tree, class) <= hs_group_rank(tree, way->passed[at->members]))
        return;
    begin_at(tree, class, way, at);
    at->members = at->n_steps - 1;
    follow(tree, percent, way, at);
}

hs_status hs_group_accumulation(const struct hs_group_tree *tree,
                                const struct hs_group_place *place, unsigned follow_percent,
                                struct hs_accumulation *ret, struct hs_error *err)
{
    struct hs_accumulation at = {.top = HS_NO_NODE,
                                 .point = HS_NO_NODE,
                                 .bulk_top = HS_NO_NODE,
                                 .class_tops = {HS_NO_NODE, HS_NO_NODE}};
    struct way way;
    find_steps(tree, follow_percent, &way, &at);
    bool are_entries = take_entries(tree, follow_percent, &way, &at);
    /* One block is many things: what it has is told by its parts. */
    for (unsigned i = 0; i < 2 && (at.members == 0 || at.steps[at.members].n_blocks == 1); i++) {
        if (way.parts[i] == HS_NO_GROUP)
            continue;
        uint32_t class = class_of_part(tree, way.parts[i], follow_percent);
        at.classes[i] = step_of(tree, class);
        at.class_tops[i] = tree->groups[class].top;
    }
    if (at.members != 0) {
        struct member_walk walk = {
            .tree = tree, .members = way.passed[at.members], .second = HS_NO_NODE, .at = &at};
        at.n_heads = tree->groups[walk.members].n_heads;
        if (!are_entries)
            at.bulk = bulk_of(tree, walk.members, &at.bulk_top);
        at.peer = peer_of(tree, walk.members);
        HS_TRY(HS_ALLOC(&walk.n_sizes, N_CLASSES, err));
        hs_status status = look_at_members(&walk, place, err);
        hs_free(walk.n_sizes);
        HS_TRY(status);
        at.top_words = walk.top_words;
    }
    *ret = at;
    return HS_OK;
}
