/* The state that the tables of one connection share: the snapshots, the clock, and the last
 * failure. */
#ifndef HS_QUERY_HUB_H
#define HS_QUERY_HUB_H

#include "analysis/view.h"
#include "query/query.h"
#include "sqlite.h"
#include "table.h"

struct hs_sql_kept;

/* One snapshot that is attached. */
struct hs_sql_source {
    struct hs_sql_hub *hub; /* borrowed */
    char *name, *path;      /* owned */
    struct hs_view view;
    struct hs_sql_kept *kept; /* owned: what tables compute once; kept.h */
    uint32_t n_looks;         /* at the pointers of single blocks */
};

/* A table of a hub: what a module is registered with. */
struct hs_sql_entry {
    struct hs_sql_hub *hub;
    const struct hs_sql_table *table;
};

struct hs_sql_hub {
    sqlite3 *db; /* borrowed */
    struct hs_session session;
    struct hs_progress progress; /* of the session, with the clock */
    uint64_t deadline_ns;        /* of the statement that runs; 0: none */
    bool is_late;                /* it was reached */
    bool is_setting_up;          /* the statements are our own */
    bool is_clean;               /* texts are made safe to print */
    bool has_failed;
    struct hs_error error;        /* of the table that failed */
    struct hs_sql_entry *entries; /* owned */
    unsigned n_refs;              /* modules that are registered with it, and its owner */
    struct hs_sql_source *sources[HS_SQL_SNAPSHOTS]; /* owned */
    unsigned n_sources;
    char denied[96]; /* what the authorizer refused last */
};

/* Registers tables and functions with a connection. The hub goes when its owner has released it and
 * the connection is closed. */
hs_status hs_sql_hub_new(sqlite3 *db, const struct hs_session *session, struct hs_sql_hub **ret,
                         struct hs_error *err);
void hs_sql_hub_release(struct hs_sql_hub *hub);

hs_status hs_sql_hub_attach(struct hs_sql_hub *hub, const char *path, const char *name,
                            struct hs_error *err);
/* The same of a view that is open: it is the hub's until its owner has released the hub. */
hs_status hs_sql_hub_lend(struct hs_sql_hub *hub, struct hs_view *view, const char *name,
                          struct hs_error *err);
/* Counts each look at the pointers of one block: from the ninth on each makes a part of the view's
 * file of single blocks (analysis/block_file.h), so that after as many as there are chunks a look
 * costs no decoding of 65,536 blocks any more. */
void hs_sql_source_looked(struct hs_sql_source *source);
/* Finds a snapshot by its name; NULL: the first. NULL when there is none. */
struct hs_sql_source *hs_sql_hub_find(const struct hs_sql_hub *hub, const char *name);

/* Returns the status, or, in place of success, damage that any snapshot's index has met. */
hs_status hs_sql_hub_check(const struct hs_sql_hub *hub, hs_status status, struct hs_error *err);

/* Begins a statement: to be called between statements. */
void hs_sql_hub_begin(struct hs_sql_hub *hub, uint64_t timeout_ns);

#endif
