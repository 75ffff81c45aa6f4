/* The type whose blocks, by words that are no pointers for all that it says, are the only way to
 * most of what hangs on doubt: an arena that is declared as characters, perhaps, or packed nodes.
 * Whoever knows that these are pointers says so with --pointers-in. */
#ifndef HS_ANALYSIS_DOUBT_HOLDER_H
#define HS_ANALYSIS_DOUBT_HOLDER_H

#include "analysis/view.h"

struct hs_doubt_holder {
    uint32_t type;  /* meaningful when words is not 0 */
    uint64_t words; /* retained by doubtful blocks right below blocks of the type */
};

/* Finds that type, among firm blocks and those of a runtime; of equal ones the lowest number. No
 * words: none. O(n), without reading edges; 8 bytes per type. */
hs_status hs_doubt_holder_find(const struct hs_view *view, struct hs_doubt_holder *ret,
                               struct hs_error *err);

#endif
