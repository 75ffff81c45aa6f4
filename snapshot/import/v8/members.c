/* Names of properties: members of types.
 *
 * The names of a type's properties are numbered as they come, and an edge has the number of its
 * name as its offset, which then says the same in every object of the type. That needs an object to
 * have as many bytes as its names have numbers: classes and contexts do, the global object does,
 * arrays and plain objects with all sorts of properties do not. There an edge has the number of its
 * place among its object's edges, and a place has a name where all objects of the type agree. Kept
 * are names that a program's source could say (identifiers), V8's own of that form, and the numbers
 * of elements: the keys of an object that is used as a dictionary may be anything.
 *
 * Bounded: MOST_PLACES of a type and MOST_MEMBERS in all, 40 bytes each while it runs. */
#include <stdio.h>
#include <string.h>

#include "base/alloc.h"
#include "run.h"

enum { MOST_PLACES = 4096, MOST_MEMBERS = 1 << 20, LEAST_SLOTS = 64 };

/* The coding of what stands at a place: 0 nothing yet; (string + 1) * 2 a name; (index + 1) * 2 + 1
 * an element; or one of these. */
#define PLACE_SEVERAL UINT64_MAX
#define PLACE_UNNAMED UINT64_C(1) /* of a numbered type: all that has no name */
#define UNFIT UINT32_MAX          /* in n_numbered: the type's names have no numbers */

static uint64_t place_of(const struct v8_edge *edge)
{
    if (edge->name >= UINT32_MAX)
        return PLACE_SEVERAL;
    if (edge->kind == V8_ELEMENT)
        return edge->name < MOST_PLACES ? (edge->name + 1) * 2 + 1 : PLACE_SEVERAL;
    return hs_v8_is_named(edge->kind) ? (edge->name + 1) * 2 : PLACE_SEVERAL;
}

static void place_put(struct v8_run *run, uint32_t type, uint64_t at, uint64_t place)
{
    uint64_t begin = run->place_begin[type];
    if (at >= run->place_begin[type + 1] - begin)
        return;
    uint64_t *there = &run->places[begin + at];
    *there = *there == 0 || *there == place ? place : PLACE_SEVERAL;
}

/* ---- numbers of names */

static struct v8_slot *slot_of(const struct v8_run *run, uint32_t type, uint64_t place)
{
    place = place == PLACE_SEVERAL ? PLACE_UNNAMED : place;
    uint64_t key = ((uint64_t)type << 33) + place; /* places are below 2^33 */
    uint64_t at = key * UINT64_C(0x9e3779b97f4a7c15) >> 43;
    for (;; at++) {
        struct v8_slot *slot = &run->slots[at & (run->slots_size - 1)];
        if (slot->place == 0 || (slot->type == type && slot->place == place))
            return slot;
    }
}

/* Numbers the name of an edge, or finds that the type's are too many for so small an object. */
static void number_put(struct v8_run *run, uint32_t type, uint64_t place, uint64_t n_bytes)
{
    if (run->n_numbered[type] == UNFIT)
        return;
    struct v8_slot *slot = slot_of(run, type, place);
    if (slot->place == 0 && run->n_slots < run->slots_size / 2 &&
        run->n_numbered[type] < MOST_PLACES) {
        *slot = (struct v8_slot){place == PLACE_SEVERAL ? PLACE_UNNAMED : place, type,
                                 run->n_numbered[type]++};
        run->n_slots++;
    }
    if (slot->place == 0 || slot->number >= n_bytes)
        run->n_numbered[type] = UNFIT;
}

uint64_t hs_v8_offset(const struct v8_run *run, uint32_t type, const struct v8_edge *edge,
                      uint64_t at)
{
    return run->n_numbered[type] == UNFIT ? at : slot_of(run, type, place_of(edge))->number;
}

/* ---- places */

/* Room for twice the most edges of an object of each type, into place_begin[type]. */
static hs_status places_count(struct v8_run *run, struct hs_error *err)
{
    struct v8_walk walk = hs_v8_walk_begin(&run->file);
    for (uint64_t at = 0; at < run->file.n_nodes; at++) {
        struct v8_node node;
        HS_TRY(hs_v8_next_node(&walk, &node, err));
        uint64_t *most = &run->place_begin[hs_v8_type(run, &node)];
        /* Objects of one type may have different names. */
        uint64_t wanted = node.n_edges < MOST_PLACES / 2 ? 2 * node.n_edges : MOST_PLACES;
        if (!hs_bitmap_get(&run->tree, at) && wanted > *most)
            *most = wanted;
    }
    return HS_OK;
}

/* Turns counts into beginnings; where there are too many, all types keep fewer places. */
static hs_status places_alloc(struct v8_run *run, struct hs_error *err)
{
    uint64_t most = MOST_PLACES, n = 0;
    for (bool fits = false; !fits; most /= fits ? 1 : 2) {
        n = 0;
        for (uint64_t type = 0; type < run->n_place_types; type++)
            n += run->place_begin[type] < most ? run->place_begin[type] : most;
        fits = n <= MOST_MEMBERS || most == 0;
    }
    n = 0;
    for (uint64_t type = 0; type <= run->n_place_types; type++) {
        uint64_t count = run->place_begin[type] < most ? run->place_begin[type] : most;
        run->place_begin[type] = n;
        n += count;
    }
    run->n_places = n;
    void *pages;
    HS_TRY(maker_pages(run->maker, n + 1, sizeof *run->places, "names of properties", &pages, err));
    run->places = pages;
    return HS_OK;
}

/* The least bytes that the object may be written with: DevTools' sizes count helpers for their
 * owners, and none for themselves. */
static uint64_t bytes_of(const struct v8_run *run, const struct v8_node *node)
{
    bool may_fold = node->kind == V8_HIDDEN || node->kind == V8_ARRAY || node->kind == V8_NATIVE;
    return may_fold && run->policy->sizes == HS_SIZES_FOLDED ? 0 : node->n_bytes;
}

/* Spoils the name of an object's last place, to which all edges beyond its bytes are moved. */
static void place_spoil(struct v8_run *run, uint32_t type, uint64_t n_edges, uint64_t n_bytes)
{
    if (n_edges > n_bytes && n_edges > 1)
        place_put(run, type, n_bytes != 0 ? n_bytes - 1 : 0, PLACE_SEVERAL);
}

static hs_status places_read(struct v8_run *run, struct hs_error *err)
{
    struct v8_walk walk = hs_v8_walk_begin(&run->file);
    for (uint64_t at = 0; at < run->file.n_nodes; at++) {
        struct v8_node node;
        struct v8_edge edge;
        HS_TRY(hs_v8_next_node(&walk, &node, err));
        uint32_t type = hs_v8_type(run, &node);
        uint64_t n_bytes = bytes_of(run, &node);
        bool is_block = !hs_bitmap_get(&run->tree, at);
        for (uint64_t i = 0; i < node.n_edges; i++) {
            HS_TRY(hs_v8_next_edge(&walk, &edge, err));
            if (!is_block)
                continue;
            place_put(run, type, i, place_of(&edge));
            number_put(run, type, place_of(&edge), n_bytes);
        }
        if (is_block) {
            place_spoil(run, type, node.n_edges, n_bytes);
            place_spoil(run, type, node.n_edges, node.n_bytes);
        }
        HS_TRY(hs_v8_tell(run, &walk, "reading names of properties", err));
    }
    return HS_OK;
}

/* The places of a type whose names are numbered are its numbers. */
static void places_number(struct v8_run *run)
{
    for (uint64_t type = 0; type < run->n_place_types; type++)
        for (uint64_t i = run->place_begin[type];
             i < run->place_begin[type + 1] && run->n_numbered[type] != UNFIT; i++)
            run->places[i] = 0;
    for (uint64_t i = 0; i < run->slots_size; i++) {
        const struct v8_slot *slot = &run->slots[i];
        if (slot->place > PLACE_UNNAMED && run->n_numbered[slot->type] != UNFIT)
            place_put(run, slot->type, slot->number, slot->place);
    }
}

hs_status hs_v8_places_read(struct v8_run *run, struct hs_error *err)
{
    uint64_t n_wanted;
    void *pages;
    HS_TRY(hs_bitmap_index(&run->wanted, &n_wanted, err));
    run->n_place_types = V8_N_NODE_KINDS + n_wanted;
    HS_TRY(maker_pages(run->maker, run->n_place_types + 1, sizeof *run->place_begin,
                       "names of properties", &pages, err));
    run->place_begin = pages;
    HS_TRY(maker_pages(run->maker, run->n_place_types, sizeof *run->n_numbered,
                       "names of properties", &pages, err));
    run->n_numbered = pages;
    run->slots_size = LEAST_SLOTS; /* a power of two, never more than half full */
    while (run->slots_size < 2 * MOST_MEMBERS && run->slots_size / 2 < run->file.n_edges)
        run->slots_size *= 2;
    HS_TRY(maker_pages(run->maker, run->slots_size, sizeof *run->slots, "names of properties",
                       &pages, err));
    run->slots = pages;
    HS_TRY(places_count(run, err));
    HS_TRY(places_alloc(run, err));
    HS_TRY(places_read(run, err));
    places_number(run);
    HS_TRY(hs_v8_bitmap(run, run->file.n_strings, &run->properties, err));
    for (uint64_t i = 0; i < run->n_places; i++) {
        uint64_t place = run->places[i];
        if (place != PLACE_SEVERAL && place != 0 && place % 2 == 0 &&
            place / 2 - 1 < run->file.n_strings)
            hs_bitmap_set(&run->properties, place / 2 - 1);
    }
    return HS_OK;
}

hs_status hs_v8_members_make(struct v8_run *run, struct hs_error *err)
{
    for (uint64_t type = 0; type < run->n_place_types; type++)
        for (uint64_t i = run->place_begin[type]; i < run->place_begin[type + 1]; i++) {
            uint64_t place = run->places[i];
            struct hs_member member = {.type = (uint32_t)type,
                                       .offset_bytes = i - run->place_begin[type]};
            char text[32];
            if (place == 0 || place == PLACE_SEVERAL)
                continue;
            int n = snprintf(text, sizeof text, "[%llu]", (unsigned long long)(place / 2 - 1));
            if (place % 2 != 0)
                HS_TRY(maker_name(run->maker, "", text, (size_t)n, &member.name, err));
            else if (place / 2 - 1 < run->file.n_strings)
                member.name = run->property_name[hs_bitmap_rank(&run->properties, place / 2 - 1)];
            if (member.name != 0)
                HS_TRY(maker_member(run->maker, &member, err));
        }
    return HS_OK;
}

void hs_v8_places_free(struct v8_run *run)
{
    maker_pages_free(run->maker, run->place_begin, run->n_place_types + 1,
                     sizeof *run->place_begin);
    maker_pages_free(run->maker, run->n_numbered, run->n_place_types, sizeof *run->n_numbered);
    maker_pages_free(run->maker, run->slots, run->slots_size, sizeof *run->slots);
    maker_pages_free(run->maker, run->places, run->n_places + 1, sizeof *run->places);
    hs_free(run->property_name);
}
