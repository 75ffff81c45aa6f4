/* A virtual table: what each file of tables/ is. One description says which columns there are, by
 * which of them rows are found without a scan, and how rows are made; module.c is all of SQLite's
 * side, plan.c chooses the way.
 *
 * A list has a number of rows that is known beforehand and is asked for its columns by row number;
 * any other table walks by itself. A function is a table with a hidden column that must be given:
 * children('#2'). */
#ifndef HS_QUERY_TABLE_H
#define HS_QUERY_TABLE_H

#include "analysis/view.h"
#include "sqlite.h"

struct hs_noun;
struct hs_sql_source;
struct hs_sql_cursor;

/* The ways in which the rows of a scan are narrowed. */
enum hs_sql_key_kind {
    HS_SQL_KEY_EQUAL,  /* column = value */
    HS_SQL_KEY_ORDERED /* the same and < <= > >=: rows come by it, ascending */
};

struct hs_sql_key {
    int column;
    enum hs_sql_key_kind kind;
    bool is_unique;
    double n_rows; /* that an equality finds, about */
};

/* The decision of xBestIndex, as filter gets it. */
struct hs_sql_plan {
    int key;                      /* of the table's keys; -1: all rows */
    sqlite3_value *argument;      /* of a function; NULL: none */
    sqlite3_value *equal;         /* of the key; NULL without */
    sqlite3_value *above, *below; /* of an ordered key, each may be NULL; inclusive or not: the
                                     value itself is to be given, SQLite looks again */
    uint64_t most;                /* rows that are asked for; UINT64_MAX: all */
    bool wants_largest;           /* in descending order of the column `largest` */
    bool wants_groups;            /* in the order of the column `grouped` */
    uint32_t used;                /* columns, a bit each; the last bit is all beyond */
};
#define HS_SQL_MOST_LARGEST 65536 /* rows that wants_largest may ask for */
#define HS_SQL_USED_BITS 20

struct hs_sql_table {
    const char *name;
    const char *columns; /* as CREATE TABLE has them, without the parentheses */
    size_t cursor_bytes; /* its cursor begins with struct hs_sql_cursor; 0: that alone */
    const struct hs_sql_key *keys;
    size_t n_keys;
    int argument;      /* column that must be given + 1; 0: it is no function */
    const char *usage; /* of a function: "children('#2')" */
    int largest; /* column + 1 by which the first few rows can be given, descending; 0: none */
    int grouped; /* column + 1 by which all rows can be given in groups; 0: none */
    bool (*can_group)(const struct hs_sql_source *, uint32_t used);
    double (*estimate)(const struct hs_sql_source *); /* rows of a scan */

    /* Counts the rows of a list. */
    hs_status (*count)(struct hs_sql_cursor *cursor, uint64_t *ret, struct hs_error *err);
    const struct hs_noun *noun; /* of rows.h */
    int64_t first_id;           /* of row 0: an ordered or unique key on column 0 finds ids */

    /* Begins a scan of a table that is no list: goes to the first row, or sets at_end. */
    hs_status (*filter)(struct hs_sql_cursor *cursor, const struct hs_sql_plan *plan,
                        struct hs_error *err);
    hs_status (*next)(struct hs_sql_cursor *cursor, struct hs_error *err);
    void (*fini)(struct hs_sql_cursor *cursor);

    hs_status (*column)(struct hs_sql_cursor *cursor, sqlite3_context *ret, int column,
                        struct hs_error *err);
};

struct hs_sql_cursor {
    sqlite3_vtab_cursor base;
    struct hs_sql_source *source;
    const struct hs_sql_table *table;
    uint64_t row; /* its number, or whatever tells it from the others */
    uint64_t end; /* of a list */
    bool at_end;
};

struct hs_sql_vtab {
    sqlite3_vtab base;
    struct hs_sql_source *source;
    const struct hs_sql_table *table;
};

/* module.c */
extern const sqlite3_module hs_sql_module;
/* plan.c: SQLite's xBestIndex. */
int hs_sql_plan_best(sqlite3_vtab *vtab, sqlite3_index_info *info);
void hs_sql_plan_read(const struct hs_sql_table *table, int number, const char *text,
                      sqlite3_value **values, int n, struct hs_sql_plan *ret);

#endif
