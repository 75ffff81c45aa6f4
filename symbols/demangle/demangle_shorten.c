/* Types without what the standard libraries put there for everybody. One pass over the text; a
 * template is looked at when it closes, in what was written of it. */
#include <assert.h>
#include <string.h>

#include "demangle_nodes.h"
#include "demangle_text.h"

enum { SHORTEN_MAX_DEPTH = 64 };

struct shortening {
    struct demangle_out out;
    size_t open[SHORTEN_MAX_DEPTH]; /* where the '<' of each open template stands in `out` */
    size_t n_open;
    bool failed;
    bool is_whole; /* what is closed is not the scope of something else */
};

static bool pieces_same(struct piece a, struct piece b)
{
    return a.n == b.n && memcmp(a.text, b.text, a.n) == 0;
}

/* Returns the length of a word at `at` that people leave out, or 0: an inline namespace behind
 * "std::" or an ABI tag. */
static size_t noise_length(const struct shortening *s, const char *at)
{
    static const char *const inline_namespaces[] = {"__cxx11::", "__1::", "_V2::", "__ndk1::"};
    struct piece before = {s->out.text, s->out.n};
    if (strncmp(at, "[abi:", 5) == 0) {
        const char *end = strchr(at, ']');
        return end == NULL ? 0 : (size_t)(end + 1 - at);
    }
    if (before.n < 5 || memcmp(before.text + before.n - 5, "std::", 5) != 0 ||
        (before.n > 5 && hs_text_is_name_char_(before.text[before.n - 6])))
        return 0;
    for (size_t i = 0; i < sizeof(inline_namespaces) / sizeof(inline_namespaces[0]); i++)
        if (strncmp(at, inline_namespaces[i], strlen(inline_namespaces[i])) == 0)
            return strlen(inline_namespaces[i]);
    return 0;
}

/* The template's own name, in front of its '<' at `open`. */
static struct piece template_name(const char *text, size_t open)
{
    size_t begin = open;
    while (begin > 0 && (hs_text_is_name_char_(text[begin - 1]) || text[begin - 1] == ':'))
        begin--;
    return (struct piece){text + begin, open - begin};
}

/* "NAME<FIRST>" with the first argument of the template around. */
static bool is_about_first(struct piece argument, const char *name, struct piece first)
{
    size_t n = strlen(name);
    if (!hs_piece_begins_(argument, name) || argument.n < n + 2 || argument.text[n] != '<')
        return false;
    return pieces_same((struct piece){argument.text + n + 1, argument.n - n - 2}, first);
}

static bool is_default(struct piece template, struct piece first, struct piece argument)
{
    static const char *const about_first[] = {"std::less",         "std::hash",
                                              "std::equal_to",     "std::char_traits",
                                              "std::regex_traits", "std::default_delete"};
    if (hs_piece_is_(argument, "alloc::alloc::Global") ||
        hs_piece_is_(argument, "std::alloc::Global") ||
        hs_piece_is_(argument, "std::hash::random::RandomState") ||
        hs_piece_is_(argument, "std::collections::hash::map::RandomState"))
        return true;
    if (hs_piece_begins_(argument, "std::allocator<") ||
        hs_piece_begins_(argument, "std::pmr::polymorphic_allocator<"))
        return true;
    if (!hs_piece_begins_(template, "std::"))
        return false;
    for (size_t i = 0; i < sizeof(about_first) / sizeof(about_first[0]); i++)
        if (is_about_first(argument, about_first[i], first))
            return true;
    if (hs_piece_is_(template, "std::stack") || hs_piece_is_(template, "std::queue"))
        return is_about_first(argument, "std::deque", first);
    return hs_piece_is_(template, "std::priority_queue") &&
           is_about_first(argument, "std::vector", first);
}

/* Tells whether of a template's arguments the first tells all: the states of tasks, whose others
 * are an allocator that nobody chose and what the call returns. */
static bool is_told_by_first(struct piece template)
{
    static const char *const names[] = {"std::__future_base::_Task_state",
                                        "std::__future_base::_Async_state_impl",
                                        "std::__future_base::_Deferred_state"};
    for (size_t i = 0; i < sizeof(names) / sizeof(names[0]); i++)
        if (hs_piece_is_(template, names[i]))
            return true;
    return false;
}

static void drop_defaults(struct shortening *s, size_t open)
{
    char *text = s->out.text;
    struct piece template = template_name(text, open);
    text[s->out.n] = '\0';
    if (is_told_by_first(template)) {
        s->out.n = hs_text_comma_(text, open + 1, s->out.n, false);
        text[s->out.n] = '\0';
        return;
    }
    for (;;) {
        size_t first_end = hs_text_comma_(text, open + 1, s->out.n, false);
        size_t comma = hs_text_comma_(text, open + 1, s->out.n, true);
        struct piece first = {text + open + 1, first_end - open - 1};
        if (comma == s->out.n)
            return;
        size_t begin = comma + 1;
        begin += text[begin] == ' ';
        if (!is_default(template, first, (struct piece){text + begin, s->out.n - begin}))
            return;
        s->out.n = comma;
        text[s->out.n] = '\0';
    }
}

/* The names that everybody knows better. */
static void put_alias(struct shortening *s, size_t open)
{
    static const struct {
        const char *whole, *alias;
    } aliases[] = {
        {"std::basic_string<char>", "std::string"},
        {"std::basic_string<wchar_t>", "std::wstring"},
        {"std::basic_string_view<char>", "std::string_view"},
        {"std::basic_ostream<char>", "std::ostream"},
        {"std::basic_istream<char>", "std::istream"},
        {"std::basic_ostringstream<char>", "std::ostringstream"},
        {"std::basic_istringstream<char>", "std::istringstream"},
        {"std::basic_stringstream<char>", "std::stringstream"},
        {"std::basic_stringbuf<char>", "std::stringbuf"},
        {"std::basic_ofstream<char>", "std::ofstream"},
        {"std::basic_ifstream<char>", "std::ifstream"},
        {"std::basic_fstream<char>", "std::fstream"},
        {"std::basic_filebuf<char>", "std::filebuf"},
        {"std::basic_regex<char>", "std::regex"},
        {"std::basic_regex<wchar_t>", "std::wregex"},
    };
    size_t begin = (size_t)(template_name(s->out.text, open).text - s->out.text);
    struct piece whole = {s->out.text + begin, s->out.n - begin};
    for (size_t i = 0; i < sizeof(aliases) / sizeof(aliases[0]); i++)
        if (hs_piece_is_(whole, aliases[i].whole)) {
            s->out.n = begin;
            hs_demangle_put_text_(&s->out, aliases[i].alias);
        }
}

static void put_close(struct shortening *s)
{
    if (s->n_open == 0) {
        s->failed = true;
        return;
    }
    size_t open = s->open[--s->n_open];
    while (s->out.n > open + 1 && s->out.text[s->out.n - 1] == ' ')
        s->out.n--;
    drop_defaults(s, open);
    hs_demangle_put_(&s->out, '>');
    put_alias(s, open);
    struct piece template = template_name(s->out.text, open);
    if (s->is_whole && s->n_open == 0 && template.text == s->out.text && s->out.n > open)
        hs_shorten_node_(&s->out, template);
}

static void put_char(struct shortening *s, char c)
{
    if (c == '>') {
        put_close(s);
        return;
    }
    if (c == '<' && s->n_open == SHORTEN_MAX_DEPTH)
        s->failed = true;
    else if (c == '<')
        s->open[s->n_open++] = s->out.n;
    hs_demangle_put_(&s->out, c);
}

size_t hs_shorten_type(const char *name, char *out, size_t n_out)
{
    assert(n_out > 0);
    char text[DEMANGLE_MAX_TEXT];
    struct shortening s = {.out = {text, 0, sizeof(text) - 1}};
    struct demangle_out o = {out, 0, n_out - 1};
    s.failed = strnlen(name, sizeof(text)) == sizeof(text);
    for (const char *at = name; *at != '\0' && !s.failed;) {
        size_t n_noise = noise_length(&s, at);
        size_t n = n_noise != 0 ? n_noise : hs_text_token_(name, at);
        s.is_whole = at[0] != '\0' && at[1] != ':';
        if (n == 1)
            put_char(&s, *at);
        for (size_t i = 0; n_noise == 0 && n > 1 && i < n; i++)
            hs_demangle_put_(&s.out, at[i]);
        at += n;
    }
    text[s.out.n] = '\0';
    hs_demangle_put_text_(&o, s.failed || s.n_open != 0 ? name : text);
    out[o.n] = '\0';
    return o.n;
}
