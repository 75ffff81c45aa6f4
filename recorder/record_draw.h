/* Chance: every byte allocated is a sample with probability 1 / period, so the distances between
 * samples are geometric (exponential, in whole bytes), and n samples of a block stand for
 * n * period bytes whatever its size. */
#ifndef HS_RECORD_DRAW_H
#define HS_RECORD_DRAW_H

#include <stdint.h>

/* Sets up for a period of at least 1 byte. */
struct hs_record_chance {
    uint64_t period;
    double scale; /* -1 / ln(1 - 1 / period) */
};
void hs_record_chance_init(struct hs_record_chance *chance, uint64_t period);

/* Makes the state of a generator from any number; never 0. */
uint64_t hs_record_seed(uint64_t from);
/* Draws the distance to the next sample: 1 is the very next byte. */
uint64_t hs_record_gap(const struct hs_record_chance *chance, uint64_t *random);
/* Draws the number of samples that n_bytes hold when the next one is *left away (n_bytes >= *left >
 * 0); *left is then counted from their end. At a period of 1 all bytes are samples, and an empty
 * block has one. Takes bounded time for any size. */
uint32_t hs_record_draw(const struct hs_record_chance *chance, uint64_t *random, uint64_t n_bytes,
                        uint64_t *left);

#endif
