#include "rows.h"

#include <string.h>

#include "base/alloc.h"

/* ---- one pass over the text, that knows how deep it is */

struct scan {
    const char *json;
    size_t n, at;
    unsigned depth;
};

/* Returns the place behind the string whose first quote stands at `at`. */
static size_t string_end(const char *json, size_t n, size_t at)
{
    for (at++; at < n && json[at] != '"'; at++)
        at += json[at] == '\\';
    return at < n ? at + 1 : n;
}

/* Returns the place of the next byte that is no blank. */
static size_t skip_blanks(const char *json, size_t n, size_t at)
{
    while (at < n && (json[at] == ' ' || json[at] == '\n' || json[at] == '\r' || json[at] == '\t'))
        at++;
    return at;
}

/* Steps over one string or one other byte. */
static void step(struct scan *scan)
{
    char byte = scan->json[scan->at];
    if (byte == '"') {
        scan->at = string_end(scan->json, scan->n, scan->at);
        return;
    }
    scan->depth += byte == '{' || byte == '[';
    scan->depth -= scan->depth > 0 && (byte == '}' || byte == ']');
    scan->at++;
}

/* Goes behind the bracket of the array. */
static bool find_member(struct scan *scan, const char *member)
{
    size_t n_member = strlen(member);
    while (scan->at < scan->n) {
        size_t at = scan->at;
        step(scan);
        if (scan->json[at] != '"' || scan->depth != 1 || scan->at - at != n_member + 2 ||
            memcmp(scan->json + at + 1, member, n_member) != 0)
            continue;
        at = skip_blanks(scan->json, scan->n, scan->at);
        if (at == scan->n || scan->json[at] != ':')
            continue;
        scan->at = skip_blanks(scan->json, scan->n, at + 1);
        if (scan->at == scan->n || scan->json[scan->at] != '[')
            return false;
        step(scan);
        return true;
    }
    return false;
}

static hs_status add_offset(struct hs_json_rows *rows, size_t at, struct hs_error *err)
{
    HS_TRY(HS_GROW(&rows->begin, &rows->capacity, rows->n + 1, err));
    rows->begin[rows->n++] = at;
    return HS_OK;
}

static hs_status find_rows(struct scan *scan, struct hs_json_rows *rows, struct hs_error *err)
{
    unsigned depth = scan->depth;
    size_t begin = skip_blanks(scan->json, scan->n, scan->at);
    bool is_empty = begin < scan->n && scan->json[begin] == ']';
    HS_TRY(add_offset(rows, begin, err));
    while (!is_empty && scan->at < scan->n) {
        char byte = scan->json[scan->at];
        size_t at = scan->at;
        step(scan);
        if (byte == ',' && scan->depth == depth)
            HS_TRY(add_offset(rows, skip_blanks(scan->json, scan->n, scan->at), err));
        if (scan->depth >= depth)
            continue;
        HS_TRY(add_offset(rows, at, err));
        break;
    }
    rows->n--; /* the last offset is an end */
    return HS_OK;
}

hs_status hs_json_rows_find(const char *json, size_t n_bytes, const char *member,
                            struct hs_json_rows *ret, struct hs_error *err)
{
    struct scan scan = {.json = json, .n = n_bytes};
    struct hs_json_rows rows = {0};
    if (!find_member(&scan, member))
        return hs_fail(err, HS_BUG, "the answer has no list '%s'", member);
    hs_status status = find_rows(&scan, &rows, err);
    if (status == HS_OK)
        *ret = rows;
    else
        hs_json_rows_fini(&rows);
    return status;
}

void hs_json_rows_fini(struct hs_json_rows *rows)
{
    hs_free(rows->begin);
    *rows = (struct hs_json_rows){0};
}

/* ---- searching */

static char lower(char letter)
{
    return letter >= 'A' && letter <= 'Z' ? (char)(letter | 0x20) : letter;
}

static bool is_within(const char *string, size_t n, const char *text, size_t n_text)
{
    for (size_t at = 0; at + n_text <= n; at++) {
        size_t same = 0;
        while (same < n_text && lower(string[at + same]) == lower(text[same]))
            same++;
        if (same == n_text)
            return true;
    }
    return false;
}

bool hs_json_contains(const char *json, size_t n_bytes, const char *text)
{
    size_t n_text = strlen(text);
    for (size_t at = 0; at < n_bytes;) {
        if (json[at] != '"') {
            at++;
            continue;
        }
        size_t end = string_end(json, n_bytes, at);
        size_t next = skip_blanks(json, n_bytes, end);
        bool is_key = next < n_bytes && json[next] == ':';
        if (!is_key && end > at + 1 && is_within(json + at + 1, end - at - 2, text, n_text))
            return true;
        at = end;
    }
    return false;
}
