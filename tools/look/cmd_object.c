/* object: one node, with its fields, who points to it, its dominators and what it dominates. */
#include <stdio.h>
#include <string.h>

#include "analysis/object_lookup.h"
#include "analysis/surroundings.h"
#include "commands.h"
#include "described.h"
#include "object_rows.h"
#include "open_view.h"
#include "root_json.h"
#include "sample_print.h"
#include "set_object.h"

struct object {
    struct hs_surroundings around;
    struct hs_sample_join join;
    bool with_why; /* each link tells why it counts for less */
};

static hs_status put_link(struct hs_sink *sink, const struct object *object, const char *relation,
                          const struct hs_link *link, struct hs_error *err)
{
    return hs_object_put_link(sink, &object->around, object->with_why, relation, link, err);
}

static hs_status put_node(struct hs_sink *sink, const struct object *object, const char *relation,
                          hs_node node, struct hs_error *err)
{
    return hs_object_put_node(sink, object->around.view, relation, node, err);
}

/* ---- relations */

static hs_status put_out(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct object *object = context;
    const struct hs_links *out = &object->around.out;
    for (size_t i = 0; i < out->n; i++) {
        HS_TRY(hs_surroundings_keep_links(&object->around, out, i, err));
        HS_TRY(put_link(sink, object, HS_POINTS_TO, &out->links[i], err));
    }
    return hs_object_put_more(sink, HS_POINTS_TO, object->around.n_out - out->n, err);
}

/* The referrers of the object: what is sure, or else what is in doubt; in JSON all. */
struct referrer_list {
    const char *relation;
    bool is_doubtful;
    uint64_t n;         /* links of this list */
    uint64_t n_skipped; /* of the other one */
};

static hs_status put_referrers_of(struct hs_sink *sink, const struct object *object,
                                  struct referrer_list *list, struct hs_error *err)
{
    const struct hs_links *in = &object->around.in;
    for (size_t i = 0; i < in->n; i++) {
        unsigned tier;
        const struct hs_link *link = &in->links[i];
        HS_TRY(hs_surroundings_keep_links(&object->around, in, i, err));
        HS_TRY(hs_link_tier(object->around.view, link->other, link->edge_class, &tier, err));
        if (sink->json == NULL && (tier == HS_TIER_DOUBTFUL) != list->is_doubtful)
            list->n_skipped++;
        else if (list->n++ < object->around.limit)
            HS_TRY(put_link(sink, object, list->relation, link, err));
    }
    return HS_OK;
}

static hs_status put_referrers(struct hs_sink *sink, struct object *object,
                               struct referrer_list *list, struct hs_error *err)
{
    struct hs_surroundings *around = &object->around;
    struct hs_referrers referrers =
        hs_referrers_of(around->view, around->facts.node, around->limit);
    for (;;) {
        HS_TRY(hs_referrers_next(&referrers, around->piece, &around->in, err));
        if (around->in.n == 0)
            break;
        HS_TRY(put_referrers_of(sink, object, list, err));
    }
    uint64_t n_left = list->n > around->limit ? list->n - around->limit : 0;
    return hs_object_put_more(sink, list->relation,
                              n_left + (list->is_doubtful ? 0 : referrers.n_more), err);
}

static hs_status put_in(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct referrer_list sure = {.relation = "held by"};
    struct referrer_list doubtful = {.relation = "held in doubt", .is_doubtful = true};
    HS_TRY(put_referrers(sink, context, &sure, err));
    return sure.n_skipped == 0 ? HS_OK : put_referrers(sink, context, &doubtful, err);
}

static hs_status put_dominators(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct object *object = context;
    const struct hs_view *view = object->around.view;
    hs_node above = hs_index_idom(view->index, object->around.facts.node);
    for (uint64_t n = 0; above != HS_NO_NODE && n < object->around.limit; n++) {
        if (n == view->n_nodes)
            return hs_view_fail_circle(view, err);
        HS_TRY(put_node(sink, object, "dominator", above, err));
        above = hs_index_idom(view->index, above);
    }
    return HS_OK;
}

static hs_status put_dominated(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct object *object = context;
    const struct hs_surroundings *around = &object->around;
    for (uint64_t i = 0; i < around->n_shown; i++) {
        HS_TRY(hs_surroundings_keep_children(around, i, err));
        HS_TRY(put_node(sink, object, "dominates", around->children[i].node, err));
    }
    return hs_object_put_more(sink, "dominates", around->n_children - around->n_shown, err);
}

/* The roots that keep it together. */
static hs_status put_keepers(struct hs_sink *sink, const struct object *object,
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
    for (; n < object->around.limit && hs_row_next(&row, &root); n++)
        HS_TRY(put_node(sink, object, relation, root, err));
    return hs_object_put_more(sink, relation, hs_index_set(view->index, set).n_roots - n, err);
}

/* The container whose body the node is, and those that it leads to. */
static hs_status put_containers(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct object *object = context;
    struct hs_view *view = object->around.view;
    struct hs_container container;
    size_t at = 0;
    bool is_one;
    HS_TRY(hs_container_of(view, object->around.facts.node, &container, &is_one, err));
    do {
        if (is_one)
            HS_TRY(hs_object_put_container(sink, view, &container, err));
        HS_TRY(hs_container_next(&object->around, &at, &container, &is_one, err));
    } while (is_one);
    return HS_OK;
}

static hs_status put_lines(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct object *object = context;
    hs_node node = object->around.facts.node;
    hs_node root = hs_view_retaining_root(object->around.view, node);
    HS_TRY(put_node(sink, object, "object", node, err));
    HS_TRY(root != HS_NO_NODE ? put_node(sink, object, "retained by", root, err)
                              : put_keepers(sink, object, err));
    HS_TRY(put_containers(context, sink, err));
    HS_TRY(put_out(context, sink, err));
    HS_TRY(put_in(context, sink, err));
    HS_TRY(put_dominators(context, sink, err));
    return put_dominated(context, sink, err);
}

/* ---- samples: ids, then all that is known of them */

static hs_status put_ids(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct object *object = context;
    const struct hs_view *view = object->around.view;
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        if (sample->node == object->around.facts.node)
            HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_COUNT(NULL, sample->id)), err));
    }
    return HS_OK;
}

static hs_status put_samples(void *context, struct hs_sink *sink, struct hs_error *err)
{
    struct object *object = context;
    const struct hs_view *view = object->around.view;
    for (size_t i = 0; i < view->totals->n_samples; i++) {
        const struct hs_sample *sample = hs_snap_sample(view->snap, i);
        if (sample->node == object->around.facts.node)
            HS_TRY(hs_sample_put(sink, &object->join, sample, err));
    }
    return HS_OK;
}

/* ---- the listing */

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv, struct object *object,
                       struct hs_error *err)
{
    struct hs_view *view = object->around.view;
    const struct hs_node_facts *facts = &object->around.facts;
    hs_node node = facts->node, root = hs_view_retaining_root(view, node);
    struct hs_sizes retained = hs_index_retained(view->index, node);
    struct hs_root_of root_of = {view, root};
    struct hs_set_of set_of = {view, root == HS_NO_NODE ? hs_set_keeping(view, node) : 0,
                               object->around.limit};
    const struct hs_list lines = {.record = &hs_link_record, .each = put_lines, .context = object};
    const struct hs_list keeper = {.each = hs_root_one, .context = &root_of};
    const struct hs_list set = {.each = hs_set_one, .context = &set_of, .is_block = true};
    const struct hs_list ids = {.each = put_ids, .context = object, .is_line = true};
    const struct hs_list samples = {.each = put_samples, .context = object};
    const struct hs_list containers = {
        .record = &hs_container_record, .each = put_containers, .context = object};
    const struct hs_list out = {.record = &hs_link_record, .each = put_out, .context = object};
    const struct hs_list in = {.record = &hs_link_record, .each = put_in, .context = object};
    const struct hs_list above = {
        .record = &hs_node_record, .each = put_dominators, .context = object};
    const struct hs_list below = {
        .record = &hs_node_record, .each = put_dominated, .context = object};
    const struct hs_listing listing = {
        .rows = &lines,
        .is_one = true,
        .no_total = true,
        .word_bytes = view->facts->word_bytes,
        .document = HS_PAIRS(
            HS_TEXT("schema", "heapsnap.object/1"), HS_TEXT("snapshot", view->path),
            HS_BLOCK("object"), HS_VALUE("id", NODE, node),
            HS_VALUE("address", ADDRESS, hs_or_unknown(facts->address)),
            HS_TEXT("name", facts->is_root ? facts->label : NULL),
            HS_TEXT("type", facts->is_root ? NULL : facts->label), HS_COUNT("words", facts->words),
            HS_COUNT("retained_words", retained.words), HS_VALUE("static", BOOL, facts->is_static),
            HS_VALUE("young", BOOL, facts->is_young),
            HS_VALUE("reached", BOOL, hs_index_is_reached(view->index, node)),
            HS_COUNT("retained_objects", retained.objects),
            HS_COUNT("static_retained_words", retained.static_words), HS_ONE("root", &keeper),
            HS_ONE("set", &set), HS_ROWS("samples", &ids), HS_ROWS("sampled", &samples), HS_END,
            HS_ROWS("containers", &containers), HS_ROWS("fields", &out), HS_ROWS("referrers", &in),
            HS_COUNT("more_referrers", hs_referrers_of(view, node, object->around.limit).n_more),
            HS_ROWS("dominators", &above), HS_COUNT("n_dominated", object->around.n_children),
            HS_ROWS("dominated", &below)),
    };
    for (size_t i = 0; i < view->totals->n_samples && hs_tool_format(inv) == HS_FORMAT_TABLE; i++)
        if (hs_snap_sample(view->snap, i)->node == node)
            HS_TRY(hs_sample_lines(tool, &object->join, hs_snap_sample(view->snap, i), err));
    return hs_tool_list(tool, inv, &listing, err);
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
    return print(tool, inv, object, err);
}

hs_status hs_cmd_object(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_view view = {0};
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_INDEX, &view, err));
    struct object object = {.with_why = hs_given(inv, HS_OPT_WHY)};
    hs_status status = run(tool, inv, &view, &object, err);
    hs_sample_join_close(&object.join);
    hs_surroundings_fini(&object.around);
    return hs_view_finish(&view, status, err);
}
