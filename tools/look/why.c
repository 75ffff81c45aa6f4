#include "why.h"

#include <stdio.h>

const char *hs_why_rule(const struct hs_view *view, unsigned reason, char *text)
{
    const char *name = hs_reason_rule_name(view, reason);

    if (reason == HS_REASON_NONE || name != NULL)
        return name;
    (void)snprintf(text, HS_WHY_BYTES, "rule %u", reason);
    return text;
}

void hs_why_text(const struct hs_view *view, unsigned reason, bool counts, char text[HS_WHY_BYTES])
{
    const char *begin = counts ? "in doubt" : "not counted", *place;
    unsigned rule = hs_reason_rule(view, reason, &place);
    const char *name = hs_reason_name(rule);

    text[0] = '\0';
    if (rule == HS_REASON_LEAKED_GOROUTINE) /* its words count all the same */
        (void)snprintf(text, HS_WHY_BYTES, "%s", hs_reason_text(rule));
    else if (name != NULL)
        (void)snprintf(text, HS_WHY_BYTES, "%s: %s by rule %s%s%.80s%s", begin,
                       hs_reason_text(rule), name, place == NULL ? "" : " (",
                       place == NULL ? "" : place, place == NULL ? "" : ")");
    else if (reason != HS_REASON_NONE)
        (void)snprintf(text, HS_WHY_BYTES, "%s: by rule %u of a later heapsnap", begin, reason);
}
