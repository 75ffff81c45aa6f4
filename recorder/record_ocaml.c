/* Backtraces of OCaml's runtime (runtime/backtrace_nat.c, caml/stack.h; 5.x:
 * caml/frame_descriptors.h). Each word is tagged by its lowest bit and is
 *
 *   a descriptor:      u64 return address, u16 flags, u16 n, u16 live[n],
 *                      [flags & 2] u8 n, u8 length[n]
 *                      [flags & 1] align 4, i32 place: distance from its own address, 0: none
 *   or, + 2, a place:  u32 info1, info2, and where bit 0 of info1 is set another one behind it
 *
 * A place leads to a name record, (info1 & 0x3fffffc) bytes on: i32 distance of the file's name,
 * since 5.2 and with bit 31 of info2 8 bytes more, and the name of the function. The line is in the
 * upper bits of info2. What is read is the program's own data, which is not trusted all the same:
 * no word is read before its page was found to be mapped. */
#include "record_ocaml.h"

#include "record_python.h"

#include <string.h>

enum { IS_PLACE = 2, HAS_PLACE = 1, IS_ALLOCATION = 2, LINK = 0xFFFF };
enum { NAMES_MAX = 4, INLINED_MAX = 16, FILE_BYTES = 512, FUNCTION_BYTES = 256 };
#define N_KNOWN (1U << 14)
#define INFO_NAME UINT32_C(0x3FFFFFC)
#define INFO_IS_LONG (UINT32_C(1) << 31)

static bool is_new_packing;

/* The frames of a word of a backtrace, by a hash of the word. */
static struct known {
    uint64_t word;
    uint32_t n;
    uint64_t frames[NAMES_MAX];
} known[N_KNOWN];
static bool is_any_known; /* else its memory is untouched, as in most programs */

void hs_record_ocaml_is_new(bool is_new)
{
    is_new_packing = is_new;
}

void hs_record_ocaml_forget(void)
{
    for (unsigned i = 0; is_any_known && i < N_KNOWN; i++)
        known[i].word = 0;
    is_any_known = false;
}

static bool read_at(uint64_t at, void *ret, size_t n_bytes)
{
    const uint8_t *bytes = hs_record_script_bytes(at, n_bytes);

    if (bytes == NULL)
        return false;
    memcpy(ret, bytes, n_bytes);
    return true;
}

static bool is_text(uint8_t c)
{
    return c >= 0x20 && c != 0x7f;
}

static bool is_separator(uint64_t at)
{
    uint8_t next[3];

    return read_at(at, next, sizeof next) && next[0] == '_' && next[1] == '_' && next[2] >= 'A' &&
           next[2] <= 'Z';
}

/* Copies a text up to its NUL: of one that is too long its beginning. `is_name`: "A__B.f" is A.B.f.
 * A name that begins with a plus would be taken for an address. */
static size_t copy_text(uint64_t at, bool is_name, char *ret, size_t n_max)
{
    size_t n = 0;
    uint8_t c = 0;

    for (uint64_t from = at; n < n_max && read_at(from, &c, 1) && c != '\0'; from++, n++) {
        if (is_name && n != 0 && c == '_' && is_separator(from)) {
            ret[n] = '.';
            from++;
            continue;
        }
        ret[n] = (char)(is_text(c) && (c != '+' || n != 0) ? c : '?');
    }
    return n;
}

static uint32_t line_of(uint32_t info2)
{
    if (!is_new_packing)
        return info2 >> 12;
    return (info2 & INFO_IS_LONG) != 0 ? info2 >> 12 & 0x7FFFF : info2 >> 19;
}

/* Returns one place as a frame; 0 when it has no name, or no room. */
static uint64_t place_frame(struct hs_record_table *table, uint64_t at, uint32_t info1,
                            uint32_t info2)
{
    uint64_t words[HS_RECORD_FRAMES_MAX] = {0};
    uint64_t record = at + (info1 & INFO_NAME);
    uint64_t name = record + (is_new_packing && (info2 & INFO_IS_LONG) != 0 ? 12 : 4);
    char *text = (char *)&words[1];
    int32_t to_file;
    size_t n_file, n_function;

    _Static_assert(FILE_BYTES + FUNCTION_BYTES <= HS_RECORD_SCRIPT_BYTES, "both have room");
    if (!read_at(record, &to_file, sizeof to_file))
        return 0;
    n_file = copy_text(record + (uint64_t)(int64_t)to_file, false, text, FILE_BYTES);
    n_function = copy_text(name, true, text + n_file, FUNCTION_BYTES);
    return n_function == 0
               ? 0
               : hs_record_script_keep(table, words, n_file, n_function, line_of(info2));
}

/* Adds a place and those that it was inlined into. */
static unsigned add_places(struct hs_record_table *table, uint64_t at, uint64_t *ret,
                           unsigned n_max)
{
    uint32_t info[2];
    unsigned n = 0;

    for (unsigned i = 0; i < INLINED_MAX && n < n_max && read_at(at, info, sizeof info); i++) {
        ret[n] = place_frame(table, at, info[0], info[1]);
        n += ret[n] != 0;
        if ((info[0] & 1) == 0)
            break;
        at += sizeof info;
    }
    return n;
}

/* Finds the first place of a descriptor; 0: it has none. */
static uint64_t place_of(uint64_t descriptor)
{
    uint16_t head[2];
    uint8_t n_lengths = 1;
    int32_t distance;
    uint64_t at = descriptor + sizeof(uint64_t) + sizeof head;

    if (!read_at(descriptor + sizeof(uint64_t), head, sizeof head) || head[0] == LINK ||
        (head[0] & HAS_PLACE) == 0)
        return 0;
    at += sizeof(uint16_t) * head[1];
    if ((head[0] & IS_ALLOCATION) != 0) {
        if (!read_at(at, &n_lengths, 1))
            return 0;
        at += 1U + n_lengths;
    }
    at = (at + 3) & ~UINT64_C(3);
    for (; n_lengths-- != 0 && read_at(at, &distance, sizeof distance); at += sizeof distance) {
        if (distance != 0)
            return at + (uint64_t)(int64_t)distance;
    }
    return 0;
}

/* Adds what one word of a backtrace stands for. */
static unsigned add_word(struct hs_record_table *table, uint64_t word, uint64_t *ret,
                         unsigned n_max)
{
    uint64_t at = word & ~UINT64_C(1), place = at - IS_PLACE, address;
    unsigned n;

    hs_record_script_begin();
    if ((at & IS_PLACE) != 0)
        return add_places(table, place, ret, n_max);
    place = place_of(at);
    n = place == 0 ? 0 : add_places(table, place, ret, n_max);
    if (n != 0 || !read_at(at, &address, sizeof address) || address < HS_RECORD_PAGE_BYTES ||
        address >= HS_RECORD_USER_TOP)
        return n;
    ret[0] = address;
    return 1;
}

/* Adds the same, from what is known of the word. */
static unsigned add_known(struct hs_record_table *table, uint64_t word, uint64_t *ret,
                          unsigned n_max)
{
    struct known *entry = &known[word * UINT64_C(0x9e3779b97f4a7c15) >> 50];
    unsigned n;

    _Static_assert(N_KNOWN == 1U << 14, "the hash has 14 bits");
    if (entry->word == word && entry->n <= n_max) {
        memcpy(ret, entry->frames, entry->n * sizeof *ret);
        return entry->n;
    }
    n = add_word(table, word, ret, n_max);
    if (n == 0 || n > NAMES_MAX || n == n_max)
        return n;
    is_any_known = true;
    entry->word = word;
    entry->n = n;
    memcpy(entry->frames, ret, n * sizeof *ret);
    return n;
}

unsigned hs_record_ocaml_frames(struct hs_record_table *table,
                                const struct hs_record_ocaml_sample *sample,
                                uint64_t ret[HS_RECORD_FRAMES_MAX])
{
    unsigned n = 0;

    for (unsigned i = 0; i < sample->n_frames && n < HS_RECORD_FRAMES_MAX; i++)
        n += add_known(table, sample->frames[i], ret + n, HS_RECORD_FRAMES_MAX - n);
    return n;
}
