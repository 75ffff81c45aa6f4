/* index: compute everything now.  check: verify a snapshot deeply. */
#include <limits.h>
#include <stdarg.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "analysis/key_file.h"
#include "base/alloc.h"
#include "base/units.h"
#include "commands.h"
#include "look/open_view.h"

/* "PATH: ..." in a line: what a file is called may have been another's choice, too. */
__attribute__((format(printf, 4, 5))) static hs_status say_of(struct hs_tool *tool,
                                                              const char *path,
                                                              struct hs_error *err,
                                                              const char *format, ...)
{
    char text[256];
    va_list arguments;
    va_start(arguments, format);
    (void)vsnprintf(text, sizeof text, format, arguments);
    va_end(arguments);
    HS_TRY(hs_tool_print_clean(tool, path, err));
    return hs_print(&tool->out, err, ": %s\n", text);
}

static hs_status print_index(struct hs_tool *tool, const struct hs_view *view, uint64_t spent_ns,
                             struct hs_error *err)
{
    char spent[HS_UNIT_TEXT_BYTES];
    hs_format_duration(spent_ns, spent);
    const char *path = hs_index_path(view->index);
    if (path == NULL) {
        hs_talk(
            "the index could not be kept: neither the directory of '%s' nor the cache directory "
            "can be written",
            view->path);
        return HS_OK;
    }
    if (hs_index_was_built(view->index))
        return say_of(tool, path, err, "computed in %s", spent);
    return say_of(tool, path, err, "already there");
}

/* The key file beside it; that it cannot be kept was said of the index. An index that has room
 * where keys have none is an index all the same: who compares later asks for them again. */
static hs_status make_keys(struct hs_tool *tool, const char *snap_path, struct hs_error *err)
{
    struct hs_session session = hs_tool_session(tool, snap_path);
    const struct hs_key_file_options options = {.session = &session};
    struct hs_snap_keys table;
    hs_auto_free char *path = NULL;
    hs_status status = hs_key_file_of(snap_path, &options, &table, &path, err);
    if (status == HS_OK) {
        hs_snap_keys_fini(&table);
        return HS_OK;
    }
    if (status != HS_LIMIT || hs_tool_interrupted() != 0)
        return hs_context(err, "cannot compute the keys of '%s'", snap_path);
    hs_talk("without the keys, which 'heapsnap diff' will ask for: %s", err->message);
    *err = (struct hs_error)HS_ERROR_INIT;
    return HS_OK;
}

hs_status hs_cmd_index(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_view view = {0};
    uint64_t began_ns = hs_now_ns();
    HS_TRY(hs_tool_open_view_index(tool, inv->arguments[0], hs_given(inv, HS_OPT_REBUILD), &view,
                                   err));
    hs_status status = print_index(tool, &view, hs_now_ns() - began_ns, err);
    bool has_path = strcmp(inv->arguments[0], "-") != 0;
    status = hs_view_finish(&view, status, err);
    return status == HS_OK && has_path ? make_keys(tool, inv->arguments[0], err) : status;
}

/* Tells of an index that nobody would use; it does no harm. */
static void talk_unusable(const struct hs_view *view)
{
    char path[PATH_MAX];
    int n = snprintf(path, sizeof path, "%s.idx", view->path);
    if (n > 0 && n < (int)sizeof path && access(path, F_OK) == 0)
        hs_talk("'%s' is damaged or of another snapshot: it is not used, and made anew when needed",
                path);
}

/* The index that is kept, when there is one: a snapshot is sound without. */
static hs_status check_index(struct hs_tool *tool, struct hs_view *view, struct hs_error *err)
{
    HS_TRY(hs_view_find_index(view, err));
    if (view->index == NULL) {
        talk_unusable(view);
        return HS_OK;
    }
    const char *path = hs_index_path(view->index);
    if (hs_index_check_all(view->index, &tool->progress, err) != HS_OK) {
        (void)hs_context(err, "cannot accept '%s'", path);
        return err->status != HS_FORMAT
                   ? err->status
                   : hs_hint(err, "'heapsnap index --rebuild %s' makes it anew", view->path);
    }
    return say_of(tool, path, err, "sound");
}

hs_status hs_cmd_check(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    struct hs_view view = {0};
    HS_TRY(hs_tool_open_view(tool, inv->arguments[0], HS_VIEW_SNAP, &view, err));
    hs_status status = hs_snap_check(view.snap, &tool->progress, err);
    if (status != HS_OK)
        status = hs_context(err, "cannot accept '%s'", view.path);
    else
        status = say_of(tool, view.path, err, "sound: %lu blocks, %lu edges, %lu roots' tree nodes",
                        (unsigned long)view.totals->n_blocks, (unsigned long)view.totals->n_edges,
                        (unsigned long)view.n_tree);
    if (status == HS_OK)
        status = check_index(tool, &view, err);
    hs_view_close(&view);
    return status;
}
