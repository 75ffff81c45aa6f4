#include "analysis/grown_place.h"

#include <stdio.h>
#include <string.h>

#include "analysis/block_name.h"
#include "analysis/containers.h"
#include "base/alloc.h"

/* The bounds of the search for a container: dominators upwards, words of each, and how many alike
 * make one of many. */
enum { MOST_LEVELS = 8, MOST_LINKS = 256, MANY = 8 };

/* ---- the container that has it ---- */

struct found {
    hs_node holder; /* a block, or a variable */
    struct hs_container container;
    double distance; /* from the number that is looked for: 1 at least */
};

/* Tells whether a block is of a container: its body, or one of its nodes. */
static hs_status is_part_of(struct hs_view *view, const struct hs_container *container,
                            hs_node block, bool *ret, struct hs_error *err)
{
    struct hs_node_facts facts;
    size_t n_name = strlen(container->name);
    HS_TRY(hs_view_facts(view, block, &facts, err));
    *ret = container->body == block ||
           (n_name != 0 && strncmp(facts.label, container->name, n_name) == 0 &&
            strncmp(facts.label + n_name, "::node", strlen("::node")) == 0);
    return HS_OK;
}

static double distance(uint64_t a, uint64_t b)
{
    double x = (double)a + 1, y = (double)b + 1;
    return x > y ? x / y : y / x;
}

/* Looks, among the containers of a holder, for that which has the block below it. */
static hs_status look_at(struct hs_view *view, hs_node holder, hs_node below, uint64_t n,
                         struct found *best, struct hs_error *err)
{
    struct hs_surroundings around;
    struct found made = {.holder = holder};
    bool is_there = true, is_part = false;
    size_t at = 0;

    HS_TRY(hs_surroundings_find(view, holder, MOST_LINKS, &around, err));
    hs_status status = HS_OK;
    while (status == HS_OK && is_there) {
        status = hs_container_next(&around, &at, &made.container, &is_there, err);
        if (status != HS_OK || !is_there)
            break;
        status = is_part_of(view, &made.container, below, &is_part, err);
        made.distance = n == 0 ? 1 : distance(made.container.entries, n);
        if (status == HS_OK && is_part &&
            (best->holder == HS_NO_NODE || made.distance < best->distance))
            *best = made;
    }
    hs_surroundings_fini(&around);
    return status;
}

/* Looks up the dominators, the root's variable last. */
static hs_status find_container(struct hs_view *view, hs_node block, uint64_t n, struct found *ret,
                                struct hs_error *err)
{
    hs_node below = block;
    ret->holder = HS_NO_NODE;
    for (unsigned level = 0; level < MOST_LEVELS && below >= view->n_tree; level++) {
        hs_node holder = hs_index_idom(view->index, below);
        if (holder == HS_NO_NODE)
            break;
        if (holder < view->n_tree)
            holder = hs_view_root_of(view, holder);
        if (holder == HS_NO_NODE)
            break;
        HS_TRY(look_at(view, holder, below, n, ret, err));
        below = holder;
    }
    return HS_OK;
}

/* ---- the same of the older snapshot ---- */

/* Finds the root of the same name and kind; HS_NO_NODE: none, or several. */
static hs_node same_root(const struct hs_view *newer, hs_node root, const struct hs_view *older)
{
    const struct hs_root *it = hs_snap_root(newer->snap, root);
    const char *name = hs_view_string(newer, it->name);
    hs_node found = HS_NO_NODE;
    for (hs_node node = 0; node < older->n_tree; node++) {
        const struct hs_root *other = hs_snap_root(older->snap, node);
        if (other->kind != it->kind || other->level != it->level ||
            strcmp(hs_view_string(older, other->name), name) != 0)
            continue;
        if (found != HS_NO_NODE)
            return HS_NO_NODE;
        found = node;
    }
    return found;
}

/* Finds the block at the same address, of the same type. */
static hs_status same_block(struct hs_view *newer, hs_node block, struct hs_view *older,
                            hs_node *ret, struct hs_error *err)
{
    struct hs_node_facts facts, other;
    *ret = HS_NO_NODE;
    HS_TRY(hs_view_facts(newer, block, &facts, err));
    HS_TRY(hs_snap_find_address(older->snap, facts.address, ret, err));
    if (*ret == HS_NO_NODE)
        return HS_OK;
    HS_TRY(hs_view_facts(older, *ret, &other, err));
    if (other.address != facts.address || strcmp(other.label, facts.label) != 0)
        *ret = HS_NO_NODE;
    return HS_OK;
}

static hs_status count_then(struct hs_view *older, hs_node holder,
                            const struct hs_container *container, struct hs_grown_place *place,
                            struct hs_error *err)
{
    struct hs_surroundings around;
    struct hs_container other;
    bool is_there = true;
    size_t at = 0;

    HS_TRY(hs_surroundings_find(older, holder, MOST_LINKS, &around, err));
    hs_status status = HS_OK;
    while (status == HS_OK && is_there && !place->has_entries) {
        status = hs_container_next(&around, &at, &other, &is_there, err);
        if (status != HS_OK || !is_there || strcmp(other.place, container->place) != 0 ||
            strcmp(other.name, container->name) != 0)
            continue;
        place->has_entries = true;
        place->then = other.entries;
        place->now = container->entries;
    }
    hs_surroundings_fini(&around);
    return status;
}

/* Goes on from a variable to its member, where the way has the variable alone. */
static hs_status name_member(const struct hs_view *view, const struct found *now,
                             struct hs_grown_place *place, struct hs_error *err)
{
    char text[HS_FIELD_PATH_BYTES];
    const char *member = now->container.place;
    if (now->holder >= view->n_tree || member[0] == '\0' || place->place == NULL ||
        strcmp(place->place, hs_view_string(view, hs_snap_root(view->snap, now->holder)->name)) !=
            0)
        return HS_OK;
    (void)snprintf(text, sizeof text, "%s.%s", place->place, member);
    hs_free(place->place);
    place->place = NULL;
    return hs_strdup(text, &place->place, err);
}

static hs_status find_entries(struct hs_view *newer, struct hs_view *older, hs_node block,
                              uint64_t n, struct hs_grown_place *place, struct hs_error *err)
{
    struct found now;
    hs_node then;
    HS_TRY(find_container(newer, block, n, &now, err));
    if (now.holder == HS_NO_NODE)
        return HS_OK;
    HS_TRY(name_member(newer, &now, place, err));
    if (older == NULL || older->index == NULL)
        return HS_OK;
    if (now.holder < newer->n_tree)
        then = same_root(newer, now.holder, older);
    else
        HS_TRY(same_block(newer, now.holder, older, &then, err));
    return then == HS_NO_NODE ? HS_OK : count_then(older, then, &now.container, place, err);
}

/* Cuts off the places of one of many: "failed[...]". */
static void trim_any(char *place)
{
    static const char any[] = "[...]";
    size_t n_any = strlen(any);
    for (size_t n = place == NULL ? 0 : strlen(place);
         n > n_any && strcmp(place + n - n_any, any) == 0; n -= n_any)
        place[n - n_any] = '\0';
}

hs_status hs_grown_place_find(struct hs_view *newer, struct hs_view *older, hs_node block,
                              uint64_t n, struct hs_grown_place *ret, struct hs_error *err)
{
    struct hs_grown_place place = {0};
    hs_status status = hs_block_name(newer, block, &place.place, err);
    if (status == HS_OK) {
        hs_holder_trim(place.place, n == 0 || n >= MANY);
        trim_any(place.place);
        status = find_entries(newer, older, block, n, &place, err);
    }
    if (status == HS_OK)
        *ret = place;
    else
        hs_grown_place_fini(&place);
    return status;
}

void hs_grown_place_fini(struct hs_grown_place *place)
{
    hs_free(place->place);
    *place = (struct hs_grown_place){0};
}
