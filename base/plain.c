#include "base/plain.h"

#include <string.h>

static char plain_of(const char *at, size_t n)
{
    static const char ellipsis[] = "\xe2\x80\xa6", bars[] = "\xe2\x96", levels[] = "_.-:=+*#";
    enum { FIRST_BAR = 0x81 };
    unsigned char last = n >= 3 ? (unsigned char)at[2] : 0;

    if (n >= 3 && memcmp(at, ellipsis, 3) == 0)
        return '~';
    if (n >= 3 && memcmp(at, bars, 2) == 0 && last >= FIRST_BAR && last < FIRST_BAR + 8)
        return levels[last - FIRST_BAR];
    return '?';
}

size_t hs_plain(const char *from, size_t n, char *to)
{
    size_t n_to = 0;
    for (size_t i = 0; i < n; i++) {
        unsigned char byte = (unsigned char)from[i];
        if (byte < 0x80)
            to[n_to++] = from[i];
        else if (byte >= 0xc0) /* of the bytes behind the first nothing is left */
            to[n_to++] = plain_of(from + i, n - i);
    }
    return n_to;
}
