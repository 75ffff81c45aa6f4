/* Names as people write them: without the standard library's defaults, with short number types. */
#include <string.h>

#include "pool.h"
#include "symbols/demangle.h"

/* Longest first where one begins like another. Only whole words. */
static const struct pretty_word {
    const char *from, *to;
} pretty_words[] = {
    {"long long unsigned int", "unsigned long long"}, {"long long int", "long long"},
    {"long unsigned int", "unsigned long"},           {"long int", "long"},
    {"short unsigned int", "unsigned short"},         {"short int", "short"},
};

struct pretty_text {
    char *text;
    size_t n, room;
};

static void pretty_put(struct pretty_text *t, const char *text, size_t n)
{
    for (size_t i = 0; i < n && t->n < t->room; i++)
        t->text[t->n++] = text[i];
}

static bool is_word(char c)
{
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == ':';
}

static size_t pretty_spell(const char *name, char *text, size_t n_text)
{
    struct pretty_text t = {text, 0, n_text - 1};
    bool after_word = false;
    while (*name != '\0') {
        const struct pretty_word *found = NULL;
        size_t n = 1;
        for (size_t i = 0;
             !after_word && found == NULL && i < sizeof(pretty_words) / sizeof(pretty_words[0]);
             i++) {
            n = strlen(pretty_words[i].from);
            bool is_whole = !is_word(pretty_words[i].from[n - 1]) || strlen(name) <= n ||
                            !is_word(name[n]) || name[n] == ':' || name[n - 1] == ':';
            if (strncmp(name, pretty_words[i].from, n) == 0 && is_whole)
                found = &pretty_words[i];
        }
        if (found != NULL)
            pretty_put(&t, found->to, strlen(found->to));
        else
            pretty_put(&t, name, n = 1);
        after_word = is_word(name[n - 1]) && (found == NULL || name[n - 1] != ':');
        name += n;
    }
    t.text[t.n] = '\0';
    return t.n;
}

size_t hs_ctypes_pretty_(const char *name, char *text, size_t n_text)
{
    char spelled[CTYPES_MAX_NAME];
    pretty_spell(name, spelled, sizeof(spelled));
    return hs_shorten_type(spelled, text, n_text);
}
