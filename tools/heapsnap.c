/* heapsnap: the entry. Parses, runs one command, maps its status to the exit code. */
#include <stdio.h>
#include <unistd.h>

#include "tool.h"

static hs_status show_help(struct hs_tool *tool, const struct hs_invocation *inv,
                           struct hs_error *err)
{
    if (inv->command == NULL)
        return hs_help_overview(&tool->out, err);
    return hs_help_command(&tool->out, inv->command, inv->wants_short_help, err);
}

static hs_status run(struct hs_tool *tool, const struct hs_invocation *inv, struct hs_error *err)
{
    HS_TRY(hs_tool_init(tool, inv, err));
    if (inv->command == NULL || inv->wants_help || inv->wants_short_help)
        HS_TRY(show_help(tool, inv, err));
    else
        HS_TRY(inv->command->run(tool, inv, err));
    return hs_tool_commit(tool, err);
}

int main(int argc, char **argv)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_invocation inv = {0};
    struct hs_tool tool = {0};
    hs_status status = hs_parse(argc, argv, &inv, &err);
    bool is_bare = status == HS_OK && argc < 2;
    if (status == HS_OK)
        status = run(&tool, &inv, &err);
    hs_tool_fini(&tool);
    if (status != HS_OK)
        hs_talk_error(&err);
    /* Without a command the overview is an answer, but not to what a script wanted. */
    return is_bare && status == HS_OK ? hs_exit_code(HS_USAGE) : hs_exit_code(status);
}
