/* Names as people write them: without the standard library's defaults, with short number types. */
#include <string.h>

#include "pool.h"

/* Template arguments that are left out when they follow others. */
static const char *const default_arguments[] = {
    "std::allocator<",
    "std::char_traits<",
    "std::less<",
    "std::hash<",
    "std::equal_to<",
    "std::default_delete<",
    "std::pmr::polymorphic_allocator<",
    "alloc::alloc::Global",
    "std::collections::hash::map::RandomState",
    "std::hash::random::RandomState",
};

/* Longest first where one begins like another. Only whole words. */
static const struct pretty_word {
    const char *from, *to;
} pretty_words[] = {
    {"long long unsigned int", "unsigned long long"},
    {"long long int", "long long"},
    {"long unsigned int", "unsigned long"},
    {"long int", "long"},
    {"short unsigned int", "unsigned short"},
    {"short int", "short"},
    {"std::__cxx11::basic_string<char>", "std::string"},
    {"std::basic_string<char>", "std::string"},
    {"std::__cxx11::", "std::"},
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

/* The end of the argument at `at`: the ',' or '>' after it. */
static const char *argument_end(const char *at)
{
    unsigned depth = 0;
    for (; *at != '\0'; at++) {
        if (strchr("<([", *at) != NULL)
            depth++;
        else if (depth > 0 && strchr(">)]", *at) != NULL)
            depth--;
        else if (depth == 0 && (*at == ',' || *at == '>'))
            break;
    }
    return at;
}

/* ", DEFAULT" at `at`: where the text goes on after it, else NULL. */
static const char *skip_default(const char *at)
{
    if (at[0] != ',')
        return NULL;
    const char *argument = at + 1 + (at[1] == ' ');
    for (size_t i = 0; i < sizeof(default_arguments) / sizeof(default_arguments[0]); i++) {
        size_t n = strlen(default_arguments[i]);
        if (strncmp(argument, default_arguments[i], n) == 0)
            return argument_end(argument);
    }
    return NULL;
}

/* First round: no defaults, ">>" for "> >". */
static size_t pretty_arguments(const char *name, char *text, size_t n_text)
{
    struct pretty_text t = {text, 0, n_text - 1};
    while (*name != '\0') {
        const char *after = skip_default(name);
        if (after != NULL) {
            name = after;
            while (*name == ' ')
                name++;
        } else if (name[0] == ' ' && name[1] == '>') {
            name++;
        } else {
            pretty_put(&t, name++, 1);
        }
    }
    t.text[t.n] = '\0';
    return t.n;
}

/* Second round: words. */
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
    char first[CTYPES_MAX_NAME];
    pretty_arguments(name, first, sizeof(first));
    return pretty_spell(first, text, n_text);
}
