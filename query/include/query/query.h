/* SQL over snapshots: one SQLite connection, whose tables are virtual ones straight over index and
 * snapshot. Nothing is loaded: a row is decoded when it is asked for.
 *
 *     hs_sql_open -> hs_sql_attach (once for each snapshot) -> hs_sql_run (again and again)
 *
 * The first snapshot is the schema s1, the next s2, or what the caller calls them; an unqualified
 * name means the first that was attached. docs/sql.md has the tables.
 *
 * Statements can only read: whatever would write, attach a file, load a library or change the
 * connection is refused (HS_USAGE) before it runs. A query that meets damage in an index fails with
 * HS_FORMAT, and its rows are not given to anybody. */
#ifndef HS_QUERY_QUERY_H
#define HS_QUERY_QUERY_H

#include "analysis/session.h"
#include "query/result.h"

struct hs_sql;

/* The most databases in one connection: SQLite's own limit. */
#define HS_SQL_SNAPSHOTS 10

struct hs_sql_limits {
    uint64_t timeout_ns; /* of one statement; 0: none */
    /* Is called when a statement begins and when it has ended, for who watches the time from
     * without: one function of SQLite over a long text looks at no clock. NULL: nobody does. */
    void (*clock)(void *context, bool runs);
    void *context;
    const char *late_hint; /* of a statement that took longer; NULL: --timeout */
};

/* `session` is copied, and what it lends stays borrowed until close: its budget bounds what the
 * tables take and, by an eighth of what is left of it (at least 16 MiB), SQLite's own memory; what
 * sorts more spills into files in the budget's directory. HS_LIMIT when out of memory. One
 * connection of a process at a time: SQLite's limit of memory is the process's. */
hs_status hs_sql_open(const struct hs_session *session, const struct hs_sql_limits *limits,
                      struct hs_sql **ret, struct hs_error *err);
void hs_sql_close(struct hs_sql *sql);

/* Opens a snapshot with its index, which is computed when there is none, as the schema `name`
 * (NULL: s1, s2, ...). HS_USAGE for a name that is no word of letters, digits and _, or is taken.
 */
hs_status hs_sql_attach(struct hs_sql *sql, const char *path, const char *name,
                        struct hs_error *err);

/* Finds attached snapshot number `at`, from 0; false behind the last. *ret_name and *ret_path are
 * borrowed. */
bool hs_sql_attached(const struct hs_sql *sql, unsigned at, const char **ret_name,
                     const char **ret_path);

/* Returns the bytes of a word of the first snapshot, for human units; 8 without one. */
unsigned hs_sql_word_bytes(const struct hs_sql *sql);

/* Runs the first statement of `text` to its end and keeps all its rows in *ret, or none on failure.
 * *ret_rest is where the next statement begins; at the end of the text *ret has no columns.
 * HS_USAGE for what is no SQL or is refused, HS_LIMIT for too much time or memory, HS_IO when
 * something cannot be spilled, HS_FORMAT for damage. */
hs_status hs_sql_run(struct hs_sql *sql, const char *text, const char **ret_rest,
                     struct hs_sql_result *ret, struct hs_error *err);

/* Tells whether the text ends with a whole statement: for prompts, which ask for more until it
 * does. */
bool hs_sql_is_complete(const char *text);

/* The tables that every snapshot has; `at` counts from 0. */
struct hs_sql_table_facts {
    const char *name;
    const char *columns; /* as CREATE TABLE has them: "id INTEGER, of HIDDEN" */
    bool is_function;
};
size_t hs_sql_n_tables(void);
struct hs_sql_table_facts hs_sql_table_at(size_t at);

/* The stored questions, which are views of every snapshot; `at` counts from 0. */
struct hs_sql_question {
    const char *name;
    const char *sentence; /* what it answers */
    const char *sql;
};
extern const struct hs_sql_question hs_sql_questions[];
extern const size_t hs_sql_n_questions;

#endif
