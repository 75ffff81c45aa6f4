/* The columns that every table of nodes has: of a block and of a node of the root tree alike. */
#ifndef HS_QUERY_NODE_COLUMNS_H
#define HS_QUERY_NODE_COLUMNS_H

#include "value.h"

/* The columns of a node, in this order at the end of a declaration. */
#define HS_SQL_NODE_COLUMNS                                                       \
    "id INTEGER, name TEXT, address ADDRESS, words WORDS, retained_words WORDS, " \
    "retained_objects INTEGER, tier TEXT"
enum {
    HS_SQL_NODE_ID,
    HS_SQL_NODE_NAME, /* its type, or what a root is called */
    HS_SQL_NODE_ADDRESS,
    HS_SQL_NODE_WORDS,
    HS_SQL_NODE_RETAINED,
    HS_SQL_NODE_OBJECTS,
    HS_SQL_NODE_TIER,
    HS_SQL_N_NODE_COLUMNS
};

/* Gives one of them. Decodes the node's chunk only where the column is of a block. HS_FORMAT. */
hs_status hs_sql_node_column(struct hs_sql_source *source, hs_node node, int column,
                             sqlite3_context *ret, struct hs_error *err);
/* Gives an offset in bytes; NULL where there is none. */
void hs_sql_put_offset(sqlite3_context *ret, const struct hs_view *view, uint64_t offset_words);
void hs_sql_put_tier(sqlite3_context *ret, unsigned tier);

#endif
