/* The search of the owner tree: each block gets the key of the block or root that it is first met
 * from, and a step more.
 *
 * Level by level: what the blocks of one level point to and nothing nearer has met waits until all
 * of the level have been looked at, and then goes to the one whose key has the lowest rank. So it
 * does not matter in which order they are looked at.
 *
 *   cell of a block:   state 2 bits | tier 2 bits, kind 28 bits        not met
 *                                   | key 30 bits                      met
 *
 * The blocks of a level are kept in a list, 8 bytes each, of at most as many as 1/64 of all; a
 * level with more is found by looking through the cells, which can come to pass no more than 64
 * times. */
#ifndef HS_KEYS_OWNER_SEARCH_H
#define HS_KEYS_OWNER_SEARCH_H

#include "key_roots.h"
#include "successors.h"

struct owner_level {
    uint64_t *entries; /* owned pages: block number << 24 | kind */
    uint64_t n, most;
    bool is_wide; /* there are more: the cells say which */
};

struct owner_search {
    struct hs_view *view;
    struct key_table *table;
    const struct key_roots *roots;
    struct successors rows;
    uint32_t *cells; /* owned pages */
    uint64_t n_blocks;
    uint64_t n_of_tier[HS_N_TIERS];
    unsigned tier; /* of the round: no block of a higher one is met */
    struct owner_level now, next;
    uint64_t n_met;
    uint64_t reserved_bytes;
};

/* Runs the search. `in_file`: as of struct hs_keys_query. Resident: 4.3 bytes a block, and the
 * rows. HS_LIMIT, HS_FORMAT, HS_IO. */
hs_status owner_search_run(struct hs_view *view, struct key_table *table,
                           const struct key_roots *roots, bool in_file, struct owner_search *ret,
                           struct hs_error *err);
void owner_search_fini(struct owner_search *search);

/* The key of a block; HS_NO_KEY when no root reaches it. */
uint32_t owner_search_key(const struct owner_search *search, uint64_t block);

#endif
