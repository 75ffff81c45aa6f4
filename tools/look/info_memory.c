/* The balance of memory. */
#include "info_memory.h"

#include <stdio.h>
#include <string.h>

#include "analysis/snapshot_figures.h"
#include "analysis/unread.h"
#include "base/units.h"

hs_status hs_memory_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_view *view = context;
    for (size_t i = 0; i < view->facts->n_memory; i++) {
        const struct hs_memory_row *row = &view->facts->memory[i];
        HS_TRY(hs_sink_pairs(sink,
                             HS_PAIRS(HS_TEXT("owner", hs_view_string(view, row->owner)),
                                      HS_TEXT("state", hs_memory_state_name(row->state)),
                                      HS_COUNT("bytes", row->n_bytes),
                                      HS_COUNT("resident_bytes", row->resident_bytes),
                                      HS_COUNT("blocks", row->n_blocks)),
                             err));
    }
    return HS_OK;
}

struct info_line {
    const char *key, *value;
};

#define HS_ROW struct info_line
static const struct hs_field info_fields[] = {
    HS_COLUMN(1, STRING, key, "WHAT", 0),
    HS_COLUMN(2, STRING, value, "VALUE", HS_COLUMN_FLEXIBLE | HS_COLUMN_WRAPS),
};
#undef HS_ROW
const struct hs_record hs_info_record = HS_RECORD(info_fields);

void hs_info_line(struct hs_sink *sink, const char *key, const char *value)
{
    struct hs_error ignored = HS_ERROR_INIT; /* it has no list */
    (void)hs_sink_row(sink, &(struct info_line){key, value}, &ignored);
}

static void put_row_line(struct hs_sink *sink, const struct hs_view *view,
                         const struct hs_memory_row *row)
{
    char text[320];
    (void)snprintf(text, sizeof text, "%.200s %s: %lu bytes, %lu resident, %lu blocks",
                   hs_view_string(view, row->owner), hs_memory_state_name(row->state),
                   (unsigned long)row->n_bytes, (unsigned long)row->resident_bytes,
                   (unsigned long)row->n_blocks);
    hs_info_line(sink, "memory", text);
}

void hs_memory_lines(struct hs_sink *sink, const struct hs_view *view, bool with_rows)
{
    const struct hs_snap_facts *facts = view->facts;
    uint64_t words;
    char text[2 * HS_UNIT_TEXT_BYTES + 32], bytes[HS_UNIT_TEXT_BYTES];
    if (facts->resident_bytes != 0) {
        hs_format_bytes(facts->resident_bytes, text);
        hs_info_line(sink, "resident", text);
    }
    if (hs_unclaimed_words(view, &words)) {
        uint64_t whole = hs_unread_whole(view);
        double percent = whole == 0 ? 0 : 100.0 * (double)words / (double)whole;
        hs_format_bytes(words * facts->word_bytes, bytes);
        (void)snprintf(text, sizeof text, "%lu words (%s, %.1f%%)", (unsigned long)words, bytes,
                       percent);
        hs_info_line(sink, "kept by unclaimed mappings alone", text);
    }
    for (size_t i = 0; i < facts->n_memory && with_rows; i++)
        put_row_line(sink, view, &facts->memory[i]);
}

void hs_memory_hints(struct hs_sink *sink, const struct hs_view *view)
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
                           "--debug-path DIR or DEBUGINFOD_URLS",
                           hs_view_string(view, binary->path), id, id + 2);
        else
            (void)snprintf(text, sizeof text,
                           "more names for '%.400s': it has no build-id; build it with -g",
                           hs_view_string(view, binary->path));
        hs_info_line(sink, "hint", text);
    }
    if (n > LISTED) {
        char text[64];
        (void)snprintf(text, sizeof text, "%zu more binaries have no debug information",
                       n - LISTED);
        hs_info_line(sink, "hint", text);
    }
}

struct line {
    const char *owner, *state;
    uint64_t resident_bytes, bytes, blocks;
};

#define HS_ROW struct line
static const struct hs_field fields[] = {
    HS_COLUMN(1, STRING, owner, "MEMORY OF", HS_COLUMN_FLEXIBLE),
    HS_COLUMN(2, STRING, state, "STATE", 0),
    HS_COLUMN(3, BYTES, resident_bytes, "RESIDENT", HS_COLUMN_SUMMED),
    HS_COLUMN_AS("resident_percent", 4, PERCENT, resident_bytes, "%", HS_COLUMN_SUMMED),
    HS_COLUMN(5, BYTES, bytes, "BYTES", HS_COLUMN_SUMMED | HS_COLUMN_NARROW(1)),
    HS_COLUMN(6, COUNT, blocks, "BLOCKS", HS_COLUMN_SUMMED | HS_COLUMN_NARROW(2)),
};
static const struct hs_record record = HS_RECORD(fields);

/* Puts the rows of one owner together, in the order in which owners first come: n * n, of a dozen
 * rows. More than a dump ever writes stand as they come. */
static hs_status put_rows(void *context, struct hs_sink *sink, struct hs_error *err)
{
    enum { MAX_SORTED = 256 };
    const struct hs_view *view = context;
    const size_t n = view->facts->n_memory;
    const struct hs_memory_row *rows = view->facts->memory;
    uint64_t sum = 0;
    for (size_t i = 0; i < n; i++) {
        size_t first = n <= MAX_SORTED ? 0 : i, last = n <= MAX_SORTED ? n : i + 1;
        sum += rows[i].resident_bytes;
        while (rows[first].owner != rows[i].owner)
            first++;
        for (size_t at = i; first == i && at < last; at++) {
            struct line line = {hs_view_string(view, rows[at].owner),
                                hs_memory_state_name(rows[at].state), rows[at].resident_bytes,
                                rows[at].n_bytes, rows[at].n_blocks};
            if (rows[at].owner == rows[i].owner)
                HS_TRY(hs_sink_row(sink, &line, err));
        }
    }
    if (sum < view->facts->resident_bytes) {
        uint64_t rest = view->facts->resident_bytes - sum;
        hs_sink_close(sink, &(struct line){"[not accounted for]", NULL, rest, rest, 0});
    }
    return HS_OK;
}

hs_status hs_memory_table(struct hs_tool *tool, const struct hs_invocation *inv,
                          struct hs_view *view, struct hs_error *err)
{
    const struct hs_list list = {.record = &record, .each = put_rows, .context = view};
    if (view->facts->n_memory == 0)
        return HS_OK;
    HS_TRY(hs_print(&tool->out, err, "\n"));
    return hs_tool_list(
        tool, inv, &(struct hs_listing){.rows = &list, .whole = view->facts->resident_bytes}, err);
}
