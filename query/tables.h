/* The tables: one line each, for a file tables/NAME.c with hs_sql_table_NAME. */
#ifndef HS_QUERY_TABLES_H
#define HS_QUERY_TABLES_H

#include "table.h"

/* clang-format off */
#define HS_SQL_TABLES(table) \
    table(blocks)            \
    table(edges)             \
    table(roots)             \
    table(sets)              \
    table(types)             \
    table(keys)              \
    table(samples)           \
    table(sites)             \
    table(leaks)             \
    table(suspects)          \
    table(snapshots)         \
    table(children)          \
    table(up)                \
    table(path)              \
    table(holders)           \
    table(reached_from)      \
    table(diff)
/* clang-format on */

#define HS_SQL_TABLE_DECLARED(name) extern const struct hs_sql_table hs_sql_table_##name;
HS_SQL_TABLES(HS_SQL_TABLE_DECLARED)

#endif
