#include "base/append.h"

#include <stdarg.h>
#include <stdbool.h>
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

const char *hs_shell_word(const char *word, char text[HS_SHELL_WORD_BYTES])
{
    static const char special[] = " \t\\'\"`$&|;<>()[]{}*?!#~";
    size_t n = 0;
    for (const char *at = word; *at != '\0' && n + 3 < HS_SHELL_WORD_BYTES; at++) {
        bool is_inner = (*at == '#' || *at == '~') && at != word; /* mean nothing there */
        if (strchr(special, *at) != NULL && !is_inner)
            text[n++] = '\\';
        text[n++] = *at;
    }
    text[n] = '\0';
    return text;
}
