/* One sheet of typed columns, rendered as table or TSV; report/listing.h makes JSON.
 *
 * The caller sorts, then appends row after row, cell by cell in column order. Rows beyond
 * `limit` are not kept, only counted and summed: they become the line "[n others]". Closing rows
 * (what belongs to the sum and is no row: "[shared]", "[unreached]") come after
 * hs_sheet_close_rows. The TOTAL line is the sum of everything appended.
 *
 *     RETAINED   %      NAME               columns: typed; all but strings right-aligned
 *      1.2 MiB   60.0%  Stm.VCS            rows
 *      0.5 MiB   25.0%  [17 others]        rows beyond the limit, tables only
 *      0.3 MiB   15.0%  [shared]           closing rows, tables only
 *      2.0 MiB  100.0%  TOTAL              tables only
 *
 * Failures are sticky and kept inside until hs_sheet_write. A cell costs 9 bytes, a string is kept
 * once; no allocation per cell. */
#ifndef HS_REPORT_SHEET_H
#define HS_REPORT_SHEET_H

#include "base/error.h"
#include "base/file.h"
#include "base/strtab.h"
#include "report/json.h"

enum hs_sheet_format {
    HS_SHEET_TABLE,
    HS_SHEET_JSON, /* of listings alone, as the next */
    HS_SHEET_NDJSON,
    HS_SHEET_TSV, /* a line of keys, then the rows; an unknown value is an empty cell */
    HS_N_SHEET_FORMATS
};

enum hs_column_kind {
    HS_COLUMN_STRING,
    HS_COLUMN_COUNT,
    HS_COLUMN_WORDS, /* human: as bytes */
    HS_COLUMN_BYTES,
    HS_COLUMN_PERCENT, /* cells are parts of the sheet's whole */
    HS_COLUMN_ADDRESS,
    HS_COLUMN_NODE,
    HS_COLUMN_DURATION, /* nanoseconds */
    HS_COLUMN_BOOL,
    HS_COLUMN_SECONDS, /* microseconds, in tables as seconds; UINT64_MAX: "never", null */
    HS_COLUMN_SHARE,   /* hundredths of a percent of whatever the row says */
    HS_COLUMN_NUMBER,  /* names something, as an id or a line does: never rounded */
    /* JSON alone: of listing.h. */
    HS_COLUMN_OBJECT,
    HS_COLUMN_END,
    HS_COLUMN_LIST,
    HS_COLUMN_ONE,
    HS_COLUMN_SPLICE,
    HS_N_COLUMN_KINDS
};

enum hs_column_flags {
    HS_COLUMN_FLEXIBLE = 1 << 0,   /* gets the width that is left and is cut to it: at most one */
    HS_COLUMN_SUMMED = 1 << 1,     /* shown in "[n others]" and TOTAL */
    HS_COLUMN_TABLE_ONLY = 1 << 2, /* for eyes: percent, marks */
    HS_COLUMN_DATA_ONLY = 1 << 3,  /* not in the table */
    HS_COLUMN_SHRINKS = 1 << 4,    /* strings: cut, too, when the flexible column has too little */
    HS_COLUMN_PATH = 1 << 7,       /* cut at its beginning: the end of a path says more */
    HS_COLUMN_WRAPS = 1 << 5,      /* the last column: goes on in the next line, never cut */
    HS_COLUMN_TREE = 1 << 6,       /* the flexible column: leading spaces are the depth in a tree */
    HS_COLUMN_WEIGHS = 1 << 9,     /* a part of the whole: a row is small when all of these are */
    HS_COLUMN_IF_KNOWN = 1 << 10,  /* not in a table that would have nothing in it */
    HS_COLUMN_NAMES = 1 << 11,     /* several names, as of roots: cut behind one that is whole */
};
/* A flag: on a narrow terminal the column is left out of the table, those with the highest rank (1
 * to 15) first. */
#define HS_COLUMN_SPARE(rank) ((unsigned)(rank) << 12)
#define HS_COLUMN_SPARED(flags) ((flags) >> 12 & 15)
/* The same, where lines would be longer than the terminal even so: after all that can be spared,
 * and after names are as short as they get. */
#define HS_COLUMN_NARROW(rank) ((unsigned)(rank) << 16)
#define HS_COLUMN_NARROWED(flags) ((flags) >> 16 & 15)

/* Returns the least part of `whole` that a table does not print as 0.0 %; 0 of 0. */
static inline uint64_t hs_percent_least(uint64_t whole)
{
    return whole / 2000 + (whole % 2000 != 0);
}

struct hs_column {
    const char *key;   /* JSON and TSV: lower case, with its unit */
    const char *title; /* table heading */
    enum hs_column_kind kind;
    unsigned flags;
};

struct hs_sheet_options {
    enum hs_sheet_format format;
    bool human;          /* units instead of plain integers */
    bool colour;         /* heading and closing lines stand out */
    bool folds_small;    /* tables: rows whose weighing cells are all 0.0 % join the others */
    bool no_total;       /* tables without TOTAL line: trees, where rows contain each other */
    size_t width;        /* terminal columns; 0 = no limit */
    uint64_t limit;      /* rows kept; 0 = all */
    unsigned word_bytes; /* 0 is taken as 8 */
    uint64_t whole;      /* what percent cells are parts of; 0: the cells are unknown */
};

struct hs_sheet {
    const struct hs_column *columns; /* borrowed until fini */
    size_t n_columns;
    struct hs_sheet_options options;
    struct hs_strtab strings;
    uint64_t *cells; /* owned: rows, then closing rows; string ids for strings */
    uint8_t *known;  /* owned: 0 where a cell is unknown */
    size_t n_cells, cells_capacity, known_capacity;
    size_t column;     /* where the next cell goes */
    size_t n_rows;     /* kept */
    size_t n_closing;  /* closing rows */
    uint64_t n_others; /* rows beyond the limit */
    uint64_t *sums;    /* owned: per column, [0, n) of others, [n, 2n) of all */
    size_t n_small;    /* rows that were small, from the second row on */
    size_t small_row;  /* the only one of them, kept in case that it remains so */
    bool closing;
    struct hs_error error;
};

/* Begins a sheet. `columns` must outlive it. Fails with HS_LIMIT. */
hs_status hs_sheet_init(struct hs_sheet *sheet, const struct hs_column *columns, size_t n_columns,
                        const struct hs_sheet_options *options, struct hs_error *err);
void hs_sheet_fini(struct hs_sheet *sheet);

/* Appends the next cell; the last of a row ends it. A kind that is not the column's is a bug. */
void hs_sheet_string(struct hs_sheet *sheet, const char *text); /* NULL: unknown */
void hs_sheet_u64(struct hs_sheet *sheet, uint64_t value);      /* every kind but string */
void hs_sheet_null(struct hs_sheet *sheet);

/* Counts rows that the caller does not even form: they join "[n others]". `sums` has one number per
 * column; those of columns that are not summed are ignored. */
void hs_sheet_fold(struct hs_sheet *sheet, uint64_t n_rows, const uint64_t *sums);

/* Begins the closing rows: all from here on. */
void hs_sheet_close_rows(struct hs_sheet *sheet);

/* Writes the sheet in its format. HS_IO, HS_LIMIT, or the first failure while it was filled. */
hs_status hs_sheet_write(struct hs_sheet *sheet, struct hs_out *out, struct hs_error *err);

#endif
