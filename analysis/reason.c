#include "analysis/reason.h"

#include <stdlib.h>
#include <string.h>

enum { REASON_DECIMAL = 10, REASON_NAME_BYTES = 32 };

/* Reads a note "rule 64 is weak-pointer by rules.d/std.rules:7", if it is one of this number. */
static bool read_note(const char *note, unsigned reason, unsigned *ret_rule, const char **ret_place)
{
    static const char begin[] = HS_NOTE_LINE, is[] = HS_NOTE_LINE_IS, by[] = HS_NOTE_LINE_BY;
    char *end, name[REASON_NAME_BYTES];

    if (strncmp(note, begin, strlen(begin)) != 0)
        return false;
    unsigned long number = strtoul(note + strlen(begin), &end, REASON_DECIMAL);
    if (number != reason || strncmp(end, is, strlen(is)) != 0)
        return false;
    const char *rule = end + strlen(is), *place = strstr(rule, by);
    if (place == NULL || (size_t)(place - rule) >= sizeof name)
        return false;
    memcpy(name, rule, (size_t)(place - rule));
    name[place - rule] = '\0';
    *ret_rule = hs_reason_by_name(name);
    *ret_place = place + strlen(by);
    return *ret_rule != HS_REASON_NONE;
}

unsigned hs_reason_rule(const struct hs_view *view, unsigned reason, const char **ret_place)
{
    unsigned rule;

    *ret_place = NULL;
    for (size_t i = 0; reason >= HS_FIRST_LINE_REASON && i < view->facts->n_notes; i++)
        if (read_note(hs_view_string(view, view->facts->notes[i].text), reason, &rule, ret_place))
            return rule;
    return reason;
}

const char *hs_reason_rule_name(const struct hs_view *view, unsigned reason)
{
    const char *place;

    return hs_reason_name(hs_reason_rule(view, reason, &place));
}
