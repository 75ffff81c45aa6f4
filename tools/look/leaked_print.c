#include "leaked_print.h"

#include <stdio.h>

#include "analysis/root_name.h"
#include "base/units.h"
#include "described.h"

/* Returns the function that the goroutines of a group run; "" where it is not known. */
static const char *function_of(const struct hs_view *view, const struct hs_leaked_group *group)
{
    return hs_view_string(view, hs_snap_root(view->snap, group->first)->function);
}

hs_status hs_leaked_say(struct hs_tool *tool, const struct hs_view *view,
                        const struct hs_leaked_goroutines *leaked, struct hs_error *err)
{
    char bytes[HS_UNIT_TEXT_BYTES];

    if (leaked->n == 0)
        return HS_OK;
    hs_format_bytes(leaked->words * view->facts->word_bytes, bytes);
    return hs_tool_say(tool, err,
                       leaked->n == 1
                           ? "%lu goroutine waits for ever and keeps %s: nothing that may run "
                             "again reaches what it waits on"
                           : "%lu goroutines wait for ever and keep %s: nothing that may run "
                             "again reaches what they wait on",
                       (unsigned long)leaked->n, bytes);
}

hs_status hs_leaked_say_each(struct hs_tool *tool, const struct hs_view *view,
                             const struct hs_leaked_goroutines *leaked, struct hs_error *err)
{
    for (size_t i = 0; i < leaked->n_groups; i++) {
        const struct hs_leaked_group *group = &leaked->groups[i];
        const struct hs_root *root = hs_snap_root(view->snap, group->first);
        const char *function = function_of(view, group);
        char bytes[HS_UNIT_TEXT_BYTES], where[HS_ROOT_WHERE_BYTES];
        hs_format_bytes(group->words * view->facts->word_bytes, bytes);
        hs_root_where(view, root, where);
        HS_TRY(hs_tool_say(tool, err, "  %lu x %s%s%s%s%s: %s", (unsigned long)group->n,
                           function[0] == '\0' ? "an unknown function" : function,
                           where[0] == '\0' ? "" : ", made at ", where,
                           group->waits[0] == '\0' ? "" : ", ", group->waits, bytes));
    }
    return HS_OK;
}

static hs_status put_groups(void *context, struct hs_sink *sink, struct hs_error *err)
{
    const struct hs_leaked_pairs *pairs = context;

    for (size_t i = 0; i < pairs->leaked->n_groups; i++) {
        const struct hs_leaked_group *group = &pairs->leaked->groups[i];
        const struct hs_root *root = hs_snap_root(pairs->view->snap, group->first);
        HS_TRY(hs_sink_pairs(
            sink,
            HS_PAIRS(HS_VALUE("id", NODE, group->root), HS_COUNT("count", group->n),
                     HS_COUNT("words", group->words),
                     HS_TEXT("function", hs_or_null(function_of(pairs->view, group))),
                     HS_TEXT("waits", hs_or_null(group->waits)),
                     HS_TEXT("file", hs_or_null(hs_view_string(pairs->view, root->file))),
                     HS_COUNT("line", hs_or_unknown(root->line))),
            err));
    }
    return HS_OK;
}

void hs_leaked_pairs_init(const struct hs_view *view, const struct hs_leaked_goroutines *leaked,
                          struct hs_leaked_pairs *ret)
{
    *ret = (struct hs_leaked_pairs){.view = view, .leaked = leaked};
    ret->groups = (struct hs_list){.each = put_groups, .context = ret};
}
