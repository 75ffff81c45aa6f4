/* A column of a row group that grows: values wait until a page is full, pages in compressed form
 * until the group ends. */
#ifndef HS_PARQUET_COLUMN_H
#define HS_PARQUET_COLUMN_H

#include "base/strtab.h"
#include "parquet/writer.h"
#include "press.h"
#include "thrift.h"

enum { COLUMN_PAGE_ROWS = 1 << 15 };

struct column {
    struct hs_parquet_column what;
    uint64_t *values; /* owned: of the page that grows; of texts their numbers in `texts` */
    size_t n_values;
    size_t n_rows;           /* of the group, `values` included */
    struct hs_buffer pages;  /* owned: of the group, heads included */
    uint64_t raw_bytes;      /* of these, before they were compressed */
    uint64_t least, most;    /* of the group, as the kind orders them; not of texts */
    struct hs_strtab texts;  /* owned: the different texts of the group */
    uint64_t texts_reserved; /* bytes for these, the most so far */
};

hs_status column_init(const struct hs_parquet_column *what, struct press *press, struct column *ret,
                      struct hs_error *err);
void column_fini(struct column *column);

hs_status column_put(struct column *column, const struct hs_parquet_value *value,
                     struct press *press, struct hs_error *err);

/* Tells whether the texts of the group are so many that it should end. */
bool column_is_full(const struct column *column);

/* Ends the group: writes its dictionary and its pages to `out` and appends what readers need to
 * know of them, a ColumnChunk, to `footer`. *ret_bytes: how large they are uncompressed. Then the
 * column is empty. `base` is where the file begins in `out`. */
hs_status column_flush(struct column *column, struct press *press, struct hs_out *out,
                       uint64_t base, struct thrift *footer, uint64_t *ret_bytes,
                       struct hs_error *err);

/* Appends the column's SchemaElement. */
void column_schema(const struct hs_parquet_column *what, struct thrift *footer);

#endif
