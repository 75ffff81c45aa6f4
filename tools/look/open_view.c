/* The means that a tool lends to the analysis. */
#include "open_view.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

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

/* The number of a process is no snapshot of it. */
static hs_status hint_dump(const char *path, struct hs_error *err)
{
    char process[64];
    size_t n = strspn(path, "0123456789");
    if (n == 0 || n > 10 || path[n] != '\0' || err->sys_errno != ENOENT)
        return err->status;
    (void)snprintf(process, sizeof process, "/proc/%s", path);
    if (access(process, F_OK) != 0)
        return hs_hint(err, "no process has the number %s either", path);
    return hs_hint(err, "'heapsnap dump %s -o %s.snap' makes a snapshot of the process", path,
                   path);
}

hs_status hs_tool_open_view(struct hs_tool *tool, const char *path, enum hs_view_needs needs,
                            struct hs_view *ret, struct hs_error *err)
{
    if (tool->lender != NULL && needs == HS_VIEW_INDEX)
        return tool->lender->open(tool->lender->context, tool, path, ret, err);
    struct hs_session session = hs_tool_session(tool, path);
    hs_timings_enter(&tool->timings, "opening");
    hs_status status = hs_view_open(&session, path, needs, ret, err);
    hs_timings_enter(&tool->timings, "answering");
    return status == HS_IO ? hint_dump(path, err) : status;
}

hs_status hs_tool_open_view_index(struct hs_tool *tool, const char *path, bool rebuild,
                                  struct hs_view *ret, struct hs_error *err)
{
    struct hs_session session = hs_tool_session(tool, path);
    hs_timings_enter(&tool->timings, "opening");
    hs_status status = hs_view_open_index(&session, path, rebuild, ret, err);
    hs_timings_enter(&tool->timings, "answering");
    return status;
}
