/* The tables of SQL written out as a database file: what `heapsnap sql` asks, to be taken along.
 *
 *     blocks, edges           views over block_data and edge_data, with indexes by idom, type,
 * source and target; a type stands once in type_names roots sets types keys samples sites leaks
 * snapshots      as they are
 *
 * Suspects are computed from the others and are not in it. Columns are those of the tables of SQL,
 * but for some of edges that are dear to compute. Whoever opens the file shows what is in it, also
 * on a terminal: texts are made safe to print. */
#ifndef HS_QUERY_DATABASE_H
#define HS_QUERY_DATABASE_H

#include "analysis/view.h"
#include "base/file.h"

/* Writes the database, made in a temporary file without a name, since SQLite seeks, and copied from
 * front to end. Takes 6 to 20 MiB of the budget for SQLite beside what each table takes by itself.
 * HS_IO, HS_LIMIT, HS_FORMAT. The view is used by nobody else meanwhile. */
hs_status hs_sql_write_database(struct hs_view *view, struct hs_out *out, struct hs_error *err);

#endif
