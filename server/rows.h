/* The rows of a list in the JSON that a command printed: found, never decoded. */
#ifndef HS_SERVER_ROWS_H
#define HS_SERVER_ROWS_H

#include "base/error.h"

/* The begin of each row of the array `member` of the outermost object, and the end of the last:
 * offsets[n + 1], each row with the comma behind it. */
struct hs_json_rows {
    uint64_t *begin; /* owned */
    size_t n, capacity;
};

/* Finds the rows of well-formed JSON; whatever else it is, no byte outside is read. HS_BUG when it
 * has no such member. O(n_bytes). *ret: hs_json_rows_fini. */
hs_status hs_json_rows_find(const char *json, size_t n_bytes, const char *member,
                            struct hs_json_rows *ret, struct hs_error *err);
void hs_json_rows_fini(struct hs_json_rows *rows);

/* Tells whether a string in these bytes that is a value, no key, contains `text`; letters of ASCII
 * in either case. Strings are compared as they are written: with their escapes. */
bool hs_json_contains(const char *json, size_t n_bytes, const char *text);

#endif
