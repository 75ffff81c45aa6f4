#include "json_scan.h"

#include <string.h>

hs_status hs_scan_fail(const uint8_t *base, const uint8_t *at, const char *why,
                       struct hs_error *err)
{
    return hs_fail(err, HS_FORMAT, "%s at byte %llu", why, (unsigned long long)(at - base));
}

/* Behind the closing quote of the string that begins at `at`, or NULL. */
static const uint8_t *skip_string(const uint8_t *at, const uint8_t *end)
{
    for (at++; at < end; at++) {
        if (*at == '"')
            return at + 1;
        if (*at == '\\')
            at++;
    }
    return NULL;
}

/* An array of plain numbers is most of such a file. */
static const uint8_t *skip_flat(const uint8_t *at, const uint8_t *end)
{
    const uint8_t *first = hs_scan_space(at + 1, end);
    if (first == end || *first < '0' || *first > '9')
        return NULL;
    const uint8_t *close = memchr(first, ']', (size_t)(end - first));
    if (close == NULL || memchr(first, '[', (size_t)(close - first)) != NULL ||
        memchr(first, '"', (size_t)(close - first)) != NULL)
        return NULL;
    return close + 1;
}

static const uint8_t *skip_nested(const uint8_t *at, const uint8_t *end)
{
    uint64_t depth = 0;
    while (at < end) {
        switch (*at) {
        case '"':
            at = skip_string(at, end);
            if (at == NULL)
                return NULL;
            continue;
        case '[':
        case '{':
            depth++;
            break;
        case ']':
        case '}':
            if (--depth == 0)
                return at + 1;
            break;
        default:
            break;
        }
        at++;
    }
    return NULL;
}

const uint8_t *hs_scan_skip(const uint8_t *at, const uint8_t *end)
{
    if (at >= end)
        return NULL;
    if (*at == '"')
        return skip_string(at, end);
    if (*at == '[') {
        const uint8_t *flat = skip_flat(at, end);
        return flat != NULL ? flat : skip_nested(at, end);
    }
    if (*at == '{')
        return skip_nested(at, end);
    const uint8_t *first = at;
    while (at < end && (*at == '-' || *at == '+' || *at == '.' || (*at >= '0' && *at <= '9') ||
                        (*at >= 'a' && *at <= 'z') || *at == 'E'))
        at++;
    return at == first ? NULL : at;
}

struct json_slice hs_scan_enter(struct json_slice value)
{
    bool is_whole = value.at != NULL && value.end - value.at >= 2;
    if (!is_whole || (*value.at != '{' && *value.at != '['))
        return (struct json_slice){NULL, NULL};
    return (struct json_slice){value.at + 1, value.end};
}

static const uint8_t *next_key(const uint8_t *at, const uint8_t *end, struct json_slice *key)
{
    if (at == end || *at != '"')
        return NULL;
    key->at = at;
    key->end = skip_string(at, end);
    if (key->end == NULL)
        return NULL;
    at = hs_scan_space(key->end, end);
    return at == end || *at != ':' ? NULL : hs_scan_space(at + 1, end);
}

bool hs_scan_next(struct json_slice *walk, struct json_slice *key, struct json_slice *value)
{
    const uint8_t *end = walk->end;
    if (walk->at == NULL)
        return false;
    const uint8_t *at = hs_scan_space(walk->at, end);
    walk->at = NULL;
    if (at < end && *at == ',')
        at = hs_scan_space(at + 1, end);
    if (at < end && (*at == ']' || *at == '}')) {
        walk->at = at;
        return false;
    }
    if (key != NULL)
        at = next_key(at, end, key);
    if (at == NULL)
        return false;
    const uint8_t *behind = hs_scan_skip(at, end);
    if (behind == NULL)
        return false;
    *value = (struct json_slice){at, behind};
    walk->at = behind;
    return true;
}

bool hs_scan_is(struct json_slice string, const char *text)
{
    size_t n = strlen(text);
    return string.at != NULL && string.end - string.at == (ptrdiff_t)n + 2 && *string.at == '"' &&
           memcmp(string.at + 1, text, n) == 0;
}

bool hs_scan_member(struct json_slice object, const char *key, struct json_slice *ret)
{
    struct json_slice walk = hs_scan_enter(object), name, value;
    while (hs_scan_next(&walk, &name, &value))
        if (hs_scan_is(name, key)) {
            *ret = value;
            return true;
        }
    return false;
}

bool hs_scan_count(struct json_slice value, uint64_t *ret)
{
    bool ok = value.at != NULL && value.at < value.end && *value.at >= '0' && *value.at <= '9';
    struct json_slice walk = value;
    uint64_t number = ok ? hs_scan_number(&walk, &ok) : 0;
    if (!ok || walk.at != value.end)
        return false;
    *ret = number;
    return true;
}

size_t hs_scan_utf8(uint32_t code, char *text)
{
    if (code > 0x10ffff)
        code = 0xfffd;
    if (code < 0x80) {
        text[0] = (char)code;
        return 1;
    }
    if (code < 0x800) {
        text[0] = (char)(0xc0 | code >> 6);
        text[1] = (char)(0x80 | (code & 0x3f));
        return 2;
    }
    if (code < 0x10000) {
        text[0] = (char)(0xe0 | code >> 12);
        text[1] = (char)(0x80 | (code >> 6 & 0x3f));
        text[2] = (char)(0x80 | (code & 0x3f));
        return 3;
    }
    text[0] = (char)(0xf0 | code >> 18);
    text[1] = (char)(0x80 | (code >> 12 & 0x3f));
    text[2] = (char)(0x80 | (code >> 6 & 0x3f));
    text[3] = (char)(0x80 | (code & 0x3f));
    return 4;
}

/* Four hexadecimal digits, or UINT32_MAX. */
static uint32_t take_hex(const uint8_t *at, const uint8_t *end)
{
    uint32_t code = 0;
    if (end - at < 4)
        return UINT32_MAX;
    for (int i = 0; i < 4; i++) {
        uint32_t c = at[i] | 0x20;
        if (c - '0' < 10)
            code = code << 4 | (c - '0');
        else if (c - 'a' < 6)
            code = code << 4 | (c - 'a' + 10);
        else
            return UINT32_MAX;
    }
    return code;
}

/* Reads the character of an escape \uXXXX at `at` (behind the u), and of the second half of a pair;
 * moves behind what it takes. U+FFFD when malformed. */
static uint32_t take_code(const uint8_t **at, const uint8_t *end)
{
    uint32_t code = take_hex(*at, end);
    if (code == UINT32_MAX)
        return 0xfffd;
    *at += 4;
    if (code < 0xd800 || code > 0xdfff)
        return code;
    if (code < 0xdc00 && end - *at >= 6 && (*at)[0] == '\\' && (*at)[1] == 'u') {
        uint32_t low = take_hex(*at + 2, end);
        if (low >= 0xdc00 && low <= 0xdfff) {
            *at += 6;
            return 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        }
    }
    return 0xfffd;
}

static uint32_t take_escape(const uint8_t **at, const uint8_t *end)
{
    static const char letters[] = "bfnrt", meant[] = "\b\f\n\r\t";
    uint8_t c = *(*at)++;
    if (c == 'u')
        return take_code(at, end);
    const char *letter = c == 0 ? NULL : strchr(letters, c);
    return letter != NULL ? (uint32_t)meant[letter - letters] : c;
}

size_t hs_scan_text(struct json_slice string, char *text, size_t n)
{
    size_t used = 0;
    if (string.at == NULL || string.end - string.at < 2)
        return 0;
    const uint8_t *at = string.at + 1;
    const uint8_t *end = string.end - 1;
    while (at < end && used + 4 <= n) {
        if (*at != '\\' || at + 1 == end) {
            text[used++] = (char)*at++;
            continue;
        }
        at++;
        uint32_t code = take_escape(&at, end);
        used += hs_scan_utf8(code, text + used);
    }
    return used;
}
