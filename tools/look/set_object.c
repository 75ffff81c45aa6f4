#include "set_object.h"

#include <stdio.h>
#include <stdlib.h>

#include "analysis/root_rows.h"
#include "analysis/set_tops.h"
#include "dominator/owner_sets.h"
#include "report/sheet.h"
#include "root_json.h"

void hs_set_label(const struct hs_view *view, uint32_t set, char *text, size_t n_bytes)
{
    char roots[256];
    uint64_t n = hs_index_set(view->index, set).n_roots;
    hs_set_roots_text(view, set, roots, sizeof roots);
    (void)snprintf(text, n_bytes, "set:%u: %lu roots%s%s", set, (unsigned long)n,
                   roots[0] != 0 ? ": " : "", roots);
}

uint32_t hs_set_keeping(const struct hs_view *view, hs_node node)
{
    hs_node top = node;
    if (node < view->n_tree || !hs_index_is_reached(view->index, node))
        return 0;
    for (uint64_t n = 0; n < view->n_nodes; n++) {
        hs_node above = hs_index_idom(view->index, top);
        if (above == HS_NO_NODE || above < view->n_tree)
            break;
        top = above;
    }
    uint32_t set = hs_index_set_of(view->index, top);
    return set == HS_SET_OTHERS ? 0 : set;
}

/* ---- JSON */

void hs_set_object_json(struct hs_json *json, const char *key, const struct hs_view *view,
                        uint32_t set, uint64_t most)
{
    char id[24];
    if (set == 0) {
        hs_json_null(json, key);
        return;
    }
    struct hs_owner_set facts = hs_index_set(view->index, set);
    struct hs_row row = hs_index_set_roots(view->index, set);
    hs_node root;
    (void)snprintf(id, sizeof id, "set:%u", set);
    hs_json_begin_object(json, key, HS_JSON_BLOCK);
    hs_json_string(json, "id", id);
    hs_json_u64(json, "n_roots", facts.n_roots);
    hs_json_u64(json, "n_tops", facts.n_tops);
    hs_json_u64(json, "retained_words", facts.retained.words);
    hs_json_u64(json, "retained_objects", facts.retained.objects);
    hs_json_begin_array(json, "roots", HS_JSON_BLOCK);
    for (uint64_t n = 0; n < most && hs_row_next(&row, &root); n++) {
        struct hs_root_row of = hs_root_row_of(view, root);
        hs_root_json(json, NULL, view, &of);
    }
    hs_json_end_array(json);
    hs_json_end_object(json);
}

static int largest_first(const void *left, const void *right)
{
    const struct hs_path_tree_target *a = left, *b = right;
    if (a->words != b->words)
        return a->words > b->words ? -1 : 1;
    return a->node < b->node ? -1 : a->node > b->node;
}

static hs_status put_tops(struct hs_json *json, struct hs_view *view,
                          const struct hs_instances *tops, uint64_t most, struct hs_error *err)
{
    hs_json_begin_array(json, "tops", HS_JSON_BLOCK);
    for (size_t i = 0; i < tops->n && i < most; i++) {
        struct hs_node_facts facts;
        HS_TRY(hs_view_facts(view, tops->targets[i].node, &facts, err));
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_node(json, "id", facts.node);
        hs_json_address(json, "address", facts.address);
        hs_json_string(json, "type", facts.label);
        hs_json_u64(json, "words", facts.words);
        hs_json_u64(json, "retained_words", tops->targets[i].words);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
    return HS_OK;
}

static hs_status print_json(struct hs_tool *tool, bool is_compact, struct hs_view *view,
                            uint32_t set, const struct hs_instances *tops, uint64_t most,
                            struct hs_error *err)
{
    struct hs_json json;
    hs_json_init(&json, &tool->out, is_compact ? HS_JSON_COMPACT : HS_JSON_PRETTY);
    hs_json_begin_object(&json, NULL, HS_JSON_BLOCK);
    hs_json_string(&json, "schema", "heapsnap.object/1");
    hs_json_string(&json, "snapshot", view->path);
    hs_set_object_json(&json, "set", view, set, most);
    HS_TRY(put_tops(&json, view, tops, most, err));
    hs_json_end_object(&json);
    return hs_json_finish(&json, err);
}

/* ---- table */

static const struct hs_column columns[] = {
    {"relation", "", HS_COLUMN_STRING, 0},
    {"id", "ID", HS_COLUMN_NODE, 0},
    {"address", "ADDRESS", HS_COLUMN_ADDRESS, HS_COLUMN_SPARE(2)},
    {"words", "WORDS", HS_COLUMN_WORDS, HS_COLUMN_SPARE(1)},
    {"retained_words", "RETAINED", HS_COLUMN_WORDS, 0},
    {"what", "WHAT", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
};

static hs_status put_node(struct hs_sheet *sheet, struct hs_view *view, const char *relation,
                          hs_node node, struct hs_error *err)
{
    struct hs_node_facts facts;
    HS_TRY(hs_view_facts(view, node, &facts, err));
    hs_sheet_string(sheet, relation);
    hs_sheet_u64(sheet, node);
    if (facts.address != 0)
        hs_sheet_u64(sheet, facts.address);
    else
        hs_sheet_null(sheet);
    hs_sheet_u64(sheet, facts.words);
    hs_sheet_u64(sheet, hs_index_retained(view->index, node).words);
    hs_sheet_string(sheet, facts.label);
    return HS_OK;
}

void hs_object_more(struct hs_sheet *sheet, const char *relation, uint64_t n)
{
    char text[48];
    if (n == 0)
        return;
    (void)snprintf(text, sizeof text, "[%lu more]", (unsigned long)n);
    hs_sheet_string(sheet, relation);
    for (size_t i = 1; i + 1 < sheet->n_columns; i++)
        hs_sheet_null(sheet);
    hs_sheet_string(sheet, text);
}

static hs_status put_rows(struct hs_sheet *sheet, struct hs_view *view, uint32_t set,
                          const struct hs_instances *tops, uint64_t most, struct hs_error *err)
{
    struct hs_row row = hs_index_set_roots(view->index, set);
    uint64_t n_roots = hs_index_set(view->index, set).n_roots, n = 0;
    hs_node root;
    for (; n < most && hs_row_next(&row, &root); n++)
        HS_TRY(put_node(sheet, view, "kept by", root, err));
    hs_object_more(sheet, "kept by", n_roots - n);
    for (n = 0; n < tops->n && n < most; n++)
        HS_TRY(put_node(sheet, view, "keeps", tops->targets[n].node, err));
    hs_object_more(sheet, "keeps", tops->n - n);
    return HS_OK;
}

static hs_status print_table(struct hs_tool *tool, const struct hs_invocation *inv,
                             struct hs_view *view, uint32_t set, const struct hs_instances *tops,
                             struct hs_error *err)
{
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, 0);
    uint64_t most = hs_tool_rows(inv);
    struct hs_sheet sheet;
    options.word_bytes = view->facts->word_bytes;
    options.no_total = true;
    options.limit = 0; /* -n limits each list */
    if (options.format == HS_SHEET_TABLE) {
        struct hs_owner_set facts = hs_index_set(view->index, set);
        HS_TRY(hs_print(&tool->out, err,
                        "set:%u: %lu roots keep %lu words in %lu objects together\n", set,
                        (unsigned long)facts.n_roots, (unsigned long)facts.retained.words,
                        (unsigned long)facts.retained.objects));
    }
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    hs_status status = put_rows(&sheet, view, set, tops, most, err);
    if (status == HS_OK)
        status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}

hs_status hs_set_object_print(struct hs_tool *tool, const struct hs_invocation *inv,
                              struct hs_view *view, uint32_t set, struct hs_error *err)
{
    struct hs_instances tops;
    enum hs_format format = hs_tool_format(inv);
    HS_TRY(hs_instances_of_set(view, set, &tops, err));
    if (tops.n != 0)
        qsort(tops.targets, tops.n, sizeof *tops.targets, largest_first);
    bool is_json = format == HS_FORMAT_JSON || format == HS_FORMAT_NDJSON;
    hs_status status = is_json ? print_json(tool, format == HS_FORMAT_NDJSON, view, set, &tops,
                                            hs_tool_rows(inv), err)
                               : print_table(tool, inv, view, set, &tops, err);
    hs_instances_fini(&tops);
    return status;
}
