/* The snapshots that are served: one, or those of a folder, as they are now. */
#ifndef HS_SERVE_SERVED_H
#define HS_SERVE_SERVED_H

#include "server/exchange.h"

/* A list as it was once; it stays while somebody uses it. */
struct hs_served_now {
    struct hs_served_list list;
    struct hs_served *items; /* owned, with the paths; names are their ends */
    unsigned n_users;
    uint64_t found_ns;
};

/* What is at `path`: the list, whose user the caller is, or the one that is given, when it is still
 * true: of a folder it is looked at again after a second. HS_IO when there is nothing; an empty
 * folder is an empty list. O(files). */
hs_status hs_served_refresh(const char *path, struct hs_served_now **now, struct hs_error *err);
void hs_served_let_go(struct hs_served_now *now);

/* Another number for another file, or when it was written to. 0: it is not there. */
uint64_t hs_served_identity(const char *path);

#endif
