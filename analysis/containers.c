#include "analysis/containers.h"

#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "base/bisect.h"

enum { NEAR = 16 }; /* words of one container */

#define NODE "::node"
#define NODES "::node *[]"
#define POINTERS " *[]"

/* Cuts `with` off the end of a text. */
static bool cut_end(char *text, const char *with)
{
    size_t n = strlen(text), n_with = strlen(with);
    if (n <= n_with || strcmp(text + n - n_with, with) != 0)
        return false;
    text[n - n_with] = '\0';
    return true;
}

/* Takes argument number `wanted`, from 0, of a template or of a generic type; "" when there is
 * none. */
static void take_argument(const char *name, unsigned wanted, char *text, size_t n_bytes)
{
    const char *begin = strchr(name, '<');
    unsigned depth = 0;
    text[0] = '\0';
    begin = begin == NULL ? "" : begin + 1;
    for (const char *at = begin; *at != '\0'; at++) {
        bool is_end = depth == 0 && (*at == ',' || *at == '>');
        if (is_end && wanted-- == 0) {
            begin += strspn(begin, " ");
            (void)snprintf(text, n_bytes, "%.*s", (int)(at - begin), begin);
            return;
        }
        if (is_end)
            begin = at + 1;
        else if (*at == '<' || *at == '(' || *at == '[')
            depth++;
        else if (depth > 0 && (*at == '>' || *at == ')' || *at == ']'))
            depth--;
    }
}

/* Names the type of an element: of a map its value. */
static void name_element(const struct hs_type *type, struct hs_container *container)
{
    bool is_map = strstr(container->name, "map<") != NULL;
    char *element = container->element;
    if (type->stride_bytes != 0 && type->form != HS_FORM_POINTER) {
        (void)snprintf(element, sizeof container->element, "%s", container->name);
        (void)cut_end(element, "[]");
        return;
    }
    take_argument(container->name, is_map ? 1 : 0, element, sizeof container->element);
}

void hs_container_name(const struct hs_view *view, uint32_t number, struct hs_container *container)
{
    const struct hs_type *type = hs_snap_type(view->snap, number);
    container->name[0] = container->element[0] = '\0';
    if (type->form == HS_FORM_BYTES || type->form == HS_FORM_MAPPING)
        return;
    (void)snprintf(container->name, sizeof container->name, "%s", hs_view_string(view, type->name));
    if (!cut_end(container->name, NODES))
        (void)cut_end(container->name, NODE);
    name_element(type, container);
}

hs_status hs_container_of(struct hs_view *view, hs_node node, struct hs_container *ret,
                          bool *ret_is, struct hs_error *err)
{
    const struct hs_chunk *chunk;
    uint32_t at;
    *ret_is = false;
    if (node < view->n_tree)
        return HS_OK;
    HS_TRY(hs_view_chunk(view, node, HS_COL_TYPES | HS_COL_COUNTS, &chunk, &at, err));
    size_t first = HS_FIRST_NOT(i, 0, chunk->n_counts, chunk->counts[i].at < at);
    if (first == chunk->n_counts || chunk->counts[first].at != at)
        return HS_OK;
    *ret_is = true;
    ret->body = node;
    ret->entries = chunk->counts[first].entries;
    ret->room = chunk->counts[first].room;
    ret->place[0] = '\0';
    hs_container_name(view, chunk->type[at], ret);
    return HS_OK;
}

/* Cuts off what is the library's own, as libc++ calls its members: "orders.__tree_...". */
static void cut_own(char *place)
{
    char *own = strncmp(place, "__", 2) == 0 ? place : strstr(place, ".__");
    if (own != NULL)
        *own = '\0';
}

/* Cuts off what leads to the body in Qt's containers: "orders.d.d" of Qt 6, "lines.p.d" of Qt 5. */
static void cut_qt(struct hs_container *container)
{
    static const char *const links[] = {"q_hash.d|e", "q_hash.d", "d|e", "d.d", "p.d", "d"};
    char *place = container->place;
    size_t n = strlen(place);
    bool is_qt = container->name[0] == 'Q' || container->name[0] == '\0';
    for (size_t i = 0; is_qt && i < sizeof links / sizeof *links; i++) {
        size_t n_link = strlen(links[i]);
        if (n < n_link || strcmp(place + n - n_link, links[i]) != 0 ||
            (n > n_link && place[n - n_link - 1] != '.'))
            continue;
        place[n > n_link ? n - n_link - 1 : 0] = '\0';
        return;
    }
}

/* Tells whether it is called by a name of C or of Python, and is what its holder leads to. */
static bool is_plain(const struct hs_container *container)
{
    return container->name[0] != '\0' && strpbrk(container->name, "<[:") == NULL;
}

/* Calls it as its holder does, without the link that leads to its body. */
static void name_by_place(struct hs_container *container, bool is_root)
{
    static const char *const links[] = {"root", "first", "buckets", "map", "head", "table", "keys"};
    cut_own(container->place);
    cut_qt(container);
    char *dot = strrchr(container->place, '.');
    char *last = dot == NULL ? container->place : dot + 1;
    char name[HS_CONTAINER_NAME_BYTES];
    bool is_deque = strcmp(last, "map") == 0;
    if (is_deque && cut_end(container->name, POINTERS)) {
        (void)snprintf(name, sizeof name, "%s", container->name);
        (void)snprintf(container->element, sizeof container->element, "%s", name);
        (void)snprintf(container->name, sizeof container->name, "std::deque<%.480s>", name);
    }
    bool is_members = dot == NULL && !is_root && is_plain(container);
    for (size_t i = 0; !is_members && i < sizeof links / sizeof *links; i++)
        if (strcmp(last, links[i]) == 0) {
            *(dot == NULL ? container->place : dot) = '\0';
            return;
        }
}

/* Tells whether an earlier word leads to the same block: a vector has its end beside its
 * beginning. */
static bool was_before(const struct hs_links *out, size_t at)
{
    for (size_t i = at > NEAR ? at - NEAR : 0; i < at; i++)
        if (out->links[i].other == out->links[at].other)
            return true;
    return false;
}

static bool was_slot_before(const struct hs_view *view, hs_node variable, size_t at)
{
    hs_node target = hs_snap_root(view->snap, variable + at)->target;
    for (size_t i = at > NEAR ? at - NEAR : 0; i < at; i++)
        if (hs_snap_root(view->snap, variable + i)->target == target)
            return true;
    return false;
}

/* The next of a variable, whose slots follow its node. */
static hs_status next_of_root(const struct hs_surroundings *around, size_t *at,
                              struct hs_container *ret, bool *ret_is, struct hs_error *err)
{
    struct hs_view *view = around->view;
    hs_node variable = around->facts.node;
    size_t n_name = strlen(around->facts.label);
    for (; !*ret_is && *at < around->limit && variable + *at < view->n_tree; (*at)++) {
        const struct hs_root *slot = hs_snap_root(view->snap, variable + *at);
        const char *name = hs_view_string(view, slot->name);
        if (hs_view_root_of(view, variable + *at) != variable)
            break;
        if (slot->target == HS_NO_NODE || slot->tier != HS_TIER_FIRM ||
            was_slot_before(view, variable, *at))
            continue;
        HS_TRY(hs_container_of(view, slot->target, ret, ret_is, err));
        bool is_part = strncmp(name, around->facts.label, n_name) == 0 && name[n_name] == '.';
        (void)snprintf(ret->place, sizeof ret->place, "%s", is_part ? name + n_name + 1 : "");
    }
    if (*ret_is)
        name_by_place(ret, true);
    return HS_OK;
}

hs_status hs_container_next(const struct hs_surroundings *around, size_t *at,
                            struct hs_container *ret, bool *ret_is, struct hs_error *err)
{
    struct hs_view *view = around->view;
    *ret_is = false;
    if (around->facts.is_root)
        return next_of_root(around, at, ret, ret_is, err);
    while (!*ret_is && *at < around->out.n) {
        const struct hs_link *link = &around->out.links[*at];
        struct hs_node_facts facts;
        size_t this = (*at)++;
        if (link->other < view->n_tree || was_before(&around->out, this) ||
            (link->edge_class != HS_EDGE_EXACT && link->edge_class != HS_EDGE_INTERIOR))
            continue;
        HS_TRY(hs_view_facts(view, link->other, &facts, err));
        if (facts.type == around->facts.type)
            continue; /* one node of it to another */
        HS_TRY(hs_container_of(view, link->other, ret, ret_is, err));
        if (*ret_is)
            HS_TRY(hs_surroundings_place(around, link, true, ret->place, err));
    }
    if (*ret_is)
        name_by_place(ret, false);
    return HS_OK;
}

void hs_container_text(const struct hs_container *container, char text[HS_CONTAINER_TEXT_BYTES])
{
    unsigned long long entries = container->entries, room = container->room;
    const char *s = entries == 1 ? "" : "s";
    if (container->room == HS_NO_ROOM || container->room == container->entries)
        (void)snprintf(text, HS_CONTAINER_TEXT_BYTES, "%llu element%s", entries, s);
    else
        (void)snprintf(text, HS_CONTAINER_TEXT_BYTES, "%llu element%s, room for %llu", entries, s,
                       room);
}
