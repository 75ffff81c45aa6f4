#include "member_place.h"

#include <stdio.h>
#include <string.h>

#include "analysis/block_name.h"
#include "analysis/field_path.h"
#include "analysis/neighbours.h"
#include "analysis/type_family.h"
#include "base/alloc.h"
#include "base/table.h"
#include "short_way.h"

enum { MOST_MEMBERS = 32, CLEAR_PERCENT = 75, SLIGHT_PERCENT = 10 };

/* A block that was met, the member of the first one that leads to it, and for how many it stands:
 * of an array's pointers only the first are followed. */
struct met {
    hs_node node;
    uint32_t member;
    uint32_t times;
};

struct member {
    uint64_t offset_words;
    uint64_t weight;
};

struct search {
    struct hs_view *view;
    uint32_t type;
    struct met *met; /* owned: in the order of distance */
    size_t n;
    struct member members[MOST_MEMBERS];
    uint32_t n_members;
    struct hs_table by_node;
};

static hs_status meet(struct search *s, hs_node node, uint32_t member, uint32_t times,
                      struct hs_error *err)
{
    uint64_t hash = hs_hash(node);
    if (s->n == HS_SHORT_WAY_MET ||
        HS_TABLE_FIND(&s->by_node, hash, i, s->met[i].node == node) != HS_NO_NUMBER)
        return HS_OK;
    HS_TRY(hs_table_add(&s->by_node, hash, s->n, err));
    s->met[s->n++] = (struct met){node, member, times};
    return HS_OK;
}

/* Returns the number of the member at an offset; MOST_MEMBERS: there are too many. */
static uint32_t member_at(struct search *s, uint64_t offset_words)
{
    for (uint32_t i = 0; i < s->n_members; i++)
        if (s->members[i].offset_words == offset_words)
            return i;
    if (s->n_members == MOST_MEMBERS)
        return MOST_MEMBERS;
    s->members[s->n_members] = (struct member){.offset_words = offset_words};
    return s->n_members++;
}

/* Goes on from one block. Pointers into a block find it, as a rule; only those to its start are
 * followed. */
static hs_status go_on(struct search *s, size_t at, struct hs_error *err)
{
    struct hs_links links;
    struct met from = s->met[at];
    uint64_t n;
    HS_TRY(hs_links_out_first(s->view, from.node, HS_SHORT_WAY_POINTERS, &links, &n, err));
    uint64_t each = links.n == 0 ? 1 : n / links.n * from.times;
    uint32_t times = each < UINT16_MAX ? (uint32_t)each : UINT16_MAX;
    hs_status status = HS_OK;
    for (size_t i = 0; i < links.n && status == HS_OK; i++) {
        const struct hs_link *link = &links.links[i];
        uint32_t member = at == 0 ? member_at(s, link->offset_words) : from.member;
        if (link->edge_class == HS_EDGE_EXACT && member != MOST_MEMBERS)
            status = meet(s, link->other, member, times, err);
    }
    hs_links_fini(&links);
    return status;
}

static hs_status weigh(struct search *s, struct hs_error *err)
{
    for (size_t i = 1; i < s->n; i++) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(s->view, s->met[i].node, &facts, err));
        if (facts.type == s->type)
            s->members[s->met[i].member].weight += s->met[i].times;
    }
    return HS_OK;
}

/* Shortens a name to what it shares with another, whole members alone: "q.tail" and "q.head" are
 * both "q"; "" when they share none. */
static void keep_shared(char *name, const char *other)
{
    size_t n = 0, last = 0;
    while (name[n] != '\0' && name[n] == other[n]) {
        if (name[n] == '.')
            last = n;
        n++;
    }
    bool is_whole = (name[n] == '\0' && (other[n] == '\0' || other[n] == '.')) ||
                    (other[n] == '\0' && name[n] == '.');
    name[is_whole ? n : last] = '\0';
}

/* Writes the member that leads to nearly all, or what those that lead to some share. */
static void choose(const struct search *s, uint32_t type, char *text, size_t n_bytes)
{
    char name[HS_FIELD_NAME_BYTES];
    uint64_t whole = 0;
    const struct member *best = NULL;
    for (uint32_t i = 0; i < s->n_members; i++) {
        whole += s->members[i].weight;
        if (best == NULL || s->members[i].weight > best->weight)
            best = &s->members[i];
    }
    text[0] = '\0';
    if (whole == 0 || hs_field_name(s->view, type, best->offset_words, text, n_bytes) == 0)
        return;
    bool is_clear = best->weight >= whole / 100 * CLEAR_PERCENT;
    for (uint32_t i = 0; i < s->n_members && !is_clear; i++) {
        const struct member *member = &s->members[i];
        if (member != best && member->weight > whole / 100 * SLIGHT_PERCENT) {
            (void)hs_field_name(s->view, type, member->offset_words, name, sizeof name);
            keep_shared(text, name);
        }
    }
}

static hs_status search_from(struct search *s, hs_node from, struct hs_error *err)
{
    HS_TRY(HS_ALLOC(&s->met, HS_SHORT_WAY_MET, err));
    HS_TRY(meet(s, from, 0, 1, err));
    for (size_t at = 0; at < s->n; at++)
        HS_TRY(go_on(s, at, err));
    return weigh(s, err);
}

hs_status hs_member_place(struct hs_view *view, hs_node from, uint32_t type, char **ret,
                          struct hs_error *err)
{
    enum { BYTES_OF_ONE = sizeof(struct met) + 24 }; /* with its place in the table */
    char name[HS_FIELD_NAME_BYTES] = "", text[HS_FIELD_NAME_BYTES + 2];
    struct search s = {.view = view, .type = type};
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, from, &facts, err));
    if (facts.type == HS_UNTYPED || facts.type == type ||
        hs_snap_type(view->snap, facts.type)->stride_bytes != 0 ||
        hs_snap_type(view->snap, facts.type)->form != HS_FORM_RECORD)
        return HS_OK;
    HS_TRY(hs_budget_reserve(view->session.budget, HS_SHORT_WAY_MET * BYTES_OF_ONE,
                             "the member in which many blocks hang", err));
    hs_status status = search_from(&s, from, err);
    if (status == HS_OK)
        choose(&s, facts.type, name, sizeof name);
    hs_free(s.met);
    hs_table_fini(&s.by_node);
    hs_budget_release(view->session.budget, HS_SHORT_WAY_MET * BYTES_OF_ONE);
    if (status != HS_OK || name[0] == '\0')
        return status;
    (void)snprintf(text, sizeof text, "%s%s", hs_field_arrow(view, facts.type, name), name);
    return hs_strdup(text, ret, err);
}
