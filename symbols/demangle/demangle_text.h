/* Parts of the text of a type. */
#ifndef HS_DEMANGLE_DEMANGLE_TEXT_H
#define HS_DEMANGLE_DEMANGLE_TEXT_H

#include <stdbool.h>
#include <stddef.h>

/* A part of the text. */
struct piece {
    const char *text;
    size_t n;
};

bool hs_text_is_name_char_(char c);
bool hs_piece_is_(struct piece piece, const char *text);
bool hs_piece_begins_(struct piece piece, const char *text);
/* Returns the length of what stands at `at` and is not to be taken apart: an operator's name, "->",
 * or one character. `begin` is where the text begins. */
size_t hs_text_token_(const char *begin, const char *at);
/* Finds the first (or last) comma between the arguments text[begin, end), `end` when there is
 * none. */
size_t hs_text_comma_(const char *text, size_t begin, size_t end, bool last);

#endif
