/* The reasons for which a word counts for less than an owning reference. */
#ifndef HS_LOOK_WHY_H
#define HS_LOOK_WHY_H

#include "analysis/reason.h"

enum { HS_WHY_BYTES = 256 };

/* Returns "weak-pointer", "rule 200" of a later program; NULL: no rule lowered it. Borrowed, or in
 * `text`, which has HS_WHY_BYTES. */
const char *hs_why_rule(const struct hs_view *view, unsigned reason, char *text);
/* Writes "not counted: non-owning by rule weak-pointer (rules.d/std.rules:7)"; "in doubt: ..." of a
 * word that counts all the same, because nothing surer leads there. "" when no rule lowered it. */
void hs_why_text(const struct hs_view *view, unsigned reason, bool counts, char text[HS_WHY_BYTES]);

#endif
