/* The checks that snapshots can be compared with each other, and the warnings when they hardly can.
 */
#ifndef HS_COMPARE_KINSHIP_H
#define HS_COMPARE_KINSHIP_H

#include "comparison.h"

/* Checks that both can be compared. HS_USAGE for another word size, policy or program. */
hs_status hs_kinship_check(const struct hs_compared *a, const struct hs_compared *b,
                           struct hs_error *err);
/* Tells whether both are of one process. */
bool hs_kinship_is_process(const struct hs_compared *a, const struct hs_compared *b);
/* Warns of what a reader has to know of the whole: another build, a restart, times that are not
 * known. */
void hs_kinship_talk(const struct hs_comparison *comparison);

#endif
