/* UTF-8, one code point after another. */
#include "report/text.h"

#include <assert.h>

/* Returns the length that a first byte announces, and the smallest number that needs it; 0 for
 * none. */
static unsigned text_sequence(unsigned char first, uint32_t *ret_bits, uint32_t *ret_least)
{
    if (first >= 0xc2 && first < 0xe0) {
        *ret_bits = first & 0x1f;
        *ret_least = 0x80;
        return 2;
    }
    if (first >= 0xe0 && first < 0xf0) {
        *ret_bits = first & 0x0f;
        *ret_least = 0x800;
        return 3;
    }
    if (first >= 0xf0 && first < 0xf5) {
        *ret_bits = first & 0x07;
        *ret_least = 0x10000;
        return 4;
    }
    return 0;
}

uint32_t hs_text_next(const char **at, const char *end)
{
    const unsigned char *bytes = (const unsigned char *)*at;
    size_t left = (size_t)(end - *at);
    uint32_t code = 0;
    uint32_t least = 0;

    assert(left != 0);
    ++*at;
    if (bytes[0] < 0x80)
        return bytes[0];
    unsigned n = text_sequence(bytes[0], &code, &least);
    if (n == 0 || n > left)
        return HS_TEXT_BAD;
    for (unsigned i = 1; i < n; i++) {
        if ((bytes[i] & 0xc0) != 0x80)
            return HS_TEXT_BAD;
        code = code << 6 | (bytes[i] & 0x3f);
    }
    if (code < least || code > 0x10ffff || (code >= 0xd800 && code < 0xe000))
        return HS_TEXT_BAD;
    *at += n - 1;
    return code;
}
