/* The files that are served, as they are now: some snapshots, or those of a folder, and a trace; or
 * a trace alone. */
#ifndef HS_SERVE_SERVED_H
#define HS_SERVE_SERVED_H

#include "server/exchange.h"

/* Paths as they were given. */
struct hs_serve_what {
    const char *const *snapshots; /* files, the newest first, or one folder */
    size_t n_snapshots;
    const char *trace; /* NULL: none */
};

/* A list as it was once; it stays while somebody uses it. */
struct hs_served_now {
    struct hs_served_list list;
    struct hs_served *items; /* owned, with the paths; names are their ends, if these differ */
    struct hs_served trace;  /* its path is owned */
    unsigned n_users;
    uint64_t found_ns;
};

/* Replaces *now (NULL at first) by a list of the files that are there now, which the caller then
 * uses, unless the one given still holds: a folder is looked at again after a second. HS_IO when
 * there is nothing; an empty folder is an empty list. O(files). */
hs_status hs_served_refresh(const struct hs_serve_what *what, struct hs_served_now **now,
                            struct hs_error *err);
void hs_served_let_go(struct hs_served_now *now);

/* Tells whether it is still the file that it was. A trace may have grown since: what was read of it
 * is true of what it was. */
bool hs_served_is_same(const struct hs_served *served);

#endif
