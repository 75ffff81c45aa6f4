/* A streaming JSON writer: what is written is well-formed, whatever the strings hold.
 *
 * Values take the key of the member they are; inside an array, and at the top, the key is NULL.
 * Failures are sticky and kept inside: write everything, then ask hs_json_finish once. Each value
 * at the top is followed by a newline, so a compact writer used several times writes NDJSON.
 * Control characters, DEL, C1 and invisible or direction-changing characters are written as \uXXXX,
 * each byte that is not UTF-8 as U+FFFD: the output is printable even on a terminal. Nesting deeper
 * than HS_JSON_MAX_DEPTH, a missing key and an end without its begin are bugs of the caller. */
#ifndef HS_REPORT_JSON_H
#define HS_REPORT_JSON_H

#include "base/buffer.h"
#include "base/error.h"
#include "base/file.h"

#define HS_JSON_MAX_DEPTH 96

enum hs_json_style {
    HS_JSON_PRETTY, /* two spaces per level */
    HS_JSON_COMPACT,
};

/* The layout of the members of one object or array in pretty output. A line keeps all it holds on
 * it. */
enum hs_json_shape { HS_JSON_BLOCK, HS_JSON_LINE };

struct hs_json_level {
    bool is_array;
    bool is_line;
    bool has_members;
};

struct hs_json {
    struct hs_out *out;       /* borrowed; NULL when a buffer is written */
    struct hs_buffer *buffer; /* borrowed; NULL when an output is written */
    enum hs_json_style style;
    unsigned depth;
    struct hs_json_level levels[HS_JSON_MAX_DEPTH];
    struct hs_error error; /* the first failure */
};

/* Begins JSON in an output. Nothing is owned: there is no fini. */
void hs_json_init(struct hs_json *json, struct hs_out *out, enum hs_json_style style);
void hs_json_init_buffer(struct hs_json *json, struct hs_buffer *buffer, enum hs_json_style style);

void hs_json_begin_object(struct hs_json *json, const char *key, enum hs_json_shape shape);
void hs_json_end_object(struct hs_json *json);
void hs_json_begin_array(struct hs_json *json, const char *key, enum hs_json_shape shape);
void hs_json_end_array(struct hs_json *json);

/* Writes a text; NULL is written as null. */
void hs_json_string(struct hs_json *json, const char *key, const char *text);
void hs_json_string_n(struct hs_json *json, const char *key, const char *text, size_t n_bytes);
void hs_json_u64(struct hs_json *json, const char *key, uint64_t value);
void hs_json_i64(struct hs_json *json, const char *key, int64_t value);
/* Writes as many digits as tell the number from its neighbours; null for what is no finite
 * number. */
void hs_json_real(struct hs_json *json, const char *key, double value);
void hs_json_bool(struct hs_json *json, const char *key, bool value);
void hs_json_null(struct hs_json *json, const char *key);
/* "0x..." */
void hs_json_address(struct hs_json *json, const char *key, hs_addr value);
/* Writes "#N"; HS_NO_NODE is written as null. */
void hs_json_node(struct hs_json *json, const char *key, hs_node value);
/* Writes part / whole as a percentage with two decimals; null when whole is 0. */
void hs_json_percent(struct hs_json *json, const char *key, uint64_t part, uint64_t whole);

/* Returns the first failure of all that was written: HS_IO, HS_LIMIT. Does not commit the
 * output. */
hs_status hs_json_finish(struct hs_json *json, struct hs_error *err);

#endif
