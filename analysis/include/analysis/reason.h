/* The reasons for which a word counts for less than an owning reference: the rule, and, where a
 * file of rules made it one of that kind, the line of the file (HS_NOTE_LINE). */
#ifndef HS_ANALYSIS_REASON_H
#define HS_ANALYSIS_REASON_H

#include "analysis/view.h"

/* The number of the rule of snapshot/reasons.def; that itself when no line is noted for it.
 * *ret_place: "rules.d/std.rules:7", borrowed, or NULL. */
unsigned hs_reason_rule(const struct hs_view *view, unsigned reason, const char **ret_place);
/* Returns the name, such as "weak-pointer"; NULL for 0, and for a rule that this program does not
 * know. */
const char *hs_reason_rule_name(const struct hs_view *view, unsigned reason);

#endif
