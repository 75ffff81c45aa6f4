#include "unread_print.h"

#include <stdio.h>

#include "base/units.h"

void hs_unread_text(const struct hs_view *view, char text[HS_UNREAD_TEXT_BYTES])
{
    struct hs_unread unread;
    char bytes[HS_UNIT_TEXT_BYTES];

    text[0] = '\0';
    hs_unread_find(view, &unread);
    if (!unread.is_worth_saying)
        return;
    hs_format_bytes(unread.sum.unread_bytes, bytes);
    bool is_known = unread.runtime[0] != '\0';
    const char *own_dump = hs_unread_own_dump(unread.runtime);
    (void)snprintf(text, HS_UNREAD_TEXT_BYTES,
                   "%u %% of the process's own memory (%s) is not read: %s%.300s%s%s%s",
                   unread.percent, bytes, is_known ? "the heap of " : "no known allocator has it",
                   unread.runtime, is_known ? " is not supported yet" : "",
                   own_dump == NULL ? "" : "; for its objects: ", own_dump == NULL ? "" : own_dump);
}

hs_status hs_unread_say(struct hs_tool *tool, const struct hs_view *view, struct hs_error *err)
{
    char text[HS_UNREAD_TEXT_BYTES];

    hs_unread_text(view, text);
    return text[0] == '\0' ? HS_OK : hs_tool_say(tool, err, "%s", text);
}
