/* The rows of a query, kept until it has ended well: in memory up to HS_SQL_KEPT_BYTES, beyond that
 * in a spill. Only then are they written, so that whoever reads them has all of them or none. */
#ifndef HS_QUERY_RESULT_H
#define HS_QUERY_RESULT_H

#include "base/budget.h"
#include "base/buffer.h"
#include "base/spill.h"
#include "report/sheet.h"

#define HS_SQL_KEPT_BYTES ((size_t)4 << 20)

enum hs_sql_display { HS_SQL_PLAIN, HS_SQL_WORDS, HS_SQL_ADDRESS };

struct hs_sql_column {
    char *name; /* owned */
    enum hs_sql_display display;
};

enum hs_sql_kind { HS_SQL_NULL, HS_SQL_INTEGER, HS_SQL_REAL, HS_SQL_TEXT, HS_SQL_BLOB };

struct hs_sql_cell {
    enum hs_sql_kind kind;
    int64_t integer;
    double real;
    const char *text; /* borrowed; of a blob its bytes */
    size_t n_bytes;
};

struct hs_sql_result {
    struct hs_sql_column *columns; /* owned; none: there was no statement */
    size_t n_columns;
    uint64_t n_rows;
    struct hs_buffer kept; /* rows that are not spilled yet */
    struct hs_spill spill; /* blocks: their length as 8 bytes, then rows */
    bool is_spilled;
    struct hs_budget *budget; /* borrowed */
};

/* Frees a result. A zeroed one is valid and empty. */
void hs_sql_result_fini(struct hs_sql_result *result);

/* Adds a row. HS_IO when the disk is full. */
hs_status hs_sql_result_add(struct hs_sql_result *result, const struct hs_sql_cell *cells,
                            struct hs_error *err);

/* A sink of all rows in order, again from the first with each call; the cells are borrowed by the
 * callback, whose failure ends it. */
struct hs_sql_row_sink {
    hs_status (*put)(void *context, const struct hs_sql_cell *cells, struct hs_error *err);
    void *context;
};
hs_status hs_sql_result_each(struct hs_sql_result *result, const struct hs_sql_row_sink *sink,
                             struct hs_error *err);

/* Writes the result in the format of the options; of a table only as many rows as their limit.
 * Whole numbers beyond 2^53 are strings in JSON, addresses are 0x... everywhere, bytes that are no
 * text are x'...'. `query` and `paths` (n of them) are for JSON's head. */
struct hs_sql_source_names {
    const char *query;
    const char *const *paths;
    size_t n_paths;
};
hs_status hs_sql_result_write(struct hs_sql_result *result, const struct hs_sql_source_names *names,
                              const struct hs_sheet_options *options, struct hs_out *out,
                              struct hs_error *err);

#endif
