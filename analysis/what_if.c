#include "analysis/what_if.h"

#include <assert.h>
#include <string.h>

#include "base/alloc.h"

hs_status hs_what_if_init(const struct hs_view *view, struct hs_what_if *ret, struct hs_error *err)
{
    *ret = (struct hs_what_if){0};
    return hs_bitmap_init(&ret->is_gone, view->n_tree, err);
}

void hs_what_if_fini(struct hs_what_if *what_if)
{
    hs_bitmap_fini(&what_if->is_gone);
}

void hs_what_if_add(const struct hs_view *view, struct hs_what_if *what_if, hs_node tree_node)
{
    hs_node root = hs_view_root_of(view, tree_node);

    if (root != HS_NO_NODE) {
        hs_bitmap_set(&what_if->is_gone, root);
        return;
    }
    /* Children stand behind their parents, not always side by side. */
    hs_bitmap_set(&what_if->is_gone, tree_node);
    for (hs_node node = tree_node + 1; node < view->n_tree; node++)
        if (hs_bitmap_get(&what_if->is_gone, hs_snap_root(view->snap, node)->parent))
            hs_bitmap_set(&what_if->is_gone, node);
}

static bool is_freed(const struct hs_view *view, const struct hs_what_if *what_if, uint32_t set)
{
    struct hs_row roots = hs_index_set_roots(view->index, set);

    for (hs_node root; hs_row_next(&roots, &root);)
        if (!hs_bitmap_get(&what_if->is_gone, root))
            return false;
    return roots.n != 0;
}

void hs_what_if_find(const struct hs_view *view, struct hs_what_if *what_if)
{
    uint64_t n_others;

    what_if->freed = (struct hs_sizes){0};
    (void)hs_index_other_sets(view->index, &n_others);
    what_if->is_least = n_others != 0;
    for (hs_node node = 0; node < view->n_tree; node++) {
        if (hs_view_root_of(view, node) != node || !hs_bitmap_get(&what_if->is_gone, node))
            continue;
        struct hs_sizes retained = hs_index_retained(view->index, node);
        hs_sizes_add(&what_if->freed, &retained);
    }
    for (uint32_t id = 1; id <= hs_index_n_sets(view->index); id++) {
        const struct hs_owner_set set = hs_index_set(view->index, id);
        if (is_freed(view, what_if, id))
            hs_sizes_add(&what_if->freed, &set.retained);
        else
            what_if->is_least |= hs_index_set_roots(view->index, id).n == 0;
    }
}

/* ---- the best ones ---- */

struct small_set {
    hs_node roots[HS_BEST_MOST];
    unsigned n_roots;
    struct hs_sizes retained;
};

struct best_search {
    const struct hs_view *view;
    struct small_set *sets; /* owned: of at most `most` roots, by descending words */
    size_t n_sets, capacity;
    hs_node singles[HS_BEST_MOST]; /* that retain most alone */
    unsigned n_singles, most;
};

static bool holds(const struct hs_best *best, hs_node root)
{
    for (unsigned i = 0; i < best->n_roots; i++)
        if (best->roots[i] == root)
            return true;
    return false;
}

/* Puts a root in its place; it is not there. */
static void insert(struct hs_best *best, hs_node root)
{
    unsigned at = best->n_roots++;

    assert(at < HS_BEST_MOST);
    for (; at > 0 && best->roots[at - 1] > root; at--)
        best->roots[at] = best->roots[at - 1];
    best->roots[at] = root;
}

static unsigned n_missing(const struct hs_best *best, const struct small_set *set)
{
    unsigned n = 0;
    for (unsigned i = 0; i < set->n_roots; i++)
        n += !holds(best, set->roots[i]);
    return n;
}

static void unite(struct hs_best *best, const struct small_set *set)
{
    for (unsigned i = 0; i < set->n_roots; i++)
        if (!holds(best, set->roots[i]))
            insert(best, set->roots[i]);
}

static void weigh(const struct best_search *search, struct hs_best *best)
{
    best->freed = (struct hs_sizes){0};
    for (unsigned i = 0; i < best->n_roots; i++) {
        struct hs_sizes retained = hs_index_retained(search->view->index, best->roots[i]);
        hs_sizes_add(&best->freed, &retained);
    }
    for (size_t i = 0; i < search->n_sets; i++)
        if (search->sets[i].n_roots <= best->n_roots && n_missing(best, &search->sets[i]) == 0)
            hs_sizes_add(&best->freed, &search->sets[i].retained);
}

/* Tells whether a set has more words, or as many with fewer or earlier roots. */
static bool is_better(const struct hs_best *a, const struct hs_best *b)
{
    if (a->freed.words != b->freed.words)
        return a->freed.words > b->freed.words;
    if (a->n_roots != b->n_roots)
        return a->n_roots < b->n_roots;
    return memcmp(a->roots, b->roots, a->n_roots * sizeof *a->roots) < 0;
}

static void keep_better(struct hs_best *best, const struct hs_best *other)
{
    if (is_better(other, best))
        *best = *other;
}

static void singles_add(struct best_search *search, hs_node node)
{
    struct hs_index *index = search->view->index;
    uint64_t words = hs_index_retained(index, node).words;
    unsigned at = search->n_singles;

    while (at > 0 && hs_index_retained(index, search->singles[at - 1]).words < words)
        at--;
    if (at == HS_BEST_MOST || words == 0)
        return;
    unsigned n = search->n_singles < HS_BEST_MOST ? search->n_singles : HS_BEST_MOST - 1;
    memmove(search->singles + at + 1, search->singles + at, (n - at) * sizeof *search->singles);
    search->singles[at] = node;
    search->n_singles = n + 1;
}

static hs_status search_collect(struct best_search *search, struct hs_error *err)
{
    const struct hs_view *view = search->view;

    for (hs_node node = 0; node < view->n_tree; node++)
        if (hs_view_root_of(view, node) == node)
            singles_add(search, node);
    for (uint32_t id = 1; id <= hs_index_n_sets(view->index); id++) {
        const struct hs_owner_set set = hs_index_set(view->index, id);
        struct hs_row roots = hs_index_set_roots(view->index, id);
        struct small_set small = {.retained = set.retained};
        if (set.n_roots > search->most)
            continue;
        while (small.n_roots < HS_BEST_MOST && hs_row_next(&roots, &small.roots[small.n_roots]))
            small.n_roots++;
        if (small.n_roots != set.n_roots) /* not listed */
            continue;
        HS_TRY(HS_GROW(&search->sets, &search->capacity, search->n_sets + 1, err));
        search->sets[search->n_sets++] = small;
    }
    return HS_OK;
}

/* The largest gain that at most `room` more roots bring: those of one set, or one alone. */
static bool extend(const struct best_search *search, struct hs_best *best, unsigned room)
{
    struct hs_best found = *best;

    for (size_t i = 0, tried = 0; i < search->n_sets && tried < HS_BEST_SEEDS; i++) {
        unsigned n = n_missing(best, &search->sets[i]);
        if (n == 0 || n > room)
            continue;
        struct hs_best more = *best;
        unite(&more, &search->sets[i]);
        weigh(search, &more);
        keep_better(&found, &more);
        tried++;
    }
    for (unsigned i = 0; i < search->n_singles && room > 0; i++) {
        struct hs_best more = *best;
        if (holds(best, search->singles[i]))
            continue;
        insert(&more, search->singles[i]);
        weigh(search, &more);
        keep_better(&found, &more);
    }
    bool grew = found.n_roots > best->n_roots;
    *best = found;
    return grew;
}

/* Finds the best from each set, and from the best of one root fewer. */
static void best_of(const struct best_search *search, unsigned n, struct hs_best *ret)
{
    struct hs_best best = n > 1 ? ret[-1] : (struct hs_best){0};

    while (best.n_roots < n && extend(search, &best, n - best.n_roots))
        ;
    for (size_t i = 0, tried = 0; i < search->n_sets && tried < HS_BEST_SEEDS; i++) {
        struct hs_best other = {0};
        if (search->sets[i].n_roots > n)
            continue;
        unite(&other, &search->sets[i]);
        weigh(search, &other);
        while (other.n_roots < n && extend(search, &other, n - other.n_roots))
            ;
        keep_better(&best, &other);
        tried++;
    }
    *ret = best;
}

/* Finds the best pair: every set of two is a candidate, whatever its rank, so that the pair is the
 * best there is. */
static void best_pair(const struct best_search *search, struct hs_best *best)
{
    for (size_t i = 0; i < search->n_sets; i++) {
        struct hs_best pair = {0};
        if (search->sets[i].n_roots != 2)
            continue;
        unite(&pair, &search->sets[i]);
        pair.freed = search->sets[i].retained;
        for (unsigned k = 0; k < 2; k++) {
            struct hs_sizes alone = hs_index_retained(search->view->index, pair.roots[k]);
            hs_sizes_add(&pair.freed, &alone);
        }
        keep_better(best, &pair);
    }
}

hs_status hs_best_find(const struct hs_view *view, unsigned n, struct hs_best *ret,
                       struct hs_error *err)
{
    struct best_search search = {.view = view, .most = n};

    assert(n >= 1 && n <= HS_BEST_MOST);
    hs_status status = search_collect(&search, err);
    for (unsigned i = 0; i < n && status == HS_OK; i++) {
        best_of(&search, i + 1, &ret[i]);
        if (i == 1)
            best_pair(&search, &ret[i]);
        status =
            hs_progress_tell(view->session.progress, "looking for the best roots", i + 1, n, err);
    }
    hs_free(search.sets);
    return status;
}
