#include "guess_place.h"

#include <stdio.h>

#include "base/alloc.h"
#include "base/load.h"
#include "process/constants.h"
#include "symbols/demangle.h"
#include "symbols/elf.h"

enum { WORD = 8, MOST_WORDS = 1024, TABLE_WORDS = 4, NAME_BYTES = 512, SYMBOL_BYTES = 160 };
enum { LEAST_SAMPLES = 8, ODD_ONE_IN = 10, HASH_SHIFT = 32 };
#define HASH_FACTOR UINT64_C(0x9e3779b97f4a7c15)

/* The binary that the words at one offset lead to, by majority: each other word takes one from its
 * lead. */
struct hs_place_vote {
    uint64_t word;
    uint16_t object; /* its number, from 1; 0: none */
    uint8_t lead;
    bool is_other_word; /* not all that led there were the same */
};

/* ---- one word */

/* Tells whether the words at an address begin a table: one of the first leads into its object. */
static bool is_table(const struct hs_native *native, const struct hs_object *object, hs_addr at)
{
    const struct hs_dump *dump = native->dump;
    uint64_t word;

    for (unsigned i = 0; i < TABLE_WORDS; i++)
        if (at % WORD == 0 && hs_constant_u64(&dump->image, &dump->objects, at + i * WORD, &word) &&
            object->begin <= word && word < object->end)
            return true;
    return false;
}

/* Tells whether what a word leads to is the object's own: of the program a function, of a library
 * what it does not export. */
static bool is_evidence(const struct hs_native *native, const struct hs_object *object,
                        uint64_t word)
{
    hs_addr vaddr = word - object->bias;
    const struct hs_elf_segment *segment = hs_elf_segment_at(object->elf, vaddr);
    uint64_t offset = 0;

    if (segment == NULL)
        return false;
    const struct hs_elf_symbol *symbol = hs_elf_symbol_at(object->elf, vaddr, &offset);
    if (object->is_executable)
        return segment->executable && symbol != NULL && symbol->kind == HS_SYMBOL_CODE &&
               offset == 0;
    if (symbol != NULL && (symbol->is_global || (segment->executable && offset != 0)))
        return false;
    return segment->executable || is_table(native, object, word);
}

/* Returns the number, from 1, of the binary that a word is evidence of; 0: of none. */
static uint16_t place_of(const struct hs_native *native, uint64_t word)
{
    const struct hs_objects *objects = &native->dump->objects;
    const struct hs_object *object = hs_objects_object_at(objects, word);

    if (object == NULL || object->elf == NULL)
        return 0;
    size_t number = (size_t)(object - objects->objects);
    const struct hs_native_object *known = &native->of_object[number];
    if (known->is_system || known->is_runtime || known->is_interpreter || number >= UINT16_MAX)
        return 0;
    return is_evidence(native, object, word) ? (uint16_t)(number + 1) : 0;
}

/* Finds the symbol that says where a vote leads. False when words of several places were cast. */
static bool symbol_of(const struct hs_place_votes *votes, const struct hs_place_vote *vote,
                      struct hs_live_symbol *ret)
{
    return !vote->is_other_word && hs_objects_at(&votes->native->dump->objects, vote->word, ret) &&
           ret->size != 0;
}

/* ---- votes */

static size_t words_of(uint64_t n_bytes)
{
    return n_bytes / WORD < MOST_WORDS ? (size_t)(n_bytes / WORD) : MOST_WORDS;
}

static void cast(struct hs_place_vote *vote, uint64_t word, uint16_t object)
{
    if (object != 0 && vote->lead == 0)
        *vote = (struct hs_place_vote){.word = word, .object = object, .lead = 1};
    else if (object != 0 && vote->object == object) {
        vote->lead++;
        vote->is_other_word |= vote->word != word;
    } else if (vote->lead != 0)
        vote->lead--;
}

static hs_status find_size(struct hs_place_votes *votes, uint64_t n_bytes, bool is_lost,
                           struct hs_place_size **ret, struct hs_error *err)
{
    *ret = NULL;
    for (size_t i = 0; i < votes->n_sizes; i++)
        if (votes->sizes[i].n_bytes == n_bytes && votes->sizes[i].is_lost == is_lost)
            *ret = &votes->sizes[i];
    if (*ret != NULL || votes->n_sizes == HS_PLACE_GUESSES || words_of(n_bytes) == 0)
        return HS_OK;
    struct hs_place_size *size = &votes->sizes[votes->n_sizes];
    *size = (struct hs_place_size){.n_bytes = n_bytes, .is_lost = is_lost};
    HS_TRY(HS_ALLOC(&size->votes, words_of(n_bytes), err));
    votes->n_sizes++;
    *ret = size;
    return HS_OK;
}

/* Chooses one in so many, at no even distance: what is allocated in turns would be of one kind. */
static bool is_chosen(uint64_t number, uint64_t one_in)
{
    return (number * HASH_FACTOR >> HASH_SHIFT) % one_in == 0;
}

hs_status hs_place_votes_add(struct hs_place_votes *votes, const struct hs_heap_block *block,
                             uint64_t n_alike, bool is_lost, struct hs_error *err)
{
    struct hs_place_size *size;

    HS_TRY(find_size(votes, block->n_bytes, is_lost, &size, err));
    if (size == NULL || size->n_samples == HS_PLACE_SAMPLES ||
        !is_chosen(size->n_seen++, n_alike / HS_PLACE_SAMPLES + 1))
        return HS_OK;
    size->n_samples++;
    for (size_t i = 0; i < words_of(block->n_bytes); i++) {
        uint64_t word = hs_load_u64(block->bytes + i * WORD);
        cast(&size->votes[i], word, word == 0 ? 0 : place_of(votes->native, word));
    }
    return HS_OK;
}

/* Returns the first offset at which nearly all samples lead to a binary, and where there is one,
 * the first at which they lead to the same local symbol; NULL: none, or to several binaries. */
static const struct hs_place_vote *decide(const struct hs_place_votes *votes,
                                          const struct hs_place_size *size)
{
    const struct hs_place_vote *found = NULL, *best = NULL;

    for (size_t i = 0; i < words_of(size->n_bytes); i++) {
        const struct hs_place_vote *vote = &size->votes[i];
        struct hs_live_symbol symbol;
        if (size->n_samples < LEAST_SAMPLES ||
            vote->lead < size->n_samples - 2 * (size->n_samples / ODD_ONE_IN))
            continue;
        if (found != NULL && found->object != vote->object)
            return NULL;
        found = found == NULL ? vote : found;
        if (best == NULL && symbol_of(votes, vote, &symbol))
            best = vote;
    }
    return best != NULL ? best : found;
}

/* Names the blocks of a size: "block of 96 bytes, perhaps of app (on_timer at +24)". False when
 * there is nothing to say: that a block is the program's is none. */
static bool write_name(const struct hs_place_votes *votes, const struct hs_place_size *size,
                       const struct hs_place_vote *vote, char *text, size_t n_bytes)
{
    const struct hs_object *object = &votes->native->dump->objects.objects[vote->object - 1];
    struct hs_live_symbol symbol;
    char name[SYMBOL_BYTES];

    int n = snprintf(text, n_bytes, "block of %llu bytes" HS_TYPE_PERHAPS "of %.120s",
                     (unsigned long long)size->n_bytes, object->name);
    if (!symbol_of(votes, vote, &symbol))
        return !object->is_executable;
    hs_demangle(symbol.name, name, sizeof name);
    snprintf(text + n, n_bytes - (size_t)n, " (%s at +%zu)", name,
             (size_t)(vote - size->votes) * WORD);
    return true;
}

hs_status hs_place_votes_end(const struct hs_place_votes *votes, struct hs_flow *flow,
                             struct hs_error *err)
{
    char name[NAME_BYTES];

    flow->n_places = 0;
    for (size_t i = 0; i < votes->n_sizes; i++) {
        const struct hs_place_size *size = &votes->sizes[i];
        const struct hs_place_vote *vote = decide(votes, size);
        if (vote == NULL || !write_name(votes, size, vote, name, sizeof name))
            continue;
        const struct hs_object *object = &votes->native->dump->objects.objects[vote->object - 1];
        struct hs_place_guess *guess = &flow->places[flow->n_places++];
        *guess = (struct hs_place_guess){.n_bytes = size->n_bytes,
                                         .offset_bytes = (uint64_t)(vote - size->votes) * WORD,
                                         .begin = object->begin,
                                         .end = object->end};
        if (object->is_executable) {
            guess->begin = vote->word;
            guess->end = vote->word + 1;
        }
        HS_TRY(hs_native_types_of_name(&flow->types, name, HS_FORM_BYTES, &guess->named, err));
    }
    return HS_OK;
}

void hs_place_votes_fini(struct hs_place_votes *votes)
{
    for (size_t i = 0; i < votes->n_sizes; i++)
        hs_free(votes->sizes[i].votes);
    votes->n_sizes = 0;
}

/* ---- one block */

hs_ntype hs_place_name(const struct hs_flow *flow, const struct hs_heap_block *block)
{
    if (block->bytes == NULL || (block->span->states & HS_BLOCK_STATIC) != 0)
        return 0;
    for (size_t i = 0; i < flow->n_places; i++) {
        const struct hs_place_guess *guess = &flow->places[i];
        if (guess->n_bytes != block->n_bytes)
            continue;
        uint64_t word = hs_load_u64(block->bytes + guess->offset_bytes);
        if (guess->begin <= word && word < guess->end)
            return guess->named;
    }
    return 0;
}
