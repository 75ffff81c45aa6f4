#include "text_names.h"

#include <ctype.h>
#include <string.h>

#include "report/text.h"

static const char nameless[] = "(anonymous namespace)";
enum {
    MOST_BRACED = 64, /* bytes of a name in braces */
    MOST_NESTED = 16  /* templates in each other of which arguments are left out */
};

/* The state of making columns shorter while they have no room. */
struct shortening {
    const char *at, *end; /* what is not yet looked at */
    size_t excess;        /* columns */
    struct hs_buffer *out;
    struct hs_error *err;
};

static bool starts(const char *at, const char *end, const char *with)
{
    size_t n = strlen(with);
    return (size_t)(end - at) >= n && memcmp(at, with, n) == 0;
}

static bool is_name_byte(const char *at, const char *end)
{
    unsigned char byte = (unsigned char)*at;
    return isalnum(byte) || byte == '_' || byte == '$' || byte == '~' ||
           (byte >= 0x80 && !starts(at, end, HS_TEXT_ELLIPSIS));
}

/* The end of what compilers write for something without a name ("{impl#4}"); `at` where none is. */
static const char *braced_end(const char *at, const char *end)
{
    size_t n = (size_t)(end - at);
    const char *close =
        n != 0 && *at == '{' ? memchr(at, '}', n < MOST_BRACED ? n : MOST_BRACED) : NULL;
    return close != NULL ? close + 1 : at;
}

/* The end of the part of a qualified name that begins at `at`: a name, with what it has that has
 * none ("main::{closure#0}"); `at` where none begins. */
static const char *name_end(const char *at, const char *end)
{
    if (starts(at, end, nameless))
        return at + strlen(nameless);
    const char *behind = braced_end(at, end);
    while (behind == at && at < end && is_name_byte(at, end))
        behind = ++at;
    while (starts(behind, end, "::{") && braced_end(behind + 2, end) != behind + 2)
        behind = braced_end(behind + 2, end);
    return behind;
}

/* The end of the qualifier that begins at `at`, "std::" or "Result<...>::" where the arguments are
 * already left out; `at` where none does. */
static const char *qualifier_end(const char *at, const char *end)
{
    static const char left_out[] = "<" HS_TEXT_ELLIPSIS ">";
    const char *behind =
        starts(at, end, HS_TEXT_ELLIPSIS) ? at + strlen(HS_TEXT_ELLIPSIS) : name_end(at, end);
    if (starts(behind, end, left_out))
        behind += strlen(left_out);
    bool is_one = behind != at && starts(behind, end, "::") && behind + 2 < end &&
                  !isspace((unsigned char)behind[2]);
    return is_one ? behind + 2 : at;
}

static hs_status keep(struct shortening *s, const char *until)
{
    size_t n = (size_t)(until - s->at);
    HS_TRY(hs_buffer_reserve(s->out, n, s->err));
    hs_buffer_put_bytes(s->out, s->at, n);
    s->at = until;
    return HS_OK;
}

static bool ends_with_ellipsis(const struct hs_buffer *out)
{
    size_t n = strlen(HS_TEXT_ELLIPSIS);
    return out->n_bytes >= n && memcmp(out->bytes + out->n_bytes - n, HS_TEXT_ELLIPSIS, n) == 0;
}

/* Goes on at `until` with an ellipsis for what is before it; one stands for all in a row. */
static hs_status leave_out(struct shortening *s, const char *until)
{
    size_t saved = hs_text_width(s->at, (size_t)(until - s->at));
    bool has_one = ends_with_ellipsis(s->out);

    if (!has_one) {
        HS_TRY(hs_buffer_reserve(s->out, strlen(HS_TEXT_ELLIPSIS), s->err));
        hs_buffer_put_bytes(s->out, HS_TEXT_ELLIPSIS, strlen(HS_TEXT_ELLIPSIS));
    }
    saved -= has_one || saved == 0 ? 0 : 1;
    s->excess -= saved < s->excess ? saved : s->excess;
    s->at = until;
    return HS_OK;
}

static hs_status leave_out_nameless(struct shortening *s)
{
    while (s->at < s->end) {
        const char *found = s->at;
        while (found < s->end && !starts(found, s->end, nameless))
            found++;
        HS_TRY(keep(s, found));
        if (found < s->end)
            HS_TRY(leave_out(s, found + strlen(nameless)));
    }
    return HS_OK;
}

static hs_status leave_out_some(struct shortening *s, bool keeps_last)
{
    while (s->at < s->end) {
        const char *behind = qualifier_end(s->at, s->end);
        bool is_last = behind == s->at || qualifier_end(behind, s->end) == behind;
        if (behind != s->at && s->excess != 0 && !(keeps_last && is_last)) {
            HS_TRY(leave_out(s, behind));
            continue;
        }
        const char *next = is_last ? behind : s->at;
        if (next == s->at)
            next = name_end(s->at, s->end);
        if (next == s->at)
            (void)hs_text_next(&next, s->end);
        HS_TRY(keep(s, next));
    }
    return HS_OK;
}

static hs_status leave_out_qualifiers(struct shortening *s)
{
    return leave_out_some(s, false);
}

/* Leaves out the outer qualifiers of names and keeps the last: of two variables of one name it
 * tells which. */
static hs_status leave_out_outer(struct shortening *s)
{
    return leave_out_some(s, true);
}

/* The end of what begins with '<' at `at`, or `at` where nothing ends it. "->" is no bracket. */
static const char *arguments_end(const char *at, const char *end)
{
    size_t depth = 0;

    for (const char *i = at; i < end; i++) {
        depth += *i == '<';
        if (*i == '>' && i[-1] != '-' && --depth == 0)
            return i + 1;
    }
    return at;
}

/* Arguments of a template behind its name, or what an associated function of Rust belongs to. */
static bool arguments_begin(const struct shortening *s, const char *at)
{
    static const char operator_name[] = "operator";
    size_t n = strlen(operator_name);
    bool is_operator =
        s->out->n_bytes >= n && memcmp(s->out->bytes + s->out->n_bytes - n, operator_name, n) == 0;
    return *at == '<' && !is_operator && at + 1 < s->end && at[1] != '<' && at[1] != ' ';
}

/* Returns the begin of the arguments that are kept, which end at `close`: at the first name before
 * which enough is left out, or at their end. The last ones say most: "Pool<...ProgramCache>>". */
static const char *kept_arguments(const struct shortening *s, const char *close)
{
    size_t n_columns = 0;

    for (const char *at = s->at; at < close;) {
        const char *next = name_end(at, close);
        bool is_name = next != at;
        if (!is_name)
            (void)hs_text_next(&next, close);
        if (is_name && n_columns > s->excess)
            return at;
        n_columns += hs_text_width(at, (size_t)(next - at));
        at = next;
    }
    return close;
}

static hs_status leave_out_arguments(struct shortening *s)
{
    while (s->at < s->end) {
        const char *behind = arguments_begin(s, s->at) ? arguments_end(s->at, s->end) : s->at;
        if (behind == s->at && *s->at == '<')
            return keep(s, s->end); /* an operator, or text that is no name */
        HS_TRY(keep(s, s->at + 1));
        if (behind < s->at)
            continue;
        if (s->excess != 0 && behind - 1 > s->at)
            HS_TRY(leave_out(s, kept_arguments(s, behind - 1)));
        HS_TRY(keep(s, behind));
    }
    return HS_OK;
}

/* Tells whether the arguments in [at, end) are several. */
static bool are_several(const char *at, const char *end)
{
    size_t depth = 0;

    for (const char *i = at; i < end; i++) {
        if (*i == ',' && depth == 0)
            return true;
        depth += *i == '<' || *i == '(';
        depth -= depth != 0 && ((*i == '>' && i[-1] != '-') || *i == ')');
    }
    return false;
}

/* Leaves out several arguments of a template that is an argument itself: of
 * "map<string, variant<long, double, string>>" those of variant. Of a single one within another the
 * innermost says most, and stays. */
static hs_status leave_out_nested(struct shortening *s)
{
    size_t depth = 0;

    while (s->at < s->end && s->excess != 0 && depth < MOST_NESTED) {
        const char *behind = arguments_begin(s, s->at) ? arguments_end(s->at, s->end) : s->at;
        if (behind == s->at && *s->at == '<')
            return keep(s, s->end); /* an operator, or text that is no name */
        bool is_nested = behind != s->at && depth != 0 && are_several(s->at + 1, behind - 1);
        depth += behind != s->at && !is_nested;
        depth -= *s->at == '>' && depth != 0 && s->out->n_bytes != 0 &&
                 s->out->bytes[s->out->n_bytes - 1] != '-';
        HS_TRY(keep(s, s->at + 1));
        if (!is_nested)
            continue;
        HS_TRY(leave_out(s, behind - 1));
        HS_TRY(keep(s, behind));
    }
    return keep(s, s->end);
}

typedef hs_status step_run(struct shortening *s);

/* Runs one step: what is in `text` comes out in `out`, which it empties first. */
static hs_status step(step_run *run, const struct hs_buffer *text, size_t width,
                      struct hs_buffer *out, struct hs_error *err)
{
    const char *at = (const char *)text->bytes;
    size_t has = hs_text_width(at, text->n_bytes);
    struct shortening s = {at, at + text->n_bytes, has > width ? has - width : 0, out, err};

    out->n_bytes = 0;
    return run(&s);
}

hs_status hs_text_shorten_names_(const char *text, size_t n_bytes, size_t width,
                                 struct hs_buffer *ret, struct hs_error *err)
{
    static step_run *const steps[] = {leave_out_nameless,  leave_out_nested,
                                      leave_out_outer,     leave_out_qualifiers,
                                      leave_out_arguments, leave_out_qualifiers};
    struct hs_buffer before = {0};
    hs_status status = hs_buffer_reserve(ret, n_bytes, err);

    ret->n_bytes = 0;
    if (status == HS_OK)
        hs_buffer_put_bytes(ret, text, n_bytes);
    for (size_t i = 0; i < sizeof steps / sizeof steps[0] && status == HS_OK &&
                       hs_text_width((const char *)ret->bytes, ret->n_bytes) > width;
         i++) {
        struct hs_buffer shorter = before;
        before = *ret;
        *ret = shorter;
        status = step(steps[i], &before, width, ret, err);
    }
    hs_buffer_fini(&before);
    return status;
}
