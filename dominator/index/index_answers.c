/* The questions to an open index. */
#include <assert.h>

#include "base/alloc.h"
#include "index_cells.h"
#include "index_private.h"

/* Remembers damage; true when there is none. */
static bool index_holds(struct hs_index *index, hs_status status)
{
    index->is_damaged |= status != HS_OK;
    return status == HS_OK;
}

hs_status hs_index_check(const struct hs_index *index, struct hs_error *err)
{
    bool is_damaged = index->is_damaged;
    for (unsigned i = 0; i < INDEX_N_SECTIONS; i++)
        is_damaged |= index->file.packed[i].is_damaged;
    if (!is_damaged)
        return HS_OK;
    (void)hs_fail(err, HS_FORMAT, "the index is damaged: it does not match its checksums");
    return hs_hint(err, "compute it again: --rebuild");
}

uint64_t hs_index_n_nodes(const struct hs_index *index)
{
    return index->file.header->n_nodes;
}

hs_node hs_index_idom(struct hs_index *index, hs_node node)
{
    struct hs_packed *packed = index->file.packed;
    struct hs_error err;
    hs_node idom;

    assert(node < index->file.header->n_nodes);
    hs_status status =
        index_cells_idom(&packed[INDEX_IDOM], &packed[INDEX_PREDECESSORS], node, &idom, &err);
    return index_holds(index, status) ? idom : HS_NO_NODE;
}

bool hs_index_is_reached(struct hs_index *index, hs_node node)
{
    struct hs_error err;
    bool has_idom;

    assert(node < index->file.header->n_nodes);
    if (node == 0)
        return true;
    hs_status status = index_cells_has_idom(&index->file.packed[INDEX_IDOM], node, &has_idom, &err);
    return index_holds(index, status) && has_idom;
}

struct hs_sizes hs_index_retained(struct hs_index *index, hs_node node)
{
    struct hs_sizes sizes;
    struct hs_error err;

    assert(node < index->file.header->n_nodes);
    hs_status status = index_cells_sizes(&index->file.packed[INDEX_RETAINED], node, &sizes, &err);
    return index_holds(index, status) ? sizes : (struct hs_sizes){0};
}

struct hs_sizes hs_index_reachable(struct hs_index *index, hs_node tree_node)
{
    const struct hs_sizes *page;
    struct hs_error err;

    assert(tree_node < index->file.header->n_tree);
    hs_status status =
        index_file_sizes_page(&index->file, tree_node / INDEX_SIZES_PAGE, &page, &err);
    return index_holds(index, status) ? page[tree_node % INDEX_SIZES_PAGE] : (struct hs_sizes){0};
}

struct hs_sizes hs_index_reached_total(const struct hs_index *index)
{
    return index->file.header->reached;
}

struct hs_sizes hs_index_unreached_total(const struct hs_index *index)
{
    return index->file.header->unreached;
}

static struct hs_row index_row(struct hs_index *index, enum index_section section, hs_node node)
{
    struct hs_row row;
    struct hs_error err;

    assert(node < index->file.header->n_nodes);
    hs_status status = hs_packed_row_of(&index->file.packed[section], node, &row, &err);
    return index_holds(index, status) ? row : (struct hs_row){0};
}

struct hs_row hs_index_predecessors(struct hs_index *index, hs_node node)
{
    return index_row(index, INDEX_PREDECESSORS, node);
}

struct hs_row hs_index_dominated(struct hs_index *index, hs_node node)
{
    return index_row(index, INDEX_DOMINATED, node);
}

struct hs_row hs_index_dominated_at(struct hs_index *index, hs_node node, uint64_t place)
{
    struct hs_row row;
    struct hs_error err;

    assert(node < index->file.header->n_nodes);
    hs_status status =
        hs_packed_row_in(&index->file.packed[INDEX_DOMINATED], node, place, &row, &err);
    return index_holds(index, status) ? row : (struct hs_row){0};
}

/* ---- owners ---- */

uint32_t hs_index_n_sets(const struct hs_index *index)
{
    return (uint32_t)index->file.header->n_sets;
}

struct hs_sizes hs_index_other_sets(const struct hs_index *index, uint64_t *ret_n)
{
    *ret_n = index->file.header->n_other_sets;
    return index->file.header->other_sets;
}

struct hs_owner_set hs_index_set(struct hs_index *index, uint32_t set)
{
    struct hs_owner_set found;
    struct hs_error err;

    assert(set >= 1 && set <= index->file.header->n_sets);
    hs_status status = index_cells_set(&index->file.packed[INDEX_SETS], set, &found, &err);
    return index_holds(index, status) ? found : (struct hs_owner_set){0};
}

struct hs_row hs_index_set_roots(struct hs_index *index, uint32_t set)
{
    struct hs_row row;
    struct hs_error err;

    assert(set >= 1 && set <= index->file.header->n_sets);
    hs_status status = hs_packed_row_of(&index->file.packed[INDEX_SET_ROOTS], set, &row, &err);
    return index_holds(index, status) ? row : (struct hs_row){0};
}

static void index_owner(struct hs_index *index, hs_node node, unsigned *ret_tier, uint32_t *ret_set)
{
    const struct index_header *header = index->file.header;
    struct hs_error err;

    assert(node < header->n_nodes);
    *ret_tier = HS_TIER_NONE;
    *ret_set = 0;
    (void)index_holds(index, index_cells_owner(&index->file.packed[INDEX_OWNERS], header->n_sets,
                                               node, ret_tier, ret_set, &err));
}

uint32_t hs_index_set_of(struct hs_index *index, hs_node node)
{
    unsigned tier;
    uint32_t set;

    index_owner(index, node, &tier, &set);
    return set;
}

unsigned hs_index_tier(struct hs_index *index, hs_node node)
{
    unsigned tier;
    uint32_t set;

    index_owner(index, node, &tier, &set);
    return tier;
}

/* ---- the largest children: a heap whose top is the least of those that are kept ---- */

struct largest {
    struct hs_child *child; /* owned */
    size_t n, capacity;
};

/* `a` belongs behind `b`. */
static bool child_is_less(const struct hs_child *a, const struct hs_child *b)
{
    return a->words != b->words ? a->words < b->words : a->node > b->node;
}

/* Puts a child in place of child[at] and lets it sink among the first n. */
static void heap_sink(struct hs_child *child, size_t n, size_t at, struct hs_child value)
{
    for (size_t below = 2 * at + 1; below < n; below = 2 * at + 1) {
        if (below + 1 < n && child_is_less(&child[below + 1], &child[below]))
            below++;
        if (!child_is_less(&child[below], &value))
            break;
        child[at] = child[below];
        at = below;
    }
    child[at] = value;
}

static void heap_rise(struct hs_child *child, size_t at, struct hs_child value)
{
    for (; at != 0 && child_is_less(&value, &child[(at - 1) / 2]); at = (at - 1) / 2)
        child[at] = child[(at - 1) / 2];
    child[at] = value;
}

static hs_status largest_add(struct largest *largest, struct hs_child value, uint64_t most,
                             struct hs_error *err)
{
    if (largest->n == most) {
        if (child_is_less(&largest->child[0], &value))
            heap_sink(largest->child, largest->n, 0, value);
        return HS_OK;
    }
    HS_TRY(HS_GROW(&largest->child, &largest->capacity, largest->n + 1, err));
    heap_rise(largest->child, largest->n++, value);
    return HS_OK;
}

hs_status hs_index_largest(struct hs_index *index, hs_node node, uint64_t most,
                           struct hs_child **ret, uint64_t *ret_n, struct hs_error *err)
{
    struct hs_row row = hs_index_dominated(index, node);
    struct largest largest = {0};
    hs_status status = HS_OK;
    hs_node child;

    while (status == HS_OK && most != 0 && hs_row_next(&row, &child))
        status = largest_add(
            &largest, (struct hs_child){child, hs_index_retained(index, child).words}, most, err);
    if (status != HS_OK) {
        hs_free(largest.child);
        return status;
    }
    for (size_t n = largest.n; n > 1; n--) { /* the least goes to the end */
        struct hs_child least = largest.child[0];
        heap_sink(largest.child, n - 1, 0, largest.child[n - 1]);
        largest.child[n - 1] = least;
    }
    *ret = largest.child;
    *ret_n = largest.n;
    return HS_OK;
}
