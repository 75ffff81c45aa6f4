/* Contexts that were deleted and wait to be used again: aset.c keeps up to a hundred of two sizes,
 * each with its first block and nothing in it, in
 *
 *   static struct { int num_free; AllocSetContext *first_free; } context_freelists[2]
 *
 * They are linked by nextchild. The variable has no name, but a list that is as long as the number
 * before it, of contexts that agree with all of that, is no other. */
#include "base/load.h"
#include "carve.h"
#include "data_words.h"
#include "postgres/contexts.h"

enum {
    WORD = 8,
    BLOCK_BYTES = 40, /* aset, prev, next, freeptr, endptr */
    MOST_OF_A_LIST = 100,
};

/* An AllocSet with nothing in it; where its memory ends, and the next one. */
static bool idle_at(struct postgres *p, hs_addr at, struct postgres_idle *ret, hs_addr *ret_next)
{
    const struct hs_image *image = p->process->image;
    const hs_addr first = at + p->chunks->set_bytes;
    uint64_t methods = 0;

    (void)hs_image_u64(image, p->contexts[0].address + POSTGRES_AT_METHODS, &methods);
    const uint8_t *context =
        at % WORD == 0 ? hs_image_bytes(image, at, POSTGRES_AT_SET_BLOCKS + WORD) : NULL;
    const uint8_t *block = context == NULL ? NULL : hs_image_bytes(image, first, BLOCK_BYTES);
    if (block == NULL || !hs_postgres_spend(p, POSTGRES_LOOK) ||
        hs_load_u64(context + POSTGRES_AT_METHODS) != methods ||
        hs_load_u64(context + POSTGRES_AT_PARENT) != 0 ||
        hs_load_u64(context + POSTGRES_AT_FIRST_CHILD) != 0 ||
        hs_load_u64(context + POSTGRES_AT_SET_BLOCKS) != first)
        return false;
    *ret = (struct postgres_idle){.begin = at, .end = hs_load_u64(block + 32)};
    *ret_next = hs_load_u64(context + POSTGRES_AT_NEXT_CHILD);
    return hs_load_u64(block) == at && hs_load_u64(block + 8) == 0 &&
           hs_load_u64(block + 16) == 0 && hs_load_u64(block + 24) == first + BLOCK_BYTES &&
           ret->end > first + BLOCK_BYTES && hs_carve_is_one_piece(p->process, at, ret->end) &&
           ret->end - at == hs_load_u64(context + POSTGRES_AT_ALLOCATED);
}

static bool is_taken(const struct postgres *p, hs_addr first)
{
    for (size_t i = 0; i < p->n_idle; i++)
        if (p->idle[i].begin == first)
            return true;
    return false;
}

/* Is it a list of so many? Then it is taken, once. */
static bool take_list(struct postgres *p, hs_addr first, uint64_t n)
{
    hs_addr at = first;

    if (is_taken(p, first))
        return false;

    for (uint64_t i = 0; i < n; i++)
        if (at == 0 || !idle_at(p, at, &p->idle[p->n_idle + i], &at))
            return false;
    p->n_idle += at == 0 ? n : 0;
    return at == 0;
}

void hs_postgres_find_idle(struct postgres *postgres, const struct hs_object *object)
{
    struct hs_data_words words = {.process = postgres->process, .object = object};
    hs_addr address, before = 0;
    uint64_t word, n = 0;

    while (postgres->n_idle + MOST_OF_A_LIST <= POSTGRES_MOST_IDLE &&
           hs_data_words_next(&words, &address, &word)) {
        bool may_be = n != 0 && n <= MOST_OF_A_LIST && address - before == WORD;
        n = may_be && take_list(postgres, word, n) ? 0 : word;
        before = address;
    }
}
