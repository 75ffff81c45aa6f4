/* The condition of a rule about blocks: "when symbol" or "when library". */
#ifndef HS_HEAPS_RULE_APPLIES_H
#define HS_HEAPS_RULE_APPLIES_H

#include "heaps/process_copy.h"
#include "rules/rules.h"

/* Tells whether the process has the library, or the symbol: a binary that is not the system's
 * defines it, or the program calls it where only those of the system do. */
bool hs_rule_applies(const struct hs_process_copy *process, const struct hs_rule *rule);

#endif
