#include "info_suspects.h"

#include <string.h>

#include "analysis/leak_report.h"
#include "suspect_text.h"

enum { SENTENCES = 3, THRESHOLD = 2 };

static hs_status print_one(struct hs_tool *tool, const struct hs_view *view,
                           const struct hs_suspect *suspect, struct hs_error *err)
{
    char who[HS_SUSPECT_WHO_BYTES], much[HS_SUSPECT_MUCH_BYTES];
    HS_TRY(hs_suspect_who(view, suspect, who, err));
    hs_suspect_much(view, suspect->words, much);
    return hs_tool_say(tool, err, "  %s: %s", much, who);
}

/* Prints the unreached size, one figure of the index. */
static hs_status print_unreached(struct hs_tool *tool, const struct hs_view *view,
                                 struct hs_error *err)
{
    char much[HS_SUSPECT_MUCH_BYTES];
    uint64_t words = hs_index_unreached_total(view->index).words;
    if (words < view->totals->heap_words / 100 * THRESHOLD || words == 0)
        return HS_OK;
    hs_suspect_much(view, words, much);
    return hs_tool_say(tool, err, "  %s: %s", much,
                       hs_leak_is_garbage(view) ? "garbage, which its collector will free"
                                                : "no root leads to it");
}

static hs_status print_found(struct hs_tool *tool, const struct hs_view *view,
                             const struct hs_suspects *found, struct hs_error *err)
{
    bool has_told = false; /* of what no root leads to, at its place by size */
    uint64_t unreached = hs_index_unreached_total(view->index).words;
    size_t n = 0;
    for (size_t i = 0; i < found->n && n < SENTENCES; i++, n++) {
        if (!has_told && unreached >= found->rows[i].words) {
            HS_TRY(print_unreached(tool, view, err));
            has_told = true;
            if (++n == SENTENCES)
                break;
        }
        HS_TRY(print_one(tool, view, &found->rows[i], err));
    }
    return has_told || n == SENTENCES ? HS_OK : print_unreached(tool, view, err);
}

hs_status hs_info_suspects(struct hs_tool *tool, struct hs_view *view, struct hs_error *err)
{
    const struct hs_suspect_query query = {
        .threshold_percent = THRESHOLD, .max_rows = SENTENCES, .is_brief = true};
    struct hs_suspects found = {0};
    char path[2048] = "";
    if (hs_snap_is_cut(view->snap) || view->totals->heap_words == 0)
        return HS_OK;
    hs_suspect_quote(view->path, path, sizeof path);
    HS_TRY(hs_print(&tool->out, err, "\n"));
    if (view->index == NULL)
        return hs_tool_say(tool, err, "who keeps the memory: heapsnap suspects %s", path);
    HS_TRY(hs_suspects_find(view, &query, &found, err));
    hs_status status =
        hs_tool_say(tool, err, "who keeps the memory (more: heapsnap suspects %s)", path);
    if (status == HS_OK)
        status = print_found(tool, view, &found, err);
    hs_suspects_fini(&found);
    return status;
}
