/* links: hs_report hs_base */
/* Any bytes as a name of the target: what goes to a terminal, into a table or into JSON is safe. */
#include <assert.h>
#include <stdlib.h>
#include <string.h>

#include "report/json.h"
#include "report/text.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes);

enum { MAX_TEXT_BYTES = 4096 };

/* Nothing that is hidden is left: valid UTF-8, no control, no override of direction. */
static void check_shown(const struct hs_buffer *b)
{
    if (b->n_bytes == 0)
        return;
    const char *at = (const char *)b->bytes, *end = at + b->n_bytes;
    while (at < end) {
        const char *before = at;
        uint32_t code = hs_text_next(&at, end);
        assert(at > before && at <= end);
        assert(code != HS_TEXT_BAD && !hs_text_is_hidden(code));
        assert(hs_text_code_width(code) <= 2);
    }
}

static void fuzz_fit(const char *text, size_t n_bytes, size_t full)
{
    struct hs_error err = HS_ERROR_INIT;
    static const size_t widths[] = {0, 1, 2, 3, 7, 20, 80};
    for (size_t i = 0; i < sizeof widths / sizeof widths[0]; i++) {
        struct hs_buffer b = {0};
        if (hs_text_fit(text, n_bytes, widths[i], &b, &err) != HS_OK)
            abort();
        check_shown(&b);
        size_t width = b.n_bytes != 0 ? hs_text_width((const char *)b.bytes, b.n_bytes) : 0;
        assert(width <= widths[i]);
        assert(full > widths[i] || width == full);
        hs_buffer_fini(&b);
    }
}

/* UTF-8 of a code point. */
static size_t encode(uint32_t code, uint8_t *out)
{
    static const uint8_t heads[] = {0, 0, 0xc0, 0xe0, 0xf0};
    size_t n = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = n; i-- > 1; code >>= 6)
        out[i] = (uint8_t)(0x80 | (code & 0x3f));
    out[0] = (uint8_t)(n == 1 ? code : heads[n] | code);
    return n;
}

/* One escape of a cell of tsv turned back: what it stands for, and where it ends. */
static const char *unescape(const char *at, uint8_t *out, size_t *n)
{
    static const char letters[] = "tnr\\", meanings[] = "\t\n\r\\";
    const char *letter = strchr(letters, at[1]);
    char *end = NULL;
    *n = 1;
    if (letter != NULL && *letter != '\0') {
        out[0] = (uint8_t)meanings[letter - letters];
        return at + 2;
    }
    assert(at[1] == 'x' || (at[1] == 'u' && at[2] == '{'));
    if (at[1] == 'x') {
        const char digits[3] = {at[2], at[3], '\0'};
        out[0] = (uint8_t)strtoul(digits, &end, 16);
        assert(end == digits + 2);
        return at + 4;
    }
    *n = encode((uint32_t)strtoul(at + 3, &end, 16), out);
    assert(*end == '}');
    return end + 1;
}

/* A cell can be turned back into the very bytes. */
static void check_cell(const struct hs_buffer *b, const uint8_t *bytes, size_t n_bytes)
{
    static char cell[16 * MAX_TEXT_BYTES];
    size_t at = 0, n = 1;
    assert(b->n_bytes < sizeof cell);
    memcpy(cell, b->bytes, b->n_bytes);
    cell[b->n_bytes] = '\0';
    for (const char *c = cell; *c != '\0'; at += n) {
        uint8_t meant[4] = {(uint8_t)*c};
        n = 1;
        c = *c == '\\' ? unescape(c, meant, &n) : c + 1;
        assert(at + n <= n_bytes && memcmp(bytes + at, meant, n) == 0);
    }
    assert(at == n_bytes);
}

static void fuzz_json(const char *text, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    struct hs_buffer b = {0};
    struct hs_json json;
    hs_json_init_buffer(&json, &b, HS_JSON_COMPACT);
    hs_json_string_n(&json, NULL, text, n_bytes);
    if (hs_json_finish(&json, &err) != HS_OK)
        abort();
    assert(b.n_bytes >= 3 && b.bytes[0] == '"' && memcmp(b.bytes + b.n_bytes - 2, "\"\n", 2) == 0);
    b.n_bytes -= 2;
    for (size_t i = 1; i < b.n_bytes; i++) {
        assert(b.bytes[i] != '"');
        if (b.bytes[i] == '\\') {
            i++;
            assert(i < b.n_bytes && strchr("\"\\/bfnrtu", b.bytes[i]) != NULL);
        }
    }
    check_shown(&b);
    hs_buffer_fini(&b);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t n_bytes)
{
    struct hs_error err = HS_ERROR_INIT;
    const char *text = (const char *)bytes;
    if (n_bytes > MAX_TEXT_BYTES || n_bytes == 0)
        return 0;
    for (int way = HS_TEXT_TERMINAL; way <= HS_TEXT_TSV; way++) {
        struct hs_buffer b = {0};
        if (hs_text_sanitise(text, n_bytes, (enum hs_text_escape)way, &b, &err) != HS_OK)
            abort();
        check_shown(&b);
        size_t width = hs_text_width((const char *)b.bytes, b.n_bytes);
        assert(width <= 2 * b.n_bytes);
        if (way == HS_TEXT_TSV)
            check_cell(&b, bytes, n_bytes);
        else
            fuzz_fit((const char *)b.bytes, b.n_bytes, width);
        hs_buffer_fini(&b);
    }
    fuzz_json(text, n_bytes);
    return 0;
}
