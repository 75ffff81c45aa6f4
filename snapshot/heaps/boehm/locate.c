/* Finds the collector's top index by what it holds. */
#include "base/load.h"
#include "boehm/parts.h"
#include "data_words.h"

/* The least number of equal words in a row that may be a part of the top index, which is nearly
 * empty: each 4 MiB of a heap take one word. */
enum { LOCATE_ROW = 64 };

/* Tells whether there is a bottom index of no pages at an address. */
static bool is_nils(const struct hs_image *image, hs_addr at)
{
    const uint8_t *bytes = at % HS_WORD_BYTES != 0 || at >= HS_USER_END
                               ? NULL
                               : hs_image_bytes(image, at, BOEHM_BOTTOM_BYTES);

    for (size_t i = 0; bytes != NULL && i < BOEHM_BOTTOM_WORDS; i++)
        if (hs_load_u64(bytes + i * HS_WORD_BYTES) != 0)
            return false;
    return bytes != NULL;
}

/* Tells whether a table is a top index: each of its words leads to the bottom index of zeros or to
 * one whose addresses belong there. */
static bool is_top(const struct hs_image *image, hs_addr table, hs_addr nils)
{
    const uint8_t *bytes = hs_image_bytes(image, table, BOEHM_TOP_WORDS * HS_WORD_BYTES);
    uint64_t key;
    size_t n = 0;

    for (size_t i = 0; bytes != NULL && i < BOEHM_TOP_WORDS; i++) {
        uint64_t word = hs_load_u64(bytes + i * HS_WORD_BYTES);
        if (word == nils)
            continue;
        if (word % HS_WORD_BYTES != 0 || word >= HS_USER_END ||
            !hs_image_u64(image, word + BOEHM_BOTTOM_KEY, &key) || key % BOEHM_TOP_WORDS != i)
            return false;
        n++;
    }
    return n != 0;
}

/* Takes the table of which one word leads to a bottom index: that says which word it is. False: it
 * is of no such table. */
static bool locate_by(struct boehm *boehm, hs_addr at, uint64_t word, hs_addr nils)
{
    const struct hs_image *image = boehm->process->image;
    uint64_t key;

    if (word % HS_WORD_BYTES != 0 || word >= HS_USER_END ||
        !hs_image_u64(image, word + BOEHM_BOTTOM_KEY, &key))
        return false;
    const hs_addr table = at - key % BOEHM_TOP_WORDS * HS_WORD_BYTES;
    if (!is_top(image, table, nils))
        return false;
    boehm->top = table;
    boehm->nils = nils;
    return true;
}

/* Looks on both sides of a word in a row of words that lead to `nils` for the first that does
 * not. */
static bool locate_near(struct boehm *boehm, hs_addr row, hs_addr nils)
{
    const struct hs_image *image = boehm->process->image;
    const uint64_t steps[] = {HS_WORD_BYTES, -(uint64_t)HS_WORD_BYTES};
    uint64_t word;

    for (unsigned side = 0; side < 2; side++) {
        hs_addr at = row;
        for (unsigned i = 0; i < BOEHM_TOP_WORDS && hs_image_u64(image, at, &word); i++) {
            if (word != nils)
                break;
            at += steps[side];
        }
        if (hs_image_u64(image, at, &word) && word != nils && locate_by(boehm, at, word, nils))
            return true;
    }
    return false;
}

static bool locate_in(struct boehm *boehm, const struct hs_object *object)
{
    struct hs_data_words words = {.process = boehm->process, .object = object};
    hs_addr address, last_address = 0;
    uint64_t word, last = 0;
    size_t n = 0;

    while (hs_data_words_next(&words, &address, &word)) {
        bool goes_on = word != 0 && word == last && address == last_address + HS_WORD_BYTES;
        n = goes_on ? n + 1 : 0;
        last = word;
        last_address = address;
        if (n == LOCATE_ROW && is_nils(boehm->process->image, word) &&
            locate_near(boehm, address, word))
            return true;
    }
    return false;
}

void hs_boehm_locate(struct boehm *boehm)
{
    const struct hs_objects *objects = boehm->process->objects;

    for (size_t i = 0; objects != NULL && i < objects->n; i++)
        if (locate_in(boehm, &objects->objects[i])) {
            boehm->object = &objects->objects[i];
            return;
        }
}
