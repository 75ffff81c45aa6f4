/* object: one node, with its fields, who points to it, its dominators and what it dominates. */
#include <stdio.h>

#include "base/alloc.h"
#include "commands.h"
#include "neighbours.h"
#include "root_json.h"
#include "what.h"

struct object {
    struct hs_view *view;
    struct hs_node_facts facts;
    struct hs_links out, in;
    uint64_t limit;     /* rows of each list */
    uint64_t n_more_in; /* sources beyond the limit */
};

/* ---- JSON */

static hs_status put_other(struct hs_json *json, struct hs_view *view, hs_node node,
                           struct hs_error *err)
{
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, node, &facts, err));
    hs_json_node(json, "id", node);
    if (facts.address != 0)
        hs_json_address(json, "address", facts.address);
    else
        hs_json_null(json, "address");
    hs_json_string(json, "name", facts.is_root ? facts.label : NULL);
    hs_json_string(json, "type", facts.is_root ? NULL : facts.label);
    hs_json_u64(json, "words", facts.words);
    hs_json_u64(json, "retained_words", hs_index_retained(view->index, (uint32_t)node).words);
    return HS_OK;
}

static hs_status put_links(struct hs_json *json, const char *key, const struct object *object,
                           const struct hs_links *links, struct hs_error *err)
{
    uint64_t word_bytes = object->view->facts->word_bytes;
    hs_json_begin_array(json, key, HS_JSON_BLOCK);
    for (size_t i = 0; i < links->n && i < object->limit; i++) {
        const struct hs_link *link = &links->links[i];
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        if (link->offset_words == HS_NO_OFFSET) {
            hs_json_null(json, "field");
            hs_json_null(json, "offset");
        } else {
            hs_json_u64(json, "field", link->offset_words);
            hs_json_u64(json, "offset", link->offset_words * word_bytes);
        }
        hs_json_string(json, "class", hs_edge_class_name(link->edge_class));
        HS_TRY(put_other(json, object->view, link->other, err));
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
    return HS_OK;
}

static hs_status put_dominators(struct hs_json *json, const struct object *object,
                                struct hs_error *err)
{
    const struct hs_index *index = object->view->index;
    uint32_t node = hs_index_idom(index, (uint32_t)object->facts.node);
    hs_json_begin_array(json, "dominators", HS_JSON_BLOCK);
    for (uint64_t n = 0; node != HS_NONE && n < object->limit; n++) {
        if (n == object->view->n_nodes)
            return hs_view_fail_circle(object->view, err);
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        HS_TRY(put_other(json, object->view, node, err));
        hs_json_end_object(json);
        node = hs_index_idom(index, node);
    }
    hs_json_end_array(json);
    uint32_t n;
    const uint32_t *children = hs_index_dominated(index, (uint32_t)object->facts.node, &n);
    hs_json_u64(json, "n_dominated", n);
    hs_json_begin_array(json, "dominated", HS_JSON_BLOCK);
    for (uint32_t i = 0; i < n && i < object->limit; i++) {
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        HS_TRY(put_other(json, object->view, children[i], err));
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
    return HS_OK;
}

static void put_samples(struct hs_json *json, const struct object *object)
{
    const struct hs_view *view = object->view;
    hs_json_begin_array(json, "samples", HS_JSON_LINE);
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        if (sample->node == object->facts.node)
            hs_json_u64(json, NULL, sample->id);
    }
    hs_json_end_array(json);
}

static hs_status put_object(struct hs_json *json, const struct object *object, struct hs_error *err)
{
    const struct hs_view *view = object->view;
    uint32_t node = (uint32_t)object->facts.node;
    struct hs_sizes retained = hs_index_retained(view->index, node);
    hs_node root = hs_view_retaining_root(view, node);
    hs_json_begin_object(json, "object", HS_JSON_BLOCK);
    HS_TRY(put_other(json, object->view, node, err));
    hs_json_bool(json, "static", object->facts.is_static);
    hs_json_bool(json, "young", object->facts.is_young);
    hs_json_bool(json, "reached", hs_index_is_reached(view->index, node));
    hs_json_u64(json, "retained_objects", retained.objects);
    hs_json_u64(json, "static_retained_words", retained.static_words);
    if (root != HS_NO_NODE) {
        struct hs_root_row row = hs_root_row_of(view, root);
        hs_root_json(json, "root", view, &row);
    } else {
        hs_json_null(json, "root");
    }
    put_samples(json, object);
    hs_json_end_object(json);
    return HS_OK;
}

static hs_status print_json(struct hs_tool *tool, const struct object *object, bool is_compact,
                            struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, is_compact ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.object/1");
    hs_json_string(&json, "snapshot", object->view->path);
    HS_TRY(put_object(&json, object, err));
    HS_TRY(put_links(&json, "fields", object, &object->out, err));
    HS_TRY(put_links(&json, "referrers", object, &object->in, err));
    hs_json_u64(&json, "more_referrers", object->n_more_in);
    HS_TRY(put_dominators(&json, object, err));
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

/* ---- table */

static const struct hs_column columns[] = {
    {"relation", "", HS_COLUMN_STRING, 0},
    {"field", "FIELD", HS_COLUMN_COUNT, 0},
    {"class", "CLASS", HS_COLUMN_STRING, 0},
    {"id", "ID", HS_COLUMN_NODE, 0},
    {"address", "ADDRESS", HS_COLUMN_ADDRESS, 0},
    {"words", "WORDS", HS_COLUMN_WORDS, 0},
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"what", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};

static hs_status put_line(struct hs_sheet *sheet, struct hs_view *view, const char *relation,
                          const struct hs_link *link, struct hs_error *err)
{
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, link->other, &facts, err));
    bool is_edge = link->edge_class < HS_N_EDGE_CLASSES;
    hs_sheet_string(sheet, relation);
    if (!is_edge || link->offset_words == HS_NO_OFFSET)
        hs_sheet_null(sheet);
    else
        hs_sheet_u64(sheet, link->offset_words);
    hs_sheet_string(sheet, is_edge ? hs_edge_class_name(link->edge_class) : NULL);
    hs_sheet_u64(sheet, link->other);
    if (facts.address != 0)
        hs_sheet_u64(sheet, facts.address);
    else
        hs_sheet_null(sheet);
    hs_sheet_u64(sheet, facts.words);
    hs_sheet_u64(sheet, hs_index_retained(view->index, (uint32_t)link->other).words);
    hs_sheet_string(sheet, facts.label);
    return HS_OK;
}

/* A relation that is not an edge. */
static struct hs_link plain(hs_node other)
{
    return (struct hs_link){other, HS_NO_OFFSET, HS_N_EDGE_CLASSES};
}

static void put_more(struct hs_sheet *sheet, const char *relation, uint64_t n)
{
    char text[48];
    if (n == 0)
        return;
    (void)snprintf(text, sizeof text, "[%lu more]", (unsigned long)n);
    hs_sheet_string(sheet, relation);
    for (size_t i = 1; i + 1 < sizeof columns / sizeof *columns; i++)
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, text);
}

static hs_status put_link_lines(struct hs_sheet *sheet, const struct object *object,
                                const char *relation, const struct hs_links *links, uint64_t n_more,
                                struct hs_error *err)
{
    for (size_t i = 0; i < links->n && i < object->limit; i++)
        HS_TRY(put_line(sheet, object->view, relation, &links->links[i], err));
    uint64_t n_cut = links->n > object->limit ? links->n - object->limit : 0;
    put_more(sheet, relation, n_more + n_cut);
    return HS_OK;
}

static hs_status put_tree_lines(struct hs_sheet *sheet, const struct object *object,
                                struct hs_error *err)
{
    const struct hs_index *index = object->view->index;
    uint32_t node = (uint32_t)object->facts.node;
    uint32_t above = hs_index_idom(index, node);
    uint64_t n_above = 0;
    for (; above != HS_NONE && n_above < object->limit; n_above++) {
        if (n_above == object->view->n_nodes)
            return hs_view_fail_circle(object->view, err);
        struct hs_link link = plain(above);
        HS_TRY(put_line(sheet, object->view, "dominator", &link, err));
        above = hs_index_idom(index, above);
    }
    uint32_t n;
    const uint32_t *children = hs_index_dominated(index, node, &n);
    for (uint32_t i = 0; i < n && i < object->limit; i++) {
        struct hs_link link = plain(children[i]);
        HS_TRY(put_line(sheet, object->view, "dominates", &link, err));
    }
    put_more(sheet, "dominates", n > object->limit ? n - object->limit : 0);
    return HS_OK;
}

static hs_status put_lines(struct hs_sheet *sheet, const struct object *object,
                           struct hs_error *err)
{
    struct hs_link self = plain(object->facts.node);
    HS_TRY(put_line(sheet, object->view, "object", &self, err));
    hs_node root = hs_view_retaining_root(object->view, object->facts.node);
    if (root != HS_NO_NODE) {
        struct hs_link link = plain(root);
        HS_TRY(put_line(sheet, object->view, "retained by", &link, err));
    }
    HS_TRY(put_link_lines(sheet, object, "points to", &object->out, 0, err));
    HS_TRY(put_link_lines(sheet, object, "held by", &object->in, object->n_more_in, err));
    return put_tree_lines(sheet, object, err);
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             const struct object *object, struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.word_bytes = object->view->facts->word_bytes;
    options.no_total = true;
    options.limit = 0; /* -n limits each list */
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    hs_status status = put_lines(&sheet, object, err);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

/* All that will be shown, looked up at once: a hub has millions of neighbours all over the heap. */
static hs_status keep_neighbours(struct object *object, struct hs_error *err)
{
    uint32_t n_children;
    const uint32_t *children =
        hs_index_dominated(object->view->index, (uint32_t)object->facts.node, &n_children);
    hs_auto_free hs_node *nodes = NULL;
    size_t n = 0, capacity = object->out.n + object->in.n + n_children;
    HS_TRY(hs_alloc(capacity, sizeof *nodes, (void **)&nodes, err));
    for (size_t i = 0; i < object->out.n && i < object->limit; i++)
        nodes[n++] = object->out.links[i].other;
    for (size_t i = 0; i < object->in.n && i < object->limit; i++)
        nodes[n++] = object->in.links[i].other;
    for (size_t i = 0; i < n_children && i < object->limit; i++)
        nodes[n++] = children[i];
    return hs_view_keep_facts(object->view, nodes, n, err);
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct object *object,
                     struct hs_error *err)
{
    struct hs_view *view = object->view;
    struct hs_what what;
    HS_TRY(hs_what_find(view, inv->arguments[1], &what, err));
    hs_node node = what.nodes[0];
    HS_TRY(hs_view_facts(view, node, &object->facts, err));
    HS_TRY(hs_links_out(view, node, &object->out, err));
    HS_TRY(hs_links_in(view, node, object->limit, &object->in, &object->n_more_in, err));
    HS_TRY(keep_neighbours(object, err));
    enum hs_format format = hs_tool_format(inv);
    if (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON)
        return print_json(tool, object, format == HS_FORMAT_NDJSON, err);
    return print_sheet(tool, inv, object, err);
}

hs_status hs_cmd_object(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_view view = {0};
    HS_TRY(hs_view_open(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    struct object object = {.view = &view, .limit = hs_tool_rows(inv)};
    hs_status status = run(tool, inv, &object, err);
    hs_links_fini(&object.out);
    hs_links_fini(&object.in);
    hs_view_close(&view);
    return status;
}
