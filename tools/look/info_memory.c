/* Where the memory was. */
#include "info_memory.h"

#include <stdio.h>
#include <string.h>

#include "base/units.h"

hs_node hs_unclaimed_node(const struct hs_view *view)
{
    for (hs_node node = 1; node < view->n_tree; node++) {
        const struct hs_root *root = hs_snap_root(view->snap, node);
        if (root->level == HS_LEVEL_KIND && root->kind == HS_ROOT_UNCLAIMED)
            return node;
    }
    return HS_NO_NODE;
}

void hs_memory_json(struct hs_json *json, const struct hs_view *view)
{
    const struct hs_snap_facts *facts = view->facts;
    hs_node unclaimed = hs_unclaimed_node(view);
    if (facts->resident_bytes != 0)
        hs_json_u64(json, "resident_bytes", facts->resident_bytes);
    else
        hs_json_null(json, "resident_bytes");
    hs_json_begin_array(json, "memory", HS_JSON_BLOCK);
    for (size_t i = 0; i < facts->n_memory; i++) {
        const struct hs_memory_row *row = &facts->memory[i];
        hs_json_begin_object(json, NULL, HS_JSON_LINE);
        hs_json_string(json, "owner", hs_view_string(view, row->owner));
        hs_json_string(json, "state", hs_memory_state_name(row->state));
        hs_json_u64(json, "bytes", row->n_bytes);
        hs_json_u64(json, "resident_bytes", row->resident_bytes);
        hs_json_u64(json, "blocks", row->n_blocks);
        hs_json_end_object(json);
    }
    hs_json_end_array(json);
    if (view->index != NULL && unclaimed != HS_NO_NODE)
        hs_json_u64(json, "unclaimed_words", hs_index_retained(view->index, unclaimed).words);
}

static void put_line(struct hs_sheet *sheet, const char *key, const char *value)
{
    hs_sheet_string(sheet, key);
    hs_sheet_string(sheet, value);
}

static void put_row_line(struct hs_sheet *sheet, const struct hs_view *view,
                         const struct hs_memory_row *row)
{
    char text[320];
    (void)snprintf(text, sizeof text, "%.200s %s: %lu bytes, %lu resident, %lu blocks",
                   hs_view_string(view, row->owner), hs_memory_state_name(row->state),
                   (unsigned long)row->n_bytes, (unsigned long)row->resident_bytes,
                   (unsigned long)row->n_blocks);
    put_line(sheet, "memory", text);
}

void hs_memory_lines(struct hs_sheet *sheet, const struct hs_view *view, bool with_rows)
{
    const struct hs_snap_facts *facts = view->facts;
    hs_node unclaimed = hs_unclaimed_node(view);
    char text[2 * HS_UNIT_TEXT_BYTES + 32], bytes[HS_UNIT_TEXT_BYTES];
    if (facts->resident_bytes != 0) {
        hs_format_bytes(facts->resident_bytes, text);
        put_line(sheet, "resident", text);
    }
    if (view->index != NULL && unclaimed != HS_NO_NODE) {
        uint64_t words = hs_index_retained(view->index, unclaimed).words;
        uint64_t heap_words = view->totals->heap_words;
        double percent = heap_words == 0 ? 0 : 100.0 * (double)words / (double)heap_words;
        hs_format_bytes(words * facts->word_bytes, bytes);
        (void)snprintf(text, sizeof text, "%lu words (%s, %.1f%%)", (unsigned long)words, bytes,
                       percent);
        put_line(sheet, "kept by unclaimed mappings alone", text);
    }
    for (size_t i = 0; i < facts->n_memory && with_rows; i++)
        put_row_line(sheet, view, &facts->memory[i]);
}

void hs_memory_hints(struct hs_sheet *sheet, const struct hs_view *view)
{
    enum { LISTED = 8 };
    const struct hs_snap_facts *facts = view->facts;
    size_t n = 0;
    /* Other dumps take their names from elsewhere. */
    for (size_t i = 0; i < facts->n_binaries && facts->n_memory != 0; i++) {
        const struct hs_binary *binary = &facts->binaries[i];
        const char *id = hs_view_string(view, binary->build_id);
        char text[960];
        if (binary->has_debug_info || n++ >= LISTED)
            continue;
        if (strlen(id) > 2)
            (void)snprintf(text, sizeof text,
                           "more names for '%.400s': install its debug package "
                           "(/usr/lib/debug/.build-id/%.2s/%.80s.debug), or dump with "
                           "--debug-path DIR",
                           hs_view_string(view, binary->path), id, id + 2);
        else
            (void)snprintf(text, sizeof text,
                           "more names for '%.400s': it has no build-id; build it with -g",
                           hs_view_string(view, binary->path));
        put_line(sheet, "hint", text);
    }
    if (n > LISTED) {
        char text[64];
        (void)snprintf(text, sizeof text, "%zu more binaries have no debug information",
                       n - LISTED);
        put_line(sheet, "hint", text);
    }
}

static const struct hs_column columns[] = {
    {"owner", "MEMORY OF", HS_COLUMN_STRING, HS_COLUMN_FLEXIBLE},
    {"state", "STATE", HS_COLUMN_STRING, 0},
    {"resident_bytes", "RESIDENT", HS_COLUMN_BYTES, HS_COLUMN_SUMMED},
    {"resident_percent", "%", HS_COLUMN_PERCENT, HS_COLUMN_SUMMED | HS_COLUMN_TABLE_ONLY},
    {"bytes", "BYTES", HS_COLUMN_BYTES, HS_COLUMN_SUMMED},
    {"blocks", "BLOCKS", HS_COLUMN_COUNT, HS_COLUMN_SUMMED},
};

static void put_row(struct hs_sheet *sheet, const char *owner, const char *state,
                    const struct hs_memory_row *row)
{
    hs_sheet_string(sheet, owner);
    hs_sheet_string(sheet, state);
    hs_sheet_u64(sheet, row->resident_bytes);
    hs_sheet_u64(sheet, row->resident_bytes);
    hs_sheet_u64(sheet, row->n_bytes);
    hs_sheet_u64(sheet, row->n_blocks);
}

/* Rows of one owner together, in the order in which owners first come: n * n, of a dozen rows. More
 * than a dump ever writes stand as they come. */
static void put_rows(struct hs_sheet *sheet, const struct hs_view *view)
{
    enum { MAX_SORTED = 256 };
    const struct hs_snap_facts *facts = view->facts;
    const size_t n = facts->n_memory;
    const struct hs_memory_row *rows = facts->memory;
    for (size_t i = 0; i < n; i++) {
        size_t first = n <= MAX_SORTED ? 0 : i, last = n <= MAX_SORTED ? n : i + 1;
        while (rows[first].owner != rows[i].owner)
            first++;
        for (size_t at = i; first == i && at < last; at++)
            if (rows[at].owner == rows[i].owner)
                put_row(sheet, hs_view_string(view, rows[at].owner),
                        hs_memory_state_name(rows[at].state), &rows[at]);
    }
}

hs_status hs_memory_table(struct hs_tool *tool, const struct hs_invocation *inv,
                          const struct hs_view *view, struct hs_error *err)
{
    const struct hs_snap_facts *facts = view->facts;
    if (facts->n_memory == 0)
        return HS_OK;
    HS_TRY(hs_print(&tool->out, err, "\n"));
    struct hs_sheet_options options = hs_tool_sheet(tool, inv, facts->resident_bytes);
    options.limit = 0;
    struct hs_sheet sheet;
    HS_TRY(hs_sheet_init(&sheet, columns, sizeof columns / sizeof *columns, &options, err));
    uint64_t sum = 0;
    put_rows(&sheet, view);
    for (size_t i = 0; i < facts->n_memory; i++)
        sum += facts->memory[i].resident_bytes;
    if (sum < facts->resident_bytes) {
        uint64_t rest = facts->resident_bytes - sum;
        hs_sheet_close_rows(&sheet);
        put_row(&sheet, "[not accounted for]", NULL,
                &(struct hs_memory_row){.n_bytes = rest, .resident_bytes = rest});
    }
    hs_status status = hs_sheet_write(&sheet, &tool->out, err);
    hs_sheet_fini(&sheet);
    return status;
}
