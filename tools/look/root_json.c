/* Roots as JSON. */
#include "root_json.h"

#include "graph/edges.h"
#include "noun_fields.h"
#include "why.h"

struct group {
    const struct hs_view *view;
    const struct hs_root *root;
};

/* The names from the kind down to the parent, outermost first. */
static hs_status put_group(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct group *group = context;
    const struct hs_view *view = group->view;
    const char *names[HS_N_LEVELS];
    unsigned n = 0;
    for (const struct hs_root *at = group->root; at->level > HS_LEVEL_KIND && n < HS_N_LEVELS;) {
        at = hs_snap_root(view->snap, at->parent);
        names[n++] = hs_view_string(view, at->name);
    }
    while (n > 0)
        HS_TRY(hs_sink_pairs(sink, HS_PAIRS(HS_TEXT(NULL, names[--n])), err));
    return HS_OK;
}

static const char *text_of(const struct hs_view *view, hs_str id)
{
    return hs_or_null(hs_view_string(view, id));
}

hs_status hs_root_put(struct hs_sink *sink, const struct hs_view *view,
                      const struct hs_root_row *row, const struct hs_pair *more,
                      struct hs_error *err)
{
    uint64_t cells[HS_ROOTS_N];
    struct hs_pair columns[HS_ROOTS_N + 1];
    struct group context = {view, hs_snap_root(view->snap, row->node)};
    const struct hs_list group = {.each = put_group, .context = &context, .is_line = true};
    HS_TRY(hs_root_load(view, row, cells, err));
    hs_noun_members(&hs_noun_roots, cells, columns);
    return hs_sink_pairs(
        sink, HS_PAIRS(HS_SPLICE(columns), HS_ROWS("group", &group), HS_SPLICE(more)), err);
}

/* A thread's row has the sums of its parts. */
hs_status hs_root_load(const struct hs_view *view, const struct hs_root_row *row, uint64_t *cells,
                       struct hs_error *err)
{
    const uint64_t sizes = 1ull << HS_ROOTS_reachable_words | 1ull << HS_ROOTS_reachable_objects |
                           1ull << HS_ROOTS_static_reachable_words |
                           1ull << HS_ROOTS_retained_words | 1ull << HS_ROOTS_retained_objects |
                           1ull << HS_ROOTS_static_retained_words;
    struct hs_rows rows = hs_rows_of_roots(view);
    HS_TRY(hs_noun_load_but(&rows, row->node, sizes, cells, err));
    cells[HS_ROOTS_reachable_words] = row->reachable.words;
    cells[HS_ROOTS_reachable_objects] = row->reachable.objects;
    cells[HS_ROOTS_static_reachable_words] = row->reachable.static_words;
    cells[HS_ROOTS_retained_words] = row->retained.words;
    cells[HS_ROOTS_retained_objects] = row->retained.objects;
    cells[HS_ROOTS_static_retained_words] = row->retained.static_words;
    return HS_OK;
}

hs_status hs_root_one(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_root_of *of = context;
    if (of->node == HS_NO_NODE)
        return HS_OK;
    struct hs_root_row row = hs_root_row_of(of->view, of->node);
    return hs_root_put(sink, of->view, &row, HS_NO_PAIRS, err);
}

hs_status hs_slot_one(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_root_of *of = context;
    const struct hs_root *root = hs_snap_root(of->view->snap, of->node);
    char rule[HS_WHY_BYTES];
    return hs_sink_pairs(
        sink,
        HS_PAIRS(HS_VALUE("id", NODE, of->node), HS_TEXT("name", text_of(of->view, root->name)),
                 HS_COUNT("offset", root->symbol != 0 ? root->offset : HS_UNKNOWN),
                 HS_COUNT("field", root->field != HS_NO_FIELD ? root->field : HS_UNKNOWN),
                 HS_VALUE("address", ADDRESS, hs_or_unknown(root->address)),
                 HS_TEXT("class", hs_edge_class_name(root->edge_class)),
                 HS_TEXT("rule", hs_why_rule(of->view, root->reason, rule))),
        err);
}
