/* The sums of each key, once every block has a key. */
#ifndef HS_KEYS_KEY_SUMS_H
#define HS_KEYS_KEY_SUMS_H

#include "owner_search.h"

/* Adds "[unreached]" and its types to the table, sums the sizes of all blocks, and finds the owner
 * set of each key. One pass over the blocks, one over the index. */
hs_status key_sums_find(const struct owner_search *search, struct key_table *table,
                        struct hs_error *err);

#endif
