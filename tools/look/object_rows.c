#include "object_rows.h"

#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "described.h"
#include "why.h"

struct line {
    uint64_t field, offset, id, address, words, retained_words;
    const char *place, *class, *tier, *rule, *name, *type, *relation, *what;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, STRING, relation, "", HS_COLUMN_NOT_JSON),
    HS_COLUMN(8, STRING, what, "WHAT", HS_COLUMN_FLEXIBLE | HS_COLUMN_NOT_JSON),
    HS_COLUMN(2, NUMBER, field, "FIELD", HS_COLUMN_NARROW(1) | HS_COLUMN_IF_KNOWN),
    HS_FIELD(COUNT, offset),
    HS_FIELD(STRING, place),
    HS_COLUMN(3, STRING, class, "CLASS", HS_COLUMN_NARROW(2) | HS_COLUMN_IF_KNOWN),
    HS_FIELD(STRING, tier),
    HS_FIELD(STRING, rule),
    HS_COLUMN(4, NODE, id, "ID", 0),
    HS_COLUMN(5, ADDRESS, address, "ADDRESS", HS_COLUMN_SPARE(2)),
    HS_FIELD(STRING, name),
    HS_FIELD(STRING, type),
    HS_COLUMN(6, WORDS, words, "WORDS", HS_COLUMN_SPARE(1)),
    HS_COLUMN(7, WORDS, retained_words, "RETAINED", 0),
};
enum { N_FIELDS = sizeof fields / sizeof *fields, N_NODE_FIELDS = 6 };
const struct hs_record hs_link_record = HS_RECORD(fields);
const struct hs_record hs_node_record = {fields + N_FIELDS - N_NODE_FIELDS, N_NODE_FIELDS};

/* Writes the text of the last column. */
static void what_text(const struct hs_view *view, const struct hs_node_facts *facts, bool is_out,
                      const char *place, char *text, size_t n)
{
    if (is_out)
        (void)snprintf(text, n, "%s%s%.400s", place, place[0] != 0 ? ": " : "", facts->label);
    else
        (void)snprintf(text, n, "%.400s%s%s%s", facts->label, place[0] == 0 ? "" : "  ",
                       facts->is_root ? "" : hs_field_arrow(view, facts->type, place), place);
}

/* Puts why the link counts for less behind `what`: "  [not counted: ...]". */
static void add_why(const struct hs_view *view, const struct hs_link *link, hs_node target,
                    unsigned tier, char *what, size_t n_bytes)
{
    bool counts = tier != HS_TIER_NONE && tier <= hs_index_tier(view->index, target);
    char why[HS_WHY_BYTES];
    size_t n = strlen(what);
    hs_why_text(view, link->reason, counts, why);
    if (why[0] != '\0')
        (void)snprintf(what + n, n_bytes - n, "  [%s]", why);
}

hs_status hs_object_put_link(struct hs_sink *sink, const struct hs_surroundings *around,
                             bool with_why, const char *relation, const struct hs_link *link,
                             struct hs_error *err)
{
    struct hs_view *view = around->view;
    struct hs_node_facts facts;
    char place[HS_FIELD_NAME_BYTES], what[512 + HS_FIELD_NAME_BYTES + HS_WHY_BYTES];
    char rule[HS_WHY_BYTES];
    bool is_out = strcmp(relation, HS_POINTS_TO) == 0;
    bool is_edge = link->edge_class < HS_N_EDGE_CLASSES;
    bool has_offset = is_edge && link->offset_words != HS_NO_OFFSET;
    unsigned tier = HS_TIER_NONE;
    HS_TRY(hs_surroundings_place(around, link, is_out, place, err));
    if (is_edge)
        HS_TRY(hs_link_tier(view, is_out ? around->facts.node : link->other, link->edge_class,
                            &tier, err));
    HS_TRY(hs_view_facts(view, link->other, &facts, err));
    struct line line = {
        .relation = relation,
        .field = has_offset ? link->offset_words : HS_UNKNOWN,
        .offset = has_offset ? link->offset_words * view->facts->word_bytes : HS_UNKNOWN,
        .place = hs_or_null(place),
        .class = is_edge ? hs_edge_class_name(link->edge_class) : NULL,
        .tier = hs_tier_name(tier),
        .rule = is_edge ? hs_why_rule(view, link->reason, rule) : NULL,
        .id = link->other,
        .address = hs_or_unknown(facts.address),
        .name = facts.is_root ? facts.label : NULL,
        .type = facts.is_root ? NULL : facts.label,
        .words = facts.words,
        .retained_words = hs_index_retained(view->index, link->other).words,
        .what = what,
    };
    what_text(view, &facts, is_out, place, what, sizeof what);
    if (with_why)
        add_why(view, link, is_out ? link->other : around->facts.node, tier, what, sizeof what);
    return hs_sink_row(sink, &line, err);
}

hs_status hs_object_put_node(struct hs_sink *sink, struct hs_view *view, const char *relation,
                             hs_node node, struct hs_error *err)
{
    const struct hs_surroundings around = {.view = view};
    const struct hs_link no_edge = {node, HS_NO_OFFSET, HS_N_EDGE_CLASSES, HS_REASON_NONE};
    return hs_object_put_link(sink, &around, false, relation, &no_edge, err);
}

hs_status hs_object_put_more(struct hs_sink *sink, const char *relation, uint64_t n,
                             struct hs_error *err)
{
    char text[48];
    if (n == 0 || sink->json != NULL)
        return HS_OK;
    (void)snprintf(text, sizeof text, "[%lu more]", (unsigned long)n);
    const struct line line = {.relation = relation,
                              .field = HS_UNKNOWN,
                              .id = HS_UNKNOWN,
                              .address = HS_UNKNOWN,
                              .words = HS_UNKNOWN,
                              .retained_words = HS_UNKNOWN,
                              .what = text};
    return hs_sink_row(sink, &line, err);
}

/* ---- containers */

struct container_row {
    uint64_t id, address, entries, room;
    const char *place, *type, *element;
};
#undef HS_ROW
#define HS_ROW struct container_row
static const struct hs_field container_fields[] = {
    HS_FIELD(STRING, place), HS_FIELD(NODE, id),        HS_FIELD(ADDRESS, address),
    HS_FIELD(STRING, type),  HS_FIELD(STRING, element), HS_FIELD(COUNT, entries),
    HS_FIELD(COUNT, room),
};
const struct hs_record hs_container_record = HS_RECORD(container_fields);

static hs_status put_container_line(struct hs_sink *sink, struct hs_view *view,
                                    const struct hs_node_facts *body,
                                    const struct hs_container *container, struct hs_error *err)
{
    char number[HS_CONTAINER_TEXT_BYTES];
    char what[HS_FIELD_NAME_BYTES + HS_CONTAINER_NAME_BYTES + HS_CONTAINER_TEXT_BYTES];
    bool has_place = container->place[0] != '\0', has_name = container->name[0] != '\0';
    hs_container_text(container, number);
    (void)snprintf(what, sizeof what, "%s%s%s%s%s", container->place, has_place ? ": " : "",
                   container->name, has_name ? ": " : "", number);
    const struct line line = {
        .relation = "container",
        .field = HS_UNKNOWN,
        .offset = HS_UNKNOWN,
        .id = container->body,
        .address = hs_or_unknown(body->address),
        .words = body->words,
        .retained_words = hs_index_retained(view->index, container->body).words,
        .what = what,
    };
    return hs_sink_row(sink, &line, err);
}

hs_status hs_object_put_container(struct hs_sink *sink, struct hs_view *view,
                                  const struct hs_container *container, struct hs_error *err)
{
    struct hs_node_facts body;
    HS_TRY(hs_view_facts(view, container->body, &body, err));
    if (sink->json == NULL)
        return put_container_line(sink, view, &body, container, err);
    const struct container_row row = {
        .id = container->body,
        .address = hs_or_unknown(body.address),
        .entries = container->entries,
        .room = container->room == HS_NO_ROOM ? HS_UNKNOWN : container->room,
        .place = hs_or_null(container->place),
        .type = hs_or_null(container->name),
        .element = hs_or_null(container->element),
    };
    return hs_sink_row(sink, &row, err);
}
