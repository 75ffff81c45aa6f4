/* report: one page that shows what the commands print. */
#include <stdio.h>

#include "analysis/key_file.h"
#include "base/alloc.h"
#include "base/append.h"
#include "capture.h"
#include "commands.h"
#include "look/open_view.h"
#include "report/json.h"
#include "trace_members.h"
#include "viewer/key_columns.h"
#include "viewer/page.h"

enum { MOST_KEYS = 20000, MOST_SETS = 300 };
enum { NAME_BYTES = 300, SENTENCE_BYTES = 2000 };

/* A member of the page's data: what a command prints, of which so much has room on the page. */
struct answer {
    const char *name; /* of the command, too */
    unsigned n_rows;  /* at first; fewer where they take too much. 0: of all that there is */
    unsigned share;   /* of the packed bytes, in hundredths */
    size_t most_string;
};

static const struct answer always[] = {
    {"info", 0, 7, NAME_BYTES},         {"roots", 400, 24, NAME_BYTES},
    {"suspects", 0, 2, SENTENCE_BYTES}, {"types", 400, 14, NAME_BYTES},
    {"leaks", 200, 9, NAME_BYTES},
};
static const struct answer when_older = {"diff", 200, 8, NAME_BYTES};
static const struct answer when_sampled = {"samples", 300, 6, NAME_BYTES};
static const struct answer sites_of_roots = {"sites", 2000, 8, NAME_BYTES};
enum { KEYS_SHARE = 20, SETS_SHARE = 2 };
enum { TRACE_SHARE = 45 }; /* of a page that shows a snapshot, too: it has the rest */

/* The parts that are shown, with their shares of the page. */
struct shown {
    const struct hs_invocation *inv;
    const char *trace; /* of --trace; NULL: none */
};

static size_t share_bytes(const struct shown *shown, unsigned share)
{
    unsigned whole = shown->trace != NULL ? 100 - TRACE_SHARE : 100;
    return HS_PAGE_MOST_PACKED / 10000 * whole * share;
}

/* ---- answers of commands */

/* Snapshots: the newest first, as they stand on the command line; of diff all, else the first. */
static hs_status ask(struct hs_tool *tool, const struct answer *answer, unsigned n_rows,
                     const struct shown *shown, struct hs_map *ret, struct hs_error *err)
{
    const struct hs_invocation *inv = shown->inv;
    char rows[16];
    const char *words[HS_MAX_ARGUMENTS + 12];
    size_t n = 0;
    words[n++] = answer == &sites_of_roots ? "samples" : answer->name;
    if (answer == &sites_of_roots)
        words[n++] = "--group-by=site,root";
    if (shown->trace != NULL && (answer == &sites_of_roots || answer == &when_sampled)) {
        words[n++] = "--trace";
        words[n++] = shown->trace;
    }
    if (n_rows != 0) {
        (void)snprintf(rows, sizeof rows, "%u", n_rows);
        words[n++] = "-n";
        words[n++] = rows;
    }
    words[n++] = "--json";
    words[n++] = "--";
    for (unsigned i = inv->n_arguments; answer == &when_older && i-- > 1;)
        words[n++] = inv->arguments[i];
    words[n++] = inv->arguments[0];
    words[n] = NULL;
    return hs_capture(tool, words, ret, err);
}

/* Asks for half as many rows until they have room. */
static hs_status put_answer(struct hs_tool *tool, struct hs_page *page, const struct answer *answer,
                            const struct shown *shown, struct hs_error *err)
{
    hs_status status;
    bool has_room = false;
    for (unsigned n_rows = answer->n_rows; !has_room; n_rows /= 2) {
        struct hs_map printed;
        size_t n_packed;
        HS_TRY(ask(tool, answer, n_rows, shown, &printed, err));
        const struct hs_page_member member = {answer->name, printed.bytes, printed.n_bytes,
                                              answer->most_string};
        status = hs_page_measure(&member, &n_packed, err);
        has_room = status != HS_OK || n_packed <= share_bytes(shown, answer->share) || n_rows <= 1;
        if (status == HS_OK && has_room)
            status = hs_page_put(page, &member, err);
        hs_map_close(&printed);
    }
    return status;
}

/* ---- what no command prints */

/* Half as many until they have room. */
static hs_status put_columns(const struct hs_view *view, const struct hs_keys *keys,
                             const struct shown *shown, struct hs_page *page, struct hs_error *err)
{
    hs_status status;
    bool has_room = false;
    for (size_t most = MOST_KEYS; !has_room; most /= 2) {
        struct hs_buffer columns = {0};
        struct hs_page_member member = {"keys", NULL, 0, NAME_BYTES};
        size_t n_packed = 0;
        status = hs_key_columns_write(keys, view, most, &columns, err);
        member.json = columns.bytes;
        member.n_bytes = columns.n_bytes;
        if (status == HS_OK)
            status = hs_page_measure(&member, &n_packed, err);
        has_room = status != HS_OK || n_packed <= share_bytes(shown, KEYS_SHARE) || most <= 1;
        if (status == HS_OK && has_room)
            status = hs_page_put(page, &member, err);
        hs_buffer_fini(&columns);
    }
    return status;
}

static hs_status put_keys(struct hs_view *view, const struct shown *shown, struct hs_page *page,
                          struct hs_error *err)
{
    const struct hs_keys_query query = {0};
    struct hs_keys keys;
    bool is_kept;
    HS_TRY(hs_key_file_keys(view, &keys, &is_kept, err));
    if (!is_kept)
        HS_TRY(hs_keys_find(view, &query, &keys, err));
    hs_status status = put_columns(view, &keys, shown, page, err);
    hs_keys_fini(&keys);
    return status;
}

/* Names as many roots of a set as have room: a set may have all roots there are. */
static void name_roots_of(struct hs_view *view, uint32_t set, size_t most, bool *is_named,
                          struct hs_json *json)
{
    struct hs_row roots = hs_index_set_roots(view->index, set);
    for (hs_node root; hs_row_next(&roots, &root);) {
        char id[24];
        if (json->buffer->n_bytes >= most)
            return;
        if (is_named[root])
            continue;
        is_named[root] = true;
        (void)snprintf(id, sizeof id, "#%lu", (unsigned long)root);
        hs_json_string(json, id, hs_view_string(view, hs_snap_root(view->snap, root)->name));
    }
}

/* The names of all roots of the first sets, as many as have room: the listing of roots has only the
 * largest. */
static hs_status put_set_roots(struct hs_view *view, const struct shown *shown,
                               struct hs_page *page, struct hs_error *err)
{
    hs_auto_free bool *is_named = NULL;
    struct hs_buffer names = {0};
    struct hs_json json;
    uint32_t n_sets = hs_index_n_sets(view->index);
    HS_TRY(HS_ALLOC(&is_named, view->n_tree, err));
    hs_json_init_buffer(&json, &names, HS_JSON_COMPACT);
    hs_json_begin_object(&json, NULL, HS_JSON_LINE);
    for (uint32_t set = 1; set <= n_sets && set <= MOST_SETS; set++)
        name_roots_of(view, set, share_bytes(shown, SETS_SHARE), is_named, &json);
    hs_json_end_object(&json);
    hs_status status = hs_json_finish(&json, err);
    const struct hs_page_member member = {"set_roots", names.bytes, names.n_bytes, NAME_BYTES};
    if (status == HS_OK)
        status = hs_page_put(page, &member, err);
    hs_buffer_fini(&names);
    return status;
}

/* ---- the page */

static hs_status put_all(struct hs_tool *tool, struct hs_view *view, const struct shown *shown,
                         struct hs_page *page, struct hs_error *err)
{
    HS_TRY(put_keys(view, shown, page, err));
    HS_TRY(put_set_roots(view, shown, page, err));
    for (size_t i = 0; i < sizeof always / sizeof *always; i++)
        HS_TRY(put_answer(tool, page, &always[i], shown, err));
    if (view->totals->n_samples > 0) {
        HS_TRY(put_answer(tool, page, &when_sampled, shown, err));
        HS_TRY(put_answer(tool, page, &sites_of_roots, shown, err));
    }
    if (shown->inv->n_arguments > 1)
        HS_TRY(put_answer(tool, page, &when_older, shown, err));
    if (shown->trace != NULL)
        HS_TRY(hs_trace_members_put(tool, shown->trace, page,
                                    HS_PAGE_MOST_PACKED / 100 * TRACE_SHARE, err));
    return hs_page_end(page, err);
}

static hs_status write_page(struct hs_tool *tool, const struct shown *shown, struct hs_error *err)
{
    struct hs_view view = {0};
    struct hs_page *page = NULL;
    HS_TRY(hs_tool_open_view(tool, shown->inv->arguments[0], HS_VIEW_INDEX, &view, err));
    hs_status status = hs_page_new(&tool->out, &page, err);
    if (status == HS_OK)
        status = put_all(tool, &view, shown, page, err);
    hs_page_free(page);
    return hs_view_finish(&view, status, err);
}

static hs_status write_trace_page(struct hs_tool *tool, const struct hs_invocation *inv,
                                  struct hs_error *err)
{
    struct hs_page *page = NULL;
    if (inv->n_arguments > 1 || hs_given(inv, HS_OPT_TRACE)) {
        (void)hs_fail(err, HS_USAGE, "'%s' is a trace: it is shown alone, or beside a snapshot",
                      inv->arguments[0]);
        return hs_hint(err, "heapsnap report SNAP --trace %s", inv->arguments[0]);
    }
    HS_TRY(hs_page_new(&tool->out, &page, err));
    hs_status status =
        hs_trace_members_put(tool, inv->arguments[0], page, HS_PAGE_MOST_PACKED, err);
    if (status == HS_OK)
        status = hs_page_end(page, err);
    hs_page_free(page);
    return status;
}

hs_status hs_cmd_report(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    const struct shown shown = {inv, hs_given(inv, HS_OPT_TRACE) ? inv->text[HS_OPT_TRACE] : NULL};
    if (tool->terminal.is_terminal && !hs_given(inv, HS_OPT_OUTPUT)) {
        (void)hs_fail(err, HS_USAGE, "cannot write a page to a terminal");
        return hs_hint(err, "heapsnap report %s -o report.html", HS_SHELL(inv->arguments[0]));
    }
    return hs_trace_is_one(inv->arguments[0]) ? write_trace_page(tool, inv, err)
                                              : write_page(tool, &shown, err);
}
