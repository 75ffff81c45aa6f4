/* Writes tables as Apache Parquet, row by row, in bounded memory.
 *
 *     PAR1 | row group | row group | ... | footer | u32 its length | PAR1
 *     row group = for each column:  [dictionary page]  data page  data page ...
 *
 * A row group has up to HS_PARQUET_GROUP_ROWS rows; it ends earlier where its different texts come
 * to some MiB. Pages are encoded and compressed (zstd) while rows come, so that a group waits for
 * its end in its compressed form. Each column of a group carries its least and greatest value, by
 * which readers skip groups.
 *
 * All columns are `required`: there is no NULL, who has no value writes one of his own choice (-1,
 * 0, ""). Texts may hold anything: bytes that are not UTF-8 become U+FFFD each, as readers refuse
 * a file that holds others.
 *
 * The same rows make the same bytes. */
#ifndef HS_PARQUET_WRITER_H
#define HS_PARQUET_WRITER_H

#include "base/alloc.h"
#include "base/budget.h"
#include "base/file.h"

#define HS_PARQUET_GROUP_ROWS ((size_t)1 << 20)
enum { HS_PARQUET_MAX_COLUMNS = 64 };

enum hs_parquet_kind {
    HS_PARQUET_NUMBER,  /* signed, 64 bits: for what repeats or is scattered */
    HS_PARQUET_ORDERED, /* the same for what mostly rises, as ids do */
    HS_PARQUET_ADDRESS, /* unsigned, 64 bits, mostly rising */
    HS_PARQUET_TIME,    /* microseconds since 1970, UTC */
    HS_PARQUET_TRUTH,   /* 0 or not */
    HS_PARQUET_TEXT,
    HS_PARQUET_N_KINDS
};

struct hs_parquet_column {
    const char *name; /* borrowed */
    enum hs_parquet_kind kind;
};

struct hs_parquet_value {
    union {
        int64_t number;
        uint64_t address;
    };
    const char *text; /* of a text: borrowed for the call; NULL is "" */
};

struct hs_parquet;

/* Begins a table on `out`, which stays the caller's and is not committed. `schema` is written into
 * the footer ("heapsnap.keys/1"). Names, `out` and `budget` (may be NULL) are borrowed until close.
 * Takes 256 KiB a column from the budget and what a group has in compressed form: HS_LIMIT. */
hs_status hs_parquet_open(struct hs_out *out, const char *schema,
                          const struct hs_parquet_column *columns, size_t n_columns,
                          struct hs_budget *budget, struct hs_parquet **ret, struct hs_error *err);
/* Takes NULL. */
void hs_parquet_close(struct hs_parquet *writer);

/* Appends a row: a value for each column. After a failure only close may be called. Cost: amortised
 * some 10 ns a value. */
hs_status hs_parquet_row(struct hs_parquet *writer, const struct hs_parquet_value *row,
                         struct hs_error *err);
/* Writes what waits, and the footer. Only close may follow. */
hs_status hs_parquet_finish(struct hs_parquet *writer, struct hs_error *err);

HS_DEFINE_AUTO(hs_parquet, close)

#endif
