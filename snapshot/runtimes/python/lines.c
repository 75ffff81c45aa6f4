/* The line of an instruction, by the location table of 3.11 and later (PEP 626,
 * Objects/locations.md): entries of one byte { 1, kind:4, length - 1:3 } and what the kind asks
 * for; numbers in groups of six bits. */
#include "base/load.h"
#include "python.h"

enum {
    BYTES_PER_LOOK = 16,
    AT_SIZE = 16,
    AT_BYTES = 32,
    UNIT_BYTES = 2,
    MAX_TABLE_BYTES = 1 << 20,
    KIND_ONE_LINE = 10, /* to 12: so many lines on, two columns */
    KIND_NO_COLUMNS = 13,
    KIND_LONG = 14,
    KIND_NONE = 15,
};

struct table {
    const uint8_t *at, *end;
};

static uint64_t next_number(struct table *t)
{
    uint64_t number = 0;

    for (unsigned shift = 0; t->at < t->end; shift += 6) {
        uint8_t byte = *t->at++;
        if (shift < 64)
            number |= (uint64_t)(byte & 63) << shift;
        if ((byte & 64) == 0)
            break;
    }
    return number;
}

/* Returns how many lines on from the one before an entry is; passes over its columns. */
static int64_t next_delta(struct table *t, unsigned kind)
{
    if (kind == KIND_NONE)
        return 0;
    if (kind == KIND_LONG || kind == KIND_NO_COLUMNS) {
        uint64_t number = next_number(t);
        int64_t delta = (int64_t)(number >> 1);
        for (int i = 0; i < 3 && kind == KIND_LONG; i++)
            (void)next_number(t);
        return (number & 1) != 0 ? -delta : delta;
    }
    size_t n_columns = kind >= KIND_ONE_LINE ? 2 : 1;
    t->at += (size_t)(t->end - t->at) < n_columns ? (size_t)(t->end - t->at) : n_columns;
    return kind >= KIND_ONE_LINE ? (int64_t)kind - KIND_ONE_LINE : 0;
}

/* Finds the line in a table as it is up to 3.10: pairs { bytes of code, lines on }. In 3.9 the
 * lines come after the bytes; in 3.10 they come before them, and -128 says that these have none. */
static uint32_t old_line(struct table *t, bool is_before, uint64_t instruction, int64_t line)
{
    enum { NO_LINE = -128 };
    uint64_t at = 0;

    while (t->end - t->at >= 2) {
        uint8_t n_bytes = *t->at++;
        int8_t delta = (int8_t)*t->at++;
        at += n_bytes;
        if (is_before && delta != NO_LINE)
            line += delta;
        if (instruction < at) {
            if (is_before && delta == NO_LINE)
                return 0;
            break;
        }
        if (!is_before)
            line += delta;
    }
    return line < 0 || line > INT32_MAX ? 0 : (uint32_t)line;
}

uint32_t hs_python_line(const struct py_view *view, hs_addr code, uint64_t instruction)
{
    hs_addr table = hs_python_word(view, code + view->layout->code_lines);
    uint64_t n_bytes = hs_python_word(view, table + AT_SIZE), at = 0;
    int64_t line = hs_python_u32(view, code + view->layout->code_first_line);
    const uint8_t *bytes = n_bytes == 0 || n_bytes > MAX_TABLE_BYTES ||
                                   !hs_python_may_look(view, n_bytes / BYTES_PER_LOOK)
                               ? NULL
                               : hs_python_bytes(view, table + AT_BYTES, n_bytes);

    if (bytes == NULL)
        return 0;
    struct table t = {.at = bytes, .end = bytes + n_bytes};
    if (view->layout->minor < 11)
        return old_line(&t, view->layout->minor == 10, instruction, line);
    while (t.at < t.end) {
        uint8_t head = *t.at++;
        uint64_t length = ((head & 7U) + 1) * UNIT_BYTES;
        unsigned kind = head >> 3 & 15;
        int64_t delta = next_delta(&t, kind);
        if (__builtin_add_overflow(line, delta, &line))
            return 0;
        if (instruction - at < length)
            return kind == KIND_NONE || line < 0 || line > INT32_MAX ? 0 : (uint32_t)line;
        at += length;
    }
    return 0;
}
