#include "unread_print.h"

#include "base/units.h"

void hs_unread_talk(const struct hs_view *view)
{
    struct hs_unread unread;
    char bytes[HS_UNIT_TEXT_BYTES];

    hs_unread_find(view, &unread);
    if (!unread.is_worth_saying)
        return;
    hs_format_bytes(unread.sum.unread_bytes, bytes);
    if (unread.runtime[0] != 0)
        hs_talk("%u %% of the process's own memory (%s) is not read: the heap of %s is not "
                "supported yet",
                unread.percent, bytes, unread.runtime);
    else
        hs_talk("%u %% of the process's own memory (%s) is not read: no known allocator has it",
                unread.percent, bytes);
}
