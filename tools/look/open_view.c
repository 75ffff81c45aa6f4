/* What a tool lends to the analysis. */
#include "open_view.h"

#include "memory_report.h"

static void say(void *context, const char *line)
{
    (void)context;
    hs_talk("%s", line);
}

static void before_index(void *context, const struct hs_snap *snap)
{
    hs_tool_talk_plan(context, snap);
}

struct hs_session hs_tool_session(struct hs_tool *tool, const char *path)
{
    hs_tool_spill_beside(tool, path);
    return (struct hs_session){
        .budget = hs_tool_budget(tool),
        .access = &tool->access,
        .progress = &tool->progress,
        .policy = tool->policy,
        .say = say,
        .before_index = before_index,
        .context = tool,
    };
}

hs_status hs_tool_open_view(struct hs_tool *tool, const char *path, enum hs_view_needs needs,
                            struct hs_view *ret, struct hs_error *err)
{
    if (tool->lender != NULL && needs == HS_VIEW_INDEX)
        return tool->lender->open(tool->lender->context, tool, path, ret, err);
    struct hs_session session = hs_tool_session(tool, path);
    return hs_view_open(&session, path, needs, ret, err);
}

hs_status hs_tool_open_view_index(struct hs_tool *tool, const char *path, bool rebuild,
                                  struct hs_view *ret, struct hs_error *err)
{
    struct hs_session session = hs_tool_session(tool, path);
    return hs_view_open_index(&session, path, rebuild, ret, err);
}
