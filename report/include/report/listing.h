/* One description of a listing, from which table, JSON, NDJSON and TSV come.
 *
 * A record describes the struct of a row: for each member its key, its kind, and for tables and TSV
 * its heading and its column. A list puts one row after another:
 *
 *     #define HS_ROW struct line
 *     static const struct hs_field fields[] = {
 *         HS_COLUMN(2, STRING, name, "NAME", HS_COLUMN_FLEXIBLE),
 *         HS_FIELD(COUNT, objects),
 *         HS_COLUMN(1, WORDS, words, "WORDS", HS_COLUMN_SUMMED),
 *     };
 *
 *     JSON    {"name": "a", "objects": 1, "words": 2}         in the order of the fields
 *     table   WORDS  NAME                                     in the order of the columns
 *
 * What is for JSON alone, such as the document around the rows, is a list of members with their
 * values, written where they are known:
 *
 *     HS_PAIRS(HS_TEXT("schema", "heapsnap.x/1"), HS_ROWS("rows", &list), HS_OBJECT("others"),
 *                HS_COUNT("count", n), HS_END)
 *
 * A number is unknown (null, "-", an empty cell) when it is HS_UNKNOWN, a text when it is NULL.
 * Nothing is owned here; a table copies the texts of a row when it is put. */
#ifndef HS_REPORT_LISTING_H
#define HS_REPORT_LISTING_H

#include <stddef.h>

#include "report/sheet.h"

#define HS_UNKNOWN (UINT64_MAX - 1)

/* Returns the value, or unknown for 0: for what is never 0. */
static inline uint64_t hs_or_unknown(uint64_t value)
{
    return value != 0 ? value : HS_UNKNOWN;
}

struct hs_field {
    struct hs_column cell;
    size_t offset;   /* of the member in the row */
    unsigned column; /* from 1 on in table and TSV; 0: JSON alone */
};

/* A flag more than the sheet's: in table and TSV alone. */
#define HS_COLUMN_NOT_JSON (1u << 8)

struct hs_record {
    const struct hs_field *fields;
    size_t n_fields;
};
#define HS_RECORD(array)                         \
    {                                            \
        (array), sizeof(array) / sizeof *(array) \
    }

/* Members of HS_ROW: uint64_t, const char * for STRING, const struct hs_list * for LIST and ONE.
 * The key is the member's name, or given. */
#define HS_COLUMN_AS(key_, column_, kind_, member, title_, flags_)                           \
    {                                                                                        \
        {(key_), (title_), HS_COLUMN_##kind_, (flags_)}, offsetof(HS_ROW, member), (column_) \
    }
#define HS_COLUMN(column, kind, member, title, flags) \
    HS_COLUMN_AS(#member, column, kind, member, title, flags)
#define HS_FIELD_AS(key, kind, member) HS_COLUMN_AS(key, 0, kind, member, NULL, 0)
#define HS_FIELD(kind, member) HS_FIELD_AS(#member, kind, member)

/* One member of a JSON object with its value. */
struct hs_pair {
    const char *key;
    enum hs_column_kind kind;
    bool is_block; /* of an object: a line for each member */
    union {
        uint64_t number;
        const char *text;
        const struct hs_list *list;
        const struct hs_pair *pairs;
    };
};
#define HS_PAIRS_END              \
    {                             \
        .kind = HS_N_COLUMN_KINDS \
    }
#define HS_PAIRS(...) ((const struct hs_pair[]){__VA_ARGS__, HS_PAIRS_END})
#define HS_NO_PAIRS ((const struct hs_pair[]){HS_PAIRS_END})
#define HS_TEXT(key_, value)                                     \
    {                                                            \
        .key = (key_), .kind = HS_COLUMN_STRING, .text = (value) \
    }
#define HS_VALUE(key_, kind_, value)                                \
    {                                                               \
        .key = (key_), .kind = HS_COLUMN_##kind_, .number = (value) \
    }
#define HS_COUNT(key, value) HS_VALUE(key, COUNT, value)
/* An array of rows; one row, or null when none is put. Without a list both are null. */
#define HS_ROWS(key_, rows)                                   \
    {                                                         \
        .key = (key_), .kind = HS_COLUMN_LIST, .list = (rows) \
    }
#define HS_ONE(key_, rows)                                   \
    {                                                        \
        .key = (key_), .kind = HS_COLUMN_ONE, .list = (rows) \
    }
/* Other members, in place of this one; they have no HS_SPLICE. */
#define HS_SPLICE(others)                           \
    {                                               \
        .kind = HS_COLUMN_SPLICE, .pairs = (others) \
    }
/* The members from here to HS_END are an object; on one line, or as a block. */
#define HS_OBJECT(key_)                         \
    {                                           \
        .key = (key_), .kind = HS_COLUMN_OBJECT \
    }
#define HS_BLOCK(key_)                                            \
    {                                                             \
        .key = (key_), .kind = HS_COLUMN_OBJECT, .is_block = true \
    }
#define HS_END                \
    {                         \
        .kind = HS_COLUMN_END \
    }

/* The destination of rows while a list is written: an array, an object, or a sheet. */
struct hs_sink {
    const struct hs_record *record;
    struct hs_json *json;                  /* NULL: a sheet */
    struct hs_sheet *sheet;                /* NULL: JSON */
    const struct hs_field *const *columns; /* of the sheet */
    const char *key;                       /* of a row that is a member */
    bool is_table;                         /* for eyes */
    bool is_block;                         /* JSON: the members of a row on lines of their own */
    uint64_t whole;                        /* JSON: what percent are of */
    size_t n;                              /* JSON: rows that were put */
};

struct hs_list {
    const struct hs_record *record; /* NULL: all rows are put as members */
    /* Puts the rows. */
    hs_status (*each)(void *context, struct hs_sink *sink, struct hs_error *err);
    void *context;
    bool is_line;  /* JSON: the whole array on one line */
    bool is_block; /* JSON: the members of a row on lines of their own */
};

/* Writes one row. Writing fails when the listing ends; what fails here is a list that the row
 * has. */
hs_status hs_sink_row(struct hs_sink *sink, const void *row, struct hs_error *err);
/* Writes one row for JSON alone, of HS_PAIRS. A single member without a key is a value and no
 * object. */
hs_status hs_sink_pairs(struct hs_sink *sink, const struct hs_pair *members, struct hs_error *err);
/* Writes, for JSON alone, more members of the object that is open. */
hs_status hs_sink_members(struct hs_sink *sink, const struct hs_pair *members,
                          struct hs_error *err);
/* Writes, for tables and nothing elsewhere: what `n` rows that were left out are in sum, and a line
 * that belongs to the sum and is no row; such lines come last. */
void hs_sink_others(struct hs_sink *sink, uint64_t n, const void *sums);
void hs_sink_close(struct hs_sink *sink, const void *row);

struct hs_listing {
    const struct hs_list *rows;
    const struct hs_pair *document; /* of JSON */
    bool is_one;                    /* NDJSON is the document, on one line */
    bool no_total;                  /* of tables, as these of the sheet */
    unsigned word_bytes;
    uint64_t whole;
};

/* Writes all of it in the format that the options ask for; what a listing says of itself counts
 * more than they do. */
hs_status hs_listing_write(const struct hs_listing *listing, struct hs_sheet_options options,
                           struct hs_out *out, struct hs_error *err);

#endif
