/* The objects that Gc.Memprof tracks, of OCaml 4 and 5: roots and samples. */
#ifndef HS_OCAML_MEMPROF_H
#define HS_OCAML_MEMPROF_H

#include "roots.h"

/* A tracked block, as the entry has it. */
struct hs_memprof_entry {
    uint64_t block, n_samples, wosize, user_data;
    bool is_promoted;
};

/* Adds a root of kind memprof; `unit` is "user data", "tracked block" or "profile". */
hs_status hs_memprof_add_leaf(struct hs_root_walk *walk, hs_addr address, uint64_t value,
                              const char *unit, bool weak);
/* Adds a sample, whose id is the immediate user_data. */
hs_status hs_memprof_add_sample(struct hs_root_walk *walk, const struct hs_memprof_entry *entry);

/* Notes the share of words that is sampled, 0 < lambda <= 1; another share than before makes the
 * period unknown. */
void hs_memprof_note_lambda(struct hs_root_walk *walk, uint64_t bits_of_lambda);

#endif
