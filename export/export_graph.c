/* export --to graph: nodes.tsv and edges.tsv, the door for custom analyses. */
#include <limits.h>
#include <stdio.h>
#include <string.h>

#include "analysis/chunk_pass.h"
#include "export/exporter.h"
#include "pen.h"

/* A line has at most five numbers of 20 digits, an address and short words, beside the type name.
 */
enum { LINE_BYTES = 256 };

/* The rule by which edges take part in the dominator tree. */
struct rule {
    struct hs_view *view;
    struct hs_bitmap pointers_in; /* by type, of --pointers-in */
};

struct table {
    struct hs_out out;
    struct hs_pen pen;
};

static hs_status table_open(const struct hs_view *view, const char *directory, const char *name,
                            struct table *ret, struct hs_error *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return hs_fail(err, HS_USAGE, "the name '%s' is too long", directory);
    ret->pen = hs_pen_of(&ret->out);
    return hs_out_open_path_as(path, view->session.access, &ret->out, err);
}

static void put_number(struct hs_buffer *buffer, uint64_t number, char end)
{
    char digits[24];
    size_t at = sizeof digits;
    digits[--at] = end;
    do
        digits[--at] = (char)('0' + number % 10);
    while ((number /= 10) != 0);
    hs_buffer_put_bytes(buffer, digits + at, sizeof digits - at);
}

static hs_status rule_open(struct hs_view *view, struct rule *rule, struct hs_error *err)
{
    const struct hs_policy *policy = &view->session.policy;

    HS_TRY(hs_bitmap_init(&rule->pointers_in, view->totals->n_types, err));
    for (uint32_t i = 0; i < view->totals->n_types; i++)
        for (size_t k = 0; k < policy->n_pointers_in; k++)
            if (strcmp(hs_view_string(view, hs_snap_type(view->snap, i)->name),
                       policy->pointers_in[k]) == 0)
                hs_bitmap_set(&rule->pointers_in, i);
    return HS_OK;
}

static unsigned rule_edge_tier(const struct rule *rule, uint32_t type, unsigned edge_class)
{
    return hs_bitmap_get(&rule->pointers_in, type) ? HS_TIER_FIRM : hs_edge_tier(edge_class);
}

/* Tells whether the rule uses an edge: strong edges of nodes that are reached, unless they would
 * reach a node at a higher tier than it has. */
static bool rule_uses(const struct rule *rule, hs_node from, hs_node to, unsigned tier)
{
    struct hs_index *index = rule->view->index;
    unsigned own = hs_index_tier(index, from);
    if (own == HS_TIER_NONE || hs_index_policy(index) == HS_POLICY_CONSERVATIVE)
        return own != HS_TIER_NONE;
    return (own > tier ? own : tier) <= hs_index_tier(index, to);
}

static void put_tier(struct hs_buffer *buffer, unsigned tier, char end)
{
    hs_buffer_put_u8(buffer, tier == HS_TIER_NONE ? '-' : (uint8_t)('0' + tier));
    hs_buffer_put_u8(buffer, (uint8_t)end);
}

static void put_node(const struct rule *rule, struct hs_pen *pen, const struct hs_node_facts *facts)
{
    const struct hs_view *view = rule->view;
    hs_node node = facts->node, idom = hs_index_idom(view->index, node);
    hs_pen_number(pen, node);
    hs_pen_text(pen, "\t0x");
    hs_pen_hex(pen, facts->address);
    hs_pen_byte(pen, '\t');
    hs_pen_number(pen, facts->words);
    hs_pen_text(pen, facts->is_static ? "\t1\t" : "\t0\t");
    hs_pen_clean(pen, facts->label, HS_TEXT_TSV);
    if (!hs_pen_room(pen, LINE_BYTES))
        return;
    hs_buffer_put_u8(&pen->buffer, '\t');
    if (idom == HS_NO_NODE)
        hs_buffer_put_bytes(&pen->buffer, "-\t", 2);
    else
        put_number(&pen->buffer, idom, '\t');
    put_number(&pen->buffer, hs_index_retained(view->index, node).words, '\t');
    put_tier(&pen->buffer, hs_index_tier(view->index, node), '\n');
}

/* An edge as the table has it. */
struct edge {
    hs_node from, to;
    uint64_t offset_bytes;
    bool is_strong;
    unsigned edge_class, tier;
};

static void put_edge(const struct rule *rule, struct hs_pen *pen, const struct edge *edge)
{
    if (!hs_pen_room(pen, LINE_BYTES))
        return;
    struct hs_buffer *buffer = &pen->buffer;
    const char *name = hs_edge_class_name(edge->edge_class);
    put_number(buffer, edge->from, '\t');
    put_number(buffer, edge->to, '\t');
    put_number(buffer, edge->offset_bytes, '\t');
    hs_buffer_put_bytes(buffer, edge->is_strong ? "strong\t" : "weak\t", edge->is_strong ? 7 : 5);
    hs_buffer_put_bytes(buffer, name, strlen(name));
    hs_buffer_put_u8(buffer, '\t');
    put_tier(buffer, edge->tier, '\t');
    put_number(buffer, edge->is_strong && rule_uses(rule, edge->from, edge->to, edge->tier), '\n');
}

static hs_status export_tree(const struct rule *rule, struct hs_pen *nodes, struct hs_pen *edges,
                             struct hs_error *err)
{
    struct hs_view *view = rule->view;
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, node, &facts, err));
        put_node(rule, nodes, &facts);
        const struct edge below = {
            .from = root->parent, .to = node, .is_strong = true, .tier = root->tier};
        const struct edge held = {.from = node,
                                  .to = root->target,
                                  .is_strong = !root->weak,
                                  .edge_class = root->weak ? HS_EDGE_WEAK : root->edge_class,
                                  .tier = root->weak ? 0 : hs_edge_tier(root->edge_class)};
        if (node != 0)
            put_edge(rule, edges, &below);
        if (root->target != HS_NO_NODE)
            put_edge(rule, edges, &held);
    }
    return HS_OK;
}

static void export_rows(const struct rule *rule, const struct hs_chunk *chunk, uint32_t block,
                        struct hs_pen *edges)
{
    uint64_t word_bytes = rule->view->facts->word_bytes;
    for (uint64_t e = chunk->edge_begin[block]; e < chunk->edge_begin[block + 1]; e++) {
        unsigned edge_class = chunk->edge_class[e];
        const struct edge edge = {.from = chunk->first + block,
                                  .to = chunk->target[e],
                                  .offset_bytes = chunk->offset_words[e] * word_bytes,
                                  .is_strong = true,
                                  .edge_class = edge_class,
                                  .tier = rule_edge_tier(rule, chunk->type[block], edge_class)};
        put_edge(rule, edges, &edge);
    }
}

static void export_chunk(const struct rule *rule, const struct hs_chunk *chunk,
                         struct hs_pen *nodes, struct hs_pen *edges)
{
    const struct hs_view *view = rule->view;
    uint64_t word_bytes = view->facts->word_bytes;
    for (uint32_t i = 0; i < chunk->n_blocks; i++) {
        const struct hs_type *type = hs_snap_type(view->snap, chunk->type[i]);
        struct hs_node_facts facts = {
            .node = chunk->first + i,
            .is_static = chunk->state[i] & HS_BLOCK_STATIC,
            .address = chunk->address[i],
            .words = chunk->words[i],
            .label = hs_view_string(view, type->name),
        };
        put_node(rule, nodes, &facts);
        export_rows(rule, chunk, i, edges);
    }
    for (uint64_t e = 0; e < chunk->n_extra; e++) {
        const struct hs_extra_edge *extra = &chunk->extra[e];
        const struct edge edge = {.from = extra->source,
                                  .to = extra->target,
                                  .offset_bytes = extra->offset_words * word_bytes,
                                  .is_strong = extra->edge_class == HS_EDGE_EPHEMERON,
                                  .edge_class = extra->edge_class};
        put_edge(rule, edges, &edge);
    }
}

static hs_status export_all(const struct rule *rule, struct hs_pen *nodes, struct hs_pen *edges,
                            struct hs_error *err)
{
    hs_pen_text(nodes, "id\taddress\twords\tstatic\ttype\tidom\tretained_words\ttier\n");
    hs_pen_text(edges, "from\tto\toffset\tstrength\tclass\ttier\tused\n");
    HS_TRY(export_tree(rule, nodes, edges, err));
    struct hs_chunk_pass pass = hs_chunk_pass_of(rule->view, HS_COL_ALL, "exporting");
    while (hs_pen_ok(nodes) && hs_pen_ok(edges) && hs_chunk_pass_next(&pass, err))
        export_chunk(rule, &pass.chunk, nodes, edges);
    return hs_view_check(rule->view, hs_chunk_pass_end(&pass), err);
}

/* Writes both tables, each of which is whole under its name, or absent. */
static hs_status export_tables(const struct rule *rule, struct table *nodes, struct table *edges,
                               struct hs_error *err)
{
    hs_status status = export_all(rule, &nodes->pen, &edges->pen, err);
    status = hs_pen_finish(&nodes->pen, status, err);
    HS_TRY(hs_pen_finish(&edges->pen, status, err));
    HS_TRY(hs_out_commit(&nodes->out, err));
    return hs_out_commit(&edges->out, err);
}

static hs_status export_graph(struct hs_view *view, const struct hs_export_target *target,
                              struct hs_error *err)
{
    struct table nodes = {0}, edges = {0};
    struct rule rule = {.view = view};
    hs_status status = table_open(view, target->directory, "nodes.tsv", &nodes, err);
    if (status == HS_OK)
        status = table_open(view, target->directory, "edges.tsv", &edges, err);
    if (status == HS_OK)
        status = rule_open(view, &rule, err);
    if (status == HS_OK)
        status = export_tables(&rule, &nodes, &edges, err);
    hs_bitmap_fini(&rule.pointers_in);
    hs_out_close(&nodes.out);
    hs_out_close(&edges.out);
    return status;
}

const struct hs_exporter hs_exporter_graph = {
    .needs = HS_VIEW_INDEX,
    .makes_directory = true,
    .write = export_graph,
};
