/* Places in Python's code: function, file and line of an instruction, kept once each among the
 * stacks. Code may be gone when somebody asks for its name, and other code lie where it was: so the
 * texts are copied at the first sample, and compared by a hash at every other. */
#include "record_python.h"

#include <string.h>

#define N_KNOWN (1U << 12)
#define N_PAGES 64U
#define BYTES_MAX (UINT64_C(1) << 20)
#define HASHED_BYTES 512U
#define LINES_MAX ((1U << 20) - 1) /* as the trace can say */

enum { AT_TYPE = 8, AT_SIZE = 16, AT_STATE = 32, AT_BYTES = 32 };
enum { AT_FILE = 112, AT_FUNCTION = 128, AT_LINES = 136 }; /* of a code object, in all of them */
enum { IS_COMPACT = 0x20, IS_ASCII = 0x40 };
enum { FUNCTION_BYTES = 256, FILE_BYTES = HS_RECORD_SCRIPT_BYTES - FUNCTION_BYTES };

/* ---- reading */

static uint64_t pages[N_PAGES]; /* that were found to be mapped, for this sample */

void hs_record_script_begin(void)
{
    memset(pages, 0, sizeof pages);
}

static bool is_mapped(uint64_t page)
{
    uint64_t *known = &pages[page / HS_RECORD_PAGE_BYTES % N_PAGES];

    if (*known != page && !hs_record_is_mapped(page))
        return false;
    *known = page;
    return true;
}

const uint8_t *hs_record_script_bytes(uint64_t at, uint64_t n_bytes)
{
    if (at < HS_RECORD_PAGE_BYTES || at >= HS_RECORD_USER_TOP || n_bytes > BYTES_MAX)
        return NULL;
    for (uint64_t page = at & ~(HS_RECORD_PAGE_BYTES - 1); page < at + n_bytes;
         page += HS_RECORD_PAGE_BYTES) {
        if (!is_mapped(page))
            return NULL;
    }
    return (const uint8_t *)(uintptr_t)at;
}

uint64_t hs_record_script_word(uint64_t at)
{
    const uint8_t *bytes = hs_record_script_bytes(at, sizeof(uint64_t));
    uint64_t word = 0;

    if (bytes != NULL)
        memcpy(&word, bytes, sizeof word);
    return word;
}

/* ---- texts */

/* Characters of 1, 2 or 4 bytes. */
struct text {
    const uint8_t *bytes;
    uint64_t n; /* characters */
    unsigned char_bytes;
    bool is_ascii;
};

static bool text_of(uint64_t object, struct text *ret)
{
    const struct hs_python_layout *layout = hs_record_python.layout;
    unsigned state = (unsigned)hs_record_script_word(object + AT_STATE) & UINT8_MAX;

    if (hs_record_script_word(object + AT_TYPE) != hs_record_python.str_type ||
        (state & IS_COMPACT) == 0)
        return false;
    ret->n = hs_record_script_word(object + AT_SIZE);
    ret->is_ascii = (state & IS_ASCII) != 0;
    ret->char_bytes = state >> 2 & 7;
    if (ret->n > BYTES_MAX ||
        (ret->char_bytes != 1 && ret->char_bytes != 2 && ret->char_bytes != 4))
        return false;
    object += ret->is_ascii ? layout->str_ascii : layout->str_compact;
    ret->bytes = hs_record_script_bytes(object, ret->n * ret->char_bytes);
    return ret->bytes != NULL;
}

static uint32_t char_of(const struct text *text, uint64_t i)
{
    uint32_t wide;
    uint16_t middle;

    if (text->char_bytes == 1)
        return text->bytes[i];
    if (text->char_bytes == 4) {
        memcpy(&wide, text->bytes + 4 * i, sizeof wide);
        return wide;
    }
    memcpy(&middle, text->bytes + 2 * i, sizeof middle);
    return middle;
}

static size_t put_utf8(uint32_t c, char *ret)
{
    size_t n = c < 0x80 ? 1 : c < 0x800 ? 2 : c < 0x10000 ? 3 : 4;

    if (n == 1) {
        ret[0] = (char)c;
        return 1;
    }
    for (size_t i = n; --i > 0; c >>= 6)
        ret[i] = (char)(0x80 | (c & 0x3f));
    ret[0] = (char)(c | (0xf00U >> n & 0xf0));
    return n;
}

/* Copies a text, of one that is too long its end. A name that begins with a plus would be taken for
 * an address. */
static size_t copy_text(const struct text *text, char *ret, size_t n_max)
{
    uint64_t most = text->is_ascii ? n_max : n_max / 4, i = text->n > most ? text->n - most : 0;
    size_t n = 0;

    for (uint64_t first = i; i < text->n; i++) {
        uint32_t c = char_of(text, i);
        bool is_bad = c < 0x20 || (c >= 0x7f && c < 0xa0) || (c >= 0xd800 && c < 0xe000) ||
                      c > 0x10ffff || (c == '+' && i == first);

        n += put_utf8(is_bad ? '?' : c, ret + n);
    }
    return n;
}

/* ---- lines: PEP 626, Objects/locations.md */

enum { UNIT_BYTES = 2, KIND_ONE_LINE = 10, KIND_NO_COLUMNS = 13, KIND_LONG = 14, KIND_NONE = 15 };

struct lines {
    const uint8_t *at, *end;
};

static uint64_t next_number(struct lines *lines)
{
    uint64_t number = 0;

    for (unsigned shift = 0; lines->at < lines->end; shift += 6) {
        uint8_t byte = *lines->at++;

        if (shift < 64)
            number |= (uint64_t)(byte & 63) << shift;
        if ((byte & 64) == 0)
            break;
    }
    return number;
}

static void skip(struct lines *lines, size_t n)
{
    lines->at += (size_t)(lines->end - lines->at) < n ? (size_t)(lines->end - lines->at) : n;
}

/* Lines on from the entry before; passes over the columns. */
static int64_t next_delta(struct lines *lines, unsigned kind)
{
    uint64_t number;

    if (kind == KIND_NONE)
        return 0;
    if (kind < KIND_NO_COLUMNS) {
        skip(lines, kind >= KIND_ONE_LINE ? 2 : 1);
        return kind >= KIND_ONE_LINE ? (int64_t)kind - KIND_ONE_LINE : 0;
    }
    number = next_number(lines);
    for (int i = 0; i < 3 && kind == KIND_LONG; i++)
        (void)next_number(lines);
    return (number & 1) != 0 ? -(int64_t)(number >> 1) : (int64_t)(number >> 1);
}

/* Returns the line of the instruction at so many bytes of the code; 0: none. */
static uint32_t line_of(struct lines lines, uint32_t first, uint64_t instruction)
{
    int64_t line = first;
    uint64_t at = 0;

    while (lines.at < lines.end) {
        uint8_t head = *lines.at++;
        uint64_t n_bytes = ((head & 7U) + 1) * UNIT_BYTES;
        unsigned kind = head >> 3 & 15;

        if (__builtin_add_overflow(line, next_delta(&lines, kind), &line))
            return 0;
        if (instruction - at < n_bytes)
            return kind == KIND_NONE || line < 0 || line > LINES_MAX ? 0 : (uint32_t)line;
        at += n_bytes;
    }
    return 0;
}

/* ---- places */

struct code {
    struct text file, function;
    const uint8_t *lines;
    uint64_t lines_bytes;
    uint32_t first_line;
};

struct known {
    uint64_t instruction, hash, frame;
};
static struct known known[N_KNOWN];

static bool read_code(uint64_t object, struct code *ret)
{
    uint64_t lines = hs_record_script_word(object + AT_LINES);

    if (hs_record_script_word(lines + AT_TYPE) != hs_record_python.bytes_type ||
        !text_of(hs_record_script_word(object + AT_FILE), &ret->file) ||
        !text_of(hs_record_script_word(object + AT_FUNCTION), &ret->function))
        return false;
    ret->first_line =
        (uint32_t)hs_record_script_word(object + hs_record_python.layout->code_first_line);
    ret->lines_bytes = hs_record_script_word(lines + AT_SIZE);
    ret->lines = hs_record_script_bytes(lines + AT_BYTES, ret->lines_bytes);
    return ret->lines != NULL;
}

static uint64_t hash_bytes(uint64_t hash, const uint8_t *bytes, uint64_t n)
{
    uint64_t word = 0, i = 0;

    hash = (hash ^ n) * UINT64_C(0x9e3779b97f4a7c15);
    if (n > HASHED_BYTES)
        n = HASHED_BYTES;
    for (; i + sizeof word <= n; i += sizeof word) {
        memcpy(&word, bytes + i, sizeof word);
        hash = (hash ^ word ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    }
    word = 0;
    memcpy(&word, bytes + i, n - i);
    hash = (hash ^ word ^ hash >> 29) * UINT64_C(0x9e3779b97f4a7c15);
    return hash ^ hash >> 31;
}

static uint64_t hash_code(const struct code *code)
{
    uint64_t hash = hash_bytes(code->first_line, code->lines, code->lines_bytes);

    hash = hash_bytes(hash, code->file.bytes, code->file.n * code->file.char_bytes);
    return hash_bytes(hash, code->function.bytes, code->function.n * code->function.char_bytes);
}

uint64_t hs_record_script_keep(struct hs_record_table *table, uint64_t words[HS_RECORD_FRAMES_MAX],
                               size_t n_file, size_t n_function, uint32_t line)
{
    uint32_t stack;

    words[0] = line | (uint64_t)n_file << 32 | (uint64_t)n_function << 48;
    stack = hs_record_table_stack(table, words, 1 + (unsigned)(n_file + n_function + 7) / 8);
    return stack == 0 ? 0 : HS_RECORD_SCRIPT | stack;
}

static uint64_t keep(struct hs_record_table *table, const struct code *code, uint64_t instruction)
{
    const struct lines lines = {code->lines, code->lines + code->lines_bytes};
    uint64_t words[HS_RECORD_FRAMES_MAX] = {0};
    char *text = (char *)&words[1];
    size_t n_file = copy_text(&code->file, text, FILE_BYTES);
    size_t n_function = copy_text(&code->function, text + n_file, FUNCTION_BYTES);

    return hs_record_script_keep(table, words, n_file, n_function,
                                 line_of(lines, code->first_line, instruction));
}

uint64_t hs_record_script_place(struct hs_record_table *table, uint64_t code, uint64_t instruction)
{
    struct known *place = &known[instruction * UINT64_C(0x9e3779b97f4a7c15) >> 52];
    uint64_t hash;
    struct code read;

    _Static_assert(N_KNOWN == 1U << 12, "the hash has 12 bits");
    if (!read_code(code, &read))
        return 0;
    hash = hash_code(&read) ^ code;
    if (place->instruction != instruction || place->hash != hash || place->frame == 0)
        *place = (struct known){
            instruction, hash,
            keep(table, &read, instruction - code - hs_record_python.layout->code_bytes)};
    return place->frame;
}

void hs_record_script_forget(void)
{
    for (unsigned i = 0; i < N_KNOWN && hs_record_python.thread != NULL; i++)
        known[i].frame = 0;
}
