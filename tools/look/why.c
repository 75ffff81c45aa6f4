#include "why.h"

#include <stdio.h>

const char *hs_why_rule(unsigned reason, char *text)
{
    const char *name = hs_reason_name(reason);

    if (reason == HS_REASON_NONE || name != NULL)
        return name;
    (void)snprintf(text, HS_WHY_BYTES, "rule %u", reason);
    return text;
}

void hs_why_text(unsigned reason, bool counts, char text[HS_WHY_BYTES])
{
    const char *begin = counts ? "in doubt" : "not counted", *name = hs_reason_name(reason);

    text[0] = '\0';
    if (name != NULL)
        (void)snprintf(text, HS_WHY_BYTES, "%s: %s by rule %s", begin, hs_reason_text(reason),
                       name);
    else if (reason != HS_REASON_NONE)
        (void)snprintf(text, HS_WHY_BYTES, "%s: by rule %u of a later heapsnap", begin, reason);
}
