/* Answers of commands, kept in the files that they were printed to: the last that were used. */
#ifndef HS_SERVER_KEPT_H
#define HS_SERVER_KEPT_H

#include "rows.h"
#include "server/exchange.h"

struct hs_kept {
    uint64_t key[2]; /* of the question, and of what it was asked of */
    struct hs_map map;
    struct hs_json_rows rows;
    bool has_rows;
    unsigned n_users; /* the shelf is one */
    uint64_t used_at;
};

struct hs_kept_shelf {
    struct hs_kept *items[HS_SERVER_KEPT]; /* owned */
    size_t n;
    uint64_t n_bytes, clock;
};

/* Finds an answer, with one user more then; NULL: it is not there. */
struct hs_kept *hs_kept_find(struct hs_kept_shelf *shelf, const uint64_t key[2]);
/* Adds an answer, whose map it takes over in any case. The caller is a user. What was not used for
 * longest goes. */
hs_status hs_kept_add(struct hs_kept_shelf *shelf, const uint64_t key[2], struct hs_map *map,
                      struct hs_kept **ret, struct hs_error *err);
/* Takes NULL. */
void hs_kept_let_go(struct hs_kept *kept);
void hs_kept_clear(struct hs_kept_shelf *shelf);

#endif
