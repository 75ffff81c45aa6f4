/* Damage to one word of a made process, by the bytes of a fuzzer. */
#ifndef HS_TESTS_PATCH_WORD_H
#define HS_TESTS_PATCH_WORD_H

#include <stdint.h>

/* How, modulo 8: a small number; pointers[0]; a little more or less; pointers[1]; what another word
 * says; both words for each other; one bit; nearly the largest number. `what` says which or how
 * much; `pointers` are words that mean something where the word stands. */
void patch_word(uint64_t *word, uint64_t *other, uint8_t how, uint16_t what,
                const uint64_t pointers[2]);

#endif
