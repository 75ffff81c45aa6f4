/* Leaves the largest of more keys than there may be. */
#ifndef HS_KEYS_KEY_PRUNE_H
#define HS_KEYS_KEY_PRUNE_H

#include "key_table.h"

/* Keeps HS_KEYS_MOST of the keys whose own sizes and ranks are known: all of roots, then those with
 * most words, whatever is below them counted; of equal ones those of the lower rank. What goes
 * belongs to the nearest key above it that stays. *ret (hs_free): the new number of each old key;
 * NULL when there were not too many. Neither addresses nor numbers decide. O(keys * log keys). */
hs_status key_prune_keys(struct key_table *table, uint32_t **ret, struct hs_error *err);

#endif
