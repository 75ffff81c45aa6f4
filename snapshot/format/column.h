/* Tables of records, column by column: all values of the first member, then all of the second, ...
 * One codec writes and reads roots, types, samples, facts and the trailer's tables; a record is
 * described by an array of columns. Decoding checks that each value fits its member and its limit.
 */
#ifndef HS_FORMAT_COLUMN_H
#define HS_FORMAT_COLUMN_H

#include "base/buffer.h"
#include "base/cursor.h"

enum hs_column_form {
    HS_COLUMN_DELTA = 1 << 0,  /* zigzag of the difference to the record before, modulo 2^64 */
    HS_COLUMN_NONE = 1 << 1,   /* stored plus one: a member of all ones ("none") is 0 */
    HS_COLUMN_STRING = 1 << 2, /* a string id: the limit is the number of strings */
    HS_COLUMN_FIXED = 1 << 3,  /* eight bytes: hashes */
};

struct hs_column {
    uint64_t max;       /* of the stored value; UINT64_MAX = what the member holds */
    uint64_t first_max; /* the limit in version 1 when it was lower; 0: the same */
    uint16_t at, bytes; /* of the member: offset and size (1, 2, 4 or 8) */
    uint16_t form;
    uint16_t since; /* the version of the format that has it first; 0: all */
};

#define HS_COLUMN_AT(type, member) \
    .at = (uint16_t)offsetof(struct type, member), .bytes = sizeof(((struct type *)NULL)->member)
#define HS_COLUMN(type, member, form_, max_)                       \
    {                                                              \
        HS_COLUMN_AT(type, member), .form = (form_), .max = (max_) \
    }
/* One that version 1 has with a lower limit, and one that it lacks. */
#define HS_COLUMN_GREW(type, member, form_, max_, first_max_)                                 \
    {                                                                                         \
        HS_COLUMN_AT(type, member), .form = (form_), .max = (max_), .first_max = (first_max_) \
    }
#define HS_COLUMN_SINCE(type, member, form_, max_, since_)                            \
    {                                                                                 \
        HS_COLUMN_AT(type, member), .form = (form_), .max = (max_), .since = (since_) \
    }

/* The limits that the values of all columns of a table are checked against. */
struct hs_column_limits {
    uint32_t version; /* of the file: columns that are younger are left out, and stay as they are */
    uint64_t n_strings;
};

struct hs_schema {
    const char *what; /* for messages: "root", "sample" */
    const struct hs_column *columns;
    size_t n_columns, record_bytes;
};

/* Appends `n` records. HS_BUG when a value is over its limit. */
hs_status hs_schema_encode(const struct hs_schema *schema, const void *records, size_t n,
                           const struct hs_column_limits *limits, struct hs_buffer *out,
                           struct hs_error *err);

/* Reads `n` records into records[n]. HS_FORMAT names the record and the value. */
hs_status hs_schema_decode(const struct hs_schema *schema, struct hs_cursor *c, void *records,
                           size_t n, const struct hs_column_limits *limits, struct hs_error *err);

/* The same with the count in front (a varint): allocates, *ret is the caller's to hs_free. A count
 * that the bytes left cannot hold is refused before anything is allocated. */
hs_status hs_schema_encode_list(const struct hs_schema *schema, const void *records, size_t n,
                                const struct hs_column_limits *limits, struct hs_buffer *out,
                                struct hs_error *err);
hs_status hs_schema_decode_list(const struct hs_schema *schema, struct hs_cursor *c,
                                const struct hs_column_limits *limits, void *ret_records,
                                size_t *ret_n, struct hs_error *err);

#endif
