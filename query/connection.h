/* A connection of our own, for those that make one and write with it. */
#ifndef HS_QUERY_CONNECTION_H
#define HS_QUERY_CONNECTION_H

#include "hub.h"

struct hs_sql {
    sqlite3 *db;            /* owned */
    struct hs_sql_hub *hub; /* owned */
    struct hs_sql_limits limits;
    char *saved_directory; /* of the process's temporary files, before */
    uint64_t reserved_bytes;
};

/* The place of the main database, and the share of the budget that SQLite may take: a part of what
 * is left, within bounds. */
struct hs_sql_place {
    const char *path; /* or ":memory:" */
    uint64_t least_bytes, most_bytes;
    unsigned part_of_memory; /* 8: an eighth */
    unsigned cache_percent;  /* of that: the pages of a database, and what a sorter holds */
    bool is_hard;            /* more is refused */
};

/* Opens a connection as hs_sql_open, at a place. */
hs_status hs_sql_open_at(const struct hs_session *session, const struct hs_sql_place *place,
                         const struct hs_sql_limits *limits, struct hs_sql **ret,
                         struct hs_error *err);
/* Says what went wrong when SQLite returned `code`. */
hs_status hs_sql_fail(const struct hs_sql *sql, int code, struct hs_error *err);

#endif
