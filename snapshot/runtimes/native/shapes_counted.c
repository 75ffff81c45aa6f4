/* Arrays of pointers beside two numbers, where no type tells: items | length | room, both numbers
 * before the pointer or behind it, in either order, in a word each or in one.
 *
 * Only what the memory itself bears out is believed, as two small numbers stand beside many
 * pointers: the room is that of the array's block; all elements that the length counts lead to the
 * start of a block; right behind them stand some that were taken out, the rest leads nowhere; and
 * so many in a row would not be there by chance, as in a table that counts what it has anywhere.
 * Pointers behind the length are then non-owning. */
#include "shapes.h"

enum { WORD = 8, HALF_BITS = 32 };
/* Elements at either end of those in use and of the others that are looked at; the most behind the
 * length that were taken out. */
enum { COUNTED_LOOKS = 64 };
/* A chance in so many that all elements in use are there without being counted. */
enum { COUNTED_CHANCE = 1000 };

struct counted {
    const struct hs_heap_block *body;
    uint64_t length, room;
};

static bool counted_leads(const struct hs_shapes *s, const struct counted *c, uint64_t at)
{
    struct hs_heap_block target;

    return hs_flow_resolve(s->native, hs_load_u64(c->body->bytes + at * WORD), &target) ==
           HS_POINTER_START;
}

/* Tells whether all elements of [begin, end) lead to the start of a block (`they_do`), or none
 * does: of many the first and the last are looked at. */
static bool counted_all(const struct hs_shapes *s, const struct counted *c, uint64_t begin,
                        uint64_t end, bool they_do)
{
    for (uint64_t i = begin; i < end; i++) {
        if (i == begin + COUNTED_LOOKS && end - i > COUNTED_LOOKS)
            i = end - COUNTED_LOOKS;
        if (counted_leads(s, c, i) != they_do)
            return false;
    }
    return true;
}

/* Tells whether so many elements in a row would hardly be there were they not counted, by how many
 * of the others are. */
static bool counted_is_no_chance(const struct counted *c, uint64_t n_stale)
{
    double others = (double)(c->room - c->length), chance = 1;

    for (uint64_t i = 0; i < c->length && chance * COUNTED_CHANCE > 1; i++)
        chance *= ((double)n_stale + 1) / (others + 2);
    return chance * COUNTED_CHANCE <= 1;
}

/* Tells whether a number beside these counts the elements that are there, behind the length too. */
static bool counted_has_other(const uint64_t *words, size_t n_words, uint64_t n)
{
    for (size_t i = 0; i < n_words; i++)
        if (words[i] == n || (words[i] & UINT32_MAX) == n || words[i] >> HALF_BITS == n)
            return true;
    return false;
}

static bool counted_agrees(const struct hs_shapes *s, const struct counted *c,
                           const uint64_t *words, size_t n_words)
{
    uint64_t n_stale = 0;

    if (!counted_leads(s, c, 0) || !counted_leads(s, c, c->length))
        return false;
    while (n_stale <= COUNTED_LOOKS && c->length + n_stale < c->room &&
           counted_leads(s, c, c->length + n_stale))
        n_stale++;
    return n_stale <= COUNTED_LOOKS && n_stale <= (c->room - c->length) / 2 &&
           counted_is_no_chance(c, n_stale) &&
           !counted_has_other(words, n_words, c->length + n_stale) &&
           counted_all(s, c, 0, c->length, true) &&
           counted_all(s, c, c->length + n_stale, c->room, false);
}

hs_status hs_shapes_try_counted(struct hs_shapes *s, const uint64_t words[HS_HOLDER_WORDS],
                                struct hs_error *err)
{
    /* before the pointer, where there is anything, and behind it */
    const uint64_t near[] = {s->before[0], s->before[1], words[1], words[2], words[3], words[4]};
    const uint64_t pairs[][2] = {{words[1], words[2]},
                                 {words[1] & UINT32_MAX, words[1] >> HALF_BITS},
                                 {s->before[0], s->before[1]},
                                 {s->before[1] & UINT32_MAX, s->before[1] >> HALF_BITS}};
    struct hs_heap_block body;

    for (size_t i = 0; i < sizeof pairs / sizeof *pairs; i++) {
        uint64_t a = pairs[i][0], b = pairs[i][1];
        struct counted c = {&body, a < b ? a : b, a < b ? b : a};
        if (c.length == 0 || c.length == c.room || c.room > UINT32_MAX)
            continue;
        if (!hs_shapes_body_at(s, words[0], &body))
            return HS_OK;
        if (!hs_shapes_fits(&body, c.room * WORD) ||
            !counted_agrees(s, &c, near, sizeof near / sizeof *near))
            continue;
        const struct hs_native_use use = {.end = c.length * WORD};
        return hs_native_reserves_say(&s->flow->reserves, body.rank, body.n_bytes, use, WORD, err);
    }
    return HS_OK;
}
