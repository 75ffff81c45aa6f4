#include "set_object.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/root_rows.h"
#include "described.h"
#include "dominator/owner_sets.h"
#include "object_rows.h"
#include "root_json.h"

static hs_status put_set_roots(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_set_of *of = context;
    struct hs_row row = hs_index_set_roots(of->view->index, of->set);
    hs_node root;
    for (uint64_t n = 0; n < of->most && hs_row_next(&row, &root); n++)
        HS_TRY(hs_root_one(&(struct hs_root_of){of->view, root}, sink, err));
    return HS_OK;
}

hs_status hs_set_one(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_set_of *of = context;
    char id[24];
    if (of->set == 0)
        return HS_OK;
    struct hs_owner_set facts = hs_index_set(of->view->index, of->set);
    const struct hs_list roots = {.each = put_set_roots, .context = context};
    (void)snprintf(id, sizeof id, "set:%u", of->set);
    return hs_sink_pairs(
        sink,
        HS_PAIRS(HS_TEXT("id", id), HS_COUNT("n_roots", facts.n_roots),
                 HS_COUNT("n_tops", facts.n_tops), HS_COUNT("retained_words", facts.retained.words),
                 HS_COUNT("retained_objects", facts.retained.objects), HS_ROWS("roots", &roots)),
        err);
}

/* ---- the listing */

struct listing {
    struct hs_set_of of;
    struct hs_view *view;
    struct hs_instances tops;
};

static hs_status put_tops(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    for (size_t i = 0; i < listing->tops.n && i < listing->of.most; i++)
        HS_TRY(
            hs_object_put_node(sink, listing->view, "keeps", listing->tops.targets[i].node, err));
    return HS_OK;
}

static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct listing *listing = context;
    const struct hs_set_of *of = &listing->of;
    struct hs_row row = hs_index_set_roots(of->view->index, of->set);
    uint64_t n_roots = hs_index_set(of->view->index, of->set).n_roots, n = 0;
    hs_node root;
    for (; n < of->most && hs_row_next(&row, &root); n++)
        HS_TRY(hs_object_put_node(sink, listing->view, "kept by", root, err));
    HS_TRY(hs_object_put_more(sink, "kept by", n_roots - n, err));
    HS_TRY(put_tops(context, sink, err));
    n = listing->tops.n;
    return hs_object_put_more(sink, "keeps", n > of->most ? n - of->most : 0, err);
}

static int largest_first(const void *left, const void *right)
{
    const struct hs_path_tree_target *a = left, *b = right;
    if (a->words != b->words)
        return a->words > b->words ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static hs_status print(struct hs_tool *tool, const struct hs_invocation *inv,
                       struct listing *listing, struct hs_error *err)
{
    struct hs_view *view = listing->view;
    const struct hs_list rows = {.record = &hs_link_record, .each = put_rows, .context = listing};
    const struct hs_list tops = {.record = &hs_node_record, .each = put_tops, .context = listing};
    const struct hs_list set = {.each = hs_set_one, .context = &listing->of, .is_block = true};
    const struct hs_listing all = {
        .rows = &rows,
        .is_one = true,
        .no_total = true,
        .word_bytes = view->facts->word_bytes,
        .document =
            HS_PAIRS(HS_TEXT("schema", "heapsnap.object/1"), HS_TEXT("snapshot", view->path),
                     HS_ONE("set", &set), HS_ROWS("tops", &tops)),
    };
    if (hs_tool_format(inv) == HS_FORMAT_TABLE) {
        struct hs_owner_set facts = hs_index_set(view->index, listing->of.set);
        char size[HS_SIZE_TEXT_BYTES];
        HS_TRY(hs_print(&tool->out, err, "set:%u: %lu roots keep %s in %lu objects together\n",
                        listing->of.set, (unsigned long)facts.n_roots,
                        hs_tool_size(tool, facts.retained.words, view->facts->word_bytes, size),
                        (unsigned long)facts.retained.objects));
    }
    return hs_tool_list(tool, inv, &all, err);
}

hs_status hs_set_object_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_view *view, uint32_t set, struct hs_error *err)
{
    struct listing listing = {.of = {view, set, hs_tool_rows(inv)}, .view = view};
    HS_TRY(hs_instances_of_set(view, set, &listing.tops, err));
    if (listing.tops.n != 0)
        qsort(listing.tops.targets, listing.tops.n, sizeof *listing.tops.targets, largest_first);
    hs_status status = print(tool, inv, &listing, err);
    hs_instances_fini(&listing.tops);
    return status;
}
