/* The guard before libdwarf's readers of debugging entries.
 *
 * libdwarf follows abbreviations, block lengths and references of .debug_info with few questions.
 * It gets the section only after every unit was read here once: headers, complete abbreviation
 * tables, known forms whose values end inside the unit, references that lead to entries, siblings
 * that are where the children end (libdwarf of 2021 never comes back from one that is not), strings
 * that exist, depth. Linear in the bytes; a quarter of the section in memory meanwhile. */
#ifndef HS_BOXED_INFO_CHECK_H
#define HS_BOXED_INFO_CHECK_H

#include "symbols/elf.h"

/* Checks .debug_info: *ret is true when it is safe to be read by others. Fails with HS_LIMIT. */
hs_status hs_info_check_(struct hs_elf *elf, bool *ret, struct hs_error *err);

#endif
