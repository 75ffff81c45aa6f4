#include "base/append.h"

#include <stdarg.h>
#include <stdio.h>
#include <string.h>

void hs_append(char *text, size_t n_bytes, const char *format, ...)
{
    size_t n = strnlen(text, n_bytes);
    va_list arguments;
    if (n >= n_bytes)
        return;
    va_start(arguments, format);
    (void)vsnprintf(text + n, n_bytes - n, format, arguments);
    va_end(arguments);
}

void hs_append_item(char *text, size_t n_bytes, const char *between, const char *item)
{
    hs_append(text, n_bytes, "%s%s", text[0] != 0 ? between : "", item);
}
