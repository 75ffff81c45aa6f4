/* One key for all spellings of a C++ name: blanks, const and volatile do not count, "long unsigned
 * int" is "unsigned long", "3ul" is "3". */
#include <string.h>

#include "pool.h"

struct hash_state {
    uint64_t hash;
    unsigned n_long;
    bool after_word, is_number, is_short, is_unsigned, is_signed, is_char, is_double;
};

static void hash_put(struct hash_state *s, const char *text, size_t n_bytes)
{
    for (size_t i = 0; i < n_bytes; i++)
        s->hash = (s->hash ^ (uint8_t)text[i]) * UINT64_C(0x100000001b3);
}

/* Ends a run of words that name one arithmetic type. */
static void hash_flush(struct hash_state *s)
{
    if (!s->is_number)
        return;
    char text[8] = {'#'};
    size_t n = 1;
    if (s->is_unsigned)
        text[n++] = 'u';
    if (s->is_char)
        text[n++] = s->is_signed ? 'g' : 'c';
    if (s->is_short)
        text[n++] = 's';
    if (s->is_double)
        text[n++] = 'd';
    if (s->n_long > 0)
        text[n++] = s->n_long > 1 ? 'L' : 'l';
    hash_put(s, text, n);
    *s = (struct hash_state){.hash = s->hash, .after_word = true};
}

static bool word_is(const char *word, size_t n, const char *text)
{
    return strlen(text) == n && memcmp(word, text, n) == 0;
}

static bool hash_number_word(struct hash_state *s, const char *word, size_t n)
{
    if (word_is(word, n, "long"))
        s->n_long++;
    else if (word_is(word, n, "unsigned"))
        s->is_unsigned = true;
    else if (word_is(word, n, "signed"))
        s->is_signed = true;
    else if (word_is(word, n, "short"))
        s->is_short = true;
    else if (word_is(word, n, "char"))
        s->is_char = true;
    else if (word_is(word, n, "double"))
        s->is_double = true;
    else if (!word_is(word, n, "int"))
        return false;
    s->is_number = true;
    return true;
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || is_digit(c) || c == '_' ||
           c == '$' || (c & 0x80) != 0;
}

static void hash_word(struct hash_state *s, const char *word, size_t n)
{
    if (word_is(word, n, "const") || word_is(word, n, "volatile") || hash_number_word(s, word, n))
        return;
    hash_flush(s);
    if (s->after_word)
        hash_put(s, " ", 1);
    while (is_digit(word[0]) && n > 1 && strchr("uUlL", word[n - 1]) != NULL)
        n--;
    hash_put(s, word, n);
    s->after_word = true;
}

uint64_t hs_ctypes_hash_(uint64_t hash, const char *text, size_t n_bytes)
{
    struct hash_state s = {.hash = hash};
    for (size_t i = 0; i < n_bytes;) {
        size_t begin = i;
        while (i < n_bytes && is_word(text[i]))
            i++;
        if (i > begin) {
            hash_word(&s, text + begin, i - begin);
            continue;
        }
        if (text[i] != ' ') {
            hash_flush(&s);
            hash_put(&s, text + i, 1);
            s.after_word = false;
        }
        i++;
    }
    hash_flush(&s);
    return s.hash;
}
