/* Rows of analysis/rows.h in SQL. */
#ifndef HS_QUERY_ROWS_H
#define HS_QUERY_ROWS_H

#include "analysis/rows.h"
#include "hub.h"

/* The columns of a noun as CREATE TABLE has them. */
#define HS_SQL_TYPE_TEXT "TEXT"
#define HS_SQL_TYPE_COUNT "INTEGER"
#define HS_SQL_TYPE_WORDS "WORDS"
#define HS_SQL_TYPE_BYTES "INTEGER"
#define HS_SQL_TYPE_NS "INTEGER"
#define HS_SQL_TYPE_TIME "INTEGER"
#define HS_SQL_TYPE_ADDRESS "ADDRESS"
#define HS_SQL_TYPE_NODE "INTEGER"
#define HS_SQL_TYPE_SET "INTEGER"
#define HS_SQL_TYPE_NUMBER "INTEGER"
#define HS_SQL_TYPE_BOOL "INTEGER"
#define HS_SQL_COLUMN(noun, name, kind, get) ", " #name " " HS_SQL_TYPE_##kind
#define HS_SQL_COLUMNS(NOUN) (&(HS_ROWS_##NOUN(HS_SQL_COLUMN))[2])

/* Finds all rows of a noun, made when they are first asked for. */
hs_status hs_sql_rows_of(struct hs_sql_source *source, const struct hs_noun *noun,
                         struct hs_rows **ret, struct hs_error *err);
/* Gives one value of one row as SQLite's; of TIME in seconds, as SQLite's own functions of time. */
hs_status hs_sql_put_value(const struct hs_sql_source *source, struct hs_rows *rows, uint64_t at,
                           unsigned column, sqlite3_context *ret, struct hs_error *err);

/* Counts the rows of a list whose table says its noun. */
hs_status hs_sql_rows_count(struct hs_sql_cursor *cursor, uint64_t *ret, struct hs_error *err);
hs_status hs_sql_rows_column(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                             struct hs_error *err);

#endif
