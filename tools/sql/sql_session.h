/* A session of `heapsnap sql`: a connection, how its answers are written, and where statements come
 * from. */
#ifndef HS_SQL_SQL_SESSION_H
#define HS_SQL_SQL_SESSION_H

#include "apart.h"
#include "query/query.h"
#include "tool.h"

struct hs_sql_session {
    struct hs_tool *tool; /* borrowed */
    const struct hs_invocation *inv;
    struct hs_sql *sql;    /* owned */
    struct hs_apart apart; /* where statements run that have a time */
    struct hs_sheet_options options;
    bool is_prompt; /* somebody sits at it: a failure is told, and it goes on */
};

/* Runs all statements of a text, or the one dot command that it is, and writes what they give. */
hs_status hs_sql_session_run(struct hs_sql_session *session, const char *text,
                             struct hs_error *err);
/* The dot commands (sql_commands.c): false when `text` is none. *ret_ends: no more is wanted. */
bool hs_sql_session_command(struct hs_sql_session *session, const char *text, bool *ret_ends,
                            hs_status *ret_status, struct hs_error *err);
/* Runs statements from standard input (sql_prompt.c), until it ends or .quit. */
hs_status hs_sql_session_read(struct hs_sql_session *session, struct hs_error *err);
/* Makes what was written so far visible to whoever waits for it; not of a file of -o. */
hs_status hs_sql_session_flush(struct hs_sql_session *session, struct hs_error *err);

#endif
