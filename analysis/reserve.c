#include "analysis/reserve.h"

#include <string.h>

#include "analysis/neighbours.h"
#include "analysis/set_tops.h"
#include "analysis/used_edges.h"
#include "base/alloc.h"
#include "group_tree.h"

const char *hs_reserve_name(unsigned reserve)
{
    static const char *const names[HS_N_RESERVES] = {NULL, "alias", "convention", "doubtful"};
    return reserve < HS_N_RESERVES ? names[reserve] : NULL;
}

/* ---- what counts its owners */

/* Tells whether a type is a collector's, Python's or Go's: whatever refers to such an object keeps
 * it. */
static bool is_collected(uint8_t form)
{
    return form < HS_FORM_RECORD || form == HS_FORM_PYTHON || form == HS_FORM_GO;
}

/* Tells whether blocks of a type count who has them, by its name: libstdc++, libc++, Boost, Qt,
 * Rust. */
static bool is_counter(const char *name)
{
    static const char *const begins[] = {
        "std::make_shared<",       "std::_Sp_counted_",         "std::__shared_ptr_",
        "std::__1::__shared_ptr_", "boost::detail::sp_counted", "boost::make_shared<",
        "QtSharedPointer::",       "alloc::rc::RcInner<",       "alloc::rc::RcBox<",
        "alloc::sync::ArcInner<",
    };
    for (size_t i = 0; i < sizeof begins / sizeof *begins; i++)
        if (strncmp(name, begins[i], strlen(begins[i])) == 0)
            return true;
    return false;
}

static hs_status is_counter_node(struct hs_view *view, hs_node node, bool *ret,
                                 struct hs_error *err)
{
    struct hs_node_facts facts;
    *ret = false;
    if (node < view->n_tree)
        return HS_OK;
    HS_TRY(hs_view_facts(view, node, &facts, err));
    *ret = is_counter(facts.label);
    return HS_OK;
}

/* Tells whether a slot of the same root leads to the beginning of the block. */
static bool root_has_beginning(const struct hs_view *view, hs_node leaf, hs_node top)
{
    enum { MOST = 256 };
    struct hs_row row = hs_index_predecessors(view->index, top);
    hs_node source, root = hs_view_root_of(view, leaf);
    for (unsigned i = 0; i < MOST && hs_row_next(&row, &source) && source < view->n_tree; i++)
        if (hs_view_root_of(view, source) == root &&
            hs_snap_root(view->snap, source)->edge_class == HS_EDGE_EXACT)
            return true;
    return false;
}

static hs_status has_beginning(struct hs_view *view, hs_node source, hs_node top, bool *ret,
                               struct hs_error *err)
{
    struct hs_links links = {0};
    *ret = source < view->n_tree && root_has_beginning(view, source, top);
    if (source < view->n_tree)
        return HS_OK;
    hs_status status = hs_links_between(view, source, top, &links, err);
    for (size_t i = 0; i < links.n; i++)
        *ret |= links.links[i].edge_class == HS_EDGE_EXACT;
    hs_links_fini(&links);
    return status;
}

/* Tells whether what leads to an object leads to a counter, too, as a shared_ptr does. */
static hs_status leads_to_counter(struct hs_view *view, hs_node source, bool *ret,
                                  struct hs_error *err)
{
    enum { MOST = 64 };
    struct hs_links links = {0};
    uint64_t n;
    hs_status status = HS_OK;
    *ret = false;
    if (source < view->n_tree) {
        hs_node root = hs_view_root_of(view, source);
        for (hs_node leaf = root; leaf < view->n_tree && !*ret && status == HS_OK; leaf++) {
            hs_node target = hs_snap_root(view->snap, leaf)->target;
            if (leaf > root + MOST)
                break;
            if (hs_view_root_of(view, leaf) == root && target != HS_NO_NODE)
                status = is_counter_node(view, target, ret, err);
        }
        return status;
    }
    status = hs_links_out_first(view, source, MOST, &links, &n, err);
    for (size_t i = 0; i < links.n && !*ret && status == HS_OK; i++)
        status = is_counter_node(view, links.links[i].other, ret, err);
    hs_links_fini(&links);
    return status;
}

/* Owners of a counter lead to its beginning; a plain pointer to the object in it leads behind that.
 * An object of its own is counted by the counter that leads to it, which its owners know. */
static hs_status is_counted(struct hs_view *view, hs_node top, bool *ret, struct hs_error *err)
{
    enum { MOST = 64 };
    bool is_one, is_other, has_counter = false, is_plain = false;
    struct hs_row row = hs_index_predecessors(view->index, top);
    hs_node source;
    HS_TRY(is_counter_node(view, top, &is_one, err));
    for (unsigned i = 0; i < MOST && !is_plain && hs_row_next(&row, &source); i++) {
        bool is_owner = true;
        if (!hs_index_is_reached(view->index, source) || !hs_edge_is_used(view, source, top))
            continue;
        HS_TRY(is_counter_node(view, source, &is_other, err));
        has_counter |= is_other;
        if (is_one)
            HS_TRY(has_beginning(view, source, top, &is_owner, err));
        else if (!is_other)
            HS_TRY(leads_to_counter(view, source, &is_owner, err));
        is_plain = !is_owner;
    }
    HS_TRY(hs_row_check(&row, err));
    *ret = is_one ? !is_plain : has_counter;
    return hs_used_edges_check(view, err);
}

/* ---- sets */

enum { MOST_TOPS = 16 };

struct largest {
    struct hs_child tops[MOST_TOPS]; /* by descending words */
    size_t n;
};

static void take_top(struct largest *largest, struct hs_child top)
{
    if (largest->n == MOST_TOPS && top.words <= largest->tops[MOST_TOPS - 1].words)
        return;
    size_t at = largest->n < MOST_TOPS ? largest->n++ : MOST_TOPS - 1;
    for (; at > 0 && largest->tops[at - 1].words < top.words; at--)
        largest->tops[at] = largest->tops[at - 1];
    largest->tops[at] = top;
}

static void find_largest(const struct hs_view *view, uint32_t set, struct largest *ret)
{
    struct hs_set_tops tops = hs_set_tops_of(view, set);
    ret->n = 0;
    for (hs_node top; hs_set_tops_next(&tops, &top);)
        take_top(ret, (struct hs_child){top, hs_index_retained(view->index, top).words});
}

hs_status hs_set_is_counted(struct hs_view *view, uint32_t set, bool *ret, struct hs_error *err)
{
    struct largest largest;
    find_largest(view, set, &largest);
    *ret = true;
    for (size_t i = 0; i < largest.n && *ret; i++) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, largest.tops[i].node, &facts, err));
        if (!is_collected(hs_snap_type(view->snap, facts.type)->form))
            HS_TRY(is_counted(view, largest.tops[i].node, ret, err));
    }
    return hs_index_check(view->index, err);
}

/* Tells whether some of the set's roots let go, and some do not. */
static bool is_parted(const struct hs_view *view, const struct hs_bitmap *is_gone, uint32_t set)
{
    struct hs_row roots = hs_index_set_roots(view->index, set);
    uint64_t n_gone = 0, n = 0;
    for (hs_node root; hs_row_next(&roots, &root); n++)
        n_gone += hs_bitmap_get(is_gone, root);
    return n_gone > 0 && n_gone < n;
}

static hs_status shared_words(struct hs_view *view, const struct hs_bitmap *is_gone,
                              uint64_t least_words, uint64_t *ret, struct hs_error *err)
{
    *ret = 0;
    for (uint32_t set = 1; set <= hs_index_n_sets(view->index); set++) {
        uint64_t words = hs_index_set(view->index, set).retained.words;
        bool is_known = true;
        if (words <= least_words)
            break;
        if (!is_parted(view, is_gone, set))
            continue;
        HS_TRY(hs_set_is_counted(view, set, &is_known, err));
        *ret += is_known ? 0 : words;
    }
    return HS_OK;
}

/* ---- roots that let go */

/* Finds the words that hang on plain pointers, on doubtful words alone and in blocks without a
 * type, below the roots that let go. */
static hs_status find_parts(struct hs_view *view, const struct hs_what_if *what_if,
                            struct hs_what_if_reserve *found, struct hs_error *err)
{
    struct hs_group_kinds kinds;
    hs_status status = HS_OK;
    HS_TRY(hs_group_kinds_init(view, &kinds, err));
    for (hs_node node = 0; node < view->n_tree && status == HS_OK; node++) {
        const struct hs_group_place place = {.node = node};
        struct hs_group_tree tree;
        uint64_t words = 0;
        if (hs_view_root_of(view, node) != node || !hs_bitmap_get(&what_if->is_gone, node))
            continue;
        status = hs_group_tree_init(&kinds, &place, &tree, err);
        if (status != HS_OK)
            break;
        status = hs_group_plain_words(&tree, &words, err);
        found->doubtful_words += tree.doubtful_words;
        found->untyped_words += tree.untyped_words;
        found->plain_words += words;
        hs_group_tree_fini(&tree);
    }
    hs_group_kinds_fini(&kinds);
    return status;
}

static hs_status find_aliases(struct hs_view *view, struct hs_what_if *what_if,
                              struct hs_name_aliases *ret, struct hs_error *err)
{
    hs_auto_free hs_node *roots = NULL;
    size_t n = 0;
    HS_TRY(HS_ALLOC(&roots, view->n_tree, err));
    for (hs_node node = 0; node < view->n_tree; node++)
        if (hs_view_root_of(view, node) == node && hs_bitmap_get(&what_if->is_gone, node))
            roots[n++] = node;
    const struct hs_reserve_roots group = {roots, n};
    return hs_name_aliases_find(view, &group, 1, ret, err);
}

/* The most that a word leads on to from what a variable itself leads to, and that others hold more
 * firmly: a library's handle, behind which all is doubtful. */
static hs_status doubtful_of(struct hs_view *view, hs_node block, uint64_t least_words,
                             uint64_t *most_words, struct hs_error *err)
{
    enum { MOST = 256 };
    struct hs_links links = {0};
    uint64_t n;
    HS_TRY(hs_links_out_first(view, block, MOST, &links, &n, err));
    for (size_t i = 0; i < links.n; i++) {
        hs_node other = links.links[i].other;
        bool is_doubtful = hs_edge_tier(links.links[i].edge_class) == HS_TIER_DOUBTFUL &&
                           hs_edge_is_strong(links.links[i].edge_class);
        uint64_t words = hs_index_retained(view->index, other).words;
        uint32_t set = is_doubtful ? hs_set_keeping(view, other) : 0;
        if (set != 0)
            words = hs_index_set(view->index, set).retained.words;
        if (is_doubtful && words > least_words && !hs_edge_is_used(view, block, other))
            *most_words = words > *most_words ? words : *most_words;
    }
    hs_links_fini(&links);
    return hs_used_edges_check(view, err);
}

/* Finds handles among the variables that let go: ones that lead to a small block, whose doubtful
 * words lead on to more than least_words that others hold more firmly. *ret: the most that one
 * leads to. */
static hs_status find_handles(struct hs_view *view, struct hs_what_if *what_if,
                              uint64_t least_words, uint64_t *ret, struct hs_error *err)
{
    enum { MOST = 64, SMALL_WORDS = 64 };
    unsigned n = 0;
    *ret = 0;
    for (hs_node node = 0; node < view->n_tree && n < MOST; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        hs_node of = hs_view_root_of(view, node);
        struct hs_node_facts facts;
        if (of == HS_NO_NODE || !hs_bitmap_get(&what_if->is_gone, of) ||
            root->level != HS_LEVEL_LEAF || root->target == HS_NO_NODE ||
            root->target < view->n_tree)
            continue;
        n++;
        HS_TRY(hs_view_facts(view, root->target, &facts, err));
        bool is_object = is_collected(hs_snap_type(view->snap, facts.type)->form);
        if (!is_object && facts.words <= SMALL_WORDS)
            HS_TRY(doubtful_of(view, root->target, least_words, ret, err));
    }
    return HS_OK;
}

hs_status hs_what_if_reserve(struct hs_view *view, struct hs_what_if *what_if,
                             struct hs_what_if_reserve *ret, struct hs_error *err)
{
    struct hs_what_if_reserve found = {.aliases = {.referrer = HS_NO_NODE}};
    uint64_t words = what_if->freed.words, least = words / 1000, handles;
    HS_TRY(find_parts(view, what_if, &found, err));
    HS_TRY(find_aliases(view, what_if, &found.aliases, err));
    HS_TRY(shared_words(view, &what_if->is_gone, least, &found.words, err));
    HS_TRY(find_handles(view, what_if, least, &handles, err));
    if (hs_reserve_is_due(found.aliases.words, words))
        found.reserve = HS_RESERVE_CONVENTION;
    else if (found.words != 0 || hs_reserve_is_due(found.plain_words, words))
        found.reserve = HS_RESERVE_ALIAS;
    else if (handles != 0 || hs_reserve_is_due(found.doubtful_words, words) ||
             hs_reserve_is_untyped(found.untyped_words, words)) {
        found.reserve = HS_RESERVE_DOUBTFUL;
        found.words = handles;
    }
    *ret = found;
    return HS_OK;
}
