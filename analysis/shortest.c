#include "shortest.h"

#include <assert.h>

#include "analysis/used_edges.h"
#include "base/alloc.h"

enum { TELL_EVERY = 1 << 16 };

static hs_status take(struct shortest *paths, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(paths->view->session.budget, n_bytes, "the shortest paths", err));
    paths->taken_bytes += n_bytes;
    return HS_OK;
}

/* Makes room for one more in an array that doubles: *ret is the capacity to grow it to. */
static hs_status take_room(struct shortest *paths, size_t n, size_t capacity, size_t each,
                           size_t *ret, struct hs_error *err)
{
    *ret = capacity;
    if (n < capacity)
        return HS_OK;
    *ret = capacity == 0 ? 256 : 2 * capacity;
    return take(paths, (*ret - capacity) * each, err);
}

/* ---- entries */

static uint32_t entry_of(const struct shortest *paths, hs_node node)
{
    return HS_TABLE_FIND(&paths->by_node, hs_hash(node), i, paths->entries[i].node == node);
}

static hs_status add_entry(struct shortest *paths, hs_node node, uint32_t parent, uint32_t *ret,
                           struct hs_error *err)
{
    size_t room;
    if (paths->n >= HS_NO_NUMBER - 1)
        return hs_fail(err, HS_LIMIT, "%zu blocks on the paths are too many", paths->n);
    HS_TRY(take_room(paths, paths->n, paths->capacity, sizeof *paths->entries, &room, err));
    HS_TRY(HS_GROW(&paths->entries, &paths->capacity, room, err));
    HS_TRY(take(paths, hs_table_growth_bytes(&paths->by_node, 1), err));
    HS_TRY(hs_table_add(&paths->by_node, hs_hash(node), paths->n, err));
    uint64_t distance = parent == HS_NO_NUMBER ? 0 : paths->entries[parent].distance + 1;
    paths->entries[paths->n] = (struct shortest_entry){node, distance, parent};
    *ret = (uint32_t)paths->n++;
    return HS_OK;
}

/* ---- searching */

static void forget_seen(struct shortest *paths)
{
    hs_budget_release(paths->view->session.budget, paths->seen_bytes);
    hs_table_fini(&paths->by_seen);
    hs_free(paths->seen);
    paths->by_seen = (struct hs_table){0};
    paths->seen = NULL;
    paths->n_seen = paths->seen_capacity = 0;
    paths->seen_bytes = 0;
}

static uint32_t seen_of(const struct shortest *paths, hs_node node)
{
    return HS_TABLE_FIND(&paths->by_seen, hs_hash(node), i, paths->seen[i].node == node);
}

static hs_status take_seen(struct shortest *paths, uint64_t n_bytes, struct hs_error *err)
{
    HS_TRY(hs_budget_reserve(paths->view->session.budget, n_bytes, "the shortest paths", err));
    paths->seen_bytes += n_bytes;
    return HS_OK;
}

static hs_status see(struct shortest *paths, hs_node node, uint32_t *ret, struct hs_error *err)
{
    if (paths->n_seen == paths->seen_capacity) {
        size_t room = paths->seen_capacity == 0 ? 256 : 2 * paths->seen_capacity;
        HS_TRY(take_seen(paths, (room - paths->seen_capacity) * sizeof *paths->seen, err));
        HS_TRY(HS_GROW(&paths->seen, &paths->seen_capacity, room, err));
    }
    HS_TRY(take_seen(paths, hs_table_growth_bytes(&paths->by_seen, 1), err));
    HS_TRY(hs_table_add(&paths->by_seen, hs_hash(node), paths->n_seen, err));
    paths->seen[paths->n_seen] = (struct shortest_seen){.node = node};
    *ret = (uint32_t)paths->n_seen++;
    return HS_OK;
}

/* Puts a node at the end of the queue, unless it stands there or leads to nothing nearer than
 * `nearest`. */
static hs_status meet(struct shortest *paths, hs_node node, uint32_t from, uint64_t nearest,
                      struct hs_error *err)
{
    size_t room;
    uint32_t steps = from == HS_NO_NUMBER ? 0 : paths->met[from].steps + 1;
    uint32_t seen = seen_of(paths, node);
    if (seen != HS_NO_NUMBER && (paths->seen[seen].search == paths->search ||
                                 steps + (uint64_t)paths->seen[seen].bound > nearest))
        return HS_OK;
    if (from != HS_NO_NUMBER && !hs_edge_is_used(paths->view, node, paths->met[from].node))
        return HS_OK;
    if (seen == HS_NO_NUMBER)
        HS_TRY(see(paths, node, &seen, err));
    paths->seen[seen].search = paths->search;
    HS_TRY(take_room(paths, paths->n_met, paths->met_capacity, sizeof *paths->met, &room, err));
    HS_TRY(HS_GROW(&paths->met, &paths->met_capacity, room, err));
    paths->met[paths->n_met++] = (struct shortest_met){node, from, seen, steps};
    if (++paths->n_searched % TELL_EVERY != 0)
        return HS_OK;
    return hs_progress_tell(paths->view->session.progress, "searching paths", paths->n_searched, 0,
                            err);
}

static void begin_search(struct shortest *paths)
{
    if (paths->n_seen > SHORTEST_SEEN)
        forget_seen(paths);
    paths->search++;
    paths->n_met = 0;
}

/* Ends the search: a node met so many steps before a block is at most so many nearer to the roots.
 */
static void end_search(struct shortest *paths, uint64_t distance)
{
    for (size_t i = 0; i < paths->n_met; i++) {
        uint64_t bound = distance > paths->met[i].steps ? distance - paths->met[i].steps : 0;
        struct shortest_seen *seen = &paths->seen[paths->met[i].seen];
        if (bound > seen->bound)
            seen->bound = bound < UINT32_MAX ? (uint32_t)bound : UINT32_MAX;
    }
}

/* The best known place to come from. */
struct best {
    hs_node source; /* HS_NO_NODE: none yet */
    uint32_t to;    /* number of what it leads to, in `met` */
    uint64_t distance;
};

/* The distance of a node whose path is known: leaves of the tree, and entries. */
static bool is_known(const struct shortest *paths, hs_node node, uint64_t *ret_distance)
{
    *ret_distance = 0;
    if (node < paths->view->n_tree)
        return true;
    uint32_t entry = entry_of(paths, node);
    if (entry == HS_NO_NUMBER)
        return false;
    *ret_distance = paths->entries[entry].distance;
    return true;
}

/* Looks at what leads to met[at]. Ends when there can be nothing better than `least` at so many
 * steps. */
static hs_status look_behind(struct shortest *paths, uint32_t at, uint64_t least, struct best *best,
                             struct hs_error *err)
{
    hs_node node = paths->met[at].node, source;
    uint64_t steps = paths->met[at].steps;
    struct hs_row row = hs_index_predecessors(paths->view->index, node);
    while (best->distance > steps + least && hs_row_next(&row, &source)) {
        uint64_t distance;
        if (!is_known(paths, source, &distance))
            HS_TRY(meet(paths, source, at, best->distance, err));
        else if (steps + distance < best->distance && hs_edge_is_used(paths->view, source, node))
            *best = (struct best){source, at, steps + distance};
    }
    return hs_row_check(&row, err);
}

/* The node that comes first on a shortest path from what is known to the block, level by level.
 * `least`: the distance of the dominator, which all of them pass. */
static hs_status search(struct shortest *paths, hs_node block, uint64_t least, struct best *best,
                        struct hs_error *err)
{
    begin_search(paths);
    HS_TRY(meet(paths, block, HS_NO_NUMBER, best->distance, err));
    for (uint32_t at = 0; at < paths->n_met; at++) {
        if (best->distance <= paths->met[at].steps + least)
            break;
        HS_TRY(look_behind(paths, at, least, best, err));
    }
    if (best->source == HS_NO_NODE)
        return hs_view_fail_circle(paths->view, err);
    end_search(paths, best->distance + 1);
    return HS_OK;
}

/* Tells whether the dominator itself, or a leaf below a group, points to the block: then nothing is
 * searched. *ret: who. */
static hs_status find_direct(struct shortest *paths, hs_node block, hs_node above, hs_node *ret,
                             struct hs_error *err)
{
    struct hs_row row = hs_index_predecessors(paths->view->index, block);
    hs_node source, last = above < paths->view->n_tree ? paths->view->n_tree - 1 : above;
    *ret = HS_NO_NODE;
    while (hs_row_next(&row, &source) && source <= last) {
        bool is_it = above < paths->view->n_tree || source == above;
        if (is_it && hs_edge_is_used(paths->view, source, block)) {
            *ret = source;
            return HS_OK;
        }
    }
    return hs_row_check(&row, err);
}

static hs_status add_known(struct shortest *paths, hs_node node, uint32_t *ret,
                           struct hs_error *err)
{
    *ret = entry_of(paths, node);
    if (*ret != HS_NO_NUMBER)
        return HS_OK;
    assert(node < paths->view->n_tree);
    return add_entry(paths, node, HS_NO_NUMBER, ret, err);
}

/* Entries from what is known down to the block. */
static hs_status connect(struct shortest *paths, hs_node block, hs_node above, struct hs_error *err)
{
    struct best best = {.source = HS_NO_NODE, .distance = UINT64_MAX};
    uint64_t least = 0;
    uint32_t entry;
    hs_node direct;
    HS_TRY(find_direct(paths, block, above, &direct, err));
    if (direct != HS_NO_NODE) {
        HS_TRY(add_known(paths, direct, &entry, err));
        return add_entry(paths, block, entry, &entry, err);
    }
    (void)is_known(paths, above, &least);
    hs_status status = search(paths, block, least, &best, err);
    if (status == HS_OK)
        status = add_known(paths, best.source, &entry, err);
    for (uint32_t at = best.to; status == HS_OK && at != HS_NO_NUMBER; at = paths->met[at].from)
        status = add_entry(paths, paths->met[at].node, entry, &entry, err);
    return status;
}

hs_status shortest_find(struct shortest *paths, hs_node block, uint32_t *ret, struct hs_error *err)
{
    const struct hs_view *view = paths->view;
    hs_node at = block;
    paths->n_above = 0;
    while (at >= view->n_tree && entry_of(paths, at) == HS_NO_NUMBER) {
        size_t room;
        HS_TRY(take_room(paths, paths->n_above, paths->above_capacity, sizeof *paths->above, &room,
                         err));
        HS_TRY(HS_GROW(&paths->above, &paths->above_capacity, room, err));
        paths->above[paths->n_above++] = at;
        at = hs_index_idom(view->index, at);
        if (at == HS_NO_NODE || paths->n_above > view->n_nodes)
            return hs_view_fail_circle(view, err);
    }
    for (hs_node above = at; paths->n_above > 0; above = at) {
        at = paths->above[--paths->n_above];
        if (entry_of(paths, at) == HS_NO_NUMBER) /* a search may have come by */
            HS_TRY(connect(paths, at, above, err));
    }
    *ret = entry_of(paths, block);
    return HS_OK;
}

void shortest_init(struct hs_view *view, struct shortest *ret)
{
    *ret = (struct shortest){.view = view};
}

void shortest_fini(struct shortest *paths)
{
    if (paths->view != NULL) {
        forget_seen(paths);
        hs_budget_release(paths->view->session.budget, paths->taken_bytes);
    }
    hs_table_fini(&paths->by_node);
    hs_free(paths->entries);
    hs_free(paths->above);
    hs_free(paths->met);
    *paths = (struct shortest){0};
}
