/* export --to graph: nodes.tsv and edges.tsv, the door for custom analyses. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "access.h"
#include "analysis/chunk_pass.h"
#include "analysis/view.h"
#include "base/buffer.h"
#include "exporters.h"
#include "look/open_view.h"

/* A line has at most five numbers of 20 digits, an address and short words, beside the type name.
 */
enum { LINE_BYTES = 256, FLUSH_BYTES = 1 << 20 };

/* The rule by which edges take part in the dominator tree. */
struct rule {
    struct hs_view *view;
    struct hs_bitmap pointers_in; /* by type, of --pointers-in */
};

struct table {
    struct hs_out out;
    struct hs_buffer buffer;
};

static hs_status table_open(const struct hs_tool *tool, const char *directory, const char *name,
                            const char *header, struct table *ret, struct hs_error *err)
{
    char path[PATH_MAX];
    if (snprintf(path, sizeof path, "%s/%s", directory, name) >= (int)sizeof path)
        return hs_fail(err, HS_USAGE, "the name '%s' is too long", directory);
    HS_TRY(hs_out_open_path_as(path, &tool->access, &ret->out, err));
    return hs_print(&ret->out, err, "%s\n", header);
}

static hs_status table_room(struct table *table, size_t more, struct hs_error *err)
{
    if (table->buffer.n_bytes >= FLUSH_BYTES) {
        HS_TRY(hs_out_write(&table->out, table->buffer.bytes, table->buffer.n_bytes, err));
        table->buffer.n_bytes = 0;
    }
    return hs_buffer_reserve(&table->buffer, more, err);
}

static hs_status table_commit(struct table *table, struct hs_error *err)
{
    HS_TRY(hs_out_write(&table->out, table->buffer.bytes, table->buffer.n_bytes, err));
    return hs_out_commit(&table->out, err);
}

static void table_close(struct table *table)
{
    hs_out_close(&table->out);
    hs_buffer_fini(&table->buffer);
}

/* A hostile name must neither break the table's lines nor a terminal that shows them. */
static hs_status put_label(struct table *table, const char *label, struct hs_error *err)
{
    HS_TRY(hs_text_sanitise(label, strlen(label), HS_TEXT_TSV, &table->buffer, err));
    HS_TRY(table_room(table, LINE_BYTES, err));
    hs_buffer_put_u8(&table->buffer, '\t');
    return HS_OK;
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

static void put_address(struct hs_buffer *buffer, hs_addr address)
{
    char text[24];
    int n = snprintf(text, sizeof text, "0x%lx\t", (unsigned long)address);
    hs_buffer_put_bytes(buffer, text, (size_t)n);
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

/* Strong edges of nodes that are reached, unless they would reach a node at a higher tier than it
 * has. */
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

static hs_status put_node(const struct rule *rule, struct table *table,
                          const struct hs_node_facts *facts, struct hs_error *err)
{
    const struct hs_view *view = rule->view;
    HS_TRY(table_room(table, LINE_BYTES, err));
    struct hs_buffer *buffer = &table->buffer;
    hs_node node = facts->node, idom = hs_index_idom(view->index, node);
    put_number(buffer, node, '\t');
    put_address(buffer, facts->address);
    put_number(buffer, facts->words, '\t');
    put_number(buffer, facts->is_static, '\t');
    HS_TRY(put_label(table, facts->label, err));
    if (idom == HS_NO_NODE)
        hs_buffer_put_bytes(buffer, "-\t", 2);
    else
        put_number(buffer, idom, '\t');
    put_number(buffer, hs_index_retained(view->index, node).words, '\t');
    put_tier(buffer, hs_index_tier(view->index, node), '\n');
    return HS_OK;
}

/* One edge as the table has it. */
struct edge {
    hs_node from, to;
    uint64_t offset_bytes;
    bool is_strong;
    unsigned edge_class, tier;
};

static hs_status put_edge(const struct rule *rule, struct table *table, const struct edge *edge,
                          struct hs_error *err)
{
    HS_TRY(table_room(table, LINE_BYTES, err));
    struct hs_buffer *buffer = &table->buffer;
    const char *name = hs_edge_class_name(edge->edge_class);
    put_number(buffer, edge->from, '\t');
    put_number(buffer, edge->to, '\t');
    put_number(buffer, edge->offset_bytes, '\t');
    hs_buffer_put_bytes(buffer, edge->is_strong ? "strong\t" : "weak\t", edge->is_strong ? 7 : 5);
    hs_buffer_put_bytes(buffer, name, strlen(name));
    hs_buffer_put_u8(buffer, '\t');
    put_tier(buffer, edge->tier, '\t');
    put_number(buffer, edge->is_strong && rule_uses(rule, edge->from, edge->to, edge->tier), '\n');
    return HS_OK;
}

static hs_status export_tree(const struct rule *rule, struct table *nodes, struct table *edges,
                             struct hs_error *err)
{
    struct hs_view *view = rule->view;
    for (hs_node node = 0; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, node, &facts, err));
        HS_TRY(put_node(rule, nodes, &facts, err));
        const struct edge below = {
            .from = root->parent, .to = node, .is_strong = true, .tier = root->tier};
        const struct edge held = {.from = node,
                                  .to = root->target,
                                  .is_strong = !root->weak,
                                  .edge_class = root->weak ? HS_EDGE_WEAK : root->edge_class,
                                  .tier = root->weak ? 0 : hs_edge_tier(root->edge_class)};
        if (node != 0)
            HS_TRY(put_edge(rule, edges, &below, err));
        if (root->target != HS_NO_NODE)
            HS_TRY(put_edge(rule, edges, &held, err));
    }
    return HS_OK;
}

static hs_status export_rows(const struct rule *rule, const struct hs_chunk *chunk, uint32_t block,
                             struct table *edges, struct hs_error *err)
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
        HS_TRY(put_edge(rule, edges, &edge, err));
    }
    return HS_OK;
}

static hs_status export_chunk(const struct rule *rule, const struct hs_chunk *chunk,
                              struct table *nodes, struct table *edges, struct hs_error *err)
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
        HS_TRY(put_node(rule, nodes, &facts, err));
        HS_TRY(export_rows(rule, chunk, i, edges, err));
    }
    for (uint64_t e = 0; e < chunk->n_extra; e++) {
        const struct hs_extra_edge *extra = &chunk->extra[e];
        const struct edge edge = {.from = extra->source,
                                  .to = extra->target,
                                  .offset_bytes = extra->offset_words * word_bytes,
                                  .is_strong = extra->edge_class == HS_EDGE_EPHEMERON,
                                  .edge_class = extra->edge_class};
        HS_TRY(put_edge(rule, edges, &edge, err));
    }
    return HS_OK;
}

static hs_status export_graph(const struct rule *rule, struct table *nodes, struct table *edges,
                              struct hs_error *err)
{
    struct hs_view *view = rule->view;
    HS_TRY(export_tree(rule, nodes, edges, err));
    struct hs_chunk_pass pass = hs_chunk_pass_of(view, HS_COL_ALL, "exporting");
    while (hs_chunk_pass_next(&pass, err))
        pass.status = export_chunk(rule, &pass.chunk, nodes, edges, err);
    HS_TRY(hs_view_check(view, hs_chunk_pass_end(&pass), err));
    HS_TRY(table_commit(nodes, err));
    return table_commit(edges, err);
}

static hs_status directory_set_access(const struct hs_tool *tool, const char *directory,
                                      struct hs_error *err)
{
    struct hs_out_access access = tool->access;
    access.mode = hs_access_directory_mode(&access);
    access.has_mode = true;
    int fd = open(directory, O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC);
    if (fd < 0)
        return hs_fail_errno(err, HS_IO, "cannot open the directory '%s'", directory);
    hs_status status = hs_out_access_apply(fd, &access, directory, err);
    (void)close(fd);
    return status;
}

/* One that is there stays as it is. */
static hs_status make_directory(const struct hs_tool *tool, const char *directory,
                                struct hs_error *err)
{
    bool is_new = mkdir(directory, 0700) == 0;
    if (!is_new && errno != EEXIST)
        return hs_fail_errno(err, HS_IO, "cannot make the directory '%s'", directory);
    return is_new ? directory_set_access(tool, directory, err) : HS_OK;
}

hs_status hs_export_graph(struct hs_tool *tool, const struct hs_invocation *inv,
                          struct hs_error *err)
{
    const char *directory = inv->text[HS_OPT_DIRECTORY];
    struct hs_view view = {0};
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    struct table nodes = {0}, edges = {0};
    struct rule rule = {.view = &view};
    hs_status status = make_directory(tool, directory, err);
    if (status == HS_OK)
        status =
            table_open(tool, directory, "nodes.tsv",
                       "id\taddress\twords\tstatic\ttype\tidom\tretained_words\ttier", &nodes, err);
    if (status == HS_OK)
        status = table_open(tool, directory, "edges.tsv",
                            "from\tto\toffset\tstrength\tclass\ttier\tused", &edges, err);
    if (status == HS_OK)
        status = rule_open(&view, &rule, err);
    if (status == HS_OK)
        status = export_graph(&rule, &nodes, &edges, err);
    hs_bitmap_fini(&rule.pointers_in);
    table_close(&nodes);
    table_close(&edges);
    return hs_view_finish(&view, status, err);
}
