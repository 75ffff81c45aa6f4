#include "symbols/demangle.h"

#include <assert.h>
#include <string.h>

#include "demangle_private.h"

static bool is_upper(char c)
{
    return c >= 'A' && c <= 'Z';
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

static bool is_identifier(char c)
{
    return is_upper(c) || (c >= 'a' && c <= 'z') || is_digit(c) || c == '_';
}

static int hex_value(char c)
{
    if (is_digit(c))
        return c - '0';
    return c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* "$2b": asmcomp writes each character that an assembler may not like so. Only printable ones that
 * are not part of identifiers are made that way; anything else is a '$' that means itself. */
static bool escape_at(const char *at, const char *end, char *ret)
{
    if (end - at < 3 || at[0] != '$')
        return false;
    int high = hex_value(at[1]), low = hex_value(at[2]);
    if (high < 0 || low < 0)
        return false;
    char c = (char)(high * 16 + low);
    if (high < 2 || high > 7 || c == 0x7f || is_identifier(c))
        return false;
    *ret = c;
    return true;
}

bool hs_is_ocaml_symbol(const char *name)
{
    return strncmp(name, "caml", 4) == 0 && is_upper(name[4]);
}

/* Finds the end of the name without the compiler's stamp "_123". */
static const char *stamp_begin(const char *begin, const char *end)
{
    const char *at = end;
    while (at > begin && is_digit(at[-1]))
        at--;
    return at < end && at - 1 > begin && at[-1] == '_' ? at - 1 : end;
}

/* The separator of units and members at `at`: its length, or 0. "__" up to 5.0 (and inside the name
 * of a wrapped unit for ever), "." or "$" since 5.1. */
static size_t separator_at(const char *at, const char *end)
{
    char ignored;
    if (end - at > 2 && at[0] == '_' && at[1] == '_' && at[2] != '_')
        return 2;
    if (end - at > 1 && at[0] == '.')
        return 1;
    return end - at > 1 && at[0] == '$' && !escape_at(at, end, &ignored) ? 1 : 0;
}

static bool begins_with(const char *at, const char *end, const char *prefix)
{
    size_t n = strlen(prefix);
    return (size_t)(end - at) >= n && memcmp(at, prefix, n) == 0;
}

/* Functions without a name: "fun" with a stamp, and what flambda and 5.x make of a place,
 * "anon_fn[file.ml:12,3--20]" with escapes. */
static bool is_anonymous(const char *at, const char *end, const char *stamp)
{
    if (stamp != end && stamp - at == 3 && memcmp(at, "fun", 3) == 0)
        return true;
    return begins_with(at, end, "anon_fn[") || begins_with(at, end, "anon_fn$5b");
}

static void member_put(struct demangle_out *out, const char *at, const char *end)
{
    const char *stamp = stamp_begin(at, end);
    if (is_anonymous(at, end, stamp)) {
        hs_demangle_put_text_(out, "(fun)");
        return;
    }
    while (at < stamp) {
        char c;
        bool is_escape = escape_at(at, stamp, &c);
        hs_demangle_put_(out, is_escape ? c : *at);
        at += is_escape ? 3 : 1;
    }
}

/* Puts a name of OCaml: caml Unit (separator Unit)* [separator member]: components with a capital
 * are units; the first other one takes all the rest, separators in it included. */
static void ocaml_put(struct demangle_out *out, const char *name)
{
    const char *at = name + 4, *end = name + strlen(name);
    for (;;) {
        if (!is_upper(*at)) {
            member_put(out, at, end);
            return;
        }
        size_t n_separator = 0;
        while (at < end && (n_separator = separator_at(at, end)) == 0)
            hs_demangle_put_(out, *at++);
        if (at == end)
            return;
        hs_demangle_put_(out, '.');
        at += n_separator;
    }
}

/* Puts a name of C++ or Rust; 0 when the name is of neither. */
static size_t foreign_put(struct demangle_out *out, const char *name)
{
    char whole[DEMANGLE_MAX_TEXT];
    size_t n = hs_demangle_rust_(name, whole, sizeof(whole));
    if (n != 0) {
        hs_demangle_put_text_(out, whole);
        return out->n;
    }
    if (hs_demangle_cxx_(name, whole, sizeof(whole)) == 0)
        return 0;
    out->n = hs_shorten_type(whole, out->text, out->room + 1);
    return out->n;
}

/* Puts the name of a variable or a function of Cython, "__pyx_v_3pkg_3mod_cache" as
 * "pkg.mod.cache": behind the mark come the module's parts and the classes, each with its length.
 * 0 when it is none. */
static size_t cython_put(struct demangle_out *out, const char *name)
{
    enum { MARK = 8, MOST_DIGITS = 3 };
    const char *at = name + MARK;

    if (strncmp(name, "__pyx_v_", MARK) != 0 && strncmp(name, "__pyx_f_", MARK) != 0)
        return 0;
    while (*at >= '1' && *at <= '9') {
        size_t n = 0, n_digits = strspn(at, "0123456789");
        for (size_t i = 0; i < n_digits && i < MOST_DIGITS; i++)
            n = n * 10 + (size_t)(at[i] - '0');
        const char *part = at + n_digits;
        if (n_digits > MOST_DIGITS || strnlen(part, n + 2) < n + 2 || part[n] != '_')
            return out->n = 0;
        for (size_t i = 0; i < n; i++)
            hs_demangle_put_(out, part[i]);
        hs_demangle_put_(out, '.');
        at = part + n + 1;
    }
    if (out->n != 0)
        hs_demangle_put_text_(out, at);
    return out->n;
}

size_t hs_demangle(const char *name, char *out, size_t n_out)
{
    assert(n_out > 0);
    struct demangle_out o = {out, 0, n_out - 1};
    bool is_foreign = name[0] == '_' && (name[1] == 'Z' || name[1] == 'R');
    if (hs_is_ocaml_symbol(name))
        ocaml_put(&o, name);
    else if (is_foreign ? foreign_put(&o, name) == 0 : cython_put(&o, name) == 0)
        hs_demangle_put_text_(&o, name);
    out[o.n] = '\0';
    return o.n;
}

size_t hs_demangle_type(const char *name, char *out, size_t n_out)
{
    assert(n_out > 0);
    if (strncmp(name, "_ZTS", 4) == 0)
        name += 4;
    name += *name == '*'; /* gcc's mark of a type without linkage */
    if (strncmp(name, "_Z", 2) != 0) {
        size_t n = hs_demangle_cxx_type_(name, out, n_out);
        if (n != 0)
            return n;
    }
    struct demangle_out o = {out, 0, n_out - 1};
    hs_demangle_put_text_(&o, name);
    out[o.n] = '\0';
    return o.n;
}
