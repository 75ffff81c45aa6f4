/* Thrift's compact protocol, as far as Parquet's heads and footers need it.
 *
 * A field is its number, told as the difference to the field before where that is small, and its
 * type; numbers are zigzag varints; a struct ends with a zero byte. A failed allocation is kept and
 * told at the end: what is put after it goes nowhere. */
#ifndef HS_PARQUET_THRIFT_H
#define HS_PARQUET_THRIFT_H

#include "base/buffer.h"

enum thrift_type {
    THRIFT_TRUE = 1,
    THRIFT_I32 = 5,
    THRIFT_I64 = 6,
    THRIFT_BINARY = 8,
    THRIFT_LIST = 9,
    THRIFT_STRUCT = 12
};

enum { THRIFT_DEPTH = 8 };

struct thrift {
    struct hs_buffer *buffer; /* borrowed: appended to */
    struct hs_error *err;     /* borrowed */
    hs_status status;
    int last[THRIFT_DEPTH]; /* field of each open struct that was put last */
    unsigned depth;
};

/* Begins with the outermost struct open. */
struct thrift thrift_begin(struct hs_buffer *buffer, struct hs_error *err);
/* Closes the outermost struct. HS_LIMIT when anything had no room. */
hs_status thrift_end(struct thrift *t);

void thrift_i32(struct thrift *t, int field, int64_t value);
void thrift_i64(struct thrift *t, int field, int64_t value);
void thrift_bytes(struct thrift *t, int field, const void *bytes, size_t n);
void thrift_text(struct thrift *t, int field, const char *text);
void thrift_true(struct thrift *t, int field);

/* Opens a struct that is a field, and one that stands in a list; both end with thrift_close. */
void thrift_open(struct thrift *t, int field);
void thrift_open_item(struct thrift *t);
void thrift_close(struct thrift *t);

/* Writes the head of a list of n things of one type; these follow, numbers by thrift_item_i32. */
void thrift_list(struct thrift *t, int field, size_t n, enum thrift_type type);
void thrift_item_i32(struct thrift *t, int64_t value);
void thrift_item_text(struct thrift *t, const char *text);

#endif
