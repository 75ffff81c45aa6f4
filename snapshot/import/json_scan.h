/* A scanner of JSON that is not loaded: walks over bytes and answers with the places of values.
 *
 * Made for files of gigabytes that are a few flat arrays of numbers: a number costs a loop over its
 * digits, a value that is skipped one look per byte. Nothing is allocated and nothing recurses;
 * nesting is only counted. What is skipped is not validated beyond its brackets and strings. */
#ifndef HS_JSON_SCAN_H
#define HS_JSON_SCAN_H

#include "base/error.h"

/* A value, without the space around it; and a walk over its members. */
struct json_slice {
    const uint8_t *at, *end;
};

/* HS_FORMAT at a byte of the file that begins at `base`. */
hs_status hs_scan_fail(const uint8_t *base, const uint8_t *at, const char *why,
                       struct hs_error *err) __attribute__((cold));

/* Moves over white space. */
static inline const uint8_t *hs_scan_space(const uint8_t *at, const uint8_t *end)
{
    while (at < end && (*at == ' ' || *at == '\n' || *at == '\r' || *at == '\t'))
        at++;
    return at;
}

/* The end of the value that begins at `at`, or NULL. */
const uint8_t *hs_scan_skip(const uint8_t *at, const uint8_t *end);

/* Begins a walk over the members of an object or array: at its '{' or '['. NULL end when it is
 * none. */
struct json_slice hs_scan_enter(struct json_slice value);
/* The next member; false at the end, and with walk->at NULL when it is malformed. `key` (may be
 * NULL for arrays) is the string with its quotes. */
bool hs_scan_next(struct json_slice *walk, struct json_slice *key, struct json_slice *value);
/* Tells whether a string value is this text, which has no characters that need an escape. */
bool hs_scan_is(struct json_slice string, const char *text);
/* A member of an object by key; false when it has none. */
bool hs_scan_member(struct json_slice object, const char *key, struct json_slice *ret);
/* A plain decimal number below 2^63, alone. */
bool hs_scan_count(struct json_slice value, uint64_t *ret);

/* The text of a string value with its escapes resolved, cut to what fits; not NUL-terminated.
 * Unpaired surrogates become U+FFFD. Returns the bytes used. */
size_t hs_scan_text(struct json_slice string, char *text, size_t n);

/* A code point as UTF-8, at most four bytes; their number. Beyond U+10FFFF it is U+FFFD. */
size_t hs_scan_utf8(uint32_t code, char *text);

/* The next number of a flat array of numbers; begin behind its '['. Sets *ok false when something
 * else stands there, the array's end included, and answers 0. */
static inline uint64_t hs_scan_number(struct json_slice *walk, bool *ok)
{
    const uint8_t *at = walk->at;
    const uint8_t *end = walk->end;
    while (at < end && (*at == ',' || *at == '\n' || *at == ' ' || *at == '\r' || *at == '\t'))
        at++;
    uint64_t value = 0;
    const uint8_t *first = at;
    for (unsigned digit; at < end && (digit = (unsigned)*at - '0') < 10; at++)
        value = value * 10 + digit;
    *ok &= at != first && at - first < 19;
    walk->at = at;
    return value;
}

#endif
