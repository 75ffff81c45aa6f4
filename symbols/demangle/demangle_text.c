#include "demangle_text.h"

#include <string.h>

bool hs_text_is_name_char_(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_';
}

bool hs_piece_is_(struct piece piece, const char *text)
{
    return piece.n == strlen(text) && memcmp(piece.text, text, piece.n) == 0;
}

bool hs_piece_begins_(struct piece piece, const char *text)
{
    size_t n = strlen(text);
    return piece.n >= n && memcmp(piece.text, text, n) == 0;
}

size_t hs_text_token_(const char *begin, const char *at)
{
    static const char *const operators[] = {"<<=", "<=>", ">>=", "->*", "<<", ">>",
                                            "<=",  ">=",  "->",  "()",  "<",  ">"};
    if (at[0] == '-' && at[1] == '>')
        return 2;
    if (strncmp(at, "operator", 8) != 0 || (at > begin && hs_text_is_name_char_(at[-1])))
        return 1;
    for (size_t i = 0; i < sizeof(operators) / sizeof(operators[0]); i++)
        if (strncmp(at + 8, operators[i], strlen(operators[i])) == 0)
            return 8 + strlen(operators[i]);
    return 1;
}

size_t hs_text_comma_(const char *text, size_t begin, size_t end, bool last)
{
    size_t found = end;
    int depth = 0;
    for (size_t at = begin; at < end; at += hs_text_token_(text + begin, text + at)) {
        if (hs_text_token_(text + begin, text + at) > 1)
            continue;
        depth += strchr("<([{", text[at]) != NULL;
        depth -= strchr(">)]}", text[at]) != NULL;
        if (text[at] != ',' || depth != 0)
            continue;
        found = at;
        if (!last)
            break;
    }
    return found;
}
