#include "json_cut.h"

#include <string.h>

#define ELLIPSIS "\xe2\x80\xa6"

static bool is_continued(char byte)
{
    return ((unsigned char)byte & 0xc0) == 0x80;
}

/* Returns the length of the escape that a backslash and this byte begin, without them. */
static unsigned escape_rest(char kind)
{
    return kind == 'u' ? 4 : 0;
}

/* A byte within a string: whether it stays. */
static bool keep(struct json_cut *cut, char byte)
{
    enum { AFTER_BACKSLASH = 100 };
    bool is_begin = cut->n_escape == 0 && !is_continued(byte);
    if (is_begin && cut->n_string >= cut->most)
        cut->is_cut = true;
    if (cut->n_escape == AFTER_BACKSLASH)
        cut->n_escape = escape_rest(byte);
    else if (cut->n_escape > 0)
        cut->n_escape--;
    else if (byte == '\\')
        cut->n_escape = AFTER_BACKSLASH;
    cut->n_string++;
    return !cut->is_cut;
}

size_t json_cut_copy(struct json_cut *cut, const char *from, size_t n, char *to)
{
    size_t n_to = 0;
    for (size_t i = 0; i < n; i++) {
        bool is_quote = from[i] == '"' && cut->n_escape == 0;
        if (cut->in_string && !is_quote) {
            if (keep(cut, from[i]))
                to[n_to++] = from[i];
            continue;
        }
        if (is_quote && cut->in_string && cut->is_cut) {
            memcpy(to + n_to, ELLIPSIS, strlen(ELLIPSIS));
            n_to += strlen(ELLIPSIS);
        }
        if (is_quote) {
            cut->in_string = !cut->in_string;
            cut->n_string = 0;
            cut->is_cut = false;
        }
        to[n_to++] = from[i];
    }
    return n_to;
}
