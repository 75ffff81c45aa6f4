/* C++ and Rust names through libiberty.
 *
 * Its demanglers with a callback allocate nothing that outlives a call of the callback (C++ nothing
 * at all, Rust one buffer while it decodes a punycode identifier), bound their recursion (2048 and
 * 1024 levels) and refuse C++ names over 1024 bytes. Their output they do not bound: a few
 * substitutions that double it each time make 2^100 bytes, and Rust's binder "FG<number>_" counts
 * to any number. So we leave by a long jump when there is enough, from a place where nothing is
 * allocated, and do not begin with a binder that counts far. */
#include <assert.h>
#include <setjmp.h>
#include <string.h>

#include <libiberty/demangle.h>

#include "demangle_private.h"

enum {
    LIBRARY_MAX_CALLS = 1 << 16, /* of the callback, which may bring little each time */
    LIBRARY_MAX_BINDER = 2,      /* digits of base 62: 3844 lifetimes */
};

struct library_sink {
    struct demangle_out out;
    int n_calls;
    jmp_buf enough;
};

/* Punctuation never comes from the punycode decoder: what it makes begins with a letter, a digit,
 * '_' or a byte above ASCII. */
static bool sink_may_leave(const char *text, size_t n)
{
    return n != 0 && strchr("<>()[]{}:,&* ;='+-", text[0]) != NULL && text[0] != '\0';
}

static void sink_put(const char *text, size_t n, void *context)
{
    struct library_sink *sink = context;
    struct demangle_out *out = &sink->out;
    for (size_t i = 0; i < n && out->n < out->room; i++)
        hs_demangle_put_(out, text[i]);
    sink->n_calls += sink->n_calls < LIBRARY_MAX_CALLS;
    bool is_enough = out->n == out->room || sink->n_calls == LIBRARY_MAX_CALLS;
    if (is_enough && sink_may_leave(text, n))
        longjmp(sink->enough, 1);
}

typedef int library_demangler(const char *name, int options, demangle_callbackref callback,
                              void *context);

/* Tells whether there is output: a name that was left half-way is as good as a whole one that was
 * cut. A function of its own, so that no variable of the caller lives in a register across the
 * jump. */
__attribute__((noinline)) static bool library_run(library_demangler *demangler, const char *name,
                                                  int options, struct library_sink *sink)
{
    return setjmp(sink->enough) != 0 || demangler(name, options, sink_put, sink) != 0;
}

static size_t library_call(library_demangler *demangler, const char *name, int options, char *out,
                           size_t n_out)
{
    assert(n_out > 0);
    struct library_sink sink = {.out = {out, 0, n_out - 1}};
    if (strnlen(name, DEMANGLE_MAX_NAME) == DEMANGLE_MAX_NAME ||
        !library_run(demangler, name, options, &sink))
        return 0;
    out[sink.out.n] = '\0';
    return sink.out.n;
}

size_t hs_demangle_cxx_(const char *name, char *out, size_t n_out)
{
    if (name[0] != '_' || name[1] != 'Z')
        return 0;
    return library_call(cplus_demangle_v3_callback, name, DMGL_ANSI | DMGL_RET_DROP, out, n_out);
}

size_t hs_demangle_cxx_type_(const char *name, char *out, size_t n_out)
{
    return library_call(cplus_demangle_v3_callback, name, DMGL_PARAMS | DMGL_ANSI | DMGL_TYPES, out,
                        n_out);
}

static bool is_base_62(char c)
{
    return (c >= '0' && c <= '9') || (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z');
}

/* "FG" or "DG" (a function or trait type with its own lifetimes) and a number of many digits, up to
 * '_'. An identifier may look like it and then stays mangled. */
static bool has_long_binder(const char *name)
{
    for (const char *at = name; (at = strchr(at, 'G')) != NULL; at++) {
        size_t n = 0;
        if (at == name || (at[-1] != 'F' && at[-1] != 'D'))
            continue;
        while (is_base_62(at[1 + n]))
            n++;
        if (n > LIBRARY_MAX_BINDER && at[1 + n] == '_')
            return true;
    }
    return false;
}

size_t hs_demangle_rust_(const char *name, char *out, size_t n_out)
{
    char whole[DEMANGLE_MAX_NAME];
    bool is_new = strncmp(name, "_R", 2) == 0;
    if (!is_new && strncmp(name, "_ZN", 3) != 0)
        return 0;
    size_t n = strnlen(name, sizeof(whole));
    if (n == sizeof(whole) || (is_new && has_long_binder(name)))
        return 0;
    memcpy(whole, name, n + 1);
    char *suffix = strstr(whole, ".llvm."); /* thin link-time optimisation */
    if (suffix != NULL)
        *suffix = '\0';
    return library_call(rust_demangle_callback, whole, DMGL_RUST, out, n_out);
}
