#include "report/json.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "report/text.h"

void hs_json_init(struct hs_json *json, struct hs_out *out, enum hs_json_style style)
{
    *json = (struct hs_json){.out = out, .style = style, .error = HS_ERROR_INIT};
}

void hs_json_init_buffer(struct hs_json *json, struct hs_buffer *buffer, enum hs_json_style style)
{
    *json = (struct hs_json){.buffer = buffer, .style = style, .error = HS_ERROR_INIT};
}

static void json_put(struct hs_json *json, const char *bytes, size_t n)
{
    struct hs_error *err = &json->error;

    if (err->status != HS_OK)
        return;
    if (json->out != NULL)
        (void)hs_out_write(json->out, bytes, n, err);
    else if (hs_buffer_reserve(json->buffer, n, err) == HS_OK)
        hs_buffer_put_bytes(json->buffer, bytes, n);
}

static void json_put_text(struct hs_json *json, const char *text)
{
    json_put(json, text, strlen(text));
}

static void json_bug(struct hs_json *json, const char *what)
{
    if (json->error.status == HS_OK)
        (void)hs_fail(&json->error, HS_BUG, "cannot write json: %s", what);
}

static bool json_is_line(const struct hs_json *json)
{
    return json->depth != 0 && json->levels[json->depth - 1].is_line;
}

/* Writes the separator between two members, or before the first: nothing in compact form. */
static void json_break(struct hs_json *json, unsigned depth, bool is_line, bool is_padded)
{
    if (json->style == HS_JSON_COMPACT)
        return;
    if (is_line) {
        json_put_text(json, is_padded ? " " : "");
        return;
    }
    json_put_text(json, "\n");
    for (unsigned i = 0; i < depth; i++)
        json_put_text(json, "  ");
}

/* A \u escape for what is hidden; a pair of surrogates beyond the first plane. */
static void json_put_escape(struct hs_json *json, uint32_t code)
{
    char text[16];
    if (code == HS_TEXT_BAD)
        (void)snprintf(text, sizeof text, "\xef\xbf\xbd");
    else if (code == '\n' || code == '\t')
        (void)snprintf(text, sizeof text, "\\%c", code == '\n' ? 'n' : 't');
    else if (code == '"' || code == '\\')
        (void)snprintf(text, sizeof text, "\\%c", (char)code);
    else if (code < 0x10000)
        (void)snprintf(text, sizeof text, "\\u%04x", (unsigned)code);
    else
        (void)snprintf(text, sizeof text, "\\u%04x\\u%04x",
                       (unsigned)(0xd800 + ((code - 0x10000) >> 10)),
                       (unsigned)(0xdc00 + (code & 0x3ff)));
    json_put_text(json, text);
}

/* Tells whether a byte is ASCII that stands for itself: most of every text. */
static bool json_is_plain(char byte)
{
    return byte >= ' ' && byte < 0x7f && byte != '"' && byte != '\\';
}

static void json_put_string(struct hs_json *json, const char *text, size_t n_bytes)
{
    const char *end = text + n_bytes;
    const char *plain = text; /* what is not yet written begins here */

    json_put_text(json, "\"");
    for (const char *at = text; at < end;) {
        if (json_is_plain(*at)) {
            at++;
            continue;
        }
        const char *begin = at;
        uint32_t code = hs_text_next(&at, end);
        if (code != '"' && code != '\\' && !hs_text_is_hidden(code))
            continue;
        json_put(json, plain, (size_t)(begin - plain));
        json_put_escape(json, code);
        plain = at;
    }
    json_put(json, plain, (size_t)(end - plain));
    json_put_text(json, "\"");
}

/* Writes everything before a value: the comma, the break and the key. */
static void json_begin_value(struct hs_json *json, const char *key)
{
    if (json->depth == 0) {
        if (key != NULL)
            json_bug(json, "a key outside any object");
        return;
    }
    struct hs_json_level *level = &json->levels[json->depth - 1];
    if ((key == NULL) != level->is_array) {
        json_bug(json, level->is_array ? "a key in an array" : "a member without key");
        return;
    }
    if (level->has_members)
        json_put_text(json, ",");
    json_break(json, json->depth, level->is_line, level->has_members || !level->is_array);
    level->has_members = true;
    if (key != NULL) {
        json_put_string(json, key, strlen(key));
        json_put_text(json, json->style == HS_JSON_PRETTY ? ": " : ":");
    }
}

static void json_end_value(struct hs_json *json)
{
    if (json->depth == 0)
        json_put_text(json, "\n");
}

static void json_put_value(struct hs_json *json, const char *key, const char *text)
{
    json_begin_value(json, key);
    json_put_text(json, text);
    json_end_value(json);
}

static void json_begin(struct hs_json *json, const char *key, bool is_array,
                       enum hs_json_shape shape)
{
    bool is_line = shape == HS_JSON_LINE || json_is_line(json);

    if (json->depth == HS_JSON_MAX_DEPTH) {
        json_bug(json, "nested too deep");
        return;
    }
    json_begin_value(json, key);
    json_put_text(json, is_array ? "[" : "{");
    json->levels[json->depth++] = (struct hs_json_level){.is_array = is_array, .is_line = is_line};
}

static void json_end(struct hs_json *json, bool is_array)
{
    if (json->depth == 0 || json->levels[json->depth - 1].is_array != is_array) {
        json_bug(json, "an end without its begin");
        return;
    }
    struct hs_json_level level = json->levels[--json->depth];
    if (level.has_members)
        json_break(json, json->depth, level.is_line, !is_array);
    json_put_text(json, is_array ? "]" : "}");
    json_end_value(json);
}

void hs_json_begin_object(struct hs_json *json, const char *key, enum hs_json_shape shape)
{
    json_begin(json, key, false, shape);
}

void hs_json_end_object(struct hs_json *json)
{
    json_end(json, false);
}

void hs_json_begin_array(struct hs_json *json, const char *key, enum hs_json_shape shape)
{
    json_begin(json, key, true, shape);
}

void hs_json_end_array(struct hs_json *json)
{
    json_end(json, true);
}

void hs_json_string(struct hs_json *json, const char *key, const char *text)
{
    hs_json_string_n(json, key, text, text == NULL ? 0 : strlen(text));
}

void hs_json_string_n(struct hs_json *json, const char *key, const char *text, size_t n_bytes)
{
    if (text == NULL) {
        hs_json_null(json, key);
        return;
    }
    json_begin_value(json, key);
    json_put_string(json, text, n_bytes);
    json_end_value(json);
}

void hs_json_u64(struct hs_json *json, const char *key, uint64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRIu64, value);
    json_put_value(json, key, text);
}

void hs_json_i64(struct hs_json *json, const char *key, int64_t value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "%" PRId64, value);
    json_put_value(json, key, text);
}

void hs_json_real(struct hs_json *json, const char *key, double value)
{
    char text[40] = "null";
    for (int digits = 6; digits <= 17 && isfinite(value); digits++) {
        (void)snprintf(text, sizeof text, "%.*g", digits, value);
        if (strtod(text, NULL) == value)
            break;
    }
    json_put_value(json, key, text);
}

void hs_json_bool(struct hs_json *json, const char *key, bool value)
{
    json_put_value(json, key, value ? "true" : "false");
}

void hs_json_null(struct hs_json *json, const char *key)
{
    json_put_value(json, key, "null");
}

void hs_json_address(struct hs_json *json, const char *key, hs_addr value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "\"0x%" PRIx64 "\"", value);
    json_put_value(json, key, text);
}

void hs_json_node(struct hs_json *json, const char *key, hs_node value)
{
    char text[32];
    (void)snprintf(text, sizeof text, "\"#%" PRIu64 "\"", value);
    json_put_value(json, key, value == HS_NO_NODE ? "null" : text);
}

void hs_json_percent(struct hs_json *json, const char *key, uint64_t part, uint64_t whole)
{
    char text[48];
    if (whole == 0) {
        hs_json_null(json, key);
        return;
    }
    unsigned __int128 scaled = ((unsigned __int128)part * 10000 + whole / 2) / whole;
    (void)snprintf(text, sizeof text, "%" PRIu64 ".%02u", (uint64_t)(scaled / 100),
                   (unsigned)(scaled % 100));
    json_put_value(json, key, text);
}

hs_status hs_json_finish(struct hs_json *json, struct hs_error *err)
{
    if (json->depth != 0)
        json_bug(json, "a begin without its end");
    if (json->error.status != HS_OK)
        *err = json->error;
    return json->error.status;
}
