/* Terminal hygiene: text from a target made safe to print, measured and cut; and what a terminal
 * wants. Nothing here depends on the locale. */
#ifndef HS_REPORT_TEXT_H
#define HS_REPORT_TEXT_H

#include "base/buffer.h"
#include "base/error.h"

#define HS_TEXT_BAD UINT32_MAX

/* Reads the code point at *at, which moves behind it; HS_TEXT_BAD for a byte that begins no valid
 * UTF-8 (overlong forms, surrogates and numbers beyond U+10FFFF included), of which one byte is
 * consumed. Needs *at < end. */
uint32_t hs_text_next(const char **at, const char *end);

/* Tells whether a code point may not go to a terminal as it is: C0, DEL, C1, direction overrides
 * and isolates, zero-width and line-separating characters, tags, HS_TEXT_BAD. */
bool hs_text_is_hidden(uint32_t code);

enum hs_text_escape {
    HS_TEXT_TERMINAL, /* hidden characters as \xNN and \u{N}; a backslash stays */
    HS_TEXT_TSV,      /* the same with \t \n \r \\ : one cell, can be turned back */
};

/* Appends the text in a form that is safe to print. Not NUL-terminated. Fails with HS_LIMIT. */
hs_status hs_text_sanitise(const char *text, size_t n_bytes, enum hs_text_escape escape,
                           struct hs_buffer *b, struct hs_error *err);

/* Returns the terminal columns of one code point (0, 1 or 2) and of a sanitised text. */
unsigned hs_text_code_width(uint32_t code);
size_t hs_text_width(const char *text, size_t n_bytes);

/* Appends a sanitised text cut in the middle with an ellipsis to at most `width` columns; where it
 * leaves out its own middle (" ... "), there. Of qualified names of C++ and Rust namespaces go
 * first, then arguments of templates, each for an ellipsis of its own. */
hs_status hs_text_fit(const char *text, size_t n_bytes, size_t width, struct hs_buffer *b,
                      struct hs_error *err);

/* The same cut at its beginning. */
hs_status hs_text_fit_end(const char *text, size_t n_bytes, size_t width, struct hs_buffer *b,
                          struct hs_error *err);

/* The same of several names with commas between them: as many as are whole, and ", ..."; of the
 * first what has room. What is one name alone is cut as that. */
hs_status hs_text_fit_names(const char *text, size_t n_bytes, size_t width, struct hs_buffer *b,
                            struct hs_error *err);

/* Returns the number of bytes of a sanitised text that go on a line of `width` columns: all where
 * they fit, else up to behind the last space that is not between a number and its unit, or behind
 * the last of / , : ; > or wherever the line ends. Not 0 but of an empty text. */
size_t hs_text_line(const char *text, size_t n_bytes, size_t width);

/* Appends a sanitised text as lines of at most `width` columns (0: one line), each ended; those
 * after the first are indented by so many columns, 8 at most. What stands in quotes, such as a
 * command to copy, stays on one line, be it longer. */
hs_status hs_text_fill(const char *text, size_t n_bytes, size_t indent, size_t width,
                       struct hs_buffer *b, struct hs_error *err);

/* The abilities of an output. */
struct hs_terminal {
    bool is_terminal;
    bool is_plain; /* it shows ASCII alone: the locale says another set of characters than UTF-8 */
    bool colour;   /* a terminal, TERM is set and not "dumb", NO_COLOR is unset or empty */
    size_t width;  /* columns; 0 = no limit, for what is not a terminal */
    size_t height; /* lines; 0 = no limit */
};

void hs_terminal_ask(int fd, struct hs_terminal *ret);

#endif
