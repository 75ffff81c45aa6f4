/* A plain form of UTF-8 for whoever can show ASCII alone: a terminal in the locale "C". Each code
 * point becomes one character, so that columns stay columns. */
#ifndef HS_BASE_PLAIN_H
#define HS_BASE_PLAIN_H

#include <stddef.h>

/* Writes at most n bytes to `to`, which may be `from`: of the ellipsis a '~', of the eight bars of
 * a small chart one of "_.-:=+*#", of any other code point beyond ASCII a '?'. Returns how many. */
size_t hs_plain(const char *from, size_t n, char *to);

#endif
