/* Damage to a made process by the bytes of a fuzzer, and what must hold of its walk whatever it
 * was. An operation is six bytes: place (2), kind, argument (2), area. */
#ifndef HS_TESTS_WORD_DAMAGE_H
#define HS_TESTS_WORD_DAMAGE_H

#include "ocaml/ocaml.h"

enum { DAMAGE_OPERATIONS = 64, DAMAGE_AREAS = 24 };

/* Words that may be damaged, at their address in the target. */
struct damage_areas {
    struct damage_area {
        hs_addr at;
        uint64_t *words; /* borrowed */
        size_t n;
    } items[DAMAGE_AREAS];
    size_t n;
};

void damage_add(struct damage_areas *areas, hs_addr at, uint64_t *words, size_t n);
/* Each operation, up to DAMAGE_OPERATIONS, puts a word that means something, or nearly. */
void damage_apply(const struct damage_areas *areas, const uint8_t *bytes, size_t n_bytes);

/* These abort. */
void damage_check_ranges(const struct hs_range_set *set); /* as merged */
void damage_check_spans(const struct hs_spans *spans);    /* ascending, disjoint, none empty */
void damage_check_blocks(const struct hs_block_map *map); /* all words of the heap are accounted */
void damage_check_snapshot(int fd);                       /* `check` finds nothing */

#endif
