/* object: one node, with its fields, who points to it, its dominators and what it dominates. */
#include <stdio.h>
#include <string.h>

#include "analysis/field_path.h"
#include "analysis/object_lookup.h"
#include "analysis/surroundings.h"
#include "commands.h"
#include "open_view.h"
#include "root_json.h"
#include "sample_print.h"
#include "set_object.h"

struct object {
    struct hs_surroundings around;
    struct hs_sample_join join;
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
    hs_json_u64(json, "retained_words", hs_index_retained(view->index, node).words);
    return HS_OK;
}

/* Links up to `most`. */
static hs_status put_links(struct hs_json *json, const struct object *object,
                           const struct hs_links *links, uint64_t most, struct hs_error *err)
{
    uint64_t word_bytes = object->around.view->facts->word_bytes;
    char place[HS_FIELD_NAME_BYTES];
    for (size_t i = 0; i < links->n && i < most; i++) {
        const struct hs_link *link = &links->links[i];
        HS_TRY(hs_surroundings_keep_links(&object->around, links, i, err));
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        if (link->offset_words == HS_NO_OFFSET) {
            hs_json_null(json, "field");
            hs_json_null(json, "offset");
        } else {
            hs_json_u64(json, "field", link->offset_words);
            hs_json_u64(json, "offset", link->offset_words * word_bytes);
        }
        HS_TRY(
            hs_surroundings_place(&object->around, link, links == &object->around.out, place, err));
        hs_json_string(json, "place", hs_or_null(place));
        unsigned tier;
        bool is_out = links == &object->around.out;
        hs_node source = is_out ? object->around.facts.node : link->other;
        HS_TRY(hs_link_tier(object->around.view, source, link->edge_class, &tier, err));
        hs_json_string(json, "class", hs_edge_class_name(link->edge_class));
        hs_json_string(json, "tier", hs_tier_name(tier));
        HS_TRY(put_other(json, object->around.view, link->other, err));
        hs_json_end_object(json);
    }
    return HS_OK;
}

static hs_status put_all_links(struct hs_json *json, struct object *object, struct hs_error *err)
{
    struct hs_referrers referrers =
        hs_referrers_of(object->around.view, object->around.facts.node, object->around.limit);
    hs_json_begin_array(json, "fields", HS_JSON_BLOCK);
    HS_TRY(put_links(json, object, &object->around.out, object->around.limit, err));
    hs_json_end_array(json);
    hs_json_begin_array(json, "referrers", HS_JSON_BLOCK);
    for (uint64_t left = object->around.limit;;) {
        HS_TRY(hs_referrers_next(&referrers, object->around.piece, &object->around.in, err));
        if (object->around.in.n == 0)
            break;
        HS_TRY(put_links(json, object, &object->around.in, left, err));
        left -= object->around.in.n < left ? object->around.in.n : left;
    }
    hs_json_end_array(json);
    hs_json_u64(json, "more_referrers", referrers.n_more);
    return HS_OK;
}

static hs_status put_dominators(struct hs_json *json, const struct object *object,
                                struct hs_error *err)
{
    struct hs_index *index = object->around.view->index;
    hs_node node = hs_index_idom(index, object->around.facts.node);
    hs_json_begin_array(json, "dominators", HS_JSON_BLOCK);
    for (uint64_t n = 0; node != HS_NO_NODE && n < object->around.limit; n++) {
        if (n == object->around.view->n_nodes)
            return hs_view_fail_circle(object->around.view, err);
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        HS_TRY(put_other(json, object->around.view, node, err));
        hs_json_end_object(json);
        node = hs_index_idom(index, node);
    }
    hs_json_end_array(json);
    hs_json_u64(json, "n_dominated", object->around.n_children);
    hs_json_begin_array(json, "dominated", HS_JSON_BLOCK);
    for (uint64_t i = 0; i < object->around.n_shown; i++) {
        HS_TRY(hs_surroundings_keep_children(&object->around, i, err));
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        HS_TRY(put_other(json, object->around.view, object->around.children[i].node, err));
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
    return HS_OK;
}

/* Ids, then all that is known of them. */
static hs_status put_samples(struct hs_json *json, struct object *object, struct hs_error *err)
{
    const struct hs_view *view = object->around.view;
    hs_json_begin_array(json, "samples", HS_JSON_LINE);
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        if (sample->node == object->around.facts.node)
            hs_json_u64(json, NULL, sample->id);
    }
    hs_json_end_array(json);
    hs_json_begin_array(json, "sampled", HS_JSON_BLOCK);
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        if (sample->node == object->around.facts.node)
            HS_TRY(hs_sample_json(json, NULL, &object->join, sample, err));
    }
    hs_json_end_array(json);
    return HS_OK;
}

static hs_status put_object(struct hs_json *json, struct object *object, struct hs_error *err)
{
    const struct hs_view *view = object->around.view;
    hs_node node = object->around.facts.node;
    struct hs_sizes retained = hs_index_retained(view->index, node);
    hs_node root = hs_view_retaining_root(view, node);
    hs_json_begin_object(json, "object", HS_JSON_BLOCK);
    HS_TRY(put_other(json, object->around.view, node, err));
    hs_json_bool(json, "static", object->around.facts.is_static);
    hs_json_bool(json, "young", object->around.facts.is_young);
    hs_json_bool(json, "reached", hs_index_is_reached(view->index, node));
    hs_json_u64(json, "retained_objects", retained.objects);
    hs_json_u64(json, "static_retained_words", retained.static_words);
    if (root != HS_NO_NODE) {
        struct hs_root_row row = hs_root_row_of(view, root);
        hs_root_json(json, "root", view, &row);
    } else {
        hs_json_null(json, "root");
    }
    hs_set_object_json(json, "set", view, root == HS_NO_NODE ? hs_set_keeping(view, node) : 0,
                       object->around.limit);
    HS_TRY(put_samples(json, object, err));
    hs_json_end_object(json);
    return HS_OK;
}

static hs_status print_json(struct hs_tool *tool, struct object *object, bool is_compact,
                            struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, is_compact ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.object/1");
    hs_json_string(&json, "snapshot", object->around.view->path);
    HS_TRY(put_object(&json, object, err));
    HS_TRY(put_all_links(&json, object, err));
    HS_TRY(put_dominators(&json, object, err));
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

/* ---- table */

static const char out_relation[] = "points to";

static const struct hs_column columns[] = {
    {"relation", "", HS_COLUMN_STRING, 0},
    {"field", "FIELD", HS_COLUMN_NUMBER, 0},
    {"class", "CLASS", HS_COLUMN_STRING, 0},
    {"id", "ID", HS_COLUMN_NODE, 0},
    {"address", "ADDRESS", HS_COLUMN_ADDRESS, HS_COLUMN_SPARE(2)},
    {"words", "WORDS", HS_COLUMN_WORDS, HS_COLUMN_SPARE(1)},
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"what", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};

static hs_status put_line(struct hs_sheet *sheet, const struct object *object, const char *relation,
                          const struct hs_link *link, struct hs_error *err)
{
    struct hs_view *view = object->around.view;
    struct hs_node_facts facts;
    char place[HS_FIELD_NAME_BYTES], what[512 + HS_FIELD_NAME_BYTES];
    bool is_out = strcmp(relation, out_relation) == 0;
    HS_TRY(hs_view_facts(view, link->other, &facts, err));
    HS_TRY(hs_surroundings_place(&object->around, link, is_out, place, err));
    if (is_out)
        (void)snprintf(what, sizeof what, "%s%s%.400s", place, place[0] != 0 ? ": " : "",
                       facts.label);
    else
        (void)snprintf(what, sizeof what, "%.400s%s%s", facts.label,
                       place[0] == 0     ? ""
                       : place[0] == '[' ? "  "
                                         : "  ->",
                       place);
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
    hs_sheet_u64(sheet, hs_index_retained(view->index, link->other).words);
    hs_sheet_string(sheet, what);
    return HS_OK;
}

/* A relation that is not an edge. */
static struct hs_link plain(hs_node other)
{
    return (struct hs_link){other, HS_NO_OFFSET, HS_N_EDGE_CLASSES};
}

static hs_status put_link_lines(struct hs_sheet *sheet, const struct object *object,
                                const char *relation, const struct hs_links *links, uint64_t most,
                                struct hs_error *err)
{
    for (size_t i = 0; i < links->n && i < most; i++) {
        HS_TRY(hs_surroundings_keep_links(&object->around, links, i, err));
        HS_TRY(put_line(sheet, object, relation, &links->links[i], err));
    }
    return HS_OK;
}

/* Who points here: what is sure, or else what is in doubt. */
struct referrer_list {
    const char *relation;
    bool is_doubtful;
    uint64_t n, n_shown; /* links of this list */
    uint64_t n_skipped;  /* of the other one */
};

static hs_status put_referrers_of(struct hs_sheet *sheet, const struct object *object,
                                  struct referrer_list *list, struct hs_error *err)
{
    const struct hs_links *in = &object->around.in;
    for (size_t i = 0; i < in->n; i++) {
        unsigned tier;
        const struct hs_link *link = &in->links[i];
        HS_TRY(hs_surroundings_keep_links(&object->around, in, i, err));
        HS_TRY(hs_link_tier(object->around.view, link->other, link->edge_class, &tier, err));
        if ((tier == HS_TIER_DOUBTFUL) != list->is_doubtful) {
            list->n_skipped++;
            continue;
        }
        if (list->n++ >= object->around.limit)
            continue;
        list->n_shown++;
        HS_TRY(put_line(sheet, object, list->relation, link, err));
    }
    return HS_OK;
}

static hs_status put_referrers(struct hs_sheet *sheet, struct object *object,
                               struct referrer_list *list, struct hs_error *err)
{
    struct hs_referrers referrers =
        hs_referrers_of(object->around.view, object->around.facts.node, object->around.limit);
    for (;;) {
        HS_TRY(hs_referrers_next(&referrers, object->around.piece, &object->around.in, err));
        if (object->around.in.n == 0)
            break;
        HS_TRY(put_referrers_of(sheet, object, list, err));
    }
    hs_object_more(sheet, list->relation,
                   list->n - list->n_shown + (list->is_doubtful ? 0 : referrers.n_more));
    return HS_OK;
}

static hs_status put_all_link_lines(struct hs_sheet *sheet, struct object *object,
                                    struct hs_error *err)
{
    uint64_t n_out = object->around.out.n, limit = object->around.limit;
    struct referrer_list sure = {.relation = "held by"};
    struct referrer_list doubtful = {.relation = "held in doubt", .is_doubtful = true};
    HS_TRY(put_link_lines(sheet, object, out_relation, &object->around.out, limit, err));
    hs_object_more(sheet, out_relation, n_out > limit ? n_out - limit : 0);
    HS_TRY(put_referrers(sheet, object, &sure, err));
    return sure.n_skipped == 0 ? HS_OK : put_referrers(sheet, object, &doubtful, err);
}

static hs_status put_tree_lines(struct hs_sheet *sheet, const struct object *object,
                                struct hs_error *err)
{
    struct hs_index *index = object->around.view->index;
    hs_node above = hs_index_idom(index, object->around.facts.node);
    uint64_t n_above = 0;
    for (; above != HS_NO_NODE && n_above < object->around.limit; n_above++) {
        if (n_above == object->around.view->n_nodes)
            return hs_view_fail_circle(object->around.view, err);
        struct hs_link link = plain(above);
        HS_TRY(put_line(sheet, object, "dominator", &link, err));
        above = hs_index_idom(index, above);
    }
    for (uint64_t i = 0; i < object->around.n_shown; i++) {
        HS_TRY(hs_surroundings_keep_children(&object->around, i, err));
        struct hs_link link = plain(object->around.children[i].node);
        HS_TRY(put_line(sheet, object, "dominates", &link, err));
    }
    hs_object_more(sheet, "dominates", object->around.n_children - object->around.n_shown);
    return HS_OK;
}

/* The roots that keep it together. */
static hs_status put_keepers(struct hs_sheet *sheet, const struct object *object,
                             struct hs_error *err)
{
    struct hs_view *view = object->around.view;
    uint32_t set = hs_set_keeping(view, object->around.facts.node);
    char relation[32];
    hs_node root;
    uint64_t n = 0;
    if (set == 0)
        return HS_OK;
    struct hs_row row = hs_index_set_roots(view->index, set);
    (void)snprintf(relation, sizeof relation, "kept by set:%u", set);
    for (; n < object->around.limit && hs_row_next(&row, &root); n++) {
        struct hs_link link = plain(root);
        HS_TRY(put_line(sheet, object, relation, &link, err));
    }
    hs_object_more(sheet, relation, hs_index_set(view->index, set).n_roots - n);
    return HS_OK;
}

static hs_status put_lines(struct hs_sheet *sheet, struct object *object, struct hs_error *err)
{
    struct hs_link self = plain(object->around.facts.node);
    HS_TRY(put_line(sheet, object, "object", &self, err));
    hs_node root = hs_view_retaining_root(object->around.view, object->around.facts.node);
    if (root != HS_NO_NODE) {
        struct hs_link link = plain(root);
        HS_TRY(put_line(sheet, object, "retained by", &link, err));
    } else {
        HS_TRY(put_keepers(sheet, object, err));
    }
    HS_TRY(put_all_link_lines(sheet, object, err));
    return put_tree_lines(sheet, object, err);
}

static hs_status print_sheet(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct object *object, struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    options.word_bytes = object->around.view->facts->word_bytes;
    options.no_total = true;
    options.limit = 0; /* -n limits each list */
    struct hs_sheet sheet;
    const struct hs_view *view = object->around.view;
    for (size_t i = 0; i < view->totals->n_samples && options.format == HS_SHEET_TABLE; i++)
        if (hs_snap_sample(view->snap, i)->node == object->around.facts.node)
            HS_TRY(hs_sample_lines(tool, &object->join, hs_snap_sample(view->snap, i), err));
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    hs_status status = put_lines(&sheet, object, err);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_view *view,
                     struct object *object, struct hs_error *err)
{
    const char *text = inv->arguments[1];
    const char *trace = hs_given(inv, HS_OPT_TRACE) ? inv->text[HS_OPT_TRACE] : NULL;
    struct hs_sample_name name;
    struct hs_object_spec what;
    bool is_sample = hs_sample_is_named(text);
    if (is_sample && hs_sample_parse(text, &name, err) != HS_OK)
        return hs_context(err, "cannot find '%.100s'", text);
    HS_TRY(hs_sample_join_open(view, trace, is_sample ? &name.id : NULL, &object->join, err));
    HS_TRY(hs_object_lookup_joined(&object->join, text, &what, err));
    if (what.kind == HS_OBJECT_SET)
        return hs_set_object_print(tool, inv, view, what.set, err);
    HS_TRY(hs_surroundings_find(view, what.nodes[0], hs_tool_rows(inv), &object->around, err));
    enum hs_format format = hs_tool_format(inv);
    if (format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON)
        return print_json(tool, object, format == HS_FORMAT_NDJSON, err);
    return print_sheet(tool, inv, object, err);
}

hs_status hs_cmd_object(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_view view = {0};
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    struct object object = {0};
    hs_status status = run(tool, inv, &view, &object, err);
    hs_sample_join_close(&object.join);
    hs_surroundings_fini(&object.around);
    return hs_view_finish(&view, status, err);
}
