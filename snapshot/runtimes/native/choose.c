#include "choose.h"

#include "base/alloc.h"
#include "base/checked.h"
#include "base/load.h"
#include "native.h"

enum { TOLD_WORDS_MAX = 1 << 16 };
/* The most that an allocator adds, as a share of a block: a ring may end, and go on at its start,
 * before the block ends. */
enum { ROUNDED_ONE_IN = 4, ROUNDED_BYTES = 24 };
/* The elements at the start of an array that are looked at, and as many of the others; bytes of
 * each. */
enum { BARE_LEAST = 8 /* elements of an array of which no room is told */ };
enum { ROOM_LOOKED_AT = 256, ROOM_ELEMENT_BYTES = 512, WORD = 8 };

void hs_native_told_fini(struct hs_native_told *told)
{
    hs_free(told->words);
    hs_table_fini(&told->by_word);
    *told = (struct hs_native_told){0};
}

/* Asks the debug information of the object with that table or function which type it tells. 0:
 * none. */
static hs_ctype told_ask(struct hs_native *native, const struct hs_cchosen *chosen)
{
    const struct hs_objects *objects = &native->dump->objects;
    const struct hs_object *object = hs_objects_object_at(objects, chosen->word);

    if (object == NULL)
        return 0;
    return hs_ctypes_told(native->ctypes, native->of_object[object - objects->objects].types,
                          chosen->told_by, chosen->word - object->bias, chosen->pointee);
}

static hs_status told_find(struct hs_native *native, const struct hs_cchosen *chosen, hs_ctype *ret,
                           struct hs_error *err)
{
    struct hs_native_told *told = &native->told;
    struct hs_told_word *words = told->words;
    uint64_t hash = hs_hash_pair(chosen->word, chosen->pointee);
    uint32_t at =
        HS_TABLE_FIND(&told->by_word, hash, i,
                      words[i].word == chosen->word && words[i].declared == chosen->pointee &&
                          words[i].by == chosen->told_by);

    if (at != HS_NO_NUMBER) {
        *ret = words[at].type;
        return HS_OK;
    }
    *ret = chosen->pointee;
    if (told->n_words == TOLD_WORDS_MAX)
        return HS_OK;
    hs_ctype type = told_ask(native, chosen);
    *ret = type != 0 ? type : chosen->pointee;
    HS_TRY(HS_GROW(&told->words, &told->capacity, told->n_words + 1, err));
    HS_TRY(hs_table_add(&told->by_word, hash, told->n_words, err));
    told->words[told->n_words++] = (struct hs_told_word){
        .word = chosen->word, .declared = chosen->pointee, .type = *ret, .by = chosen->told_by};
    return HS_OK;
}

static hs_status choose(struct hs_native *native, const struct hs_cslot *slot, hs_cvalue_read *read,
                        void *context, struct hs_native_chosen *ret, struct hs_error *err)
{
    struct hs_cchosen chosen;

    *ret = (struct hs_native_chosen){0};
    if (!hs_ctypes_choose(native->ctypes, slot, read, context, &chosen))
        return HS_OK;
    *ret = (struct hs_native_chosen){.pointee = chosen.pointee,
                                     .used_by = chosen.used_by,
                                     .used = chosen.used,
                                     .used_from = chosen.used_from,
                                     .list_at = chosen.list_at,
                                     .is_there = true};
    return chosen.told_by == HS_CTOLD_NOT ? HS_OK : told_find(native, &chosen, &ret->pointee, err);
}

static uint64_t choose_number(const uint8_t *bytes, unsigned n_bytes)
{
    uint64_t number = 0;

    for (unsigned i = n_bytes; i > 0; i--)
        number = number << 8 | bytes[i - 1];
    return number;
}

bool hs_value_read_bytes(void *context, int64_t from_slot, unsigned n_bytes, uint64_t *ret)
{
    const struct hs_value_bytes *value = context;
    uint64_t at = value->at + (uint64_t)from_slot; /* before the first byte it is huge */

    if (at > value->n_bytes || value->n_bytes - at < n_bytes)
        return false;
    *ret = choose_number(value->bytes + at, n_bytes);
    return true;
}

hs_status hs_native_choose(struct hs_native *native, const struct hs_cslot *slot,
                           const uint8_t *bytes, uint64_t n_bytes, uint64_t at,
                           struct hs_native_chosen *ret, struct hs_error *err)
{
    struct hs_value_bytes value = {bytes, n_bytes, at};

    return choose(native, slot, hs_value_read_bytes, &value, ret, err);
}

bool hs_native_is_chosen(const struct hs_native *native, const struct hs_cslot *slot,
                         const uint8_t *bytes, uint64_t n_bytes, uint64_t at)
{
    struct hs_value_bytes value = {bytes, n_bytes, at};
    struct hs_cchosen chosen;

    return hs_ctypes_choose(native->ctypes, slot, hs_value_read_bytes, &value, &chosen);
}

bool hs_value_read_image(void *context, int64_t from_slot, unsigned n_bytes, uint64_t *ret)
{
    const struct hs_value_place *place = context;
    const uint8_t *bytes =
        hs_image_bytes(place->image, place->address + (uint64_t)from_slot, n_bytes);

    if (bytes == NULL)
        return false;
    *ret = choose_number(bytes, n_bytes);
    return true;
}

hs_status hs_native_choose_at(struct hs_native *native, const struct hs_cslot *slot,
                              hs_addr address, struct hs_native_chosen *ret, struct hs_error *err)
{
    struct hs_value_place place = {&native->dump->image, address};

    return choose(native, slot, hs_value_read_image, &place, ret, err);
}

/* Returns a number in the header of a block; `otherwise` where there is none. */
static uint64_t tail_number(const struct hs_heap_block *block, uint8_t at, uint64_t otherwise)
{
    bool is_there = at != 0 && block->n_bytes >= at + sizeof(uint32_t);
    return is_there ? hs_load_u32(block->bytes + at) : otherwise;
}

struct hs_native_use hs_native_tail_use(const struct hs_ctail *tail,
                                        const struct hs_heap_block *block, uint64_t element_bytes)
{
    uint64_t room = block->n_bytes > tail->at_bytes ? block->n_bytes - tail->at_bytes : 0;
    uint64_t most = element_bytes == 0 ? 0 : room / element_bytes;
    uint64_t first = tail_number(block, tail->begin_at, 0);
    uint64_t end = tail->is_numbered && room != 0 ? hs_load_u64(block->bytes + tail->at_bytes - 8)
                                                  : tail_number(block, tail->end_at, most);

    if (first > end || end > most) { /* it is no such header */
        first = 0;
        end = most;
    }
    return (struct hs_native_use){.from = tail->at_bytes + first * element_bytes,
                                  .end = tail->at_bytes + end * element_bytes,
                                  .is_said = tail->end_at != 0 || tail->is_numbered};
}

/* Tells whether one of an element's first words is not 0. */
static bool room_has(const struct hs_heap_block *block, uint64_t at, uint64_t element_bytes)
{
    for (uint64_t i = 0; i < element_bytes && i < ROOM_ELEMENT_BYTES; i += WORD)
        if (hs_load_u64(block->bytes + at + i) != 0)
            return true;
    return false;
}

/* Tells whether all elements of [begin, end) have something, or none has (`they_have`): of many
 * those at the beginning are looked at, and others. */
static bool room_all(const struct hs_heap_block *block, uint64_t begin, uint64_t end,
                     uint64_t element_bytes, bool they_have)
{
    uint64_t n = end - begin, first = n < ROOM_LOOKED_AT ? n : ROOM_LOOKED_AT;
    uint64_t step = (n - first) / ROOM_LOOKED_AT + 1;

    for (uint64_t i = 0; i < n; i += i < first ? 1 : step)
        if (room_has(block, (begin + i) * element_bytes, element_bytes) != they_have)
            return false;
    return true;
}

/* Tells whether a number of elements, beside which no room is, are those of this array: these all
 * have something; behind them are some that were taken out, and the rest, more than half of what is
 * left, is empty. Of an array that another number counts so many would not be there by chance. */
static bool bare_is(uint64_t n, const struct hs_heap_block *block, uint64_t element_bytes)
{
    uint64_t most = element_bytes == 0 ? 0 : block->n_bytes / element_bytes, end = n;

    if (block->bytes == NULL || element_bytes != WORD || n < BARE_LEAST || n >= most ||
        !room_all(block, 0, n, WORD, true))
        return false;
    while (end < most && end - n <= ROOM_LOOKED_AT && room_has(block, end * WORD, WORD))
        end++;
    return end - n <= (most - n) / 2 && room_all(block, end, most, WORD, false);
}

/* Finds what is in use between the ends of a ring: nothing where they are equal, and where they are
 * not told apart only what has no empty element while all others together have one. */
static bool ends_use(const struct hs_native_chosen *to, const struct hs_heap_block *block,
                     uint64_t element_bytes, struct hs_native_use *ret)
{
    uint64_t most = element_bytes == 0 ? 0 : block->n_bytes / element_bytes;

    if (block->bytes == NULL || element_bytes != WORD || to->used_from > to->used ||
        to->used > most || !room_all(block, to->used_from, to->used, WORD, true) ||
        (to->used_by == HS_CUSED_ENDS && to->used_from != to->used &&
         room_all(block, 0, to->used_from, WORD, true) &&
         room_all(block, to->used, most, WORD, true)))
        return false;
    ret->from = to->used_from * WORD;
    ret->end = to->used * WORD;
    return true;
}

/* Tells whether a number of elements and a room are those of this array: there is room for no more
 * in the block, and of the elements in use none is empty, as in a hash table most are. */
static bool room_is(const struct hs_native_chosen *to, const struct hs_heap_block *block,
                    uint64_t element_bytes)
{
    uint64_t n_bytes, n = to->used;

    if (block->bytes == NULL || element_bytes == 0 || element_bytes % WORD != 0 ||
        n > to->used_from || !hs_mul_fits(to->used_from, element_bytes, &n_bytes) ||
        n_bytes > block->n_bytes ||
        (block->n_bytes - n_bytes > ROUNDED_BYTES &&
         block->n_bytes - n_bytes > block->n_bytes / ROUNDED_ONE_IN))
        return false;
    return room_all(block, 0, n, element_bytes, true);
}

/* Tells whether the number of elements is believed, with the room beside it or without one. */
static bool room_use(const struct hs_native_chosen *to, const struct hs_heap_block *block,
                     uint64_t element_bytes)
{
    return to->used_from == UINT64_MAX ? bare_is(to->used, block, element_bytes)
                                       : room_is(to, block, element_bytes);
}

/* Finds what is in use of a ring that says which end goes first. */
static bool ring_use(const struct hs_native_chosen *to, const struct hs_heap_block *block,
                     uint64_t element_bytes, struct hs_native_use *ret)
{
    return element_bytes != 0 && hs_mul_fits(to->used_from, element_bytes, &ret->from) &&
           hs_mul_fits(to->used, element_bytes, &ret->end) &&
           (ret->from == 0 || ret->end <= block->n_bytes - block->n_bytes / ROUNDED_ONE_IN);
}

bool hs_native_chosen_use(const struct hs_native_chosen *to, const struct hs_heap_block *block,
                          uint64_t element_bytes, struct hs_native_use *ret)
{
    uint64_t from = to->used_from - block->begin;

    *ret = (struct hs_native_use){0};
    switch ((enum hs_cused_by)to->used_by) {
    case HS_CUSED_COUNT:
        ret->from = to->used_from == 0 ? 0 : from;
        return element_bytes != 0 && ret->from <= block->n_bytes &&
               hs_mul_fits(to->used, element_bytes, &ret->end) &&
               hs_add_fits(ret->end, ret->from, &ret->end);
    case HS_CUSED_RING:
        return ring_use(to, block, element_bytes, ret);
    case HS_CUSED_ROOM:
        ret->end = to->used * element_bytes;
        return room_use(to, block, element_bytes);
    case HS_CUSED_BETWEEN:
    case HS_CUSED_ENDS:
        return ends_use(to, block, element_bytes, ret);
    case HS_CUSED_END:
    case HS_CUSED_BEFORE:
        break;
    case HS_CUSED_NOT:
        return false;
    }
    ret->from = from <= block->n_bytes ? from : 0;
    ret->end = to->used - block->begin;
    if (to->used_by == HS_CUSED_BEFORE && ret->end > block->n_bytes) {
        if (from > block->n_bytes)
            return false; /* a deque's map */
        ret->end = block->n_bytes;
    }
    return true;
}
