/* Values between SQLite and the tables. */
#ifndef HS_QUERY_VALUE_H
#define HS_QUERY_VALUE_H

#include "hub.h"

/* Gives a number that is never negative: as an integer, or as text where SQLite's are too small. */
void hs_sql_put(sqlite3_context *ret, uint64_t value);
/* Gives a number; NULL for `none`. */
void hs_sql_put_or(sqlite3_context *ret, uint64_t value, uint64_t none);
/* Gives a name that stays where it is as long as the snapshot is attached; NULL and "" are NULL. */
void hs_sql_put_name(sqlite3_context *ret, const char *name);
/* Gives a text that does not stay. */
void hs_sql_put_text(sqlite3_context *ret, const char *text);

/* Gives a text of the snapshot, which may be cut or changed afterwards; made safe to print where
 * the hub says so. */
void hs_sql_put_safe(const struct hs_sql_source *source, sqlite3_context *ret, const char *text);

/* Finds the whole number that a value of a column of numbers equals, if it is one that is not
 * negative: text that looks like one counts, as in SQLite's own comparisons. False for NULL,
 * fractions, other text: then nothing equals it. */
bool hs_sql_whole(sqlite3_value *value, uint64_t *ret);

/* Finds [*ret_first, *ret_end) of the rows that may be above and below the plan's values, within
 * what is there: never too few. NULL leaves none. */
void hs_sql_range(const struct hs_sql_plan *plan, uint64_t *ret_first, uint64_t *ret_end);

/* Finds the node that a function's argument means: a whole number is a node's, text is WHAT as the
 * commands take it. HS_NO_NODE for NULL, for fractions, and for numbers of no node. HS_USAGE for
 * text that means nothing. */
hs_status hs_sql_node(struct hs_sql_source *source, sqlite3_value *value, hs_node *ret,
                      struct hs_error *err);

#endif
