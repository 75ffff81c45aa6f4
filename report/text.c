#include "report/text.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "base/units.h"
#include "text_names.h"

#define ELLIPSIS HS_TEXT_ELLIPSIS

bool hs_text_is_hidden(uint32_t code)
{
    static const struct {
        uint32_t first, last; /* closed */
    } hidden[] = {
        {0x0000, 0x001f},   /* C0, ESC among them */
        {0x007f, 0x009f},   /* DEL, C1 */
        {0x00ad, 0x00ad},   /* soft hyphen */
        {0x061c, 0x061c},   /* Arabic letter mark */
        {0x115f, 0x1160},   /* Hangul fillers */
        {0x180e, 0x180e},   /* Mongolian vowel separator */
        {0x200b, 0x200f},   /* zero width, direction marks */
        {0x2028, 0x202e},   /* separators, embeddings and overrides */
        {0x2060, 0x206f},   /* joiners, isolates, deprecated controls */
        {0x3164, 0x3164},   /* Hangul filler */
        {0xfeff, 0xfeff},   /* byte order mark */
        {0xffa0, 0xffa0},   /* halfwidth Hangul filler */
        {0xfff0, 0xfffb},   /* specials, interlinear annotation */
        {0xe0000, 0xe0fff}, /* tags */
    };
    if (code > 0x10ffff || (code & 0xfffe) == 0xfffe)
        return true;
    for (size_t i = 0; i < sizeof hidden / sizeof hidden[0] && code >= hidden[i].first; i++)
        if (code <= hidden[i].last)
            return true;
    return false;
}

/* ---- escapes ---- */

/* The escape of the code point whose first byte is `byte`; false when it goes as it is. */
static bool text_escape(uint32_t code, char byte, enum hs_text_escape escape, char text[16])
{
    static const char short_codes[] = "\t\n\r\\";
    static const char short_names[] = "tnr\\";
    const char *found = NULL;

    if (escape == HS_TEXT_TSV && code != 0 && code < 0x80)
        found = strchr(short_codes, (int)code);
    if (found != NULL)
        (void)snprintf(text, 16, "\\%c", short_names[found - short_codes]);
    else if (!hs_text_is_hidden(code))
        return false;
    else if (code == HS_TEXT_BAD || code < 0x80)
        (void)snprintf(text, 16, "\\x%02x", (unsigned)(unsigned char)byte);
    else
        (void)snprintf(text, 16, "\\u{%x}", (unsigned)code);
    return true;
}

static hs_status text_put(struct hs_buffer *b, const char *text, size_t n, struct hs_error *err)
{
    HS_TRY(hs_buffer_reserve(b, n, err));
    hs_buffer_put_bytes(b, text, n);
    return HS_OK;
}

hs_status hs_text_sanitise(const char *text, size_t n_bytes, enum hs_text_escape escape,
                           struct hs_buffer *b, struct hs_error *err)
{
    const char *end = text + n_bytes;
    const char *plain = text; /* what is not yet copied begins here */

    for (const char *at = text; at < end;) {
        char escaped[16];
        const char *begin = at;
        uint32_t code = hs_text_next(&at, end);
        if (!text_escape(code, *begin, escape, escaped))
            continue;
        HS_TRY(text_put(b, plain, (size_t)(begin - plain), err));
        HS_TRY(text_put(b, escaped, strlen(escaped), err));
        plain = at;
    }
    return text_put(b, plain, (size_t)(end - plain), err);
}

/* ---- cutting ---- */

/* The end of the longest beginning of at most `width` columns. */
static const char *text_head(const char *text, const char *end, size_t width)
{
    const char *at = text;
    while (at < end) {
        const char *next = at;
        unsigned step = hs_text_code_width(hs_text_next(&next, end));
        if (step > width)
            break;
        width -= step;
        at = next;
    }
    return at;
}

/* The begin of the longest ending of at most `width` columns; no lone accent at its begin. */
static const char *text_tail(const char *text, const char *end, size_t width)
{
    const char *kept = end;
    const char *at = end;
    while (at > text) {
        const char *next;
        do
            at--;
        while (at > text && (*at & 0xc0) == 0x80);
        next = at;
        unsigned step = hs_text_code_width(hs_text_next(&next, end));
        if (step > width)
            break;
        width -= step;
        if (step != 0)
            kept = at;
    }
    return kept;
}

/* Returns the width that a text keeps of its beginning: half of the width, or less where the text
 * leaves out its own middle ("task serve() ... await Queue.get() local getter") and what is behind
 * that fits. */
static size_t text_head_width(const char *text, size_t n_bytes, size_t width)
{
    static const char omission[] = " ... ";
    enum { LEAST = 3 };
    const char *found = memmem(text, n_bytes, omission, sizeof omission - 1);
    if (found == NULL)
        return width / 2;
    const char *behind = found + sizeof omission - 1;
    size_t rest = hs_text_width(behind, (size_t)(text + n_bytes - behind));
    return rest + LEAST < width ? width - 1 - rest : width / 2;
}

static hs_status text_cut(const char *text, size_t n_bytes, size_t width, struct hs_buffer *b,
                          struct hs_error *err)
{
    const char *end = text + n_bytes;

    if (hs_text_width(text, n_bytes) <= width)
        return text_put(b, text, n_bytes, err);
    const char *head = text_head(text, end, text_head_width(text, n_bytes, width));
    const char *tail = text_tail(head, end, width - 1 - hs_text_width(text, (size_t)(head - text)));
    size_t n_ellipsis = strlen(ELLIPSIS);
    bool has_one =
        (size_t)(head - text) >= n_ellipsis && memcmp(head - n_ellipsis, ELLIPSIS, n_ellipsis) == 0;
    HS_TRY(text_put(b, text, (size_t)(head - text), err));
    HS_TRY(text_put(b, ELLIPSIS, has_one ? 0 : n_ellipsis, err));
    return text_put(b, tail, (size_t)(end - tail), err);
}

hs_status hs_text_fit(const char *text, size_t n_bytes, size_t width, struct hs_buffer *b,
                      struct hs_error *err)
{
    struct hs_buffer shorter = {0};

    if (hs_text_width(text, n_bytes) <= width)
        return text_put(b, text, n_bytes, err);
    if (width == 0)
        return HS_OK;
    if (memmem(text, n_bytes, "::", 2) == NULL)
        return text_cut(text, n_bytes, width, b, err);
    hs_status status = hs_text_shorten_names_(text, n_bytes, width, &shorter, err);
    if (status == HS_OK)
        status = text_cut((const char *)shorter.bytes, shorter.n_bytes, width, b, err);
    hs_buffer_fini(&shorter);
    return status;
}

hs_status hs_text_fit_end(const char *text, size_t n_bytes, size_t width, struct hs_buffer *b,
                          struct hs_error *err)
{
    const char *end = text + n_bytes;

    if (hs_text_width(text, n_bytes) <= width)
        return text_put(b, text, n_bytes, err);
    if (width == 0)
        return HS_OK;
    const char *tail = text_tail(text, end, width - 1);
    HS_TRY(text_put(b, ELLIPSIS, strlen(ELLIPSIS), err));
    return text_put(b, tail, (size_t)(end - tail), err);
}

/* Returns the end of the first of several names, at a comma outside of brackets; else the end. */
static const char *text_item(const char *text, const char *end)
{
    int depth = 0;
    for (const char *at = text; at + 1 < end; at++) {
        if (strchr("<([{", *at) != NULL)
            depth++;
        else if (strchr(">)]}", *at) != NULL)
            depth--;
        else if (depth <= 0 && at[0] == ',' && at[1] == ' ')
            return at;
    }
    return end;
}

hs_status hs_text_fit_names(const char *text, size_t n_bytes, size_t width, struct hs_buffer *b,
                            struct hs_error *err)
{
    static const char others[] = ", ...";
    const size_t n_others = sizeof others - 1;
    const char *end = text + n_bytes, *item = text_item(text, end);

    if (hs_text_width(text, n_bytes) <= width || item == end || width <= n_others)
        return hs_text_fit(text, n_bytes, width, b, err);
    const char *whole = text;
    for (; hs_text_width(text, (size_t)(item - text)) + n_others <= width && item < end;
         item = text_item(item + 2, end))
        whole = item;
    if (whole != text)
        HS_TRY(text_put(b, text, (size_t)(whole - text), err));
    else
        HS_TRY(hs_text_fit(text, (size_t)(item - text), width - n_others, b, err));
    return text_put(b, others, n_others, err);
}

/* Tells whether a line may end at a space: a number stays with its unit. */
static bool text_may_break(const char *text, const char *space, const char *end)
{
    static const char *const units[] = {"%", "B", "KiB", "MiB", "GiB", "TiB", "ms", "s"};
    const char *word = space + 1, *stop = word;

    if (space == text || space[-1] < '0' || space[-1] > '9')
        return true;
    while (stop < end && strchr(" ,.;:)", *stop) == NULL)
        stop++;
    for (size_t i = 0; i < sizeof units / sizeof *units; i++)
        if (strlen(units[i]) == (size_t)(stop - word) &&
            memcmp(units[i], word, (size_t)(stop - word)) == 0)
            return false;
    return true;
}

size_t hs_text_line(const char *text, size_t n_bytes, size_t width)
{
    const char *end = text + n_bytes;
    const char *head = text_head(text, end, width);
    const char *soft = NULL;

    if (head == end)
        return n_bytes;
    if (head == text)
        (void)hs_text_next(&head, end); /* wider than the line: it must go somewhere */
    if (*head == ' ' && text_may_break(text, head, end))
        return (size_t)(head + 1 - text);
    for (const char *at = head; at-- > text;) {
        if (*at == ' ' && text_may_break(text, at, end))
            return (size_t)(at + 1 - text);
        if (soft == NULL && strchr("/,:;>", *at) != NULL)
            soft = at + 1;
    }
    if (soft == NULL && *head == ' ')
        return (size_t)(head + 1 - text);
    return (size_t)((soft != NULL ? soft : head) - text);
}

/* The end of what stands in quotes at `at`, or `at` when no quotation begins there: an apostrophe
 * inside a word does not. */
static const char *text_quoted(const char *text, const char *at, const char *end)
{
    if (*at != '\'' || (at != text && at[-1] != ' ' && at[-1] != '('))
        return at;
    const char *close = memchr(at + 1, '\'', (size_t)(end - at - 1));
    return close != NULL ? close + 1 : at;
}

/* Returns the end of a line of `width` columns: as hs_text_line, outside of quotes. */
static size_t text_unquoted_line(const char *text, size_t n_bytes, size_t width)
{
    size_t n = hs_text_line(text, n_bytes, width);
    const char *end = text + n_bytes;
    for (const char *at = text; at < text + n; at++) {
        const char *behind = text_quoted(text, at, end);
        if (behind > text + n && at != text)
            return (size_t)(at - text);
        if (behind > text + n) {
            const char *space = memchr(behind, ' ', (size_t)(end - behind));
            return space != NULL ? (size_t)(space + 1 - text) : n_bytes;
        }
        if (behind != at)
            at = behind - 1;
    }
    return n;
}

hs_status hs_text_fill(const char *text, size_t n_bytes, size_t indent, size_t width,
                       struct hs_buffer *b, struct hs_error *err)
{
    enum { LEAST = 20 };
    static const char blanks[] = "        ";
    bool is_first = true;
    size_t room = width == 0 ? SIZE_MAX : width < LEAST ? LEAST : width;

    if (indent >= sizeof blanks)
        indent = sizeof blanks - 1;
    do {
        size_t n = text_unquoted_line(text, n_bytes, room - (is_first ? 0 : indent));
        size_t shown = n;
        while (shown != 0 && text[shown - 1] == ' ' && n != n_bytes)
            shown--;
        HS_TRY(text_put(b, blanks, is_first ? 0 : indent, err));
        HS_TRY(text_put(b, text, shown, err));
        HS_TRY(text_put(b, "\n", 1, err));
        text += n;
        n_bytes -= n;
        is_first = false;
    } while (n_bytes != 0);
    return HS_OK;
}

/* ---- terminals ---- */

static bool terminal_colour(void)
{
    const char *no_colour = getenv("NO_COLOR"); /* no-color.org: any value but an empty one */
    const char *term = getenv("TERM");
    return (no_colour == NULL || *no_colour == '\0') && term != NULL && *term != '\0' &&
           strcmp(term, "dumb") != 0;
}

/* Returns a size of the terminal, from the environment where the terminal does not know it. Of what
 * is no terminal the environment alone is asked: shells keep COLUMNS to themselves, so whoever
 * exports it means it. */
static size_t terminal_size(unsigned asked, const char *variable, uint64_t least, size_t otherwise)
{
    struct hs_error ignored = HS_ERROR_INIT;
    const char *text = getenv(variable);
    uint64_t size = 0;

    if (asked != 0)
        return asked;
    if (text != NULL && hs_parse_count(text, &size, &ignored) == HS_OK && size >= least &&
        size <= 10000)
        return (size_t)size;
    return otherwise;
}

/* Tells whether the terminal shows ASCII alone, as setlocale(3) would have it; where nothing is
 * said a terminal of today shows UTF-8. */
static bool terminal_is_plain(void)
{
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *said = getenv(names[i]);
        if (said != NULL && *said != '\0')
            return strcasestr(said, "utf-8") == NULL && strcasestr(said, "utf8") == NULL;
    }
    return false;
}

void hs_terminal_ask(int fd, struct hs_terminal *ret)
{
    bool is_terminal = isatty(fd) == 1;
    struct winsize size = {0};
    if (is_terminal && ioctl(fd, TIOCGWINSZ, &size) != 0)
        size = (struct winsize){0};
    *ret = (struct hs_terminal){
        .is_terminal = is_terminal,
        .is_plain = is_terminal && terminal_is_plain(),
        .colour = is_terminal && terminal_colour(),
        .width = terminal_size(size.ws_col, "COLUMNS", 20, is_terminal ? 80 : 0),
        .height = is_terminal ? terminal_size(size.ws_row, "LINES", 5, 24) : 0,
    };
}
